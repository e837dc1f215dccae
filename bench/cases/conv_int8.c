/* Convolutions of ResNet-50, and depthwise ones, of u8 images, channels last, and i8 filters to
 * i32, compared with Tenon's own f32 convolution of the same shape and layout. */
#include "calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pass {
    bench_line whole, real; /* of integers, which is the first member, and of f32 */
    bench_call peer;
    bench_conv_shape shape;
} pass;

static uint32_t count(const bench_suite *suite)
{
    return suite->shapes->count;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    bench_conv_name(&suite->shapes->conv[number], name);
}

/* The cases are named after the type of the images. */
static bool has_dtype(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    (void)suite;
    (void)number;
    return dtype == TENON_DTYPE_U8;
}

/* Writes an image of one set, channels last. */
static int put_image(char *text, size_t size, const char *type, int64_t c, int64_t h, int64_t w)
{
    return snprintf(text, size,
                    "%s:1x%" PRId64 "x%" PRId64 "x%" PRId64 "/%" PRId64 ",1,%" PRId64 ",%" PRId64,
                    type, c, h, w, c * h * w, c * w, c);
}

static void put_line(char text[TN_CASE_TEXT_SIZE], const bench_conv_shape *s, bool whole)
{
    char x[96], y[96];
    put_image(x, sizeof x, whole ? "u8" : "f32", s->c, s->h, s->w);
    put_image(y, sizeof y, whole ? "i32" : "f32", s->k, bench_conv_output(s, false),
              bench_conv_output(s, true));
    snprintf(text, TN_CASE_TEXT_SIZE,
             "%s x=%s w=%s:%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " y=%s groups=%" PRId64
             " stride=%" PRId64 ",%" PRId64 " pad_begin=%" PRId64 ",%" PRId64 " pad_end=%" PRId64
             ",%" PRId64,
             whole ? "conv_int8" : "conv", x, whole ? "i8" : "f32", s->k, s->c / s->groups, s->r,
             s->s, y, s->groups, s->stride, s->stride, s->pad, s->pad, s->pad, s->pad);
}

static void destroy(bench_case *bench)
{
    pass *p = bench->tenon.data;
    bench_line_destroy(&p->whole);
    bench_line_destroy(&p->real);
    free(p);
}

static bool add_real(bench_session *session, pass *p, bench_way *way)
{
    char text[TN_CASE_TEXT_SIZE];
    put_line(text, &p->shape, false);
    *way = (bench_way){"tenon-f32", bench_line_run, false, &p->real, NULL, NULL, NULL};
    return bench_line_make(session, text, TENON_DTYPE_F32, 0, &p->real);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    char text[TN_CASE_TEXT_SIZE];
    pass *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->shape = suite->shapes->conv[number];
    bench->tenon = (bench_way){"tenon", bench_line_run, false, p, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = bench_line_verify;
    put_line(text, &p->shape, true);
    if (!bench_line_make(session, text, dtype, 0, &p->whole))
        return false;
    bench_line_describe(&p->whole, bench);
    bench->operations = bench_conv_operations(&p->shape);
    bench->bytes = bench_line_bytes(&p->whole, NULL);
    p->peer = bench_call_of(&p->whole, "conv");
    BENCH_ADD_PEER(session, bench, "tenon-f32", add_real(session, p, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn",
                   bench_onednn_conv_int8(&p->shape, &p->peer, bench_way_at));
    return true;
}

const bench_kind bench_conv_int8_cases = {count, name_of, has_dtype, make};
