/* Gradients that are combined in buckets during the backward pass. */
#include "parallel/flat.h"

#include "base/checked.h"
#include "base/sized.h"

#include <tenon/parallel.h>

#include <stdlib.h>
#include <string.h>

/* The gradients of parameters `first` to `end` - 1, in an array of each local member. */
typedef struct tn_bucket {
    uint32_t first, end;
    uint64_t missing; /* gradients that are not ready, of all local members */
    tenon_tensor arrays[TENON_GROUP_MAX_MEMBERS];
} tn_bucket;

struct tenon_buckets {
    tenon_group *group;
    tenon_group_kind kind;
    uint32_t members, count; /* local members; parameters */
    uint32_t bucket_count;
    uint32_t next; /* the first bucket that has not been combined */
    tn_bucket *buckets;
    uint32_t *bucket_of;     /* by parameter */
    tenon_tensor *gradients; /* `count` per member */
    bool *is_ready;          /* likewise */
};

static const tenon_buckets_params defaults = TENON_BUCKETS_PARAMS_INIT;

TENON_API void tenon_buckets_params_default(tenon_buckets_params *params, uint32_t size)
{
    tn_params_give(params, size, &defaults, sizeof defaults);
}

static tenon_status check_params(const char *caller, const tenon_buckets_params *p)
{
    if (p->flags != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: flags is %u, must be 0", caller,
                       (unsigned)p->flags);
    if ((int)p->kind < TENON_GROUP_SUM || (int)p->kind > TENON_GROUP_MIN)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: kind is %d, must be 0 to %d", caller,
                       (int)p->kind, TENON_GROUP_MIN);
    return TENON_OK;
}

static void begin_pass(tenon_buckets *b)
{
    memset(b->is_ready, 0, (size_t)b->members * b->count * sizeof *b->is_ready);
    for (uint32_t i = 0; i < b->bucket_count; i++)
        b->buckets[i].missing = (uint64_t)b->members * (b->buckets[i].end - b->buckets[i].first);
    b->next = 0;
}

/* Returns the first parameter of the bucket that ends before `end`. */
static uint32_t first_of(const tenon_tensor *parameters, uint32_t end, uint64_t bytes)
{
    uint32_t first = end;
    uint64_t found = 0;
    do {
        const tenon_tensor *p = &parameters[--first];
        found += (uint64_t)tenon_tensor_elements(p) * tenon_dtype_size(p->dtype);
    } while (first > 0 && found < bytes);
    return first;
}

/* Makes the bucket that ends before the parameter `end`. */
static tenon_status add_bucket(const char *caller, tenon_buckets *b, const tenon_tensor *parameters,
                               uint32_t end, uint64_t bytes)
{
    int64_t size = 0;
    const uint32_t number = b->bucket_count++, first = first_of(parameters, end, bytes);
    tn_bucket *bucket = &b->buckets[number];
    bucket->first = first;
    bucket->end = end;
    TN_TRY(tn_flat_size(caller, end - first, &parameters[first], 1, &size));
    TN_TRY(tn_flat_create(caller, b->group, parameters[0].dtype, size, bucket->arrays));
    for (uint32_t m = 0; m < b->members; m++)
        tn_flat_views(end - first, &parameters[first], &bucket->arrays[m],
                      &b->gradients[(size_t)m * b->count + first]);
    for (uint32_t i = first; i < end; i++)
        b->bucket_of[i] = number;
    return TENON_OK;
}

static tenon_buckets *allocate_buckets(tenon_group *group, tenon_group_kind kind, uint32_t count)
{
    tenon_buckets *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    const int64_t all = (int64_t)tn_local_count(group) * count;
    b->group = group;
    b->kind = kind;
    b->members = tn_local_count(group);
    b->count = count;
    b->buckets = tn_array(count, sizeof *b->buckets);
    b->bucket_of = tn_array(count, sizeof *b->bucket_of);
    b->gradients = tn_array(all, sizeof *b->gradients);
    b->is_ready = tn_array(all, sizeof *b->is_ready);
    if (b->buckets != NULL && b->bucket_of != NULL && b->gradients != NULL && b->is_ready != NULL)
        return b;
    tenon_buckets_destroy(b);
    return NULL;
}

static tenon_status create(const char *caller, tenon_group *group, const tenon_buckets_params *p,
                           uint32_t count, const tenon_tensor *parameters, tenon_buckets **out)
{
    TN_TRY(check_params(caller, p));
    TN_TRY(tn_flat_check(caller, count, parameters));
    TN_TRY(tn_group_check(caller, group));
    tenon_buckets *b = allocate_buckets(group, p->kind, count);
    tenon_status status = TENON_OK;
    if (b == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    for (uint32_t end = count; end > 0 && status == TENON_OK;
         end = b->buckets[b->bucket_count - 1].first)
        status = add_bucket(caller, b, parameters, end, p->bytes);
    if (status != TENON_OK) {
        tenon_buckets_destroy(b);
        return status;
    }
    begin_pass(b);
    *out = b;
    return TENON_OK;
}

TENON_API tenon_status tenon_buckets_create(tenon_group *group, const tenon_buckets_params *params,
                                            uint32_t count, const tenon_tensor *parameters,
                                            tenon_buckets **out)
{
    static const char caller[] = "tenon_buckets_create";
    tenon_buckets_params room;
    const void *taken;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(tn_params_take(caller, params, &defaults, sizeof defaults, "TENON_BUCKETS_PARAMS_INIT",
                          &room, &taken));
    return create(caller, group, taken, count, parameters, out);
}

TENON_API void tenon_buckets_destroy(tenon_buckets *b)
{
    if (b == NULL)
        return;
    tn_group_drain(b->group);
    for (uint32_t i = 0; i < b->bucket_count; i++)
        tn_flat_destroy(b->group, b->buckets[i].arrays);
    free(b->buckets);
    free(b->bucket_of);
    free(b->gradients);
    free(b->is_ready);
    free(b);
}

TENON_API uint32_t tenon_buckets_count(const tenon_buckets *b)
{
    return b != NULL ? b->bucket_count : 0;
}

TENON_API const tenon_tensor *tenon_buckets_gradients(const tenon_buckets *b, uint32_t member)
{
    return b != NULL && member < b->members ? &b->gradients[(size_t)member * b->count] : NULL;
}

/* Combines the next buckets, as far as they are complete. */
static tenon_status combine(const char *caller, tenon_buckets *b)
{
    for (; b->next < b->bucket_count && b->buckets[b->next].missing == 0; b->next++) {
        const tenon_tensor *arrays = b->buckets[b->next].arrays;
        const tenon_status status = tenon_group_all_reduce(b->group, b->kind, arrays, arrays, NULL);
        if (status != TENON_OK)
            return tn_fail_because(status, "%s: bucket %u", caller, (unsigned)b->next);
    }
    return TENON_OK;
}

static tenon_status check_ready(const char *caller, const tenon_buckets *b, uint32_t member,
                                uint32_t index)
{
    if (b == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: buckets is NULL", caller);
    if (member >= b->members)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: member is %u, but there are %u local members", caller, (unsigned)member,
                       (unsigned)b->members);
    if (index >= b->count)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: index is %u, but there are %u parameters",
                       caller, (unsigned)index, (unsigned)b->count);
    if (b->is_ready[(size_t)member * b->count + index])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: gradient %u of member %u is ready already", caller, (unsigned)index,
                       (unsigned)member);
    return TENON_OK;
}

/* Makes a stream of a member wait for another one. */
static tenon_status order(const char *caller, const tenon_buckets *b, uint32_t member,
                          tenon_stream *stream, tenon_stream *other)
{
    const tenon_status status = tenon_stream_wait(stream, other);
    if (status == TENON_OK)
        return TENON_OK;
    return tn_fail_because(tn_group_fail_at(b->group, member, status), "%s", caller);
}

TENON_API tenon_status tenon_buckets_ready(tenon_buckets *b, uint32_t member, uint32_t index,
                                           tenon_stream *stream)
{
    static const char caller[] = "tenon_buckets_ready";
    TN_TRY(check_ready(caller, b, member, index));
    if (stream != NULL)
        TN_TRY(order(caller, b, member, b->group->members[member].stream, stream));
    b->is_ready[(size_t)member * b->count + index] = true;
    b->buckets[b->bucket_of[index]].missing--;
    return combine(caller, b);
}

/* Fails if a gradient is not ready, and names the first one. */
static tenon_status check_complete(const char *caller, const tenon_buckets *b)
{
    for (uint32_t m = 0; m < b->members; m++)
        for (uint32_t i = 0; i < b->count; i++)
            if (!b->is_ready[(size_t)m * b->count + i])
                return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                               "%s: gradient %u of member %u is not ready", caller, (unsigned)i,
                               (unsigned)m);
    return TENON_OK;
}

TENON_API tenon_status tenon_buckets_finish(tenon_buckets *b, tenon_stream *const *streams)
{
    static const char caller[] = "tenon_buckets_finish";
    if (b == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: buckets is NULL", caller);
    for (uint32_t m = 0; streams != NULL && m < b->members; m++)
        if (streams[m] == NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: streams[%u] is NULL", caller,
                           (unsigned)m);
    TN_TRY(check_complete(caller, b));
    TN_TRY(combine(caller, b));
    for (uint32_t m = 0; streams != NULL && m < b->members; m++)
        TN_TRY(order(caller, b, m, streams[m], b->group->members[m].stream));
    begin_pass(b);
    return TENON_OK;
}
