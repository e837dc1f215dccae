/*
 * A dense layer in 8 bits: i8 weights with a scale for each output, packed once; u8 inputs with a
 * scale and a zero point; f32 results. The results are compared with the same layer in f32.
 */
#include "try.h"

#include <math.h>

#define ROWS    20 /* of inputs */
#define INPUTS  256
#define OUTPUTS 64

/* Returns a pseudorandom number from -1 to 1, the same in every run. */
static float some_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 23) - 1;
}

/* Weights, INPUTS × OUTPUTS: i8 = w / scale of the column; the largest of a column is 127. */
static void quantize_weights(const float *w, int8_t *bytes, float *scale)
{
    for (int j = 0; j < OUTPUTS; j++) {
        float largest = 0;
        for (int k = 0; k < INPUTS; k++)
            largest = fmaxf(largest, fabsf(w[k * OUTPUTS + j]));
        scale[j] = largest > 0 ? largest / 127 : 1;
        for (int k = 0; k < INPUTS; k++)
            bytes[k * OUTPUTS + j] = (int8_t)lrintf(w[k * OUTPUTS + j] / scale[j]);
    }
}

/* Inputs from low to high: u8 = x / scale + zero point. */
static void quantize_inputs(const float *x, float low, float high, uint8_t *bytes, float *scale,
                            uint8_t *zero_point)
{
    *scale = (high - low) / 255;
    *zero_point = (uint8_t)lrintf(-low / *scale);
    for (int i = 0; i < ROWS * INPUTS; i++)
        bytes[i] = (uint8_t)fminf(fmaxf(rintf(x[i] / *scale) + *zero_point, 0), 255);
}

static tenon_tensor upload(tenon_context *context, tenon_stream *stream, tenon_dtype dtype,
                           int64_t rows, int64_t columns, const void *data)
{
    const int64_t shape[] = {rows, columns};
    const size_t bytes = (size_t)(rows * columns) * tenon_dtype_size(dtype);
    tenon_tensor tensor;
    /* One row is a vector of rank 1, as scales and zero points are. */
    TRY(tenon_tensor_create(context, dtype, rows > 1 ? 2 : 1, rows > 1 ? shape : shape + 1,
                            &tensor));
    TRY(tenon_tensor_upload(stream, data, bytes, &tensor, NULL));
    return tensor;
}

/* y = x · w on the device, in 8 bits. */
static void layer(const float *x, const float *w, float *y)
{
    static int8_t w_bytes[INPUTS * OUTPUTS];
    static uint8_t x_bytes[ROWS * INPUTS];
    float w_scales[OUTPUTS], x_scale;
    uint8_t x_zero;
    tenon_context *context;
    tenon_stream *stream;
    tenon_packed *packed;
    quantize_weights(w, w_bytes, w_scales);
    quantize_inputs(x, -1, 2, x_bytes, &x_scale, &x_zero);
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));

    /* Once: packs the weights for the device. The original weights are not needed afterwards. */
    tenon_tensor weights = upload(context, stream, TENON_DTYPE_I8, INPUTS, OUTPUTS, w_bytes);
    TRY(tenon_gemm_pack(stream, NULL, &weights, &packed, NULL));
    tenon_tensor_destroy(&weights);

    /* For each batch: the sum of products is an exact i32, which the scales convert to float. */
    tenon_tensor a = upload(context, stream, TENON_DTYPE_U8, ROWS, INPUTS, x_bytes);
    tenon_tensor a_scale = upload(context, stream, TENON_DTYPE_F32, 1, 1, &x_scale);
    tenon_tensor a_zero = upload(context, stream, TENON_DTYPE_U8, 1, 1, &x_zero);
    tenon_tensor b_scale = upload(context, stream, TENON_DTYPE_F32, 1, OUTPUTS, w_scales);
    tenon_tensor d;
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){ROWS, OUTPUTS}, &d));
    TRY(tenon_gemm_packed(stream,
                          &tenon_gemm_params(.epilogue.scale = {&a_scale, &b_scale},
                                             .epilogue.zero_point = {&a_zero}),
                          &a, packed, NULL, NULL, &d, NULL));
    TRY(tenon_tensor_download(stream, &d, y, ROWS * OUTPUTS * sizeof *y, NULL));

    tenon_tensor *const made[] = {&a, &a_scale, &a_zero, &b_scale, &d};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tenon_tensor_destroy(made[i]);
    tenon_packed_release(packed);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

int main(void)
{
    static float x[ROWS * INPUTS], w[INPUTS * OUTPUTS], y[ROWS * OUTPUTS];
    uint32_t state = 1;
    double error = 0, size = 0;
    for (int i = 0; i < ROWS * INPUTS; i++)
        x[i] = 0.5f + 1.5f * some_number(&state); /* -1 to 2 */
    for (int i = 0; i < INPUTS * OUTPUTS; i++)
        w[i] = some_number(&state);
    layer(x, w, y);

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < OUTPUTS; j++) {
            double sum = 0;
            for (int k = 0; k < INPUTS; k++)
                sum += (double)x[i * INPUTS + k] * w[k * OUTPUTS + j];
            error += (sum - y[i * OUTPUTS + j]) * (sum - y[i * OUTPUTS + j]);
            size += sum * sum;
        }
    const double percent = 100 * sqrt(error / size);
    printf("8 bits differ from float by %.2f %%, weights take a quarter of the memory\n", percent);
    return percent > 0.05 && percent < 2 ? 0 : 1; /* 0 would mean that nothing was rounded */
}
