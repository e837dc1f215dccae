/* Tests that activations and sums of a sequence merge into epilogues of products where they may,
 * nowhere else, and with the same bits in f32 and f64. */
#include "merge_case.h"

#include "dispatch/plan.h"
#include "ops/common/epilogue.h"
#include "ops/gemm/internal.h"

/* Returns the steps of a product by this solver that is followed by an activation: they merge if
 * the solver applies it (CLBlast does not). */
static uint32_t steps_with(const merge_operands *o, const tenon_gemm_params *params,
                           tenon_activation activation)
{
    tenon_gemm_params merged = *params;
    tenon_plan *plan = NULL;
    merged.epilogue.activation = activation;
    const tenon_status status =
        tenon_gemm_plan(test_context, &merged, &o->a, &o->b, NULL, &o->bias, &o->d, &plan);
    assert_true(status == TENON_OK || status == TENON_ERROR_UNSUPPORTED);
    tenon_plan_release(plan);
    return status == TENON_OK ? 1 : 2;
}

/* d = activation(0.5 · a·b + bias), in two steps and merged. */
static void check_activation(const merge_operands *o, tenon_activation activation,
                             const char *solver)
{
    char what[192];
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
    tenon_plan *plan;
    own.activation = activation;
    params.epilogue.alpha = 0.5;
    params.solver = solver;
    if (tenon_gemm_plan(test_context, &params, &o->a, &o->b, NULL, &o->bias, &o->d, &plan) ==
        TENON_ERROR_UNSUPPORTED)
        return;
    const char *planned = plan->name;
    params.solver = planned;
    assert_ok(tenon_gemm(test_stream, &params, &o->a, &o->b, NULL, &o->bias, &o->expected, NULL));
    assert_ok(tenon_activation_forward(test_stream, &own, &o->expected, &o->expected, NULL));
    merge_sequence b = merge_begin(o->a.dtype, 2, merge_a, merge_d);
    const tenon_tensor h = merge_intermediate(&b, &b.y);
    merge_add_gemm(&b, &params, &o->b, &o->bias, &h);
    merge_add_activation(&b, NULL, activation, &h, &b.y);
    merge_finish(&b, steps_with(o, &params, activation), &o->a, &o->d);
    snprintf(what, sizeof what, "%s %s %s", planned, tenon_dtype_string(o->a.dtype),
             tn_activation_words[activation.kind]);
    merge_compare(&o->d, &o->expected, activation.kind, what);
    tenon_plan_release(plan);
}

TEST(activations)
{
    test_random random = test_random_for(2911);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        merge_operands o = merge_make_operands(&random, *dtype);
        for (uint32_t kind = 1; kind < TN_ACTIVATION_KINDS; kind++)
            check_activation(&o, tn_activation_tried(kind), NULL);
        merge_free_operands(&o);
    }
}

TEST(every_solver_of_products)
{
    test_random random = test_random_for(2912);
    merge_operands o = merge_make_operands(&random, TENON_DTYPE_F32);
    for (uint32_t i = 0; i < tn_gemm_family.solver_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "gemm/%s", tn_gemm_family.solvers[i]->name);
        check_activation(&o, tn_activation_tried(TENON_ACTIVATION_LEAKY_RELU), name);
    }
    merge_free_operands(&o);
}

/* d = relu(a·b + r): both steps merge. */
TEST(sums_and_activations)
{
    test_random random = test_random_for(2913);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        merge_operands o = merge_make_operands(&random, *dtype);
        const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
        tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
        own.activation = relu;
        assert_ok(tenon_gemm(test_stream, NULL, &o.a, &o.b, NULL, NULL, &o.expected, NULL));
        assert_ok(tenon_elementwise(test_stream, NULL, &o.r, &o.expected, &o.expected, NULL));
        assert_ok(tenon_activation_forward(test_stream, &own, &o.expected, &o.expected, NULL));
        for (int order = 0; order < 2; order++) {
            merge_sequence b = merge_begin(*dtype, 2, merge_a, merge_d);
            const tenon_tensor h = merge_intermediate(&b, &b.y), sum = merge_intermediate(&b, &b.y);
            merge_add_gemm(&b, NULL, &o.b, NULL, &h);
            merge_add_sum(&b, order == 0 ? &o.r : &h, order == 0 ? &h : &o.r, &sum);
            merge_add_activation(&b, NULL, relu, &sum, &b.y);
            merge_finish(&b, 1, &o.a, &o.d);
            merge_compare(&o.d, &o.expected, relu.kind, "a sum and relu");
        }
        merge_free_operands(&o);
    }
}

/* An activation in place merges, and later steps read its result. */
TEST(in_place)
{
    test_random random = test_random_for(2914);
    merge_operands o = merge_make_operands(&random, TENON_DTYPE_F32);
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation = relu;
    assert_ok(tenon_gemm(test_stream, &params, &o.a, &o.b, NULL, NULL, &o.expected, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, &o.expected, &o.expected, &o.expected, NULL));
    merge_sequence b = merge_begin(TENON_DTYPE_F32, 2, merge_a, merge_d);
    const tenon_tensor h = merge_intermediate(&b, &b.y);
    merge_add_gemm(&b, NULL, &o.b, NULL, &h);
    merge_add_activation(&b, NULL, relu, &h, &h);
    merge_add_sum(&b, &h, &h, &b.y);
    merge_finish(&b, 2, &o.a, &o.d);
    merge_compare(&o.d, &o.expected, relu.kind, "in place");
    merge_free_operands(&o);
}

/* An activation of a reshaped intermediate merges if its result is dense, and otherwise remains. */
TEST(reshaped)
{
    static const int64_t other_shape[] = {MERGE_ROWS, 1, MERGE_COLUMNS},
                         flat_shape[] = {MERGE_ROWS * MERGE_COLUMNS};
    test_random random = test_random_for(2919);
    merge_operands o = merge_make_operands(&random, TENON_DTYPE_F32);
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation = relu;
    assert_ok(tenon_gemm(test_stream, &params, &o.a, &o.b, NULL, &o.bias, &o.expected, NULL));
    for (int round = 0; round < 3; round++) {
        merge_sequence b = merge_begin(TENON_DTYPE_F32, 2, merge_a, merge_d);
        const tenon_tensor h = merge_intermediate(&b, &b.y);
        tenon_tensor read, result;
        if (round == 2) { /* the columns of the result are not contiguous */
            const int64_t twice[] = {MERGE_ROWS, 2, MERGE_COLUMNS};
            assert_ok(tenon_tensor_reshape(&h, 3, other_shape, &read));
            assert_ok(tenon_sequence_tensor(b.sequence, NULL, TENON_DTYPE_F32, 3, twice, &result));
            result = tenon_tensor_slice(result, 1, 1, 1);
        } else {
            const int64_t *shape = round == 0 ? other_shape : flat_shape;
            assert_ok(tenon_tensor_reshape(&h, round == 0 ? 3 : 1, shape, &read));
            assert_ok(tenon_tensor_reshape(&b.y, round == 0 ? 3 : 1, shape, &result));
        }
        merge_add_gemm(&b, NULL, &o.b, &o.bias, &h);
        merge_add_activation(&b, NULL, relu, &read, &result);
        if (round == 2) {
            tenon_tensor y;
            assert_ok(tenon_tensor_reshape(&b.y, 3, other_shape, &y));
            assert_ok(tenon_sequence_copy(b.sequence, NULL, &result, &y));
        }
        merge_finish(&b, round == 2 ? 3 : 1, &o.a, &o.d);
        merge_compare(&o.d, &o.expected, relu.kind, "of a reshaped intermediate");
    }
    merge_free_operands(&o);
}

/* Steps that do not merge, one in each round. */
TEST(steps_that_remain)
{
    enum { READ_TWICE, LABEL, DOUBLED, ACTIVATED, OPERAND, PART, ROUNDS };
    test_random random = test_random_for(2915);
    merge_operands o = merge_make_operands(&random, TENON_DTYPE_F32);
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    for (int round = 0; round < ROUNDS; round++) {
        tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
        merge_sequence b = merge_begin(TENON_DTYPE_F32, 2, merge_a, merge_d);
        const tenon_tensor h = round == OPERAND ? b.y : merge_intermediate(&b, &b.y);
        const tenon_tensor half = tenon_tensor_slice(h, 0, 1, MERGE_ROWS - 1),
                           y_half = tenon_tensor_slice(b.y, 0, 1, MERGE_ROWS - 1);
        uint32_t steps = 2;
        params.epilogue.activation.kind =
            round == ACTIVATED ? TENON_ACTIVATION_TANH : TENON_ACTIVATION_IDENTITY;
        merge_add_gemm(&b, &params, &o.b, NULL, &h);
        switch (round) {
        case READ_TWICE:
            merge_add_activation(&b, NULL, relu, &h, &b.y);
            merge_add_activation(&b, NULL, relu, &h, &o.r);
            steps = 3;
            break;
        case DOUBLED: /* in place */
            merge_add_sum(&b, &h, &h, &h);
            merge_add_sum(&b, &h, &o.r, &b.y);
            steps = 3;
            break;
        case OPERAND:
            merge_add_activation(&b, NULL, relu, &b.y, &o.r);
            break;
        case PART:
            merge_add_activation(&b, NULL, relu, &half, &y_half);
            break;
        default:
            merge_add_activation(&b, round == LABEL ? "act" : NULL, relu, &h, &b.y);
            break;
        }
        merge_finish(&b, steps, &o.a, &o.d);
    }
    merge_free_operands(&o);
}

/* Gradients that are not added to previous contents may be intermediates; others read them. */
TEST(gradients_are_intermediates)
{
    static const int64_t shape[] = {2, 5, 7, 6}, bias[] = {5};
    for (int adds = 0; adds < 2; adds++) {
        const merge_sequence b = merge_begin(TENON_DTYPE_F32, 4, shape, shape);
        tenon_tensor h;
        tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
        tenon_plan *plan;
        params.beta = adds;
        assert_ok(tenon_sequence_tensor(b.sequence, NULL, TENON_DTYPE_F32, 1, bias, &h));
        assert_ok(tenon_conv_backward_bias_plan(test_context, &params, &b.x, &h, &plan));
        const tenon_tensor *const tensors[] = {&b.x, &h};
        const tenon_status status = tenon_sequence_add(b.sequence, NULL, plan, tensors, 2, NULL, 0);
        if (adds)
            assert_refused(status, TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                           "db: reads an intermediate that no step has written");
        else
            assert_ok(status);
        tenon_plan_release(plan);
        tenon_sequence_release(b.sequence);
    }
}
