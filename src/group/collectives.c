/* The public functions of collectives: validation. */
#include "group/combine.h"
#include "group/group.h"

#include "base/shape.h"
#include "dispatch/call.h"

#include <stdio.h>
#include <string.h>

/* A call that is being checked. */
typedef struct checked_call {
    tenon_group *group;
    tn_group_call call;
    tenon_tensor x[TENON_GROUP_MAX_MEMBERS], y[TENON_GROUP_MAX_MEMBERS];
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
    c->call.x = c->x;
    c->call.y = c->y;
    return TENON_OK;
}

static tenon_status check_rank(const checked_call *c, const char *argument, uint32_t rank)
{
    if (rank < c->group->count)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is %u, but the group has %u members",
                   c->call.name, argument, (unsigned)rank, (unsigned)c->group->count);
}

/* Copies the tensors of one argument: one per member, or that of member `rank`. */
static tenon_status take(const checked_call *c, const char *argument, const tenon_tensor *given,
                         uint32_t rank, tenon_tensor *taken)
{
    char name[32];
    if (given == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", c->call.name, argument);
    if (rank != TN_ALL_MEMBERS) {
        TN_TRY(tn_tensor_check(c->call.name, argument, given));
        taken[rank] = *given;
        return TENON_OK;
    }
    for (uint32_t m = 0; m < c->group->count; m++) {
        snprintf(name, sizeof name, "%s[%u]", argument, (unsigned)m);
        TN_TRY(tn_tensor_check(c->call.name, name, &given[m]));
        taken[m] = given[m];
    }
    return TENON_OK;
}

/* Fails unless every tensor of an argument has this type and shape. */
static tenon_status check_alike(const checked_call *c, const char *argument,
                                const tenon_tensor *tensors, const tenon_tensor *like)
{
    char name[32];
    for (uint32_t m = 0; m < c->group->count; m++) {
        if (tensors[m].dtype == TENON_DTYPE_INVALID)
            continue;
        snprintf(name, sizeof name, "%s[%u]", argument, (unsigned)m);
        if (tensors[m].dtype != like->dtype)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is of type %s, must be %s",
                           c->call.name, name, tenon_dtype_string(tensors[m].dtype),
                           tenon_dtype_string(like->dtype));
        TN_TRY(tn_shape_check(c->call.name, name, &tensors[m], like->rank, like->shape));
    }
    return TENON_OK;
}

/* Takes the inputs of all members, which must be alike. */
static tenon_status take_inputs(checked_call *c, const tenon_tensor *x)
{
    TN_TRY(take(c, "x", x, TN_ALL_MEMBERS, c->x));
    return check_alike(c, "x", c->x, &c->x[0]);
}

/* Takes the outputs of all members, or that of one, which must have this type and shape. */
static tenon_status take_outputs(checked_call *c, const tenon_tensor *y, uint32_t rank,
                                 const tenon_tensor *like)
{
    TN_TRY(take(c, "y", y, rank, c->y));
    return check_alike(c, "y", c->y, like);
}

/* Returns true if x is the part of y at `rank` along the first dimension. */
static bool is_part(const tenon_tensor *x, const tenon_tensor *y, uint32_t rank)
{
    const tenon_tensor part = tenon_tensor_slice(*y, 0, rank * x->shape[0], x->shape[0]);
    return tn_same_memory(&x->memory, &part.memory) && tn_tensor_same_view(x, &part);
}

/* Checks the memory of a member's tensors, and that they do not overlap. */
static tenon_status check_memory(const checked_call *c, uint32_t m, tn_role x_role)
{
    char x_name[32], y_name[32];
    const tn_collective_kind kind = c->call.collective.kind;
    const bool has_x = c->x[m].dtype != TENON_DTYPE_INVALID,
               has_y = c->y[m].dtype != TENON_DTYPE_INVALID,
               apart = kind == TN_ALL_GATHER && has_x && is_part(&c->x[m], &c->y[m], m);
    snprintf(x_name, sizeof x_name, "x[%u]", (unsigned)m);
    snprintf(y_name, sizeof y_name, "y[%u]", (unsigned)m);
    tn_call call = {.caller = c->call.name, .context = c->group->members[m].context};
    if (has_x && !apart)
        call.operands[call.operand_count++] = (tn_argument){x_name, &c->x[m], x_role, false};
    if (has_y)
        call.operands[call.operand_count++] = (tn_argument){y_name, &c->y[m], TN_OUTPUT, false};
    TN_TRY(tn_call_check_views(&call));
    return tn_call_check_memory(&call, call.context);
}

static bool share_bytes(const tenon_tensor *a, const tenon_tensor *b)
{
    return tn_same_memory(&a->memory, &b->memory) && tn_tensor_overlaps(a, b, 0);
}

/* Fails if the output of a member overlaps a tensor of another one: members of one OpenCL context
 * may have the same memory. */
static tenon_status check_others(const checked_call *c, uint32_t m)
{
    const tenon_tensor *y = &c->y[m];
    for (uint32_t o = 0; o < c->group->count && y->dtype != TENON_DTYPE_INVALID; o++) {
        const bool meets_x = c->x[o].dtype != TENON_DTYPE_INVALID && share_bytes(y, &c->x[o]),
                   meets_y = c->y[o].dtype != TENON_DTYPE_INVALID && share_bytes(y, &c->y[o]);
        if (o != m && (meets_x || meets_y))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y[%u] overlaps %s[%u]", c->call.name,
                           (unsigned)m, meets_x ? "x" : "y", (unsigned)o);
    }
    return TENON_OK;
}

static tenon_status finish(checked_call *c, int64_t length, cl_event *events)
{
    const tn_collective_kind kind = c->call.collective.kind;
    const bool may_be_same =
        kind == TN_ALL_REDUCE || kind == TN_REDUCE || kind == TN_BROADCAST || kind == TN_TRANSFER;
    for (uint32_t m = 0; m < c->group->count; m++)
        TN_TRY(check_memory(c, m, may_be_same ? TN_INPUT_OR_SAME : TN_INPUT));
    for (uint32_t m = 0; m < c->group->count; m++)
        TN_TRY(check_others(c, m));
    c->call.collective.members = c->group->count;
    c->call.collective.length = length;
    return tn_group_enqueue(c->group, &c->call, events);
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
    if (x->rank > 0 && x->shape[0] % c->group->count == 0)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: x[0]: the first dimension must be a multiple of the number of members, %u",
                   c->call.name, (unsigned)c->group->count);
}

TENON_API tenon_status tenon_group_all_reduce(tenon_group *group, tenon_group_kind kind,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              cl_event *events)
{
    static const char caller[] = "tenon_group_all_reduce";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_ALL_REDUCE));
    TN_TRY(take_inputs(&c, x));
    TN_TRY(take_outputs(&c, y, TN_ALL_MEMBERS, &c.x[0]));
    TN_TRY(check_combination(&c, kind, c.x[0].dtype));
    return finish(&c, tenon_tensor_elements(&c.x[0]), events);
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
    TN_TRY(take_outputs(&c, y, root, &c.x[0]));
    TN_TRY(check_combination(&c, kind, c.x[0].dtype));
    c.call.collective.root = root;
    return finish(&c, tenon_tensor_elements(&c.x[0]), events);
}

TENON_API tenon_status tenon_group_reduce_scatter(tenon_group *group, tenon_group_kind kind,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  cl_event *events)
{
    static const char caller[] = "tenon_group_reduce_scatter";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_REDUCE_SCATTER));
    TN_TRY(take_inputs(&c, x));
    TN_TRY(check_divisible(&c, &c.x[0]));
    tenon_tensor part = c.x[0];
    part.shape[0] /= group->count;
    TN_TRY(take_outputs(&c, y, TN_ALL_MEMBERS, &part));
    TN_TRY(check_combination(&c, kind, c.x[0].dtype));
    return finish(&c, tenon_tensor_elements(&c.y[0]), events);
}

TENON_API tenon_status tenon_group_all_gather(tenon_group *group, const tenon_tensor *x,
                                              const tenon_tensor *y, cl_event *events)
{
    static const char caller[] = "tenon_group_all_gather";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_ALL_GATHER));
    TN_TRY(take_inputs(&c, x));
    tenon_tensor whole = c.x[0];
    if (whole.rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x[0]: rank is 0, must be at least 1",
                       caller);
    if (whole.shape[0] > INT64_MAX / group->count)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x[0]: the first dimension is too large",
                       caller);
    whole.shape[0] *= group->count;
    TN_TRY(take_outputs(&c, y, TN_ALL_MEMBERS, &whole));
    return finish(&c, tenon_tensor_elements(&c.x[0]), events);
}

TENON_API tenon_status tenon_group_broadcast(tenon_group *group, uint32_t root,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             cl_event *events)
{
    static const char caller[] = "tenon_group_broadcast";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_BROADCAST));
    TN_TRY(check_rank(&c, "root", root));
    TN_TRY(take(&c, "x", x, root, c.x));
    TN_TRY(take_outputs(&c, y, TN_ALL_MEMBERS, x));
    c.call.collective.root = root;
    return finish(&c, tenon_tensor_elements(x), events);
}

TENON_API tenon_status tenon_group_all_to_all(tenon_group *group, const tenon_tensor *x,
                                              const tenon_tensor *y, cl_event *events)
{
    static const char caller[] = "tenon_group_all_to_all";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_ALL_TO_ALL));
    TN_TRY(take_inputs(&c, x));
    TN_TRY(take_outputs(&c, y, TN_ALL_MEMBERS, &c.x[0]));
    TN_TRY(check_divisible(&c, &c.x[0]));
    return finish(&c, tenon_tensor_elements(&c.x[0]) / group->count, events);
}

TENON_API tenon_status tenon_group_transfer(tenon_group *group, uint32_t from, uint32_t to,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            cl_event *events)
{
    static const char caller[] = "tenon_group_transfer";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_TRANSFER));
    TN_TRY(check_rank(&c, "from", from));
    TN_TRY(check_rank(&c, "to", to));
    TN_TRY(take(&c, "x", x, from, c.x));
    TN_TRY(take_outputs(&c, y, to, x));
    c.call.collective.root = from;
    c.call.collective.to = to;
    return finish(&c, tenon_tensor_elements(x), events);
}

TENON_API tenon_status tenon_group_barrier(tenon_group *group, cl_event *events)
{
    static const char caller[] = "tenon_group_barrier";
    checked_call c;
    TN_TRY(begin_call(&c, group, caller, TN_BARRIER));
    return finish(&c, 0, events);
}
