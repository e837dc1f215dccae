/* Sizes and names of the shapes. */
#include "shapes.h"

#include <inttypes.h>
#include <stdio.h>

int64_t bench_conv_output(const bench_conv_shape *s, bool columns)
{
    return ((columns ? s->w - s->s : s->h - s->r) + 2 * s->pad) / s->stride + 1;
}

double bench_conv_operations(const bench_conv_shape *s)
{
    const int64_t results = s->n * s->k * bench_conv_output(s, false) * bench_conv_output(s, true);
    const int64_t taps = s->c / s->groups * s->r * s->s;
    return 2.0 * (double)results * (double)taps;
}

void bench_conv_name(const bench_conv_shape *s, char name[BENCH_CONV_NAME_SIZE])
{
    char filters[24] = "dw", stride[24] = "";
    if (s->groups != s->c || s->c == 1)
        snprintf(filters, sizeof filters, "k%d", (int)s->k);
    if (s->stride > 1)
        snprintf(stride, sizeof stride, "/%d", (int)s->stride);
    snprintf(name, BENCH_CONV_NAME_SIZE, "%.16s %d@%d %s %dx%d%s n%d", s->network, (int)s->c,
             (int)s->h, filters, (int)s->r, (int)s->s, stride, (int)s->n);
}

tenon_conv_geometry bench_conv_geometry(const bench_conv_shape *s)
{
    return (tenon_conv_geometry){.stride = {s->stride, s->stride, 1},
                                 .dilation = {1, 1, 1},
                                 .pad_begin = {s->pad, s->pad, 0},
                                 .pad_end = {s->pad, s->pad, 0}};
}

bench_gemm_shape bench_conv_product(const bench_conv_shape *s)
{
    const int64_t pixels = bench_conv_output(s, false) * bench_conv_output(s, true),
                  taps = s->c * s->r * s->s;
    if (s->n == 1)
        return (bench_gemm_shape){s->network, 1, s->k, pixels, taps, false, false};
    return (bench_gemm_shape){s->network, 1, s->n * pixels, s->k, taps, false, true};
}

void bench_gemm_name(const bench_gemm_shape *s, char name[BENCH_GEMM_NAME_SIZE])
{
    char batch[24] = "";
    if (s->batch > 1)
        snprintf(batch, sizeof batch, "%lldx ", (long long)s->batch);
    snprintf(name, BENCH_GEMM_NAME_SIZE, "%.24s %s%lldx%lldx%lld%s%s%s", s->what, batch,
             (long long)s->m, (long long)s->n, (long long)s->k,
             s->a_transposed || s->b_transposed ? " " : "", s->a_transposed ? "a'" : "",
             s->b_transposed ? "b'" : "");
}

void bench_size_text(int64_t size, char text[BENCH_SIZE_TEXT])
{
    const bool by_mi = size % (1 << 20) == 0, by_ki = size % (1 << 10) == 0;
    snprintf(text, BENCH_SIZE_TEXT, "%" PRId64 " %s",
             by_mi   ? size >> 20
             : by_ki ? size >> 10
                     : size,
             by_mi   ? "Mi"
             : by_ki ? "Ki"
                     : "");
}
