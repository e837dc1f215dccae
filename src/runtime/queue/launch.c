#include "runtime/queue/launch.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/queue/command.h"
#include "runtime/queue/frame.h"
#include "runtime/opencl/gate.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/program/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tn_step {
    const char *label;        /* NULL: that of the run */
    tn_foreign foreign;       /* NULL for a kernel */
    const char *foreign_name; /* for messages */
    uint32_t kernel;          /* index in the program cache */
    uint32_t dimensions;
    size_t global[3];
    size_t local[3];
    uint32_t operand_count, patch_count;
    uint16_t operands[TN_MAX_POINTERS];
    size_t args_size;
    size_t local_argument;
    tn_patch *patches;   /* owned */
    unsigned char *args; /* owned */
};

/* Returns the number of work-items in a group; 0 if the driver chooses. */
static size_t items_of(const tn_launch *launch)
{
    size_t items = 1;
    for (uint32_t d = 0; d < launch->dimensions; d++)
        items *= launch->local[d];
    return items;
}

static tenon_status check_limits(const char *caller, tenon_context *context,
                                 const tn_launch *launch, const tn_kernel *kernel)
{
    if (launch->local[0] == 0)
        return TENON_OK;
    const size_t items = items_of(launch);
    for (uint32_t d = 0; d < launch->dimensions; d++)
        if (launch->local[d] > context->device.max_work_item[d])
            return tn_fail(
                TENON_ERROR_UNSUPPORTED_DEVICE,
                "%s: kernel %s requires a work-group of %zu in dimension %u, %s allows %zu", caller,
                launch->kernel, launch->local[d], d, context->device.info.name,
                context->device.max_work_item[d]);
    if (items > kernel->max_work_group)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED_DEVICE,
            "%s: kernel %s requires a work-group of %zu work-items, %s allows %zu for it", caller,
            launch->kernel, items, context->device.info.name, kernel->max_work_group);
    return TENON_OK;
}

static tenon_status no_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the plan's launches", caller);
}

static void *copy(const void *from, size_t size)
{
    void *to = malloc(size > 0 ? size : 1);
    if (to != NULL && size > 0)
        memcpy(to, from, size);
    return to;
}

static tenon_status append_step(const char *caller, tn_recording *recording,
                                const tn_launch *launch, uint32_t kernel)
{
    if (recording->step_count == recording->step_capacity) {
        uint32_t capacity = recording->step_capacity * 2 + 2;
        tn_step *steps = realloc(recording->steps, capacity * sizeof *steps);
        if (steps == NULL)
            return no_memory(caller);
        recording->steps = steps;
        recording->step_capacity = capacity;
    }
    tn_step *step = &recording->steps[recording->step_count];
    *step = (tn_step){.foreign = launch->foreign,
                      .foreign_name = launch->foreign != NULL ? launch->kernel : NULL,
                      .kernel = kernel,
                      .dimensions = launch->dimensions,
                      .operand_count = launch->operand_count,
                      .patch_count = launch->patch_count,
                      .args_size = launch->args_size,
                      .local_argument = launch->local_argument};
    memcpy(step->global, launch->global, sizeof step->global);
    memcpy(step->local, launch->local, sizeof step->local);
    memcpy(step->operands, launch->operands, sizeof step->operands);
    step->args = copy(launch->args, launch->args_size);
    step->patches = copy(launch->patches, launch->patch_count * sizeof *step->patches);
    if (step->args == NULL || step->patches == NULL) {
        free(step->args);
        free(step->patches);
        return no_memory(caller);
    }
    recording->step_count++;
    recording->has_foreign |= launch->foreign != NULL;
    return TENON_OK;
}

static bool is_empty(const tn_launch *launch)
{
    for (uint32_t d = 0; d < launch->dimensions; d++)
        if (launch->global[d] == 0)
            return true;
    return false;
}

static void list_program(const tn_recording *recording, const tn_launch *launch)
{
    const struct tenon_kernel_file *source = tn_kernel_file(&tenon_kernel_sources, launch->source);
    if (source != NULL && !tn_program_is_there(recording->context, source, launch->options))
        tn_build_list_add(recording->build_requests, source, launch->options);
}

tenon_status tn_record(const char *caller, tn_recording *recording, const tn_launch *launch)
{
    uint32_t number;
    tn_kernel kernel;
    tn_framed_launch framed;
    const char *name = launch->kernel;
    if (launch->patch_count > TN_MAX_PATCHES || launch->args_size > TN_MAX_ARGS_SIZE)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: kernel %s has %u patches and %zu bytes of arguments, a launch takes at "
                       "most %d and %d",
                       caller, name, launch->patch_count, launch->args_size, TN_MAX_PATCHES,
                       TN_MAX_ARGS_SIZE);
    launch = tn_frame_resolve(recording->frame, launch, &framed);
    if (launch == NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: kernel %s: an operand begins within an element", caller, name);
    if (launch->foreign != NULL)
        return recording->build_requests == NULL ? append_step(caller, recording, launch, 0)
                                                 : TENON_OK;
    if (is_empty(launch))
        return TENON_OK;
    if (recording->build_requests != NULL) {
        list_program(recording, launch);
        return TENON_OK;
    }
    TN_TRY(tn_program_kernel(recording->context, launch->source, launch->options, launch->kernel,
                             items_of(launch), &number));
    tn_program_kernel_info(recording->context, number, &kernel);
    TN_TRY(check_limits(caller, recording->context, launch, &kernel));
    return append_step(caller, recording, launch, number);
}

/* Returns the launch that a step was recorded from, without its source and options. */
static tn_launch launch_of(const tn_step *step)
{
    tn_launch launch = {.foreign = step->foreign,
                        .kernel = step->foreign_name,
                        .dimensions = step->dimensions,
                        .operand_count = step->operand_count,
                        .local_argument = step->local_argument,
                        .args = step->args,
                        .args_size = step->args_size,
                        .patches = step->patches,
                        .patch_count = step->patch_count};
    memcpy(launch.global, step->global, sizeof launch.global);
    memcpy(launch.local, step->local, sizeof launch.local);
    memcpy(launch.operands, step->operands, sizeof launch.operands);
    return launch;
}

tenon_status tn_recording_append(const char *caller, const char *label, tn_recording *recording,
                                 const tn_recording *child)
{
    for (const tn_step *step = child->steps; step < child->steps + child->step_count; step++) {
        tn_framed_launch framed;
        const tn_launch launch = launch_of(step);
        const tn_launch *resolved = tn_frame_resolve(recording->frame, &launch, &framed);
        if (resolved == NULL)
            return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: an operand begins within an element",
                           caller, label);
        TN_TRY(append_step(caller, recording, resolved, step->kernel));
        recording->steps[recording->step_count - 1].label = label;
    }
    return TENON_OK;
}

void tn_recording_destroy(tn_recording *recording)
{
    for (uint32_t i = 0; i < recording->step_count; i++) {
        free(recording->steps[i].args);
        free(recording->steps[i].patches);
    }
    free(recording->steps);
    free(recording->bound);
    memset(recording, 0, sizeof *recording);
}

/* Like snprintf at text + used. `text` may be NULL or already full. */
static size_t append_text(char *text, size_t size, size_t used, const char *format, ...)
    TN_PRINTF(4, 5);

static size_t append_text(char *text, size_t size, size_t used, const char *format, ...)
{
    bool room = used < size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room ? text + used : NULL, room ? size - used : 0, format, arguments);
    va_end(arguments);
    return (size_t)length;
}

static void name_of(tenon_context *context, const tn_step *step, tn_kernel *kernel)
{
    if (step->foreign == NULL)
        tn_program_kernel_info(context, step->kernel, kernel);
    else
        snprintf(kernel->name, sizeof kernel->name, "%s", step->foreign_name);
}

size_t tn_recording_describe(const tn_recording *recording, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < recording->step_count; i++) {
        const tn_step *step = &recording->steps[i];
        tn_kernel kernel;
        name_of(recording->context, step, &kernel);
        used += append_text(text, size, used, "%s%s", i > 0 ? " " : "", kernel.name);
        for (uint32_t d = 0; d < step->dimensions; d++)
            used += append_text(text, size, used, "%c%zu", d == 0 ? '(' : 'x', step->global[d]);
        used += append_text(text, size, used, step->dimensions > 0 ? ")" : "");
    }
    return used;
}

/* One run of a recording. */
typedef struct run {
    const char *caller, *label;
    tenon_stream *stream;
    const tn_operand *operands, *bound;
    tn_operand workspace;
    const double *scalars;
} run;

static const tn_operand *operand_of(const run *r, uint16_t number)
{
    return number >= TN_BOUND       ? &r->bound[number - TN_BOUND]
           : number == TN_WORKSPACE ? &r->workspace
                                    : &r->operands[number];
}

int64_t tn_patch_scalar(uint8_t kind, const double *value)
{
    union {
        float f32;
        int64_t i64;
    } bits = {.i64 = 0};
    if (kind == TN_PATCH_SCALAR_F32)
        bits.f32 = (float)*value;
    else
        memcpy(&bits, value, sizeof bits); /* may be an integer */
    return bits.i64;
}

static void apply_patch(const run *r, const tn_patch *patch, unsigned char *args)
{
    int64_t value;
    memcpy(&value, args + patch->at, sizeof value);
    if (patch->kind == TN_PATCH_OFFSET)
        value += (int64_t)(operand_of(r, patch->source)->offset / patch->unit);
    else
        value = tn_patch_scalar(patch->kind, &r->scalars[patch->source]);
    memcpy(args + patch->at, &value, sizeof value);
}

/* Sets a pointer argument. An absent operand is passed as a NULL buffer. */
static cl_int set_pointer(const run *r, cl_kernel kernel, cl_uint index, const tenon_memory *memory)
{
    if (memory->kind < TENON_MEMORY_SVM)
        return clSetKernelArg(kernel, index, sizeof memory->u.buffer, &memory->u.buffer);
    if (memory->kind == TENON_MEMORY_SVM)
        return clSetKernelArgSVMPointer(kernel, index, memory->u.svm);
    return r->stream->context->device.usm.set_argument(kernel, index, memory->u.usm);
}

static void fill_arguments(const run *r, const tn_step *step, unsigned char *args)
{
    memcpy(args, step->args, step->args_size);
    for (uint32_t i = 0; i < step->patch_count; i++)
        apply_patch(r, &step->patches[i], args);
}

static tenon_status set_arguments(const run *r, const tn_step *step, cl_kernel kernel)
{
    unsigned char args[TN_MAX_ARGS_SIZE];
    for (uint32_t i = 0; i < step->operand_count; i++)
        TN_CL_TRY(r->caller, "clSetKernelArg",
                  set_pointer(r, kernel, i, &operand_of(r, step->operands[i])->memory));
    cl_uint next = step->operand_count;
    if (step->args_size > 0) {
        fill_arguments(r, step, args);
        TN_CL_TRY(r->caller, "clSetKernelArg",
                  clSetKernelArg(kernel, next++, step->args_size, args));
    }
    if (step->local_argument > 0)
        TN_CL_TRY(r->caller, "clSetKernelArg",
                  clSetKernelArg(kernel, next, step->local_argument, NULL));
    return TENON_OK;
}

static const char *label_of(const run *r, const tn_step *step)
{
    return step->label != NULL ? step->label : r->label;
}

static void call_trace(const run *r, const tn_step *step, cl_event event)
{
    tn_kernel kernel;
    name_of(r->stream->context, step, &kernel);
    tenon_trace_record record = {.struct_size = sizeof record,
                                 .solver = label_of(r, step),
                                 .kernel = kernel.name,
                                 .dimensions = step->dimensions,
                                 .event = event};
    memcpy(record.global, step->global, sizeof record.global);
    memcpy(record.local, step->local, sizeof record.local);
    r->stream->trace(r->stream->trace_user, &record);
}

static tenon_status enqueue_kernel(const run *r, const tn_step *step, tn_command *command)
{
    cl_kernel kernel;
    TN_TRY(tn_stream_kernel(r->caller, r->stream, step->kernel, &kernel));
    TN_TRY(set_arguments(r, step, kernel));
    TN_CL_TRY(r->caller, "clEnqueueNDRangeKernel",
              clEnqueueNDRangeKernel(r->stream->queue, kernel, step->dimensions, NULL, step->global,
                                     step->local[0] != 0 ? step->local : NULL, command->wait_count,
                                     command->wait_list, command->event));
    return TENON_OK;
}

/* Calls a routine of another library. The barrier delays the kernels that it enqueues, and the
 * marker waits for all of them. In an out-of-order queue these two keep the step's place in the
 * stream. */
static tenon_status enqueue_routine(const run *r, const tn_step *step, tn_command *command)
{
    unsigned char args[TN_MAX_ARGS_SIZE];
    cl_mem buffers[TN_MAX_POINTERS];
    for (uint32_t i = 0; i < step->operand_count; i++)
        buffers[i] = operand_of(r, step->operands[i])->memory.u.buffer;
    fill_arguments(r, step, args);
    if (command->wait_count > 0)
        TN_CL_TRY(r->caller, "clEnqueueBarrierWithWaitList",
                  clEnqueueBarrierWithWaitList(r->stream->queue, command->wait_count,
                                               command->wait_list, NULL));
    TN_TRY(step->foreign(r->caller, r->stream->queue, buffers, args));
    if (command->event == NULL)
        return TENON_OK;
    cl_int error = clEnqueueMarkerWithWaitList(r->stream->queue, 0, NULL, command->event);
    if (error == CL_SUCCESS)
        return TENON_OK;
    return tn_fail_cl(TENON_ERROR_INCOMPLETE, error, "%s: no event for the work that %s enqueued",
                      r->caller, step->foreign_name);
}

static tenon_status enqueue_foreign(const run *r, const tn_step *step, tn_command *command)
{
    const tenon_status status = enqueue_routine(r, step, command);
    /* Some of its kernels may be in flight, and no event exists for the next command to wait for.
     */
    if (status != TENON_OK && r->stream->is_unordered)
        clFinish(r->stream->queue);
    return status;
}

/* Enqueues a step. `event` receives the call's event at the last step; otherwise it is NULL. */
static tenon_status enqueue(const run *r, const tn_step *step, const tenon_sync *wait,
                            cl_event *event)
{
    tn_command command;
    bool traced = r->stream->trace != NULL;
    TN_TRY(tn_command_begin(r->caller, r->stream, wait, traced || event != NULL, &command));
    TN_TRY((step->foreign != NULL ? enqueue_foreign : enqueue_kernel)(r, step, &command));
    if (traced)
        call_trace(r, step, command.made);
    return tn_command_end(r->caller, label_of(r, step), r->stream, &command, event);
}

static tenon_status enqueue_all(const run *r, const tn_recording *recording, const tenon_sync *sync,
                                cl_event *event)
{
    for (uint32_t i = 0; i < recording->step_count; i++) {
        bool last = i + 1 == recording->step_count;
        tenon_status status =
            enqueue(r, &recording->steps[i], i == 0 ? sync : NULL, last ? event : NULL);
        if (status == TENON_OK)
            continue;
        if (i == 0)
            return status;
        return tn_fail_because(TENON_ERROR_INCOMPLETE,
                               "%s: launch %u of %u failed, the output is undefined", r->caller,
                               i + 1, recording->step_count);
    }
    return TENON_OK;
}

/* Fails if a routine of another library would get anything but buffers. */
static tenon_status check_foreign(const run *r, const tn_recording *recording)
{
    for (uint32_t s = 0; s < recording->step_count; s++) {
        const tn_step *step = &recording->steps[s];
        for (uint32_t i = 0; step->foreign != NULL && i < step->operand_count; i++)
            if (operand_of(r, step->operands[i])->memory.kind != TENON_MEMORY_BUFFER)
                return tn_fail(TENON_ERROR_UNSUPPORTED,
                               "%s: %s takes buffers, not pointers to shared memory", r->caller,
                               step->foreign_name);
    }
    return TENON_OK;
}

tenon_status tn_recording_run(const char *caller, const char *label, tenon_stream *stream,
                              const tn_recording *recording, const tn_operand *operands,
                              const double *scalars, const tenon_sync *sync)
{
    run r = {.caller = caller,
             .label = label,
             .stream = stream,
             .operands = operands,
             .bound = recording->bound,
             .scalars = scalars};
    cl_event event = NULL, *wanted = tn_sync_event(sync);
    TN_TRY(tn_sync_check(caller, sync));
    if (recording->step_count == 0)
        return tn_sync_marker(caller, stream, sync);
    if (recording->workspace > 0)
        TN_TRY(tn_arena_require(caller, stream, recording->workspace));
    r.workspace = (tn_operand){stream->arena.memory, stream->arena.offset};
    if (recording->has_foreign)
        TN_TRY(check_foreign(&r, recording));
    TN_TRY(tn_gate_enter(caller));
    tn_process_note_launch(stream);
    const tenon_status status = enqueue_all(&r, recording, sync, wanted != NULL ? &event : NULL);
    tn_gate_leave();
    if (status != TENON_OK)
        return status;
    tn_sync_flush(stream, sync);
    if (wanted != NULL)
        *wanted = event;
    return TENON_OK;
}
