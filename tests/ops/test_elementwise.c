/* Tests tenon_elementwise: values, plans, refusals. test_pointwise.c tests its shapes. */
#include "fixture.h"

#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>

#define KINDS (TENON_ELEMENTWISE_ATAN2 + 1)

/* Values by the header's formulas, not by the reference, with default parameters and broadcasting.
 */
TEST(known_values)
{
    static const float a[] = {6, -2, 0.5F, 8}, b[] = {2, -4};
    static const float d[KINDS][8] = {{8, 0, 2.5F, 10, 2, -6, -3.5F, 4},
                                      {4, -4, -1.5F, 6, 10, 2, 4.5F, 12},
                                      {12, -4, 1, 16, -24, 8, -2, -32},
                                      {3, -1, 0.25F, 4, -1.5F, 0.5F, -0.125F, -2},
                                      {6, 2, 2, 8, 6, -2, 0.5F, 8},
                                      {2, -2, 0.5F, 2, -4, -4, -4, -4},
                                      {13, -3, 2, 17, 10, -6, -1, 14},
                                      {36, 4, 0.25F, 64, 1 / 1296.0F, 0.0625F, 16, 0x1p-12F},
                                      {0, 0, 0.5F, 0, 2, -2, 0.5F, 0},
                                      {0, 0, 0.5F, 0, -2, -2, -3.5F, 0},
                                      {1.2490458F, -0.7853982F, 0.2449787F, 1.3258177F, 2.1587989F,
                                       -2.6779450F, 3.0172377F, 2.0344440F}};
    const int64_t a_shape[] = {4}, b_shape[] = {2, 1}, d_shape[] = {2, 4};
    float got[8];
    tenon_tensor at = test_dense(TENON_DTYPE_F32, 1, a_shape, a);
    tenon_tensor bt = test_dense(TENON_DTYPE_F32, 2, b_shape, b);
    tenon_tensor dt = test_dense(TENON_DTYPE_F32, 2, d_shape, NULL);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        tenon_elementwise_params params =
            tenon_elementwise_params(.kind = kind, .alpha = 2, .beta = 0.5);
        assert_ok(tenon_elementwise(test_stream, kind == 0 ? NULL : &params, &at, &bt, &dt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
        for (int i = 0; i < 8; i++)
            if (!(fabsf(got[i] - d[kind][i]) <=
                  (kind >= TENON_ELEMENTWISE_POW ? 1e-6F * fabsf(d[kind][i]) : 0)))
                fail_msg("kind %u, element %d is %g, must be %g", kind, i, (double)got[i],
                         (double)d[kind][i]);
    }
    test_destroy(&at, &bt, &dt);
}

/* Every pair of values: each meets NaN and infinity as either operand. */
TEST(special_values)
{
    static const double values[] = {0,         -0.0,    1,       -1,    NAN,  INFINITY,
                                    -INFINITY, 0x1p-14, 0x1p-24, 1e-30, 0.1,  0x1p-126,
                                    3,         -7,      60000,   -1e30, 1e38, 1e-40};
    const int64_t count = sizeof values / sizeof *values;
    for (uint32_t kind = 0; kind < KINDS + 4; kind++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            /* Further cases have coefficients of 0, which exclude their operand, and offsets for
             * which no vector of constants is stored to an aligned address. */
            const bool constants = kind >= KINDS;
            const int64_t size = count * count;
            test_fixture f;
            test_begin(&f, &tn_operation_elementwise);
            tenon_elementwise_params *params = test_params(&f, tenon_elementwise_params);
            params->kind = constants ? TENON_ELEMENTWISE_SCALE_ADD : kind;
            params->alpha = !constants ? 2 : (kind - KINDS) % 2 == 0 ? 0 : 1.5;
            params->beta = !constants ? -3 : (kind - KINDS) / 2 == 0 ? 0 : -0.25;
            for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
                f.c.views[i] = test_view(*type, TEST_ROW, false, 1, &size, constants ? 3 : 0);
            test_make(&f);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&f.operands[ELEMENTWISE_A], i, values[i / count]);
                test_set(&f.operands[ELEMENTWISE_B], i, values[i % count]);
            }
            test_finish(&f, TEST_ALL);
        }
}

/* Functions of random floats: any bits; powers of any size; quotients that are integers or almost,
 * on either side of the limit of Tenon's own fmod. */
TEST(pairs_of_floats)
{
    const int64_t count = 100003;
    test_random random = test_random_for(977);
    for (uint32_t kind = TENON_ELEMENTWISE_POW; kind < KINDS; kind++) {
        test_fixture f;
        test_begin(&f, &tn_operation_elementwise);
        test_params(&f, tenon_elementwise_params)->kind = kind;
        for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
            f.c.views[i] = test_view(TENON_DTYPE_F32, TEST_ROW, false, 1, &count, 0);
        test_make(&f);
        for (int64_t i = 0; i < count; i++) {
            const uint32_t bits[] = {(uint32_t)test_next(&random), (uint32_t)test_next(&random)};
            const double part = (double)test_between(&random, -1000, 1000) / 1000;
            float pair[2];
            memcpy(pair, bits, sizeof pair);
            if (i % 2 == 0 && kind == TENON_ELEMENTWISE_POW) {
                pair[0] = i % 4 == 0 ? fabsf(pair[0]) : (float)(1 + part / 3);
                pair[1] = (float)(150 * part / log2(pair[0]));
            } else if (i % 2 == 0) {
                pair[0] = pair[1] * (float)test_between(&random, -5000000, 5000000);
                pair[0] = nextafterf(pair[0], i % 4 == 0 ? pair[0] : (float)part);
            }
            test_set(&f.operands[ELEMENTWISE_A], i, (double)pair[0]);
            test_set(&f.operands[ELEMENTWISE_B], i, (double)pair[1]);
        }
        test_finish(&f, TEST_ALL);
    }
}

TEST(plans)
{
    static const float x[] = {1, 2, 3, 4, 5};
    const int64_t shape[] = {5};
    tenon_plan *plan;
    tenon_tensor none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape), a, d;
    float got[5];
    tenon_elementwise_params params =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_SCALE_ADD, .alpha = 3);
    a = test_dense(TENON_DTYPE_F32, 1, shape, x);
    d = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_elementwise_plan(test_context, &params, &none, &none, &none, &plan));
    const tenon_memory memories[] = {a.memory, a.memory, d.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 3, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &d, got, sizeof got, NULL));
    for (int i = 0; i < 5; i++)
        assert_true(got[i] == 4 * x[i]);
    assert_ok(tenon_copy_plan(test_context, NULL, &none, &none, &plan));
    const tenon_memory pair[] = {a.memory, d.memory};
    assert_ok(tenon_plan_run(test_stream, plan, pair, 2, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &d, got, sizeof got, NULL));
    assert_memory_equal(got, x, sizeof x);
    test_destroy(&a, &d);
}

TEST(bad_input)
{
    static const char op[] = "tenon_elementwise";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, strides[] = {6, 1};
    tenon_elementwise_params params = TENON_ELEMENTWISE_PARAMS_INIT, bad;
    test_tensor ta, td;
    test_tensor_create(&ta, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_tensor_create(&td, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_upload(&td);
    const tenon_tensor a = ta.view, d = td.view;
    tenon_tensor v;
#define REFUSED(p, x, y, z, status, word)                                                          \
    assert_refused(tenon_elementwise(test_stream, p, x, y, z, NULL), status, op, word)
    assert_invalid(tenon_elementwise(NULL, &params, &a, &a, &d, NULL), "stream");
    REFUSED(&params, NULL, &a, &d, invalid, "a ");
    REFUSED(&params, &a, NULL, &d, invalid, "b ");
    REFUSED(&params, &a, &a, NULL, invalid, "d ");
    bad = params, bad.struct_size = 8;
    REFUSED(&bad, &a, &a, &d, invalid, "struct_size");
    bad = params, bad.flags = 1;
    REFUSED(&bad, &a, &a, &d, invalid, "flags");
    bad = params, bad.kind = KINDS;
    REFUSED(&bad, &a, &a, &d, invalid, "kind is 11");
    bad = params, bad.reserved = 1;
    REFUSED(&bad, &a, &a, &d, invalid, "reserved");
    bad = params, bad.solver = "elementwise/none";
    REFUSED(&bad, &a, &a, &d, invalid, "elementwise/none");
    v = tenon_tensor_slice(a, 1, 0, 5);
    REFUSED(&params, &v, &a, &d, invalid, "a: ");
    REFUSED(&params, &a, &v, &d, invalid, "b: ");
    v = a, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, &v, &v, &v, TENON_ERROR_UNSUPPORTED, "f8_e4m3");
    v = a, v.dtype = TENON_DTYPE_I32;
    bad = params, bad.kind = TENON_ELEMENTWISE_SCALE_ADD;
    REFUSED(&bad, &v, &v, &v, TENON_ERROR_UNSUPPORTED, "i32");
    REFUSED(&params, &a, &v, &d, TENON_ERROR_UNSUPPORTED, "b is i32");
    REFUSED(&params, &a, &a, &v, TENON_ERROR_UNSUPPORTED, "d is i32");
    v = d, v.stride[0] = 0;
    REFUSED(&params, &a, &a, &v, invalid, "d");
    /* A view of d's memory that is broadcast, or has other elements than d, is not in place. */
    REFUSED(&params, &v, &a, &d, invalid, "a");
    v = tenon_tensor_slice(d, 0, 1, 1);
    REFUSED(&params, &a, &v, &d, invalid, "b");
    assert_untouched(&td);
    test_tensor_destroy(&ta);
    test_tensor_destroy(&td);
#undef REFUSED
}
