/* The general parts of the digits example: a device, its memory, and transfers. */
#ifndef DIGITS_DEVICE_H
#define DIGITS_DEVICE_H

#include "digits_host.h"
#include "try.h"

#define MOST_TENSORS 256

/* A context, a stream, and the tensors created for them. */
typedef struct device {
    tenon_context *context;
    tenon_stream *stream;
    tenon_memory owned[MOST_TENSORS];
    int owned_count;
} device;

device device_open(const char *selector);
void device_close(device *here);

/* Creates a tensor that is destroyed together with the device. */
tenon_tensor device_tensor(device *here, tenon_dtype dtype, uint32_t rank, const int64_t *shape);

/* The digits in a shuffled order: the first `train` are for training, the others are held out. */
typedef struct digits_data {
    int count, train;
    digit *digits;
    tenon_tensor raw, images,
        labels; /* count 1 8 8 in f32, and in the network's type; count, i32 */
    float *pixels;
    int32_t *numbers;
    int32_t *taken_for; /* the network's answers for the held-out digits */
} digits_data;

digits_data digits_data_create(device *here, tenon_dtype dtype, int count);
void digits_data_destroy(digits_data *data);

/* Copies the digits in an order determined by the seed. */
void digits_start(digits_data *data, const digit *digits, uint64_t *seed);

/* Uploads them in their current order. */
void digits_upload(const digits_data *data, device *here);

/* Returns the accuracy on the held-out digits. */
double digits_right(const digits_data *data);

/* Prints and returns the accuracy on the held-out digits. */
double digits_report(const digits_data *data, uint64_t seed);

#endif
