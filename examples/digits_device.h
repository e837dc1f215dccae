/* The parts of the digits example that any program has: a device, its memory, and moving data. */
#ifndef DIGITS_DEVICE_H
#define DIGITS_DEVICE_H

#include "digits_host.h"
#include "try.h"

#define MOST_TENSORS 256

/* A context and a stream, and the tensors made for it. */
typedef struct device {
    tenon_context *context;
    tenon_stream *stream;
    tenon_memory owned[MOST_TENSORS];
    int owned_count;
} device;

device device_open(const char *selector);
void device_close(device *here);

/* A tensor that goes with the device. */
tenon_tensor device_tensor(device *here, tenon_dtype dtype, uint32_t rank, const int64_t *shape);

/* The digits, in an order of their own: the first `train` are for training, the rest is held out.
 */
typedef struct digits_data {
    int count, train;
    digit *digits;
    tenon_tensor raw, images,
        labels; /* count 1 8 8 as f32, and as the network has it; count, i32 */
    float *pixels;
    int32_t *numbers;
    int32_t *taken_for; /* what the network reads in the held-out digits */
} digits_data;

digits_data digits_data_create(device *here, tenon_dtype dtype, int count);
void digits_data_destroy(digits_data *data);

/* Copies the digits, in an order that follows from the seed. */
void digits_start(digits_data *data, const digit *digits, uint64_t *seed);

/* Brings them to the device in their present order. */
void digits_upload(const digits_data *data, device *here);

/* The share of the held-out digits that was read right. */
double digits_right(const digits_data *data);

/* Prints and returns the share of the held-out digits that was read right. */
double digits_report(const digits_data *data, uint64_t seed);

#endif
