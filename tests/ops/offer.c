#include "offer.h"

/* A line an entry. */
/* One a line, so that branches merge. */
/* clang-format off */
const operation *const operations[] = {
    &offer_gemm,
    &offer_gemm_int8,
    &offer_gemm_ragged,
    &offer_gemm_packed,
    &offer_gemm_packed_rows,
    &offer_conv_packed,
    &offer_conv,
    &offer_im2col,
    &offer_col2im,
    &offer_conv_backward_data,
    &offer_conv_backward_filter,
    &offer_conv_transpose,
    &offer_conv_transpose_backward_data,
    &offer_conv_transpose_backward_filter,
    &offer_activation,
    &offer_activation_backward,
    &offer_mse,
    &offer_mse_backward,
    &offer_gather,
    &offer_gather_backward,
    &offer_pad,
    &offer_pool,
    &offer_pool_backward,
    &offer_reduce,
    &offer_moments,
    &offer_softmax,
    &offer_softmax_backward,
    &offer_norm,
    &offer_norm_backward,
    &offer_norm_inference,
    &offer_norm_inference_backward,
    &offer_cross_entropy,
    &offer_cross_entropy_backward,
    &offer_elementwise,
    &offer_elementwise_chain,
    &offer_copy,
    &offer_gated,
    &offer_gated_backward,
    &offer_prelu,
    &offer_prelu_backward,
    &offer_random,
    &offer_dropout,
    &offer_sgd,
    &offer_adam,
};
/* clang-format on */
const size_t operation_count = sizeof operations / sizeof *operations;

void prepare(offer *o, const operation *op)
{
    test_random random = test_random_for(601);
    memset(o, 0, sizeof *o);
    o->op = op;
    op->defaults(&o->params);
    for (uint32_t i = 0; i < op->count; i++) {
        int64_t stride[4];
        const offered *x = &op->operands[i];
        test_strides(TEST_ROW, false, x->rank, x->shape, stride);
        test_tensor_create(&o->tensors[i], x->dtype != 0 ? x->dtype : TENON_DTYPE_F32, x->rank,
                           x->shape, stride, 0);
        test_fill_reals(&o->tensors[i], &random);
        for (int64_t n = 0; x->values != NULL && n < tenon_tensor_elements(&o->tensors[i].view);
             n++)
            test_set(&o->tensors[i], n, x->values[n]);
        test_upload(&o->tensors[i]);
        o->views[i] = o->tensors[i].view;
        o->arguments[i] = &o->views[i];
    }
}

void dismiss(offer *o)
{
    for (uint32_t i = 0; i < o->op->count; i++) {
        if (!test_untouched(&o->tensors[i]))
            fail_msg("%s: %s was written to by a refused call", o->op->name,
                     o->op->operands[i].name);
        test_tensor_destroy(&o->tensors[i]);
    }
}

uint32_t output_of(const operation *op)
{
    return op->count - (op->outputs != 0 ? op->outputs : 1);
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
    for (size_t i = 0; i < operation_count; i++)
        for (uint32_t a = inputs ? 0 : output_of(operations[i]); a < operations[i]->count; a++) {
            offer o;
            prepare(&o, operations[i]);
            spoil(&o.views[a]);
            refuse(&o, status, operations[i]->operands[a].name);
            dismiss(&o);
        }
}
