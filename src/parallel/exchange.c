/* Expert parallel: rows travel to the members that have their experts, and back. */
#include "parallel/flat.h"

#include "base/checked.h"
#include "base/shape.h"

#include <tenon/elementwise.h>
#include <tenon/gather.h>
#include <tenon/parallel.h>
#include <tenon/sort.h>

#include <stdlib.h>
#include <string.h>

/* The numbers of a member, of type i32. Constants come first; `slots` are the rows of a member,
 * `all` those of all members, which each member may receive. */
enum {
    FIRSTS,      /* the first expert of each member */
    ENDS,        /* the same without that of the first member */
    BASES,       /* the first place of the rows for each member: multiples of the slots */
    NUMBERS,     /* 0, 1, … of the slots */
    BOUNDS,      /* the experts of this member, and the one after them */
    ALL_NUMBERS, /* 0, 1, … of all received rows */
    BLOCK_BASES, /* the first row of each own expert's block, and the end of the last block */
    CONSTANTS,
    SORTED = CONSTANTS, /* the experts of the slots in ascending order */
    ORDER,              /* the slots in that order */
    OWNERS,             /* the members that have these experts */
    SHIFTS, /* by member: the difference of a row's place and its number in that order */
    MOVES,  /* the same by row */
    PLACES, /* of the slots among the rows that are sent */
    SENT,   /* experts of all rows that are sent, then of those that are received */
    RECEIVED,
    RECEIVED_SORTED,
    RECEIVED_ORDER, /* the received rows by their experts */
    OFFSETS,        /* the first received row of each own expert, and the end */
    /* As OWNERS, SHIFTS, MOVES and PLACES, of the received rows in the order of their experts among
     * the rows of the blocks. */
    BLOCK_OWNERS,
    BLOCK_SHIFTS,
    BLOCK_MOVES,
    BLOCK_PLACES,
    TENSORS
};

typedef struct tn_exchange_member {
    tenon_tensor numbers[TENSORS];
    tenon_tensor sent, received; /* rows of all slots */
} tn_exchange_member;

struct tenon_exchange {
    tenon_group *group;
    uint32_t members, size, experts, own; /* local members; all; experts; those of a member */
    tenon_tensor rows, all;               /* views of the rows of the slots, and of all slots */
    bool is_routed, has_blocks; /* has_blocks: the places in blocks belong to this route */
    tenon_tensor arrays[TENON_GROUP_MAX_MEMBERS]; /* of the numbers */
    tn_exchange_member member[TENON_GROUP_MAX_MEMBERS];
};

static tenon_status check(const char *caller, const tenon_group *group, uint32_t experts,
                          const tenon_tensor *rows)
{
    const uint32_t size = tn_member_count(&group->places);
    TN_TRY(tn_tensor_check(caller, "rows", rows));
    if (experts == 0 || experts % size != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: experts is %u, not a positive multiple of %u members", caller,
                       (unsigned)experts, (unsigned)size);
    if (experts > INT32_MAX - 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: experts is %u, must be below %d", caller,
                       (unsigned)experts, INT32_MAX);
    if (rows->rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: rows has rank 0, must have at least 1",
                       caller);
    if (rows->shape[0] > INT32_MAX / size)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: rows has %lld rows; all members may have at most %d", caller,
                       (long long)rows->shape[0], INT32_MAX);
    return TENON_OK;
}

/* Writes views of the numbers, without memory. */
static void describe_numbers(const tenon_exchange *e, tenon_tensor *views)
{
    const int64_t n = e->size, slots = e->rows.shape[0], all = slots * n, own = e->own + INT64_C(1);
    const int64_t sizes[TENSORS] = {
        [FIRSTS] = n,         [ENDS] = n - 1,          [BASES] = n,
        [NUMBERS] = slots,    [BOUNDS] = own,          [SORTED] = slots,
        [ORDER] = slots,      [OWNERS] = slots,        [SHIFTS] = n,
        [MOVES] = slots,      [PLACES] = slots,        [SENT] = all,
        [RECEIVED] = all,     [RECEIVED_SORTED] = all, [RECEIVED_ORDER] = all,
        [OFFSETS] = own,      [ALL_NUMBERS] = all,     [BLOCK_BASES] = own,
        [BLOCK_OWNERS] = all, [BLOCK_SHIFTS] = own,    [BLOCK_MOVES] = all,
        [BLOCK_PLACES] = all};
    for (int i = 0; i < TENSORS; i++)
        views[i] = tenon_tensor_view(TENON_DTYPE_I32, 1, &sizes[i]);
}

/* Returns whether the rows of a member's blocks, and as many again, can be counted in i32. */
static bool has_room_for_blocks(const tenon_exchange *e)
{
    const int64_t all = e->all.shape[0];
    return all == 0 || e->own + INT64_C(1) <= INT32_MAX / all;
}

/* Uploads first, first + step, … to a tensor, through `host`, which has room for it. */
static tenon_status upload(tenon_stream *stream, const tenon_tensor *numbers, int64_t first,
                           int64_t step, int32_t *host)
{
    for (int64_t i = 0; i < numbers->shape[0]; i++)
        host[i] = (int32_t)(first + i * step);
    return tenon_tensor_upload(stream, host, (size_t)numbers->shape[0] * sizeof *host, numbers,
                               NULL);
}

static tenon_status upload_constants(const tenon_exchange *e, uint32_t m, tenon_stream *stream,
                                     int32_t *host)
{
    const tenon_tensor *numbers = e->member[m].numbers;
    const int64_t own = e->own, rank = (int64_t)tn_first_rank(&e->group->places) + m;
    TN_TRY(upload(stream, &numbers[FIRSTS], 0, own, host));
    TN_TRY(upload(stream, &numbers[ENDS], own, own, host));
    TN_TRY(upload(stream, &numbers[BASES], 0, e->rows.shape[0], host));
    TN_TRY(upload(stream, &numbers[NUMBERS], 0, 1, host));
    TN_TRY(upload(stream, &numbers[BOUNDS], rank * own, 1, host));
    TN_TRY(upload(stream, &numbers[ALL_NUMBERS], 0, 1, host));
    return upload(stream, &numbers[BLOCK_BASES], 0, has_room_for_blocks(e) ? e->all.shape[0] : 0,
                  host);
}

/* Creates the memory of a member. Its stream may wait for others, so the constants are uploaded in
 * another one. */
static tenon_status fill_member(tenon_exchange *e, uint32_t m, const tenon_tensor *views,
                                int32_t *host)
{
    tenon_context *context = e->group->members[m].context;
    tn_exchange_member *member = &e->member[m];
    tenon_stream *stream;
    tn_flat_views(TENSORS, views, &e->arrays[m], member->numbers);
    TN_TRY(tenon_tensor_create(context, e->all.dtype, e->all.rank, e->all.shape, &member->sent));
    TN_TRY(
        tenon_tensor_create(context, e->all.dtype, e->all.rank, e->all.shape, &member->received));
    TN_TRY(tenon_stream_create(context, NULL, &stream));
    const tenon_status status = upload_constants(e, m, stream, host);
    tenon_stream_destroy(stream);
    return status;
}

static tenon_status fill_exchange(const char *caller, tenon_exchange *e)
{
    tenon_tensor views[TENSORS];
    int64_t size = 0;
    describe_numbers(e, views);
    TN_TRY(tn_flat_size(caller, TENSORS, views, 1, &size));
    TN_TRY(tn_flat_create(caller, e->group, TENON_DTYPE_I32, size, e->arrays));
    int32_t *host = tn_array(size, sizeof *host);
    if (host == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    tenon_status status = TENON_OK;
    for (uint32_t m = 0; m < e->members && status == TENON_OK; m++) {
        status = fill_member(e, m, views, host);
        if (status != TENON_OK)
            tn_fail_because(tn_group_fail_at(e->group, m, status), "%s", caller);
    }
    free(host);
    return status;
}

TENON_API tenon_status tenon_exchange_create(tenon_group *group, uint32_t experts,
                                             const tenon_tensor *rows, tenon_exchange **out)
{
    static const char caller[] = "tenon_exchange_create";
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(tn_group_check(caller, group));
    TN_TRY(check(caller, group, experts, rows));
    tenon_exchange *e = calloc(1, sizeof *e);
    if (e == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    e->group = group;
    e->members = tn_local_count(group);
    e->size = tn_member_count(&group->places);
    e->experts = experts;
    e->own = experts / e->size;
    e->rows = tenon_tensor_view(rows->dtype, rows->rank, rows->shape);
    e->all = e->rows;
    e->all.shape[0] *= e->size;
    tenon_status status = tn_tensor_check(caller, "the rows of all members", &e->all);
    if (status == TENON_OK)
        status = fill_exchange(caller, e);
    if (status == TENON_OK)
        *out = e;
    else
        tenon_exchange_destroy(e);
    return status;
}

TENON_API void tenon_exchange_destroy(tenon_exchange *e)
{
    if (e == NULL)
        return;
    tn_group_drain(e->group);
    tn_flat_destroy(e->group, e->arrays);
    for (uint32_t m = 0; m < e->members; m++) {
        tenon_tensor_destroy(&e->member[m].sent);
        tenon_tensor_destroy(&e->member[m].received);
    }
    free(e);
}

TENON_API const tenon_tensor *tenon_exchange_offsets(const tenon_exchange *e, uint32_t member)
{
    return e != NULL && member < e->members ? &e->member[member].numbers[OFFSETS] : NULL;
}

/* Fails unless the tensors of the local members are like a view. */
static tenon_status check_tensors(const char *caller, const tenon_exchange *e, const char *argument,
                                  const tenon_tensor *tensors, const tenon_tensor *like)
{
    if (tensors == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller, argument);
    for (uint32_t m = 0; m < e->members; m++) {
        char name[32];
        snprintf(name, sizeof name, "%s[%u]", argument, (unsigned)m);
        TN_TRY(tn_tensor_check(caller, name, &tensors[m]));
        if (tensors[m].dtype != like->dtype)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is of type %s, must be %s", caller,
                           name, tenon_dtype_string(tensors[m].dtype),
                           tenon_dtype_string(like->dtype));
        TN_TRY(tn_shape_check(caller, name, &tensors[m], like->rank, like->shape));
    }
    return TENON_OK;
}

/* Determines the places of a member's rows: those of a member follow each other in the order of
 * their experts, from its base on. The keys of the places without a row are above all experts. */
static tenon_status place(const tenon_exchange *e, tenon_stream *stream, const tenon_tensor *chosen,
                          const tenon_tensor *t)
{
    const tenon_search_sorted_params right =
        tenon_search_sorted_params(.flags = TENON_SEARCH_RIGHT);
    const tenon_elementwise_params subtract =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_SUBTRACT);
    TN_TRY(tenon_sort(stream, NULL, chosen, NULL, &t[SORTED], &t[ORDER], NULL, NULL));
    TN_TRY(tenon_search_sorted(stream, NULL, &t[SORTED], &t[FIRSTS], &t[SHIFTS], NULL));
    TN_TRY(tenon_elementwise(stream, &subtract, &t[BASES], &t[SHIFTS], &t[SHIFTS], NULL));
    TN_TRY(tenon_search_sorted(stream, &right, &t[ENDS], &t[SORTED], &t[OWNERS], NULL));
    TN_TRY(tenon_gather_forward(stream, NULL, &t[SHIFTS], &t[OWNERS], &t[MOVES], NULL));
    TN_TRY(tenon_elementwise(stream, NULL, &t[NUMBERS], &t[MOVES], &t[MOVES], NULL));
    TN_TRY(tenon_scatter(stream, NULL, &t[MOVES], &t[ORDER], &t[PLACES], NULL));
    TN_TRY(tenon_tensor_fill(stream, &t[SENT], e->experts, NULL));
    return tenon_scatter(stream, NULL, chosen, &t[PLACES], &t[SENT], NULL);
}

/* Sorts what a member has received by its experts. */
static tenon_status sort_received(tenon_stream *stream, const tenon_tensor *t)
{
    TN_TRY(tenon_sort(stream, NULL, &t[RECEIVED], NULL, &t[RECEIVED_SORTED], &t[RECEIVED_ORDER],
                      NULL, NULL));
    return tenon_search_sorted(stream, NULL, &t[RECEIVED_SORTED], &t[BOUNDS], &t[OFFSETS], NULL);
}

/* Adds the function and the member to the message of a failure. */
static tenon_status fail(const char *caller, const tenon_exchange *e, uint32_t m,
                         tenon_status status)
{
    if (status == TENON_OK)
        return TENON_OK;
    return tn_fail_because(tn_group_fail_at(e->group, m, status), "%s", caller);
}

/* Makes an all-to-all of one tensor of each local member. */
static tenon_status all_to_all(const char *caller, const tenon_exchange *e,
                               const tenon_tensor *sent, const tenon_tensor *received)
{
    const tenon_status status = tenon_group_all_to_all(e->group, sent, received, NULL);
    return status == TENON_OK ? TENON_OK : tn_fail_because(status, "%s", caller);
}

TENON_API tenon_status tenon_exchange_route(tenon_exchange *e, const tenon_tensor *chosen)
{
    static const char caller[] = "tenon_exchange_route";
    tenon_tensor sent[TENON_GROUP_MAX_MEMBERS], received[TENON_GROUP_MAX_MEMBERS];
    if (e == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: exchange is NULL", caller);
    TN_TRY(check_tensors(caller, e, "chosen", chosen, &e->member[0].numbers[PLACES]));
    e->is_routed = e->has_blocks = false;
    for (uint32_t m = 0; m < e->members; m++) {
        const tenon_tensor *t = e->member[m].numbers;
        sent[m] = t[SENT];
        received[m] = t[RECEIVED];
        TN_TRY(fail(caller, e, m, place(e, e->group->members[m].stream, &chosen[m], t)));
    }
    TN_TRY(all_to_all(caller, e, sent, received));
    for (uint32_t m = 0; m < e->members; m++)
        TN_TRY(
            fail(caller, e, m, sort_received(e->group->members[m].stream, e->member[m].numbers)));
    e->is_routed = true;
    return TENON_OK;
}

/* Scatters the rows x to the places that are sent, and gathers y from what is received. */
static tenon_status move(const char *caller, tenon_exchange *e, const tenon_tensor *x, int places,
                         const tenon_tensor *y, int origins)
{
    tenon_tensor sent[TENON_GROUP_MAX_MEMBERS], received[TENON_GROUP_MAX_MEMBERS];
    for (uint32_t m = 0; m < e->members; m++) {
        const tn_exchange_member *member = &e->member[m];
        tenon_stream *stream = e->group->members[m].stream;
        sent[m] = member->sent;
        received[m] = member->received;
        TN_TRY(fail(caller, e, m, tenon_tensor_fill(stream, &sent[m], 0, NULL)));
        TN_TRY(fail(caller, e, m,
                    tenon_scatter(stream, NULL, &x[m], &member->numbers[places], &sent[m], NULL)));
    }
    TN_TRY(all_to_all(caller, e, sent, received));
    for (uint32_t m = 0; m < e->members; m++)
        TN_TRY(fail(caller, e, m,
                    tenon_gather_forward(e->group->members[m].stream, NULL, &received[m],
                                         &e->member[m].numbers[origins], &y[m], NULL)));
    return TENON_OK;
}

static tenon_status check_routed(const char *caller, const tenon_exchange *e)
{
    if (e == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: exchange is NULL", caller);
    if (!e->is_routed)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: the rows have no destination; call tenon_exchange_route first", caller);
    return TENON_OK;
}

TENON_API tenon_status tenon_exchange_dispatch(tenon_exchange *e, const tenon_tensor *x,
                                               const tenon_tensor *y)
{
    static const char caller[] = "tenon_exchange_dispatch";
    TN_TRY(check_routed(caller, e));
    TN_TRY(check_tensors(caller, e, "x", x, &e->rows));
    TN_TRY(check_tensors(caller, e, "y", y, &e->all));
    return move(caller, e, x, PLACES, y, RECEIVED_ORDER);
}

TENON_API tenon_status tenon_exchange_collect(tenon_exchange *e, const tenon_tensor *x,
                                              const tenon_tensor *y)
{
    static const char caller[] = "tenon_exchange_collect";
    TN_TRY(check_routed(caller, e));
    TN_TRY(check_tensors(caller, e, "x", x, &e->all));
    TN_TRY(check_tensors(caller, e, "y", y, &e->rows));
    return move(caller, e, x, RECEIVED_ORDER, y, PLACES);
}

/* Determines the places of a member's received rows in its blocks. Those of the rows after the last
 * expert's are beyond the blocks. */
static tenon_status place_in_blocks(const tenon_exchange *e, tenon_stream *stream,
                                    const tenon_tensor *t)
{
    const tenon_tensor ends = tenon_tensor_slice(t[OFFSETS], 0, 1, e->own);
    const tenon_search_sorted_params right =
        tenon_search_sorted_params(.flags = TENON_SEARCH_RIGHT);
    const tenon_elementwise_params subtract =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_SUBTRACT);
    TN_TRY(tenon_search_sorted(stream, &right, &ends, &t[ALL_NUMBERS], &t[BLOCK_OWNERS], NULL));
    TN_TRY(
        tenon_elementwise(stream, &subtract, &t[BLOCK_BASES], &t[OFFSETS], &t[BLOCK_SHIFTS], NULL));
    TN_TRY(tenon_gather_forward(stream, NULL, &t[BLOCK_SHIFTS], &t[BLOCK_OWNERS], &t[BLOCK_MOVES],
                                NULL));
    return tenon_elementwise(stream, NULL, &t[ALL_NUMBERS], &t[BLOCK_MOVES], &t[BLOCK_PLACES],
                             NULL);
}

/* Fails unless each x has as many rows as are received, and each y a block of them for each own
 * expert. Writes views of y whose blocks are one after the other. */
static tenon_status check_blocks(const char *caller, const tenon_exchange *e, const tenon_tensor *x,
                                 const tenon_tensor *y, tenon_tensor *rows)
{
    const int64_t all = e->all.shape[0];
    if (x == NULL || y == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       x == NULL ? "x" : "y");
    if (!has_room_for_blocks(e))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %u blocks of %lld rows; a member may have at most %lld blocks", caller,
                       (unsigned)e->own, (long long)all, (long long)(INT32_MAX / all - 1));
    for (uint32_t m = 0; m < e->members; m++) {
        char name[32];
        snprintf(name, sizeof name, "x[%u]", (unsigned)m);
        TN_TRY(tn_tensor_check(caller, name, &x[m]));
        if (x[m].rank == 0 || x[m].rank == TENON_MAX_RANK)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s has rank %u, must have 1 to %d",
                           caller, name, (unsigned)x[m].rank, TENON_MAX_RANK - 1);
        if (x[m].shape[0] != all)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s has %lld rows, must have %lld",
                           caller, name, (long long)x[m].shape[0], (long long)all);
        int64_t shape[TENON_MAX_RANK] = {e->own};
        memcpy(&shape[1], x[m].shape, x[m].rank * sizeof *shape);
        name[0] = 'y';
        TN_TRY(tn_tensor_check(caller, name, &y[m]));
        TN_TRY(tn_shape_check(caller, name, &y[m], x[m].rank + 1, shape));
        shape[1] *= e->own;
        TN_TRY(tenon_tensor_reshape(&y[m], x[m].rank, &shape[1], &rows[m]));
    }
    return TENON_OK;
}

TENON_API tenon_status tenon_exchange_blocks(tenon_exchange *e, const tenon_tensor *x,
                                             const tenon_tensor *y)
{
    static const char caller[] = "tenon_exchange_blocks";
    tenon_tensor rows[TENON_GROUP_MAX_MEMBERS];
    TN_TRY(check_routed(caller, e));
    TN_TRY(check_blocks(caller, e, x, y, rows));
    TN_TRY(tn_group_check(caller, e->group));
    for (uint32_t m = 0; m < e->members; m++) {
        const tenon_tensor *t = e->member[m].numbers;
        tenon_stream *stream = e->group->members[m].stream;
        if (!e->has_blocks)
            TN_TRY(fail(caller, e, m, place_in_blocks(e, stream, t)));
        TN_TRY(fail(caller, e, m, tenon_tensor_fill(stream, &rows[m], 0, NULL)));
        TN_TRY(fail(caller, e, m,
                    tenon_scatter(stream, NULL, &x[m], &t[BLOCK_PLACES], &rows[m], NULL)));
    }
    e->has_blocks = true;
    return TENON_OK;
}
