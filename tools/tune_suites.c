/* The suites of tenon-bench, as calls to be tuned. */
#include "tune_calls.h"

#include "shapes/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes a factor of a product. A transposed factor is stored with its other dimension first. */
static void put_factor(char text[128], const char *type, const int64_t *shape, bool transposed)
{
    const int used = snprintf(text, 128, "%s:%" PRId64 "x%" PRId64 "x%" PRId64, type, shape[0],
                              shape[1], shape[2]);
    if (transposed)
        snprintf(text + used, 128 - (size_t)used, "/%" PRId64 ",1,%" PRId64, shape[1] * shape[2],
                 shape[1]);
}

static void put_gemm(const bench_gemm_shape *s, tenon_dtype type, char line[512])
{
    char a[128], b[128];
    const char *name = tenon_dtype_string(type);
    const bool is_i8 = type == TENON_DTYPE_I8;
    put_factor(a, name, (const int64_t[]){s->batch, s->m, s->k}, s->a_transposed);
    put_factor(b, name, (const int64_t[]){s->batch, s->k, s->n}, s->b_transposed);
    snprintf(line, 512, "%s a=%s b=%s d=%s:%" PRId64 "x%" PRId64 "x%" PRId64,
             is_i8 ? "gemm_int8" : "gemm", a, b, is_i8 ? "i32" : name, s->batch, s->m, s->n);
}

static void put_conv(const bench_conv_shape *s, tenon_dtype type, char line[512])
{
    const char *t = tenon_dtype_string(type);
    const long long stride = s->stride, pad = s->pad;
    snprintf(line, 512,
             "conv x=%s:%lldx%lldx%lldx%lld w=%s:%lldx%lldx%lldx%lld y=%s:%lldx%lldx%lldx%lld "
             "groups=%lld stride=%lld,%lld pad_begin=%lld,%lld pad_end=%lld,%lld",
             t, (long long)s->n, (long long)s->c, (long long)s->h, (long long)s->w, t,
             (long long)s->k, (long long)(s->c / s->groups), (long long)s->r, (long long)s->s, t,
             (long long)s->n, (long long)s->k, (long long)bench_conv_output(s, false),
             (long long)bench_conv_output(s, true), (long long)s->groups, stride, stride, pad, pad,
             pad, pad);
}

/* Returns true for suites of products and of convolutions N C H W. */
static bool is_offered(const bench_shape_suite *suite)
{
    return strcmp(suite->kind, "gemm") == 0 || strcmp(suite->kind, "conv") == 0 ||
           strcmp(suite->kind, "conv gradients") == 0;
}

static const bench_shape_suite *suite_named(const char *name)
{
    const bench_shape_suite *suite =
        bench_shapes_read_built_in() ? bench_shape_suite_named(name) : NULL;
    if (suite != NULL && is_offered(suite))
        return suite;
    fprintf(stderr, "tenon tune: --suite: unknown suite \"%s\", allowed:", name);
    for (uint32_t i = 0; i < bench_shape_suite_count; i++)
        if (is_offered(&bench_shape_suites[i]))
            fprintf(stderr, " %s", bench_shape_suites[i].name);
    fputc('\n', stderr);
    return NULL;
}

bool tune_calls_add_suite(tune_calls *calls, const char *name, tenon_dtype type)
{
    char line[512];
    const bench_shape_suite *suite = suite_named(name);
    bool added = suite != NULL;
    for (uint32_t i = 0; added && i < suite->count; i++) {
        if (suite->gemm != NULL)
            put_gemm(&suite->gemm[i], type, line);
        else
            put_conv(&suite->conv[i], type, line);
        added = tune_calls_add_line(calls, line, type);
    }
    return added;
}
