/* Implementation of tenon_concat: copies each input to its slice of the output. */
#include "base/checked.h"
#include "base/shape.h"
#include "dispatch/plan.h"
#include "ops/common/rows.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <tenon/concat.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const tenon_concat_params concat_defaults = TENON_CONCAT_PARAMS_INIT;

TENON_API void tenon_concat_params_default(tenon_concat_params *params, uint32_t size)
{
    tn_params_give(params, size, &concat_defaults, sizeof concat_defaults);
}

bool tn_concat_slice(const tn_concat *c, uint32_t i, int64_t *start, tenon_tensor *slice)
{
    int64_t size = c->inputs[i]->shape[c->axis];
    *slice = tenon_tensor_slice(*c->y, c->axis, *start, size);
    *start += size;
    return slice->dtype != TENON_DTYPE_INVALID;
}

bool tn_same_elements(const tenon_tensor *a, const tenon_tensor *b)
{
    return tn_same_memory(&a->memory, &b->memory) && tn_tensor_same_view(a, b);
}

static tenon_status elementwise_concat_check_params(const char *caller,
                                                    const tenon_concat_params *params)
{
    TN_TRY(tn_params_check(caller, params->struct_size, sizeof *params, params->flags, 0));
    return tn_reserved_check(caller, params->reserved);
}

/* Checks the memory of a tensor. That of a sequence is checked by the step that uses it. */
static tenon_status check_memory(const tn_concat *c, const char *name, const tenon_tensor *tensor)
{
    return c->is_recorded && tensor->memory.kind == TENON_MEMORY_SEQUENCE
               ? TENON_OK
               : tn_memory_check(c->caller, name, c->context, tensor);
}

static tenon_status check_output(const tn_concat *c)
{
    const char *caller = c->caller;
    TN_TRY(tn_tensor_check(caller, "y", c->y));
    TN_TRY(tn_moved_check(caller, "y", c->y->dtype));
    TN_TRY(tn_output_check(caller, "y", c->y));
    TN_TRY(check_memory(c, "y", c->y));
    if (c->inputs == NULL || c->count == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s", caller,
                       c->inputs == NULL ? "inputs is NULL" : "count is 0, must be at least 1");
    return TENON_OK;
}

static tenon_status check_view(const tn_concat *c, const char *name, const tenon_tensor *input)
{
    const char *caller = c->caller;
    char s[160], wanted_text[160];
    TN_TRY(tn_tensor_check(caller, name, input));
    TN_TRY(tn_same_dtype_check(caller, name, input, "y", c->y->dtype));
    tenon_tensor wanted = *c->y;
    wanted.shape[c->axis] = input->rank == wanted.rank ? input->shape[c->axis] : 0;
    if (!tn_tensor_same_shape(input, &wanted))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: shape is %s, must be that of y, %s, except for axis %u", caller,
                       name, tn_shape_text(input->rank, input->shape, s),
                       tn_shape_text(c->y->rank, c->y->shape, wanted_text), c->axis);
    return check_memory(c, name, input);
}

static tenon_status check_inputs(const tn_concat *c)
{
    const char *caller = c->caller;
    int64_t start = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        char name[24];
        tenon_tensor slice;
        snprintf(name, sizeof name, "inputs[%u]", i);
        TN_TRY(check_view(c, name, c->inputs[i]));
        if (!tn_concat_slice(c, i, &start, &slice))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: y: axis %u has size %" PRId64 ", too short for %s", caller, c->axis,
                           c->y->shape[c->axis], name);
        if (!tn_same_elements(c->inputs[i], &slice))
            TN_TRY(tn_memory_check_apart(caller, name, c->inputs[i], "y", c->y, false));
    }
    if (start != c->y->shape[c->axis])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: y: axis %u has size %" PRId64
                       ", but the inputs' sizes add up to %" PRId64,
                       caller, c->axis, c->y->shape[c->axis], start);
    return TENON_OK;
}

tenon_status tn_concat_take(tn_concat *c, const tenon_concat_params *params,
                            tenon_copy_params *copy)
{
    tn_problem head = {.forced = -1};
    tenon_concat_params room;
    const void *taken;
    TN_TRY(tn_params_take(c->caller, params, &concat_defaults, sizeof room,
                          "TENON_CONCAT_PARAMS_INIT", &room, &taken));
    params = taken;
    TN_TRY(elementwise_concat_check_params(c->caller, params));
    TN_TRY(tn_solver_force(c->caller, &tn_copy_family, params->solver, &head));
    TN_TRY(check_output(c));
    TN_TRY(tn_axis_check(c->caller, params->axis, c->y->rank, "y", &c->axis));
    *copy = (tenon_copy_params){.struct_size = sizeof *copy, .solver = params->solver};
    return check_inputs(c);
}

static tenon_status copy_all(const tn_concat *c, tenon_stream *stream,
                             const tenon_copy_params *copy, const tenon_sync *sync)
{
    uint32_t last = c->count - 1, done = 0;
    int64_t start = 0;
    while (tn_tensor_empty(c->inputs[last]))
        last--;
    for (uint32_t i = 0; i <= last; i++) {
        tenon_tensor slice;
        tenon_sync own = {0};
        tn_concat_slice(c, i, &start, &slice);
        if (tn_tensor_empty(&slice))
            continue;
        if (sync != NULL && done == 0)
            own = (tenon_sync){.wait_list = sync->wait_list, .wait_count = sync->wait_count};
        if (sync != NULL && i == last)
            own.event = sync->event;
        const tenon_tensor *const views[] = {c->inputs[i], &slice};
        tenon_status status =
            tn_operation_run_as(c->caller, &tn_operation_copy, stream, copy, views, &own);
        if (status != TENON_OK && done > 0)
            return tn_fail_because(TENON_ERROR_INCOMPLETE,
                                   "%s: inputs[%u] could not be copied, the output is undefined",
                                   c->caller, i);
        TN_TRY(status);
        done++;
    }
    return TENON_OK;
}

TENON_API tenon_status tenon_concat(tenon_stream *stream, const tenon_concat_params *params,
                                    const tenon_tensor *const *inputs, uint32_t count,
                                    const tenon_tensor *y, const tenon_sync *sync)
{
    static const char caller[] = "tenon_concat";
    tenon_copy_params copy;
    TN_TRY(tn_stream_check(caller, stream));
    tn_concat c = {caller, stream->context, inputs, count, 0, y, false};
    TN_TRY(tn_concat_take(&c, params, &copy));
    TN_TRY(tn_sync_check(caller, sync));
    if (!tn_tensor_empty(y))
        return copy_all(&c, stream, &copy, sync);
    const tn_call nothing = {.caller = caller};
    return tn_call_run(stream, &tn_copy_family, NULL, &nothing, sync);
}
