/* The public functions of collectives: validation. */
#include "group/combine.h"
#include "group/group.h"

#include "base/shape.h"
#include "dispatch/call.h"

#include <stdio.h>
#include <string.h>

/* The most tensors of a member in one call. */
#define MOST_TENSORS 65536u

/* A call that is being checked. The tensors are those of the caller, or in `single` if only one
 * local member has one. */
typedef struct checked_call {
    tenon_group *group;
    tn_group_call call;
    uint32_t local, tensors; /* local members; tensors of an argument */
    tenon_tensor single[2][TENON_GROUP_MAX_MEMBERS];
} checked_call;

/* Fails for an invalid group, or with a failure that it has kept. */
static tenon_status begin_call(checked_call *c, tenon_group *group, const char *name,
                               tn_collective_kind kind)
{
    TN_TRY(tn_group_check(name, group));
    memset(c, 0, sizeof *c);
    c->group = group;
    c->call.name = name;
    c->call.collective.kind = kind;
    c->call.collective.members = tn_member_count(&group->places);
    c->call.count = 1;
    c->call.x = c->single[0];
    c->call.y = c->single[1];
    c->local = c->tensors = tn_local_count(group);
    return TENON_OK;
}

static tenon_status check_rank(const checked_call *c, const char *argument, uint32_t rank)
{
    if (rank < c->call.collective.members)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is %u, but the group has %u members",
                   c->call.name, argument, (unsigned)rank, (unsigned)c->call.collective.members);
}

static tenon_status check_local(const checked_call *c, const char *argument, uint32_t rank)
{
    TN_TRY(check_rank(c, argument, rank));
    if (tn_is_local(&c->group->places, rank))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: %s is %u, but the members of this process are %u to %u", c->call.name,
                   argument, (unsigned)rank, (unsigned)tn_first_rank(&c->group->places),
                   (unsigned)(tn_first_rank(&c->group->places) + c->local - 1));
}

static tenon_status check_given(const checked_call *c, const char *argument,
                                const tenon_tensor *given)
{
    if (given != NULL)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", c->call.name, argument);
}

/* Takes the tensor of the member `rank`, if it is local. */
static tenon_status take_one(checked_call *c, const char *argument, const tenon_tensor *given,
                             uint32_t rank)
{
    if (!tn_is_local(&c->group->places, rank))
        return TENON_OK;
    TN_TRY(check_given(c, argument, given));
    TN_TRY(tn_tensor_check(c->call.name, argument, given));
    c->single[argument[0] == 'y'][rank - tn_first_rank(&c->group->places)] = *given;
    return TENON_OK;
}

/* Checks the tensors of an argument, those of all local members. */
static tenon_status check_all(const checked_call *c, const char *argument,
                              const tenon_tensor *given)
{
    char name[32];
    TN_TRY(check_given(c, argument, given));
    for (uint32_t i = 0; i < c->tensors; i++) {
        snprintf(name, sizeof name, "%s[%u]", argument, (unsigned)i);
        TN_TRY(tn_tensor_check(c->call.name, name, &given[i]));
    }
    return TENON_OK;
}

/* Fails unless every tensor of an argument is like that in its place of the first member. */
static tenon_status check_alike(const checked_call *c, const char *argument,
                                const tenon_tensor *tensors, const tenon_tensor *like)
{
    char name[32];
    for (uint32_t i = 0; i < c->tensors; i++) {
        const tenon_tensor *expected = &like[i % c->call.count];
        if (tensors[i].dtype == TENON_DTYPE_INVALID)
            continue;
        snprintf(name, sizeof name, "%s[%u]", argument, (unsigned)i);
        if (tensors[i].dtype != like->dtype)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is of type %s, must be %s",
                           c->call.name, name, tenon_dtype_string(tensors[i].dtype),
                           tenon_dtype_string(like->dtype));
        TN_TRY(tn_shape_check(c->call.name, name, &tensors[i], expected->rank, expected->shape));
    }
    return TENON_OK;
}

/* Takes the inputs of all local members, which must be alike. */
static tenon_status take_inputs(checked_call *c, const tenon_tensor *x)
{
    TN_TRY(check_all(c, "x", x));
    c->call.x = x;
    return check_alike(c, "x", x, x);
}

/* Takes the outputs of all local members, which must have these types and shapes. */
static tenon_status take_outputs(checked_call *c, const tenon_tensor *y, const tenon_tensor *like)
{
    TN_TRY(check_all(c, "y", y));
    c->call.y = y;
    return check_alike(c, "y", y, like);
}

/* Returns true if x is the part of y at `rank` along the first dimension. */
static bool is_part(const tenon_tensor *x, const tenon_tensor *y, uint32_t rank)
{
    const tenon_tensor part = tenon_tensor_slice(*y, 0, rank * x->shape[0], x->shape[0]);
    return tn_same_memory(&x->memory, &part.memory) && tn_tensor_same_view(x, &part);
}

/* Checks the memory of two tensors of a member, and that they do not overlap. */
static tenon_status check_memory(const checked_call *c, uint32_t i, tn_role x_role)
{
    char x_name[32], y_name[32];
    const uint32_t m = i / c->call.count;
    const tenon_tensor *x = &c->call.x[i], *y = &c->call.y[i];
    const bool has_x = x->dtype != TENON_DTYPE_INVALID, has_y = y->dtype != TENON_DTYPE_INVALID,
               apart = c->call.collective.kind == TN_ALL_GATHER && has_x &&
                       is_part(x, y, tn_first_rank(&c->group->places) + m);
    snprintf(x_name, sizeof x_name, "x[%u]", (unsigned)i);
    snprintf(y_name, sizeof y_name, "y[%u]", (unsigned)i);
    tn_call call = {.caller = c->call.name, .context = c->group->members[m].context};
    if (has_x && !apart)
        call.operands[call.operand_count++] = (tn_argument){x_name, x, x_role, false};
    if (has_y)
        call.operands[call.operand_count++] = (tn_argument){y_name, y, TN_OUTPUT, false};
    TN_TRY(tn_call_check_views(&call));
    return tn_call_check_memory(&call, call.context);
}

static bool share_bytes(const tenon_tensor *a, const tenon_tensor *b)
{
    return tn_same_memory(&a->memory, &b->memory) && tn_tensor_overlaps(a, b, 0);
}

/* Fails if an output overlaps another tensor: members of one OpenCL context may have the same
 * memory. */
static tenon_status check_others(const checked_call *c, uint32_t i)
{
    const tenon_tensor *x = c->call.x, *y = c->call.y;
    for (uint32_t o = 0; o < c->tensors && y[i].dtype != TENON_DTYPE_INVALID; o++) {
        const bool meets_x = x[o].dtype != TENON_DTYPE_INVALID && share_bytes(&y[i], &x[o]),
                   meets_y = y[o].dtype != TENON_DTYPE_INVALID && share_bytes(&y[i], &y[o]);
        if (o != i && (meets_x || meets_y))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y[%u] overlaps %s[%u]", c->call.name,
                           (unsigned)i, meets_x ? "x" : "y", (unsigned)o);
    }
    return TENON_OK;
}

static tenon_status finish(checked_call *c, int64_t length, cl_event *events)
{
    const tn_collective_kind kind = c->call.collective.kind;
    const bool may_be_same = kind == TN_ALL_REDUCE || kind == TN_REDUCE || kind == TN_BROADCAST;
    for (uint32_t i = 0; i < c->tensors; i++)
        TN_TRY(check_memory(c, i, may_be_same ? TN_INPUT_OR_SAME : TN_INPUT));
    for (uint32_t i = 0; i < c->tensors; i++)
        TN_TRY(check_others(c, i));
    c->call.collective.length = length;
    return tn_group_enqueue(c->group, &c->call, 0, c->local, events);
}

static tenon_status check_combination(checked_call *c, tenon_group_kind kind, tenon_dtype dtype)
{
    if ((uint32_t)kind > TENON_GROUP_MIN)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: kind is %d, which is not a tenon_group_kind", c->call.name, (int)kind);
    if (!tn_combine_serves(kind, dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: kind %d is not available for type %s",
                       c->call.name, (int)kind, tenon_dtype_string(dtype));
    c->call.combination = kind;
    return TENON_OK;
}

/* Fails unless the first dimension can be divided among the members. */
static tenon_status check_divisible(const checked_call *c, const tenon_tensor *x)
{
    if (x->rank > 0 && x->shape[0] % c->call.collective.members == 0)
        return TENON_OK;
    if (x->rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x[0]: rank is 0, must be at least 1",
                       c->call.name);
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: x[0]: the first dimension is %lld, must be a multiple of the number of "
                   "members, %u",
                   c->call.name, (long long)x->shape[0], (unsigned)c->call.collective.members);
}

/* An all-reduce of at most this many bytes: each member combines everything, if all have the same
 * arithmetic. It then takes one message instead of two; at 1 GB/s the bytes that it moves in
 * addition take about as long as a message between two hosts. */
#define SMALL_BYTES 32768

/* The same between two members in two processes, which move no bytes in addition, but combine
 * twice as many elements. */
#define SMALL_BYTES_OF_TWO (1 << 20)

static bool is_small(const tenon_group *group, int64_t length, tenon_dtype dtype)
{
    const bool are_two = group->places.processes == 2 && tn_member_count(&group->places) == 2;
    return group->is_uniform && length <= (are_two ? SMALL_BYTES_OF_TWO : SMALL_BYTES) /
                                              (int64_t)tenon_dtype_size(dtype);
}

static tenon_status all_reduce(const char *caller, tenon_group *group, tenon_group_kind kind,
                               uint32_t count, const tenon_tensor *x, const tenon_tensor *y,
                               cl_event *events)
{
    checked_call c;
    int64_t length = 0;
    TN_TRY(begin_call(&c, group, caller, TN_ALL_REDUCE));
    if (count == 0 || count > MOST_TENSORS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is %u, must be 1 to %u", caller,
                       (unsigned)count, MOST_TENSORS);
    c.call.count = count;
    c.tensors *= count;
    TN_TRY(take_inputs(&c, x));
    TN_TRY(take_outputs(&c, y, x));
    TN_TRY(check_combination(&c, kind, x->dtype));
    for (uint32_t i = 0; i < count; i++) {
        const int64_t elements = tenon_tensor_elements(&x[i]);
        if (elements > INT64_MAX / 8 - length)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: x[%u]: the tensors have more than %lld elements", caller,
                           (unsigned)i, (long long)(INT64_MAX / 8));
        length += elements;
    }
    c.call.collective.is_small = is_small(group, length, x->dtype);
    return finish(&c, length, events);
}

TENON_API tenon_status tenon_group_all_reduce(tenon_group *group, tenon_group_kind kind,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              cl_event *events)
{
    return all_reduce("tenon_group_all_reduce", group, kind, 1, x, y, events);
}

TENON_API tenon_status tenon_group_all_reduce_many(tenon_group *group, tenon_group_kind kind,
                                                   uint32_t count, const tenon_tensor *x,
                                                   const tenon_tensor *y, cl_event *events)
{
    return all_reduce("tenon_group_all_reduce_many", group, kind, count, x, y, events);
}

TENON_API tenon_status tenon_group_reduce(tenon_group *group, tenon_group_kind kind, uint32_t root,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          cl_event *events)
{
    static const char caller[] = "tenon_group_reduce";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_REDUCE));
    TN_TRY(check_rank(&c, "root", root));
    TN_TRY(take_inputs(&c, x));
    TN_TRY(take_one(&c, "y", y, root));
    TN_TRY(check_alike(&c, "y", c.call.y, x));
    TN_TRY(check_combination(&c, kind, x->dtype));
    c.call.collective.root = root;
    return finish(&c, tenon_tensor_elements(x), events);
}

TENON_API tenon_status tenon_group_reduce_scatter(tenon_group *group, tenon_group_kind kind,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  cl_event *events)
{
    static const char caller[] = "tenon_group_reduce_scatter";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_REDUCE_SCATTER));
    TN_TRY(take_inputs(&c, x));
    TN_TRY(check_divisible(&c, x));
    tenon_tensor part = *x;
    part.shape[0] /= c.call.collective.members;
    TN_TRY(take_outputs(&c, y, &part));
    TN_TRY(check_combination(&c, kind, x->dtype));
    return finish(&c, tenon_tensor_elements(&part), events);
}

TENON_API tenon_status tenon_group_all_gather(tenon_group *group, const tenon_tensor *x,
                                              const tenon_tensor *y, cl_event *events)
{
    static const char caller[] = "tenon_group_all_gather";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_ALL_GATHER));
    TN_TRY(take_inputs(&c, x));
    tenon_tensor whole = *x;
    if (whole.rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x[0]: rank is 0, must be at least 1",
                       caller);
    if (whole.shape[0] > INT64_MAX / c.call.collective.members)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x[0]: the first dimension is %lld, too large for %u members", caller,
                       (long long)whole.shape[0], (unsigned)c.call.collective.members);
    whole.shape[0] *= c.call.collective.members;
    TN_TRY(take_outputs(&c, y, &whole));
    return finish(&c, tenon_tensor_elements(x), events);
}

TENON_API tenon_status tenon_group_broadcast(tenon_group *group, uint32_t root,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             cl_event *events)
{
    static const char caller[] = "tenon_group_broadcast";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_BROADCAST));
    TN_TRY(check_rank(&c, "root", root));
    TN_TRY(take_one(&c, "x", x, root));
    TN_TRY(take_outputs(&c, y, tn_is_local(&group->places, root) ? x : y));
    c.call.collective.root = root;
    return finish(&c, tenon_tensor_elements(y), events);
}

TENON_API tenon_status tenon_group_all_to_all(tenon_group *group, const tenon_tensor *x,
                                              const tenon_tensor *y, cl_event *events)
{
    static const char caller[] = "tenon_group_all_to_all";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_ALL_TO_ALL));
    TN_TRY(take_inputs(&c, x));
    TN_TRY(take_outputs(&c, y, x));
    TN_TRY(check_divisible(&c, x));
    return finish(&c, tenon_tensor_elements(x) / c.call.collective.members, events);
}

/* A send or receive of the tensor of one local member. */
static tenon_status pass(checked_call *c, uint32_t from, uint32_t to, const tenon_tensor *tensor,
                         cl_event *event)
{
    const bool sends = c->call.collective.kind == TN_SEND;
    const uint32_t first = (sends ? from : to) - tn_first_rank(&c->group->places);
    TN_TRY(take_one(c, sends ? "x" : "y", tensor, sends ? from : to));
    tn_call call = {.caller = c->call.name, .context = c->group->members[first].context};
    call.operands[call.operand_count++] =
        (tn_argument){sends ? "x" : "y", tensor, sends ? TN_INPUT : TN_OUTPUT, false};
    TN_TRY(tn_call_check_views(&call));
    TN_TRY(tn_call_check_memory(&call, call.context));
    c->call.x += first;
    c->call.y += first;
    c->call.collective.root = from;
    c->call.collective.to = to;
    c->call.collective.length = tenon_tensor_elements(tensor);
    return tn_group_enqueue(c->group, &c->call, first, 1, event);
}

TENON_API tenon_status tenon_group_send(tenon_group *group, uint32_t from, uint32_t to,
                                        const tenon_tensor *x, cl_event *event)
{
    checked_call c;
    TN_TRY(begin_call(&c, group, "tenon_group_send", TN_SEND));
    TN_TRY(check_local(&c, "from", from));
    TN_TRY(check_rank(&c, "to", to));
    return pass(&c, from, to, x, event);
}

TENON_API tenon_status tenon_group_receive(tenon_group *group, uint32_t from, uint32_t to,
                                           const tenon_tensor *y, cl_event *event)
{
    checked_call c;
    TN_TRY(begin_call(&c, group, "tenon_group_receive", TN_RECEIVE));
    TN_TRY(check_rank(&c, "from", from));
    TN_TRY(check_local(&c, "to", to));
    return pass(&c, from, to, y, event);
}

TENON_API tenon_status tenon_group_barrier(tenon_group *group, cl_event *events)
{
    static const char caller[] = "tenon_group_barrier";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_BARRIER));
    return finish(&c, 0, events);
}
