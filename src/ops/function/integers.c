/* The solver function/integers, for integer types, and its reference. */
#include "base/checked.h"
#include "base/dtype.h"
#include "function/args.h"
#include "ops/function/internal.h"

static tenon_status function_integers_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    function_args args = {.kind = (tenon_i32)p->kind};
    const tn_launch launch = {.source = "function/integers",
                              .options = choice->options,
                              .kernel = "function_integers",
                              .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, launch, &args.walk,
                               tn_stored_share(recording->context, p));
}

const tn_solver tn_function_integers = {.name = "integers",
                                        .serves = "integer types, any strides",
                                        TN_PARAMETERS(tn_stores_parameter, 1),
                                        .configure = tn_integers_configure,
                                        .launch = function_integers_launch};

void tn_function_integers_reference(uint32_t kind, const tenon_tensor *const *v,
                                    tn_bounded *results)
{
    const tenon_tensor *x = v[FUNCTION_X];
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; i < tenon_tensor_elements(x); i++) {
        const int64_t value = tn_dtype_load_whole(x->dtype, tn_host_element(x, index));
        const int64_t negated = (int64_t)(0 - (uint64_t)value);
        results[i] =
            tn_whole_stored(x->dtype, kind == TENON_FUNCTION_NEG    ? negated
                                      : kind == TENON_FUNCTION_SIGN ? (value > 0) - (value < 0)
                                      : value < 0                   ? negated
                                                                    : value);
        tn_next_index(index, x->shape, x->rank);
    }
}
