#include "layers_case.h"

const int64_t layers_x[2] = {LAYERS_ROWS, LAYERS_INNER},
              layers_w1[2] = {LAYERS_INNER, LAYERS_HIDDEN},
              layers_h[2] = {LAYERS_ROWS, LAYERS_HIDDEN},
              layers_w2[2] = {LAYERS_HIDDEN, LAYERS_COLUMNS},
              layers_y[2] = {LAYERS_ROWS, LAYERS_COLUMNS};

tenon_tensor layers_random(test_random *random, const int64_t *shape)
{
    float values[4096];
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        values[i] = (float)test_real(random, -1, 1);
    return test_dense(TENON_DTYPE_F32, 2, shape, values);
}

tenon_plan *layers_plan(const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *c,
                        const tenon_tensor *d, uint32_t activation)
{
    tenon_plan *plan;
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation.kind = activation;
    assert_ok(tenon_gemm_plan(test_context, &params, a, b, c, NULL, d, &plan));
    return plan;
}

void layers_add(tenon_sequence *sequence, const tenon_tensor *a, const tenon_tensor *b,
                const tenon_tensor *d, uint32_t activation)
{
    tenon_plan *plan = layers_plan(a, b, NULL, d, activation);
    const tenon_tensor *const tensors[] = {a, b, NULL, NULL, d};
    assert_ok(tenon_sequence_add(sequence, NULL, plan, tensors, 5, NULL, 0));
    tenon_plan_release(plan); /* the sequence keeps it */
}

tenon_tensor layers_tensor(tenon_sequence *sequence, const char *name, const int64_t *shape)
{
    tenon_tensor tensor;
    assert_ok(tenon_sequence_tensor(sequence, name, TENON_DTYPE_F32, 2, shape, &tensor));
    return tensor;
}

tenon_sequence *layers_sequence(const tenon_tensor *w1, const tenon_tensor *w2)
{
    tenon_sequence *sequence;
    assert_ok(tenon_sequence_create(test_context, &sequence));
    const tenon_tensor x = layers_tensor(sequence, "x", layers_x),
                       h = layers_tensor(sequence, NULL, layers_h),
                       y = layers_tensor(sequence, "y", layers_y);
    layers_add(sequence, &x, w1, &h, TENON_ACTIVATION_TANH);
    layers_add(sequence, &h, w2, &y, TENON_ACTIVATION_IDENTITY);
    assert_ok(tenon_sequence_finish(sequence));
    return sequence;
}
