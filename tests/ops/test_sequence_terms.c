/* Tests that a sequence's steps after an activation merge into one step with the product or
 * convolution before them: scales, shifts, residuals and chains of scalars. */
#include "merge_case.h"

#include "dispatch/plan.h"
#include "ops/conv/problem/problem.h"
#include "ops/gemm/internal.h"
#include "ops/packed/internal.h"

static void add_elementwise(const merge_sequence *b, tenon_elementwise_kind kind,
                            const tenon_tensor *p, const tenon_tensor *q, const tenon_tensor *d)
{
    const tenon_elementwise_params params = tenon_elementwise_params(.kind = kind);
    tenon_plan *plan;
    assert_ok(tenon_elementwise_plan(test_context, &params, p, q, d, &plan));
    merge_add_plan(b, NULL, plan, (const tenon_tensor *const[]){p, q, d}, 3);
}

/* Adds the steps d = scale · h + shift + r, each in place except for the last. */
static void add_terms(const merge_sequence *b, const tenon_tensor *channels, const tenon_tensor *r,
                      const tenon_tensor *h)
{
    add_elementwise(b, TENON_ELEMENTWISE_MULTIPLY, channels, h, h);
    add_elementwise(b, TENON_ELEMENTWISE_ADD, h, channels, h);
    add_elementwise(b, TENON_ELEMENTWISE_ADD, r, h, &b->y);
}

/* Calls the same steps in place. */
static void apply_terms(const tenon_tensor *channels, const tenon_tensor *r, const tenon_tensor *d)
{
    const tenon_elementwise_params multiply =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_MULTIPLY);
    assert_ok(tenon_elementwise(test_stream, &multiply, d, channels, d, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, d, channels, d, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, d, r, d, NULL));
}

/* Returns the steps that remain of a plan's call and its terms: one if the family with terms has
 * its solver. */
static uint32_t steps_with_terms(const tenon_plan *plan)
{
    static const tn_family *const families[] = {&tn_gemm_post_family, &tn_gemm_packed_post_family,
                                                &tn_conv_post_family, &tn_conv_packed_post_family};
    const size_t family = strcspn(plan->name, "/");
    char name[TN_SOLVER_NAME_SIZE];
    snprintf(name, sizeof name, "%.*s_post%s", (int)family, plan->name, plan->name + family);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (tn_solver_named(families[i], name) != NULL && strstr(name, "/dense") == NULL)
            return 1;
    return 4;
}

/* d = bias · act(0.5 · a·b + bias) + bias + r. */
static void check_terms(const merge_operands *o, tenon_activation_kind kind, const char *solver)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_plan *plan;
    params.epilogue.alpha = 0.5;
    params.epilogue.activation.kind = kind;
    params.solver = solver;
    if (tenon_gemm_plan(test_context, &params, &o->a, &o->b, NULL, &o->bias, &o->d, &plan) ==
        TENON_ERROR_UNSUPPORTED)
        return;
    params.solver = plan->name;
    assert_ok(tenon_gemm(test_stream, &params, &o->a, &o->b, NULL, &o->bias, &o->expected, NULL));
    apply_terms(&o->bias, &o->r, &o->expected);
    merge_sequence b = merge_begin(o->a.dtype, 2, merge_a, merge_d);
    const tenon_tensor h = merge_intermediate(&b, &b.y);
    merge_add_gemm(&b, &params, &o->b, &o->bias, &h);
    add_terms(&b, &o->bias, &o->r, &h);
    merge_finish(&b, steps_with_terms(plan), &o->a, &o->d);
    merge_compare(&o->d, &o->expected, kind, plan->name);
    tenon_plan_release(plan);
}

TEST(terms_of_products)
{
    test_random random = test_random_for(2917);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        merge_operands o = merge_make_operands(&random, *dtype);
        check_terms(&o, TENON_ACTIVATION_RELU, NULL);
        check_terms(&o, TENON_ACTIVATION_HARD_SWISH, NULL);
        for (uint32_t i = 0; *dtype == TENON_DTYPE_F32 && i < tn_gemm_family.solver_count; i++) {
            char name[64];
            snprintf(name, sizeof name, "gemm/%s", tn_gemm_family.solvers[i]->name);
            check_terms(&o, TENON_ACTIVATION_IDENTITY, name);
        }
        merge_free_operands(&o);
    }
}

/* Adds or calls a chain of scalars: x · 1.25 - 0.75, or in the other order. */
static tenon_elementwise_chain_params scalar_chain(bool sum_first)
{
    tenon_elementwise_chain_params chain = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    chain.step_count = 2;
    chain.steps[sum_first] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = 1.25};
    chain.steps[!sum_first] = (tenon_chain_step){.op = TENON_CHAIN_ADD, .alpha = -0.75};
    return chain;
}

/* d = act(a·b + bias) · 1.25 - 0.75 is one step for f32 and f64; a sum before a product remains. */
static void check_chain(const merge_operands *o, tenon_activation_kind kind, const char *solver,
                        bool sum_first)
{
    const tenon_elementwise_chain_params chain = scalar_chain(sum_first);
    const tenon_dtype dtype = o->a.dtype;
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_plan *plan, *after;
    params.epilogue.activation.kind = kind;
    params.solver = solver;
    if (tenon_gemm_plan(test_context, &params, &o->a, &o->b, NULL, &o->bias, &o->d, &plan) ==
        TENON_ERROR_UNSUPPORTED)
        return;
    params.solver = plan->name;
    assert_ok(tenon_gemm(test_stream, &params, &o->a, &o->b, NULL, &o->bias, &o->expected, NULL));
    assert_ok(tenon_elementwise_chain(test_stream, &chain, &o->expected, NULL, NULL, NULL,
                                      &o->expected, NULL));
    merge_sequence b = merge_begin(dtype, 2, merge_a, merge_d);
    const tenon_tensor h = merge_intermediate(&b, &b.y);
    merge_add_gemm(&b, &params, &o->b, &o->bias, &h);
    assert_ok(
        tenon_elementwise_chain_plan(test_context, &chain, &h, NULL, NULL, NULL, &b.y, &after));
    merge_add_plan(&b, NULL, after, (const tenon_tensor *const[]){&h, NULL, NULL, NULL, &b.y}, 5);
    const bool is_merged = (dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F64) && !sum_first &&
                           steps_with_terms(plan) == 1;
    merge_finish(&b, is_merged ? 1 : 2, &o->a, &o->d);
    merge_compare(&o->d, &o->expected, kind, plan->name);
    tenon_plan_release(plan);
}

TEST(chains_of_scalars)
{
    static const char *const solvers[] = {NULL, "gemm/cpu_direct", "gemm/cpu_packed", "gemm/plain"};
    test_random random = test_random_for(2919);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        merge_operands o = merge_make_operands(&random, *dtype);
        for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
            check_chain(&o, TENON_ACTIVATION_HARD_SWISH, solvers[i], false);
            check_chain(&o, TENON_ACTIVATION_RELU, solvers[i], false);
        }
        check_chain(&o, TENON_ACTIVATION_RELU, NULL, true);
        merge_free_operands(&o);
    }
}

/* An activation does not merge after a residual. */
TEST(activations_after_residuals)
{
    test_random random = test_random_for(2918);
    merge_operands o = merge_make_operands(&random, TENON_DTYPE_F32);
    const tenon_gemm_params params = tenon_gemm_params(.solver = "gemm/plain");
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
    own.activation = relu;
    assert_ok(tenon_gemm(test_stream, &params, &o.a, &o.b, NULL, &o.bias, &o.expected, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, &o.expected, &o.r, &o.expected, NULL));
    assert_ok(tenon_activation_forward(test_stream, &own, &o.expected, &o.expected, NULL));
    merge_sequence b = merge_begin(TENON_DTYPE_F32, 2, merge_a, merge_d);
    const tenon_tensor h = merge_intermediate(&b, &b.y);
    merge_add_gemm(&b, &params, &o.b, &o.bias, &h);
    merge_add_sum(&b, &h, &o.r, &h);
    merge_add_activation(&b, NULL, relu, &h, &b.y);
    merge_finish(&b, 2, &o.a, &o.d);
    merge_compare(&o.d, &o.expected, relu.kind, "relu after a residual");
    merge_free_operands(&o);
}

/* Images with their channels first and last, packed filters or not. */
static void check_conv(test_random *random, bool last, bool packed, bool with_terms, int64_t size)
{
    const int64_t x_shape[] = {2, 6, 9, 8}, w_shape[] = {20, 6, size, size},
                  y_shape[] = {2, 20, 10 - size, 9 - size}, bias_of[] = {20};
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x = merge_random(random, TENON_DTYPE_F32, 4, x_shape),
                 w = merge_random(random, TENON_DTYPE_F32, 4, w_shape),
                 bias = merge_random(random, TENON_DTYPE_F32, 1, bias_of),
                 r = merge_random(random, TENON_DTYPE_F32, 4, y_shape),
                 y = merge_random(random, TENON_DTYPE_F32, 4, y_shape),
                 expected = merge_random(random, TENON_DTYPE_F32, 4, y_shape);
    const int64_t x_last[] = {2, 9, 8, 6}, y_last[] = {2, 10 - size, 9 - size, 20};
    const tenon_tensor x_view = last ? tenon_tensor_nhwc(tenon_tensor_view(x.dtype, 4, x_last)) : x,
                       y_view = last ? tenon_tensor_nhwc(tenon_tensor_view(y.dtype, 4, y_last)) : y;
    memcpy(x.stride, x_view.stride, sizeof x.stride);
    memcpy(y.stride, y_view.stride, sizeof y.stride);
    memcpy(r.stride, y_view.stride, sizeof r.stride);
    memcpy(expected.stride, y_view.stride, sizeof y.stride);
    tenon_packed *filters = NULL;
    tenon_plan *plan;
    own.activation = relu;
    if (packed)
        assert_ok(tenon_conv_pack_filter(test_stream, NULL, &w, &filters, NULL));
    merge_sequence b = merge_begin(TENON_DTYPE_F32, 4, x_shape, y_shape);
    memcpy(b.x.stride, x.stride, sizeof x.stride);
    memcpy(b.y.stride, y.stride, sizeof y.stride);
    const tenon_tensor h = merge_intermediate(&b, &b.y);
    if (packed)
        assert_ok(tenon_conv_forward_packed_plan(test_context, NULL, &b.x, filters, NULL, &bias, &h,
                                                 &plan));
    else
        assert_ok(tenon_conv_forward_plan(test_context, NULL, &b.x, &w, NULL, &bias, &h, &plan));
    const tenon_tensor *const with_w[] = {&b.x, &w, NULL, &bias, &h}, *const without[] = {
                                                                          &b.x, NULL, &bias, &h};
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.solver = plan->name;
    if (packed)
        assert_ok(tenon_conv_forward_packed(test_stream, &params, &x, filters, NULL, &bias,
                                            &expected, NULL));
    else
        assert_ok(tenon_conv_forward(test_stream, &params, &x, &w, NULL, &bias, &expected, NULL));
    assert_ok(tenon_activation_forward(test_stream, &own, &expected, &expected, NULL));
    tenon_plan_retain(plan);
    merge_add_plan(&b, NULL, plan, packed ? without : with_w, packed ? 4 : 5);
    tenon_packed_release(filters); /* the plans keep them */
    const uint32_t steps = with_terms ? steps_with_terms(plan) : 1;
    const tenon_tensor channels = tenon_tensor_unsqueeze(tenon_tensor_unsqueeze(bias, 1), 2);
    merge_add_activation(&b, NULL, relu, &h, with_terms ? &h : &b.y);
    if (with_terms) {
        add_terms(&b, &channels, &r, &h);
        apply_terms(&channels, &r, &expected);
    }
    tenon_plan_release(plan);
    merge_finish(&b, steps, &x, &y);
    merge_compare(&y, &expected, relu.kind, "a convolution");
    test_destroy(&x, &w, &bias, &r, &y, &expected);
}

TEST(convolutions)
{
    test_random random = test_random_for(2916);
    for (int bits = 0; bits < 16; bits++)
        check_conv(&random, (bits & 1) != 0, (bits & 2) != 0, (bits & 8) != 0,
                   (bits & 4) != 0 ? 1 : 3);
}
