#include "digits_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "digits: no memory for %zu × %zu bytes\n", count, size);
        exit(1);
    }
    return memory;
}

static void print_log(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    (void)level;
    fprintf(stderr, "tenon: %s\n", message);
}

device device_open(const char *selector)
{
    device here = {.owned_count = 0};
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    /* Warnings and errors go to the log: the default level. */
    TRY(tenon_context_create(&tenon_context_params(.device = selector, .log = print_log),
                             &here.context));
    TRY(tenon_stream_create(here.context, NULL, &here.stream));
    TRY(tenon_context_device(here.context, &info));
    printf("device    %s (%s)\n", info.name, info.platform_name);
    return here;
}

void device_close(device *here)
{
    for (int i = 0; i < here->owned_count; i++)
        tenon_memory_destroy(&here->owned[i]);
    tenon_stream_destroy(here->stream);
    tenon_context_release(here->context);
}

tenon_tensor device_tensor(device *here, tenon_dtype dtype, uint32_t rank, const int64_t *shape)
{
    tenon_tensor tensor;
    if (here->owned_count == MOST_TENSORS)
        abort();
    TRY(tenon_tensor_create(here->context, dtype, rank, shape, &tensor));
    here->owned[here->owned_count++] = tensor.memory;
    return tensor;
}

digits_data digits_data_create(device *here, tenon_dtype dtype, int count)
{
    const int64_t images[] = {count, 1, SIDE, SIDE};
    const size_t all = (size_t)count;
    return (digits_data){.count = count,
                         .train = count - count / 3,
                         .digits = allocate(all, sizeof(digit)),
                         .raw = device_tensor(here, TENON_DTYPE_F32, 4, images),
                         .images = device_tensor(here, dtype, 4, images),
                         .labels = device_tensor(here, TENON_DTYPE_I32, 1, images),
                         .pixels = allocate(all * PIXELS, sizeof(float)),
                         .numbers = allocate(all, sizeof(int32_t)),
                         .taken_for = allocate(all, sizeof(int32_t))};
}

void digits_data_destroy(digits_data *data)
{
    free(data->digits);
    free(data->pixels);
    free(data->numbers);
    free(data->taken_for);
}

void digits_start(digits_data *data, const digit *digits, uint64_t *seed)
{
    memcpy(data->digits, digits, (size_t)data->count * sizeof *digits);
    digits_shuffle(data->digits, data->count, seed);
}

void digits_upload(const digits_data *data, device *here)
{
    const size_t count = (size_t)data->count;
    for (int i = 0; i < data->count; i++) {
        memcpy(&data->pixels[i * PIXELS], data->digits[i].pixels, sizeof data->digits[i].pixels);
        data->numbers[i] = data->digits[i].label;
    }
    TRY(tenon_tensor_upload(here->stream, data->pixels, count * PIXELS * sizeof(float), &data->raw,
                            NULL));
    TRY(tenon_tensor_upload(here->stream, data->numbers, count * sizeof(int32_t), &data->labels,
                            NULL));
    TRY(tenon_copy(here->stream, NULL, &data->raw, &data->images, NULL)); /* converts, if need be */
}

double digits_right(const digits_data *data)
{
    const int held = data->count - data->train;
    int right = 0;
    for (int i = 0; i < held; i++)
        right += data->taken_for[i] == data->digits[data->train + i].label;
    return (double)right / held;
}

double digits_report(const digits_data *data, uint64_t seed)
{
    const double right = digits_right(data);
    printf("%-5s seed %-4llu %.2f %% of the held-out digits recognized\n",
           tenon_dtype_string(data->images.dtype), (unsigned long long)seed, 100 * right);
    return right;
}
