/* tenon_activation_backward: the public entry, and the family. */
#include "ops/activation/internal.h"

const tn_family tn_activation_backward_family = {.name = "activation_backward",
                                                 .solvers = tn_activation_solvers,
                                                 .solver_count = 2,
                                                 .self_check = tn_activation_self_check,
                                                 .paths = tn_activation_paths};

static tn_call make_call(const char *operation, const tenon_tensor *x, const tenon_tensor *dy,
                         const tenon_tensor *dx)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME},
                                  {"dy", dy, TN_INPUT_OR_SAME},
                                  {"dx", dx, TN_OUTPUT}},
                     .operand_count = ACTIVATION_VIEWS};
}

TENON_API tenon_status tenon_activation_backward(tenon_stream *stream,
                                                 const tenon_activation_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *dx, const tenon_sync *sync)
{
    static const tenon_activation_params defaults = TENON_ACTIVATION_PARAMS_INIT;
    const tn_family *family = &tn_activation_backward_family;
    tn_call call = make_call("tenon_activation_backward", x, dy, dx);
    activation_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(tn_activation_prepare(stream->context, family, params != NULL ? params : &defaults,
                                 &call, &problem, &empty));
    return tn_call_run(stream, family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_activation_backward_plan(tenon_context *context,
                                                      const tenon_activation_params *params,
                                                      const tenon_tensor *x, const tenon_tensor *dy,
                                                      const tenon_tensor *dx, tenon_plan **plan)
{
    static const tenon_activation_params defaults = TENON_ACTIVATION_PARAMS_INIT;
    const tn_family *family = &tn_activation_backward_family;
    tn_call call = make_call("tenon_activation_backward_plan", x, dy, dx);
    activation_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(tn_activation_prepare(context, family, params != NULL ? params : &defaults, &call,
                                 &problem, &empty));
    return tn_call_plan(context, family, empty ? NULL : &problem.head, &call, plan);
}
