#include "dispatch/numerics.h"

#include "base/dtype.h"
#include "base/shape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_real(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F16 ||
           dtype == TENON_DTYPE_BF16;
}

/* Returns the operation that looks for elements that are not finite; NULL for families of tests. */
static const tn_operation *finder(const tn_operation *operation)
{
    const tn_registry *registry = operation != NULL ? operation->family->registry : NULL;
    return registry != NULL ? registry->nonfinite : NULL;
}

bool tn_numerics_enabled(const tenon_stream *stream, const tn_operation *operation)
{
    if (!stream->context->reports.checks_numerics)
        return false;
    const tn_operation *find = finder(operation);
    return find != NULL && operation != find;
}

static void add(tn_numerics *numerics, const tn_argument *argument, uint32_t number)
{
    const bool is_output = tn_is_output(argument->role);
    const bool is_read = numerics->operation->operands[number].read && !argument->unread;
    tn_numerics_operand *operand = &numerics->operands[number];
    *operand = (tn_numerics_operand){.name = argument->name};
    if (argument->view == NULL || !is_real(argument->view->dtype) ||
        tn_tensor_empty(argument->view))
        return;
    operand->view = *argument->view;
    operand->is_input = !is_output || is_read;
    operand->is_output = is_output;
}

void tn_numerics_of_call(const tenon_plan *plan, const tn_call *call, tn_numerics *numerics)
{
    *numerics = (tn_numerics){
        .operation = call->operation, .solver = plan->name, .operand_count = call->operand_count};
    for (uint32_t i = 0; i < call->operand_count; i++)
        add(numerics, &call->operands[i], i);
}

void tn_numerics_of_plan(const tenon_plan *plan, const tn_operand *operands, tn_numerics *numerics)
{
    *numerics = (tn_numerics){
        .operation = plan->operation, .solver = plan->name, .operand_count = plan->operand_count};
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        const tn_plan_operand *planned = &plan->operands[i];
        tenon_tensor view = planned->view;
        view.memory = operands[i].memory;
        view.offset = operands[i].offset;
        const tn_argument argument = {planned->name, planned->present ? &view : NULL, planned->role,
                                      planned->unread};
        add(numerics, &argument, i);
    }
}

/* Finds out if a tensor has an element that is not finite. */
static tenon_status look(tenon_stream *stream, const tn_operation *find, const tenon_tensor *view,
                         const tenon_sync *sync, bool *found)
{
    static const int64_t shape[] = {1};
    tenon_tensor flag;
    int32_t value = 0;
    TN_TRY(tenon_tensor_create(stream->context, TENON_DTYPE_I32, 1, shape, &flag));
    tenon_status status =
        tn_operation_run(find, stream, NULL, (const tenon_tensor *const[]){view, &flag}, sync);
    if (status == TENON_OK)
        status = tenon_tensor_download(stream, &flag, &value, sizeof value, NULL);
    tenon_tensor_destroy(&flag);
    *found = value != 0;
    return status;
}

/* The same, but a failure is only logged; the thread's message stays. */
static bool has_nonfinite(tenon_stream *stream, const tn_numerics *numerics, uint32_t number,
                          const tenon_sync *sync)
{
    const tn_numerics_operand *operand = &numerics->operands[number];
    tn_kept_message kept;
    bool found = false;
    if (!tn_message_keep(&kept))
        return false;
    const tenon_status status =
        look(stream, finder(numerics->operation), &operand->view, sync, &found);
    if (status != TENON_OK)
        tn_log_send(&stream->context->reports.log, TENON_LOG_WARNING,
                    "%s: %s could not be checked for NaN and infinity: %s",
                    numerics->operation->name, operand->name, tenon_last_error());
    tn_message_restore(&kept);
    return status == TENON_OK && found;
}

/* Writes the index of the first such element in row-major order, and returns its value. */
static double locate(tenon_stream *stream, const tenon_tensor *view, char text[256])
{
    const size_t size = tenon_dtype_size(view->dtype);
    const int64_t count = tenon_tensor_elements(view);
    char *data = malloc((size_t)count * size);
    double value = (double)NAN;
    int64_t at = 0;
    size_t used = 1;
    snprintf(text, 256, "[?]");
    if (data == NULL ||
        tenon_tensor_download(stream, view, data, (size_t)count * size, NULL) != TENON_OK) {
        free(data);
        return value;
    }
    while (at < count && isfinite(value = tn_dtype_load(view->dtype, data + (size_t)at * size)))
        at++;
    free(data);
    int64_t below = count;
    for (uint32_t d = 0; d < view->rank; d++) {
        below /= view->shape[d];
        used += (size_t)snprintf(text + used, 256 - used, "%s%" PRId64, d > 0 ? ", " : "",
                                 at / below % view->shape[d]);
    }
    snprintf(text + used, 256 - used, "]");
    return value;
}

static void report(tenon_stream *stream, const tn_numerics *numerics, uint32_t number)
{
    const tn_reports *reports = &stream->context->reports;
    const tn_numerics_operand *operand = &numerics->operands[number];
    char index[256], message[512];
    const double value = locate(stream, &operand->view, index);
    snprintf(message, sizeof message, "%s: %s%s is %g, although all inputs are finite (%s)",
             numerics->operation->name, operand->name, index, value, numerics->solver);
    if (reports->prints_numerics && !reports->is_verbose)
        fprintf(stderr, "tenon: %s\n", message);
    tn_log_send(&reports->log, TENON_LOG_WARNING, "%s", message);
}

void tn_numerics_before(tenon_stream *stream, tn_numerics *numerics, const tenon_sync *sync)
{
    tenon_sync wait = {.wait_list = tn_sync_wait_list(sync),
                       .wait_count = tn_sync_wait_count(sync)};
    numerics->is_finite = true;
    for (uint32_t i = 0; i < numerics->operand_count && numerics->is_finite; i++)
        if (numerics->operands[i].is_input)
            numerics->is_finite = !has_nonfinite(stream, numerics, i, &wait);
}

void tn_numerics_after(tenon_stream *stream, const tn_numerics *numerics)
{
    for (uint32_t i = 0; i < numerics->operand_count && numerics->is_finite; i++)
        if (numerics->operands[i].is_output && has_nonfinite(stream, numerics, i, NULL)) {
            report(stream, numerics, i);
            return;
        }
}
