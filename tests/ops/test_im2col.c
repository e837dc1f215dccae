/* tenon_im2col against its reference, which moves elements and computes nothing: every bit counts.
 */
#include "support.h"

#include "ops/conv/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct im2col_case {
    uint32_t spatial; /* dimensions */
    int64_t n, c, size[3], filter[3];
    tenon_conv_geometry geometry;
    test_layout x, col;
    bool gap;
    int64_t offset;
} im2col_case;

static const im2col_case simple = {.spatial = 2,
                                   .n = 2,
                                   .c = 3,
                                   .size = {7, 9, 1},
                                   .filter = {3, 2, 1},
                                   .geometry = TENON_CONV_GEOMETRY_INIT};

typedef struct im2col_data {
    im2col_case problem;
    tenon_dtype dtype;
    test_tensor operands[IM2COL_OPERANDS];
    tn_bounded *expected;
} im2col_data;

static const char *describe(const void *user)
{
    static char text[1024];
    const im2col_data *data = user;
    const im2col_case *p = &data->problem;
    const tenon_conv_geometry *g = &p->geometry;
    char x[160], f[160], s[160], d[160], b[160], e[160];
    uint32_t n = p->spatial;
    snprintf(text, sizeof text,
             "%s x %s filter %s stride %s dilation %s padding %s + %s, x %s, col %s%s, offset %lld",
             tenon_dtype_string(data->dtype),
             tn_shape_text(n + 2, data->operands[IM2COL_X].view.shape, x),
             tn_shape_text(n, p->filter, f), tn_shape_text(n, g->stride, s),
             tn_shape_text(n, g->dilation, d), tn_shape_text(n, g->pad_begin, b),
             tn_shape_text(n, g->pad_end, e), test_layout_string(p->x), test_layout_string(p->col),
             p->gap ? " with gaps" : "", (long long)p->offset);
    return text;
}

static tenon_im2col_params params_of(const im2col_case *p, const char *solver)
{
    tenon_im2col_params params = TENON_IM2COL_PARAMS_INIT;
    params.solver = solver;
    params.geometry = p->geometry;
    memcpy(params.filter, p->filter, sizeof p->filter);
    return params;
}

static tenon_status call(const void *user, const char *solver)
{
    const im2col_data *data = user;
    tenon_im2col_params params = params_of(&data->problem, solver);
    return test_call(&tn_operation_im2col, &params, &data->operands[IM2COL_X].view,
                     &data->operands[IM2COL_COL].view);
}

static void create(im2col_data *data)
{
    const im2col_case *p = &data->problem;
    const tenon_conv_geometry *g = &p->geometry;
    int64_t x[CONV_RANK] = {p->n, p->c}, col[] = {p->n, p->c, 1}, stride[CONV_RANK];
    for (uint32_t d = 0; d < p->spatial; d++) {
        x[2 + d] = p->size[d];
        col[1] *= p->filter[d];
        col[2] *= tenon_conv_output_size(g, d, p->size[d], p->filter[d]);
    }
    uint32_t rank = p->spatial + 2;
    test_strides(p->x, p->gap, rank, x, stride);
    test_tensor_create(&data->operands[IM2COL_X], data->dtype, rank, x, stride, p->offset);
    test_strides(p->col, p->gap, 3, col, stride);
    test_tensor_create(&data->operands[IM2COL_COL], data->dtype, 3, col, stride, p->offset);
}

static void check_typed(const im2col_case *p, tenon_dtype dtype, test_random *random)
{
    im2col_data data = {.problem = *p, .dtype = dtype};
    tenon_im2col_params params = params_of(p, NULL);
    create(&data);
    test_tensor *x = &data.operands[IM2COL_X], *col = &data.operands[IM2COL_COL];
    test_fill_reals(x, random);
    if (tenon_tensor_elements(&x->view) > 3) {
        test_set(x, 0, NAN);
        test_set(x, 2, -INFINITY);
    }
    data.expected = malloc(((size_t)tenon_tensor_elements(&col->view) + 1) * sizeof *data.expected);
    assert_non_null(data.expected);
    assert_true(tn_im2col_reference(&params, (const tenon_tensor *const[]){&x->host, &col->host},
                                    data.expected));
    const test_subject subject = {&tn_im2col_family, call,          describe,  &data, data.operands,
                                  IM2COL_OPERANDS,   data.expected, TEST_EXACT};
    test_run_all(&subject);
    test_tensor_destroy(x);
    test_tensor_destroy(col);
    free(data.expected);
}

static void check(const im2col_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_typed(p, *type, random);
}

/* A small one, written out. */
static void known_columns(void **state)
{
    static const float pixels[] = {1, 2, 3, 4};
    static const float columns[4][4] = {{0, 1, 0, 3}, {1, 2, 3, 4}, {0, 3, 0, 0}, {3, 4, 0, 0}};
    const int64_t x_shape[] = {1, 1, 2, 2}, col_shape[] = {1, 4, 4};
    tenon_im2col_params params = TENON_IM2COL_PARAMS_INIT;
    tenon_tensor x, col;
    float got[4][4];
    (void)state;
    params.filter[0] = params.filter[1] = 2;
    params.geometry.pad_begin[1] = 1;
    params.geometry.pad_end[0] = 1;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 4, x_shape, &x));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, col_shape, &col));
    assert_ok(tenon_tensor_upload(test_stream, pixels, sizeof pixels, &x, NULL));
    assert_ok(tenon_im2col(test_stream, &params, &x, &col, NULL));
    assert_ok(tenon_tensor_download(test_stream, &col, got, sizeof got, NULL));
    assert_memory_equal(got, columns, sizeof got);
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&col.memory);
}

static void every_layout(void **state)
{
    test_random random = test_random_for(301);
    (void)state;
    for (int i = 0; i < TEST_LAYOUTS * TEST_LAYOUTS * 2; i++) {
        im2col_case p = simple;
        p.x = (test_layout)(i / 2 % TEST_LAYOUTS);
        p.col = (test_layout)(i / 2 / TEST_LAYOUTS);
        p.gap = i % 2 == 1;
        p.offset = i % 3;
        p.geometry.pad_begin[0] = i % 2;
        check(&p, &random);
    }
}

static void empty(void **state)
{
    test_random random = test_random_for(302);
    (void)state;
    for (int i = 0; i < 4; i++) {
        im2col_case p = simple;
        *(i == 0 ? &p.n : i == 1 ? &p.c : i == 2 ? &p.size[0] : &p.filter[1]) = i == 3 ? 20 : 0;
        check(&p, &random);
        p.geometry.pad_begin[0] = 3;
        p.geometry.pad_end[0] = 1;
        check(&p, &random);
    }
}

static void random_problems(void **state)
{
    static const int64_t most[] = {200, 30, 9}, most_filter[] = {15, 5, 3};
    test_random random = test_random_for(303);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            im2col_case p = simple;
            p.spatial = (uint32_t)test_between(&random, 1, 3);
            p.n = test_between(&random, 1, 3);
            p.c = test_between(&random, 1, 6);
            for (uint32_t d = 0; d < p.spatial; d++) {
                p.size[d] = test_between(&random, 1, most[p.spatial - 1]);
                p.filter[d] = test_between(&random, 1, most_filter[p.spatial - 1]);
                p.geometry.stride[d] = test_between(&random, 1, 3);
                p.geometry.dilation[d] = test_between(&random, 1, 3);
                p.geometry.pad_begin[d] = test_between(&random, 0, 6);
                p.geometry.pad_end[d] = test_between(&random, 0, 6);
            }
            p.x = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            p.col = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            p.gap = test_one_in(&random, 2);
            check_typed(&p, *type, &random);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_columns),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(empty),
        cmocka_unit_test(random_problems),
    };
    return TEST_MAIN(tests);
}
