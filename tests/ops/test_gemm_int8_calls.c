/*
 * Plans of tenon_gemm for i8 and u8, and what it refuses of them; test_bad_input.c and
 * test_bad_views.c have what every operation refuses.
 */
#include "int8_case.h"

#include <math.h>

/* A plan's memory comes at each run: that of scales and zero points after d's. */
static void plans_run_again_and_again(void **state)
{
    test_random random = test_random_for(1218);
    int8_case p = simple_int8;
    int8_data data;
    tenon_plan *plan;
    char why[256];
    (void)state;
    p.d = TENON_DTYPE_U8;
    p.many = ALL_VECTORS;
    make_int8(&data, &p, TEST_EXACT, &random);
    compute_int8_reference(&data);
    upload_int8(&data);
    test_tensor *operands = data.gemm.operands;
    tenon_gemm_params params = int8_params(&data, NULL);
    tenon_memory memories[INT8_OPERANDS] = {0};
    for (int i = 0; i < INT8_OPERANDS; i++)
        memories[i] =
            (i < GEMM_OPERANDS ? &operands[i] : &data.vectors[i - GEMM_OPERANDS])->view.memory;
    assert_ok(tenon_gemm_plan(test_context, &params, &operands[GEMM_A].view, &operands[GEMM_B].view,
                              NULL, NULL, &operands[GEMM_D].view, &plan));
    assert_int_equal(tenon_plan_operands(plan), INT8_OPERANDS);
    for (int i = 0; i < 3; i++) {
        test_upload(&operands[GEMM_D]);
        assert_ok(tenon_plan_run(test_stream, plan, memories, INT8_OPERANDS, NULL));
        if (!test_result(&operands[GEMM_D], data.expected, TEST_EXACT, why))
            fail_msg("%s, in run %d of a plan", why, i);
    }
    memories[GEMM_OPERANDS + INT8_ZERO_B].kind = TENON_MEMORY_NONE;
    assert_refused(tenon_plan_run(test_stream, plan, memories, INT8_OPERANDS, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm_plan", "zero point of b");
    tenon_plan_release(plan);
    destroy_int8(&data);
}

/* A sound call to spoil. */
typedef struct spoiled {
    int8_data data;
    tenon_gemm_params params;
    tenon_tensor a, b, c, bias, d, extra;
} spoiled;

static void begin(spoiled *s, tenon_dtype d, test_random *random)
{
    int8_case p = simple_int8;
    p.d = d;
    p.vectors = 0;
    p.gemm.c_form = p.gemm.bias_form = FORM_FULL;
    p.gemm.beta = 1;
    make_int8(&s->data, &p, TEST_EXACT, random);
    const test_tensor *operands = s->data.gemm.operands;
    s->a = operands[GEMM_A].view;
    s->b = operands[GEMM_B].view;
    s->c = operands[GEMM_C].view;
    s->bias = operands[GEMM_BIAS].view;
    s->d = operands[GEMM_D].view;
    s->params = int8_params(&s->data, NULL);
    test_upload(&operands[GEMM_D]);
}

static void refuse(spoiled *s, tenon_status status, const char *argument)
{
    assert_refused(tenon_gemm(test_stream, &s->params, &s->a, &s->b, &s->c, &s->bias, &s->d, NULL),
                   status, "tenon_gemm", argument);
    assert_untouched(&s->data.gemm.operands[GEMM_D]);
    destroy_int8(&s->data);
}

static void types_that_do_not_go_together(void **state)
{
    test_random random = test_random_for(1219);
    spoiled s;
    (void)state;
    begin(&s, TENON_DTYPE_F32, &random);
    s.b.dtype = TENON_DTYPE_I32;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "b is i32");
    begin(&s, TENON_DTYPE_F32, &random);
    s.a.dtype = TENON_DTYPE_I32;
    s.a.offset = 0;
    refuse(&s, TENON_ERROR_UNSUPPORTED,
           "a: type i32 is not supported; f64, f32, f16 and bf16 are, and i8 and u8");
    begin(&s, TENON_DTYPE_F32, &random);
    s.a.dtype = TENON_DTYPE_F16;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "b is i8 and a is f16");
    begin(&s, TENON_DTYPE_F32, &random);
    s.d.dtype = TENON_DTYPE_F64;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "d is f64");
    begin(&s, TENON_DTYPE_F16, &random);
    s.c.dtype = TENON_DTYPE_BF16;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "c is bf16");
    begin(&s, TENON_DTYPE_I8, &random);
    s.c.dtype = TENON_DTYPE_I8;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "c is i8");
    begin(&s, TENON_DTYPE_F16, &random);
    s.bias.dtype = TENON_DTYPE_BF16;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "bias is bf16");
}

static void inexact_integers(void **state)
{
    test_random random = test_random_for(1220);
    spoiled s;
    (void)state;
    begin(&s, TENON_DTYPE_I32, &random);
    s.params.epilogue.alpha = 2;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "alpha is 2");
    begin(&s, TENON_DTYPE_I32, &random);
    s.params.epilogue.beta = 0.5;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "beta is 0.5");
    begin(&s, TENON_DTYPE_I32, &random);
    s.params.epilogue.activation.kind = TENON_ACTIVATION_TANH;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "activation");
    static const double ceilings[] = {0.5, 16777217, 4294967296.0, INFINITY};
    for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++) {
        begin(&s, TENON_DTYPE_I32, &random);
        s.params.epilogue.activation.kind = TENON_ACTIVATION_CLIPPED_RELU;
        s.params.epilogue.activation.alpha = ceilings[i];
        refuse(&s, TENON_ERROR_UNSUPPORTED, "alpha");
    }
}

static void begin_vector(spoiled *s, tenon_dtype d, tenon_dtype dtype, int64_t size,
                         test_random *random)
{
    begin(s, d, random);
    s->extra = tenon_tensor_view(dtype, 1, &size);
}

static void vectors_that_do_not_fit(void **state)
{
    test_random random = test_random_for(1221);
    spoiled s;
    (void)state;
    begin_vector(&s, TENON_DTYPE_F32, TENON_DTYPE_F32, 37, &random);
    s.params.epilogue.scale[0] = &s.extra; /* there are 13 rows */
    refuse(&s, TENON_ERROR_INVALID_ARGUMENT, "scale of a has shape 37");
    begin_vector(&s, TENON_DTYPE_F32, TENON_DTYPE_F32, 13, &random);
    s.params.epilogue.scale[1] = &s.extra;
    refuse(&s, TENON_ERROR_INVALID_ARGUMENT, "scale of b has shape 13");
    begin_vector(&s, TENON_DTYPE_F32, TENON_DTYPE_F16, 13, &random);
    s.params.epilogue.scale[0] = &s.extra;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "scale of a is f16");
    begin_vector(&s, TENON_DTYPE_F32, TENON_DTYPE_I32, 13, &random);
    s.params.epilogue.zero_point[0] = &s.extra;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "zero point of a is i32, must be u8");
    begin_vector(&s, TENON_DTYPE_F32, TENON_DTYPE_F32, 37, &random);
    s.params.epilogue.scale[2] = &s.extra;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "scale of d");
    begin_vector(&s, TENON_DTYPE_F16, TENON_DTYPE_U8, 37, &random);
    s.params.epilogue.zero_point[2] = &s.extra;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "zero point of d");
    begin_vector(&s, TENON_DTYPE_I32, TENON_DTYPE_F32, 1, &random);
    s.params.epilogue.scale[1] = &s.extra;
    refuse(&s, TENON_ERROR_UNSUPPORTED, "scale of b");
    begin_vector(&s, TENON_DTYPE_I8, TENON_DTYPE_F32, 37, &random);
    s.extra.rank = 2;
    s.extra.shape[1] = s.extra.stride[1] = 1;
    s.params.epilogue.scale[2] = &s.extra;
    refuse(&s, TENON_ERROR_INVALID_ARGUMENT, "scale of d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_run_again_and_again),
        cmocka_unit_test(types_that_do_not_go_together),
        cmocka_unit_test(inexact_integers),
        cmocka_unit_test(vectors_that_do_not_fit),
    };
    return TEST_MAIN(tests);
}
