#include "group/execute.h"

#include "base/shape.h"
#include "group/combine.h"

#include <tenon/elementwise.h>

#include <stdlib.h>
#include <string.h>

/* Host memory is used by a device directly only if its address is a multiple of this: kernels may
 * load vectors. */
#define WRAP_ALIGNMENT 128

/* A range of a member's tensor that a step on a device of another OpenCL context reads. Its bytes
 * are mapped by the owner's device; `made` is memory with these bytes in the other context. */
typedef struct source {
    const tn_group_member *owner; /* NULL: not mapped */
    tenon_tensor mapped, made;
    void *pointer;
} source;

typedef struct execution {
    const tn_group_member *members;
    tn_group_call *call;
    tenon_tensor *x, *y; /* one-dimensional */
    bool *x_made, *y_made;
    source *sources; /* of the steps of the current phase */
    size_t source_count;
} execution;

static tenon_status fail_at(const execution *e, uint32_t rank, tenon_status status)
{
    return status == TENON_OK ? TENON_OK
                              : tn_fail_because(status, "%s: the member of rank %u", e->call->name,
                                                (unsigned)rank);
}

/* Gives the device of `member` a view of mapped bytes. */
static tenon_status give(const tn_group_member *member, source *s, tenon_tensor *view)
{
    const uint64_t bytes = (uint64_t)s->mapped.shape[0] * tenon_dtype_size(s->mapped.dtype);
    if (member->is_unified && (uintptr_t)s->pointer % WRAP_ALIGNMENT == 0) {
        s->made = tenon_tensor_view(s->mapped.dtype, 1, s->mapped.shape);
        TN_TRY(tenon_memory_wrap(member->context, s->pointer, bytes, &s->made.memory));
    } else {
        TN_TRY(tn_array_create(member, s->mapped.dtype, s->mapped.shape[0], &s->made));
        TN_TRY(tenon_tensor_upload_async(member->own, s->pointer, bytes, &s->made, NULL));
    }
    *view = s->made;
    return TENON_OK;
}

/* Returns a view of the elements of member `from`, for the device of member `to`. */
static tenon_status open_source(execution *e, uint32_t to, uint32_t from, const tenon_tensor *part,
                                tenon_tensor *view)
{
    const tn_group_member *owner = &e->members[from], *user = &e->members[to];
    *view = *part;
    if (tenon_context_cl(owner->context) == tenon_context_cl(user->context))
        return TENON_OK;
    source *s = &e->sources[e->source_count++];
    memset(s, 0, sizeof *s);
    TN_TRY(fail_at(e, from, tenon_tensor_map(owner->own, part, TENON_MAP_READ, &s->pointer, NULL)));
    s->owner = owner;
    s->mapped = *part;
    return fail_at(e, to, give(user, s, view));
}

static tenon_status close_sources(execution *e)
{
    tenon_status status = TENON_OK;
    while (e->source_count > 0) {
        source *s = &e->sources[--e->source_count];
        tenon_tensor_destroy(&s->made);
        if (s->owner != NULL) {
            const tenon_status unmapped =
                tenon_tensor_unmap(s->owner->own, &s->mapped, s->pointer, NULL);
            status = status == TENON_OK ? unmapped : status;
        }
    }
    return status;
}

static bool same_place(const tenon_tensor *a, const tenon_tensor *b)
{
    return tn_same_memory(&a->memory, &b->memory) && a->offset == b->offset;
}

static tenon_status run_step(execution *e, const tn_group_step *step)
{
    const tn_group_member *to = &e->members[step->to];
    const tenon_tensor y = tn_array_part(&e->y[step->to], step->to_start, step->count);
    tenon_tensor views[TENON_GROUP_MAX_MEMBERS];
    const bool combines = step->from == TN_ALL_MEMBERS;
    const uint32_t first = combines ? 0 : step->from,
                   count = combines ? e->call->collective.members : 1;
    for (uint32_t i = 0; i < count; i++) {
        const tenon_tensor *from = step->from_output ? &e->y[first + i] : &e->x[first + i];
        const tenon_tensor part = tn_array_part(from, step->from_start, step->count);
        if (!combines && step->from == step->to && same_place(&part, &y))
            return TENON_OK;
        TN_TRY(open_source(e, step->to, first + i, &part, &views[i]));
    }
    if (combines)
        return fail_at(e, step->to, tn_combine(to, e->call->combination, views, count, &y));
    return fail_at(e, step->to, tenon_copy(to->own, NULL, &views[0], &y, NULL));
}

/* Waits for every member's own stream, also after a failure. */
static tenon_status finish(execution *e, tenon_status status)
{
    for (uint32_t m = 0; m < e->call->collective.members; m++) {
        const tenon_status done = fail_at(e, m, tenon_stream_finish(e->members[m].own));
        status = status == TENON_OK ? done : status;
    }
    return status;
}

/* Starts the work of all members before any of it is waited for. */
static tenon_status run_phase(execution *e, uint32_t phase)
{
    const tn_collective *c = &e->call->collective;
    const uint32_t count = tn_group_step_count(c, phase);
    tenon_status status = TENON_OK;
    if (count == 0)
        return TENON_OK;
    const size_t sources = (size_t)count * c->members;
    e->sources = calloc(sources, sizeof *e->sources);
    if (e->sources == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for %zu sources", e->call->name,
                       sources);
    for (uint32_t i = 0; i < count && status == TENON_OK; i++) {
        const tn_group_step step = tn_group_step_at(c, phase, i);
        if (step.count > 0)
            status = run_step(e, &step);
        if (status == TENON_OK)
            status = fail_at(e, step.to, tenon_stream_flush(e->members[step.to].own));
    }
    status = finish(e, status);
    const tenon_status closed = close_sources(e);
    free(e->sources);
    e->sources = NULL;
    return finish(e, status == TENON_OK ? closed : status);
}

/* Sets `array` to the tensor as a one-dimensional array: a view, or if the strides do not allow
 * it, a dense tensor of its own. */
static tenon_status flatten(const tn_group_member *member, const tenon_tensor *tensor, bool copies,
                            tenon_tensor *array, bool *made)
{
    const int64_t count = tenon_tensor_elements(tensor);
    if (tn_tensor_dense(tensor) || count == 0) {
        *array = tenon_tensor_view(tensor->dtype, 1, &count);
        array->memory = tensor->memory;
        array->offset = tensor->offset;
        return TENON_OK;
    }
    TN_TRY(tn_array_create(member, tensor->dtype, count, array));
    *made = true;
    tenon_tensor dense = tenon_tensor_view(tensor->dtype, tensor->rank, tensor->shape);
    dense.memory = array->memory;
    return copies ? tenon_copy(member->own, NULL, tensor, &dense, NULL) : TENON_OK;
}

static tenon_status flatten_all(execution *e)
{
    for (uint32_t m = 0; m < e->call->collective.members; m++) {
        const tenon_tensor *x = &e->call->x[m], *y = &e->call->y[m];
        if (x->dtype != TENON_DTYPE_INVALID)
            TN_TRY(fail_at(e, m, flatten(&e->members[m], x, true, &e->x[m], &e->x_made[m])));
        if (y->dtype != TENON_DTYPE_INVALID)
            TN_TRY(fail_at(e, m, flatten(&e->members[m], y, false, &e->y[m], &e->y_made[m])));
    }
    return finish(e, TENON_OK);
}

/* Copies results from dense tensors to the outputs with other strides. */
static tenon_status scatter_all(execution *e)
{
    for (uint32_t m = 0; m < e->call->collective.members; m++) {
        const tenon_tensor *y = &e->call->y[m];
        if (!e->y_made[m])
            continue;
        tenon_tensor dense = tenon_tensor_view(y->dtype, y->rank, y->shape);
        dense.memory = e->y[m].memory;
        TN_TRY(fail_at(e, m, tenon_copy(e->members[m].own, NULL, &dense, y, NULL)));
    }
    return finish(e, TENON_OK);
}

static tenon_status execute(execution *e)
{
    TN_TRY(flatten_all(e));
    for (uint32_t phase = 0; phase < TN_GROUP_PHASES; phase++)
        TN_TRY(run_phase(e, phase));
    return scatter_all(e);
}

tenon_status tn_group_execute(const tn_group_member *members, tn_group_call *call)
{
    tenon_tensor x[TENON_GROUP_MAX_MEMBERS] = {0}, y[TENON_GROUP_MAX_MEMBERS] = {0};
    bool x_made[TENON_GROUP_MAX_MEMBERS] = {false}, y_made[TENON_GROUP_MAX_MEMBERS] = {false};
    execution e = {
        .members = members, .call = call, .x = x, .y = y, .x_made = x_made, .y_made = y_made};
    tenon_status status = execute(&e);
    for (uint32_t m = 0; m < call->collective.members; m++) {
        if (x_made[m])
            tenon_tensor_destroy(&x[m]);
        if (y_made[m])
            tenon_tensor_destroy(&y[m]);
    }
    return status == TENON_OK ? TENON_OK : finish(&e, status);
}
