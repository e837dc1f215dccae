/*
 * Plans of tenon_gemm for i8 and u8, and what it refuses of them; test_bad_input.c and
 * test_bad_views.c have what every operation refuses.
 */
#include "gemm_case.h"

/* A plan's memory comes at each run: that of scales and zero points after d's. */
TEST(plans_run_again_and_again)
{
    test_random random = test_random_for(1218);
    gemm_case p = simple_int8;
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    tenon_plan *plan;
    p.d_type = TENON_DTYPE_U8;
    p.many = ALL_VECTORS;
    make_gemm(&f, &p, p.d_type, TEST_EXACT, &random);
    assert_int_equal(test_plan(&f, &plan, memories), INT8_OPERANDS);
    for (int i = 0; i < INT8_OPERANDS; i++)
        assert_true(memories[i].u.buffer == f.operands[i].view.memory.u.buffer);
    for (int i = 0; i < 3; i++)
        test_run_plan(&f, plan, memories, INT8_OPERANDS);
    memories[INT8_VECTOR(INT8_ZERO_B)].kind = TENON_MEMORY_NONE;
    assert_refused(tenon_plan_run(test_stream, plan, memories, INT8_OPERANDS, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm_plan", "zero point of b");
    tenon_plan_release(plan);
    test_release(&f);
}

#define FACTORS     "gemm_int8 a=u8:13x41 b=i8:41x37 "
#define TERMS(type) "c=" type ":13x37 bias=" type ":13x37 beta=1 "
#define TO(type)    FACTORS TERMS(type) "d=" type ":13x37 "

TEST(types_that_do_not_go_together)
{
    static const test_refusal refusals[] = {
        {"gemm_int8 a=u8:13x41 b=i32:41x37 d=f32:13x37", "b is i32", TENON_ERROR_UNSUPPORTED},
        {"gemm_int8 a=f32:13x41 b=i8:41x37 d=f32:13x37", "a is f32, must be i8 or u8",
         TENON_ERROR_UNSUPPORTED},
        {"gemm a=i32:13x41 b=i8:41x37 d=f32:13x37",
         "a: type i32 is not supported; f64, f32, f16 and bf16 are, and i8 and u8",
         TENON_ERROR_UNSUPPORTED},
        {"gemm a=f16:13x41 b=i8:41x37 d=f32:13x37", "b is i8 and a is f16",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS TERMS("f32") "d=f64:13x37", "d is f64", TENON_ERROR_UNSUPPORTED},
        {FACTORS "c=bf16:13x37 d=f16:13x37 beta=1", "c is bf16", TENON_ERROR_UNSUPPORTED},
        {FACTORS "c=i8:13x37 d=i8:13x37 beta=1", "c is i8", TENON_ERROR_UNSUPPORTED},
        {FACTORS "bias=bf16:13x37 d=f16:13x37", "bias is bf16", TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}

TEST(inexact_integers)
{
#define CLIPPED TO("i32") "activation=clipped_relu activation.alpha="
    static const test_refusal refusals[] = {
        {TO("i32") "alpha=2", "alpha is 2", TENON_ERROR_UNSUPPORTED},
        {FACTORS "c=i32:13x37 d=i32:13x37 beta=0.5", "beta is 0.5", TENON_ERROR_UNSUPPORTED},
        {TO("i32") "activation=tanh", "activation", TENON_ERROR_UNSUPPORTED},
        {CLIPPED "0.5", "alpha", TENON_ERROR_UNSUPPORTED},
        {CLIPPED "16777217", "alpha", TENON_ERROR_UNSUPPORTED},
        {CLIPPED "4294967296", "alpha", TENON_ERROR_UNSUPPORTED},
        {CLIPPED "inf", "alpha", TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}

/* There are 13 rows and 37 columns. */
TEST(vectors_that_do_not_fit)
{
    static const test_refusal refusals[] = {
        {TO("f32") "scale_of_a=f32:37", "scale of a has shape 37"},
        {TO("f32") "scale_of_b=f32:13", "scale of b has shape 13"},
        {TO("f32") "scale_of_a=f16:13", "scale of a is f16", TENON_ERROR_UNSUPPORTED},
        {TO("f32") "zero_point_of_a=i32:13", "zero point of a is i32, must be u8",
         TENON_ERROR_UNSUPPORTED},
        {TO("f32") "scale_of_d=f32:37", "scale of d", TENON_ERROR_UNSUPPORTED},
        {TO("f16") "zero_point_of_d=u8:37", "zero point of d", TENON_ERROR_UNSUPPORTED},
        {TO("i32") "scale_of_b=f32:1", "scale of b", TENON_ERROR_UNSUPPORTED},
        {FACTORS TERMS("f32") "d=i8:13x37 scale_of_d=f32:37x1", "scale of d"},
    };
    TEST_REFUSE(refusals);
}
