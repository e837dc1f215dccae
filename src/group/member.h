/* Members of a group, and the tensors of a collective as one-dimensional arrays. */
#ifndef TN_GROUP_MEMBER_H
#define TN_GROUP_MEMBER_H

#include <tenon/group.h>

#include <stdbool.h>

typedef struct tn_group_member {
    tenon_stream *stream; /* the application's */
    tenon_stream *own;    /* in which the group's thread works */
    tenon_context *context;
    bool is_unified; /* the device shares the host's memory */
} tn_group_member;

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
