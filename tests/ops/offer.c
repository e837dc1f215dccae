#include "offer.h"

static tenon_status run_gemm(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_gemm(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_gemm(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gemm_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static tenon_status run_conv(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_conv_forward(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_conv(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_conv_forward_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static tenon_status run_im2col(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_im2col(stream, params, v[0], v[1], sync);
}

static tenon_status plan_im2col(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_im2col_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_activation(tenon_stream *stream, const void *params,
                                   const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_activation_forward(stream, params, v[0], v[1], sync);
}

static tenon_status plan_activation(tenon_context *context, const void *params,
                                    const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_activation_forward_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_backward(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_activation_backward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_backward(tenon_context *context, const void *params,
                                  const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_activation_backward_plan(context, params, v[0], v[1], v[2], plan);
}

static tenon_status run_pool(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_pool_forward(stream, params, v[0], v[1], NULL, sync);
}

static tenon_status plan_pool(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_pool_forward_plan(context, params, v[0], v[1], NULL, plan);
}

static tenon_status run_pool_backward(tenon_stream *stream, const void *params,
                                      const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_pool_backward(stream, params, v[0], v[1], NULL, v[2], sync);
}

static tenon_status plan_pool_backward(tenon_context *context, const void *params,
                                       const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_pool_backward_plan(context, params, v[0], v[1], NULL, v[2], plan);
}

static tenon_status run_softmax(tenon_stream *stream, const void *params,
                                const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_softmax_forward(stream, params, v[0], v[1], sync);
}

static tenon_status plan_softmax(tenon_context *context, const void *params,
                                 const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_softmax_forward_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_softmax_backward(tenon_stream *stream, const void *params,
                                         const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_softmax_backward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_softmax_backward(tenon_context *context, const void *params,
                                          const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_softmax_backward_plan(context, params, v[0], v[1], v[2], plan);
}

static void default_gemm(void *params)
{
    *(tenon_gemm_params *)params = tenon_gemm_params_default();
    ((tenon_gemm_params *)params)->epilogue.beta = 1;
}

static void default_conv(void *params)
{
    *(tenon_conv_params *)params = tenon_conv_params_default();
    ((tenon_conv_params *)params)->epilogue.beta = 1;
}

static void default_im2col(void *params)
{
    *(tenon_im2col_params *)params = tenon_im2col_params_default();
    ((tenon_im2col_params *)params)->filter[0] = 2;
}

static void default_activation(void *params)
{
    *(tenon_activation_params *)params = tenon_activation_params_default();
}

static void default_pool(void *params)
{
    *(tenon_pool_params *)params = tenon_pool_params_default();
    ((tenon_pool_params *)params)->window[1] = 2;
}

static void default_softmax(void *params)
{
    *(tenon_softmax_params *)params = tenon_softmax_params_default();
}

const operation operations[OPERATIONS] = {
    [GEMM] = {"tenon_gemm",
              "tenon_gemm_plan",
              {"a", "b", "c", "bias", "d"},
              {false, false, false, true, false},
              5,
              {2, 2, 2, 1, 2},
              {{4, 5}, {5, 6}, {4, 6}, {6}, {4, 6}},
              run_gemm,
              plan_gemm,
              sizeof(tenon_gemm_params),
              default_gemm},
    [CONV] = {"tenon_conv_forward",
              "tenon_conv_forward_plan",
              {"x", "w", "c", "bias", "y"},
              {false, false, false, true, false},
              5,
              {4, 4, 4, 1, 4},
              {{2, 3, 5, 6}, {4, 3, 2, 3}, {2, 4, 4, 4}, {4}, {2, 4, 4, 4}},
              run_conv,
              plan_conv,
              sizeof(tenon_conv_params),
              default_conv},
    [IM2COL] = {"tenon_im2col",
                "tenon_im2col_plan",
                {"x", "col"},
                {false},
                2,
                {4, 3},
                {{2, 3, 5, 6}, {2, 6, 24}},
                run_im2col,
                plan_im2col,
                sizeof(tenon_im2col_params),
                default_im2col},
    [ACTIVATION] = {"tenon_activation_forward",
                    "tenon_activation_forward_plan",
                    {"x", "y"},
                    {false},
                    2,
                    {2, 2},
                    {{4, 5}, {4, 5}},
                    run_activation,
                    plan_activation,
                    sizeof(tenon_activation_params),
                    default_activation},
    [ACTIVATION_BACKWARD] = {"tenon_activation_backward",
                             "tenon_activation_backward_plan",
                             {"x", "dy", "dx"},
                             {false},
                             3,
                             {2, 2, 2},
                             {{4, 5}, {4, 5}, {4, 5}},
                             run_backward,
                             plan_backward,
                             sizeof(tenon_activation_params),
                             default_activation},
    [POOL] = {"tenon_pool_forward",
              "tenon_pool_forward_plan",
              {"x", "y"},
              {false},
              2,
              {4, 4},
              {{2, 3, 5, 6}, {2, 3, 5, 5}},
              run_pool,
              plan_pool,
              sizeof(tenon_pool_params),
              default_pool,
              1},
    [POOL_BACKWARD] = {"tenon_pool_backward",
                       "tenon_pool_backward_plan",
                       {"x", "dy", "dx"},
                       {false},
                       3,
                       {4, 4, 4},
                       {{2, 3, 5, 6}, {2, 3, 5, 5}, {2, 3, 5, 6}},
                       run_pool_backward,
                       plan_pool_backward,
                       sizeof(tenon_pool_params),
                       default_pool,
                       1},
    [SOFTMAX] = {"tenon_softmax_forward",
                 "tenon_softmax_forward_plan",
                 {"x", "y"},
                 {false},
                 2,
                 {2, 2},
                 {{4, 5}, {4, 5}},
                 run_softmax,
                 plan_softmax,
                 sizeof(tenon_softmax_params),
                 default_softmax},
    [SOFTMAX_BACKWARD] = {"tenon_softmax_backward",
                          "tenon_softmax_backward_plan",
                          {"y", "dy", "dx"},
                          {false},
                          3,
                          {2, 2, 2},
                          {{4, 5}, {4, 5}, {4, 5}},
                          run_softmax_backward,
                          plan_softmax_backward,
                          sizeof(tenon_softmax_params),
                          default_softmax},
};

void prepare(offer *o, const operation *op)
{
    test_random random = test_random_for(601);
    memset(o, 0, sizeof *o);
    o->op = op;
    op->defaults(&o->params);
    for (uint32_t i = 0; i < op->count; i++) {
        int64_t stride[4];
        test_strides(TEST_ROW, false, op->rank[i], op->shape[i], stride);
        test_tensor_create(&o->tensors[i], TENON_DTYPE_F32, op->rank[i], op->shape[i], stride, 0);
        test_fill_reals(&o->tensors[i], &random);
        test_upload(&o->tensors[i]);
        o->views[i] = o->tensors[i].view;
        o->arguments[i] = &o->views[i];
    }
}

void dismiss(offer *o)
{
    for (uint32_t i = 0; i < o->op->count; i++) {
        if (!test_untouched(&o->tensors[i]))
            fail_msg("%s: %s was written to by a refused call", o->op->name, o->op->operands[i]);
        test_tensor_destroy(&o->tensors[i]);
    }
}

uint32_t output_of(const operation *op)
{
    return op->count - 1;
}

void refuse(offer *o, tenon_status status, const char *argument)
{
    tenon_plan *plan = (tenon_plan *)(uintptr_t)1;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    assert_refused(o->op->run(test_stream, &o->params, o->arguments, &sync), status, o->op->name,
                   argument);
    assert_null(event);
    assert_refused(o->op->plan(test_context, &o->params, o->arguments, &plan), status,
                   o->op->plan_name, argument);
    assert_null(plan);
}

void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        for (uint32_t a = inputs ? 0 : output_of(&operations[i]); a < operations[i].count; a++) {
            offer o;
            prepare(&o, &operations[i]);
            spoil(&o.views[a]);
            refuse(&o, status, operations[i].operands[a]);
            dismiss(&o);
        }
}
