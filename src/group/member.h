/* Members of a group, and the tensors of a collective as one-dimensional arrays. */
#ifndef TN_GROUP_MEMBER_H
#define TN_GROUP_MEMBER_H

#include <tenon/group.h>

#include <stdbool.h>

/* A member of this process. */
typedef struct tn_group_member {
    tenon_stream *stream; /* the application's */
    tenon_stream *own;    /* in which the group enqueues its commands */
    tenon_context *context;
    bool is_unified; /* the device shares the host's memory */
} tn_group_member;

/* The places of the members: process p has those of ranks starts[p] to starts[p + 1] - 1. */
typedef struct tn_places {
    uint32_t processes, process; /* of which this is number `process` */
    uint32_t starts[TENON_TRANSPORT_MAX_PROCESSES + 1];
} tn_places;

static inline uint32_t tn_member_count(const tn_places *places)
{
    return places->starts[places->processes];
}

static inline uint32_t tn_first_rank(const tn_places *places)
{
    return places->starts[places->process];
}

static inline bool tn_is_local(const tn_places *places, uint32_t rank)
{
    return rank >= tn_first_rank(places) && rank < places->starts[places->process + 1];
}

static inline uint32_t tn_process_of(const tn_places *places, uint32_t rank)
{
    uint32_t process = 0;
    while (rank >= places->starts[process + 1])
        process++;
    return process;
}

/* Returns `count` elements of a one-dimensional tensor from `start` on. */
static inline tenon_tensor tn_array_part(const tenon_tensor *array, int64_t start, int64_t count)
{
    return tenon_tensor_slice(*array, 0, start, count);
}

/* Creates a one-dimensional tensor in the member's context. */
static inline tenon_status tn_array_create(const tn_group_member *member, tenon_dtype dtype,
                                           int64_t count, tenon_tensor *array)
{
    return tenon_tensor_create(member->context, dtype, 1, &count, array);
}

#endif
