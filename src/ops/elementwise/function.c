/* The solver elementwise/function: powers, remainders and angles, by the kernel of function/rows.
 */
#include "ops/elementwise/internal.h"

static const char *elementwise_function_configure(tenon_context *context, const tn_problem *problem,
                                                  tn_choice *choice)
{
    if (!tn_elementwise_is_function(((const tn_pointwise_problem *)problem)->kind))
        return "the kind is not a function";
    return tn_function_configure(context, problem, choice);
}

const tn_solver tn_elementwise_function = {
    .name = "function",
    .serves = "powers, remainders and angles, with any strides and broadcasts; uses vectors if the "
              "last dimension allows",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = elementwise_function_configure,
    .launch = tn_function_launch};
