/* Questions about calls and plans (tenon/query.h). */
#include "base/sized.h"
#include "dispatch/prepare.h"
#include "ops/registry.h"

#include <tenon/query.h>

#include <stdio.h>
#include <string.h>

/* Returns the first description with the name of a public function, which selects the others. */
static const tn_operation *find_operation(const char *name)
{
    for (uint32_t i = 0; i < tn_operation_count; i++)
        if (strcmp(tn_operations[i]->name, name) == 0)
            return tn_operations[i];
    return NULL;
}

/* Finds the description of a function with `count` tensors for the public function `caller`. */
static tenon_status describe(const char *caller, const char *function,
                             const tenon_tensor *const *tensors, uint32_t count,
                             const tn_operation **operation)
{
    if (function == NULL || tensors == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       function == NULL ? "function" : "tensors");
    const tn_operation *found = find_operation(function);
    if (found == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: function is \"%s\", must be the name of an operation's function, for "
                       "example \"tenon_gemm\"",
                       caller, function);
    if (found->initializer == NULL) /* its parameters are not a public struct */
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: function is \"%s\", whose packed weights cannot be described by tensors", caller,
            function);
    if (count != found->operand_count)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is %u, %s has %u tensors", caller,
                       count, function, found->operand_count);
    *operation = found;
    return TENON_OK;
}

TENON_API tenon_status tenon_supported(tenon_context *context, const char *function,
                                       const void *params, const tenon_tensor *const *tensors,
                                       uint32_t count)
{
    static const char caller[] = "tenon_supported";
    const tn_operation *found = NULL;
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", caller);
    TN_TRY(describe(caller, function, tensors, count, &found));
    return tn_operation_supported(found, context, params, tensors);
}

TENON_API tenon_status tenon_output_shape(const char *function, const void *params,
                                          const tenon_tensor *const *tensors, uint32_t count,
                                          uint32_t index, tenon_tensor *output)
{
    static const char caller[] = "tenon_output_shape";
    const tn_operation *found = NULL;
    if (output == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: output is NULL", caller);
    TN_TRY(describe(caller, function, tensors, count, &found));
    if (index >= count || !tn_operation_writes(found, index))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: index is %u, must be the number of an output of %s", caller, index,
                       function);
    return tn_operation_output_shape(found, params, tensors, index, output);
}

/* Copies the part of a solver's name up to `end`, truncated to `size` bytes. */
static const char *take_part(const char *name, const char *end, char *part, size_t size)
{
    const size_t length = strcspn(name, end);
    snprintf(part, size, "%.*s", (int)length, name);
    return name[length] != '\0' ? name + length + 1 : name + length;
}

TENON_API tenon_status tenon_plan_inspect(const tenon_plan *plan, tenon_plan_info *info)
{
    static const char caller[] = "tenon_plan_inspect";
    tenon_plan_info made = TENON_PLAN_INFO_INIT;
    if (plan == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: plan is NULL", caller);
    TN_TRY(tn_sized_check(caller, "info", info));
    TN_TRY(tn_plan_await(plan));
    made.launches = plan->recording.step_count;
    made.workspace = plan->recording.workspace;
    made.estimate = 1e-9 * plan->time;
    const char *rest = take_part(plan->name, "/", made.operation, sizeof made.operation);
    rest = take_part(rest, ":", made.solver, sizeof made.solver);
    take_part(rest, "", made.parameters, sizeof made.parameters);
    tn_sized_fill(info, &made, sizeof made);
    return TENON_OK;
}
