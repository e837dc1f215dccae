/** @file
 * Groups: collective operations on tensors of several devices.
 *
 * The members of a group are streams, of one or several contexts and of any devices: cards of
 * different vendors, CPUs, parts of a device (tenon/device.h). A member's rank is its index in the
 * array that the group was created from.
 *
 * A collective is one call for all members. It takes an array of tensors with one entry per member.
 * It is enqueued like any other operation: it begins when the earlier work of each member's stream
 * is done, and later work of these streams waits for it. A thread of the group moves the data and
 * launches the kernels that combine it. Collectives of a group are executed in the order of their
 * calls.
 *
 * Elements are combined in the order of the ranks: ((x0 + x1) + x2) + …, each result by one member
 * that sends it to the others. So all members receive the same bits, and equal calls of equal
 * groups give equal bits. f16 and bf16 are combined in f32 and rounded once.
 */
#ifndef TENON_GROUP_H
#define TENON_GROUP_H

#include <tenon/tensor.h>

TENON_BEGIN_C

/** Opaque. Calls on one group must not overlap in time, and no other thread may use the members'
 * streams during a call. A group holds references to the members' contexts. */
typedef struct tenon_group tenon_group;

/** The operation that combines elements. */
typedef enum tenon_group_kind {
    TENON_GROUP_SUM = 0,     /**< sum */
    TENON_GROUP_MEAN = 1,    /**< sum divided by the number of members; not of integers */
    TENON_GROUP_PRODUCT = 2, /**< product */
    TENON_GROUP_MAX = 3,     /**< the greatest; NaN if any is NaN */
    TENON_GROUP_MIN = 4      /**< the least; NaN if any is NaN */
} tenon_group_kind;

/** The largest number of members. */
#define TENON_GROUP_MAX_MEMBERS 64

/** Start from TENON_GROUP_PARAMS_INIT. */
typedef struct tenon_group_params {
    uint32_t struct_size; /**< sizeof(tenon_group_params) */
    uint32_t flags;       /**< 0 */
} tenon_group_params;

/** The defaults of tenon_group_params, without braces. */
#define TENON_GROUP_PARAMS_DEFAULTS sizeof(tenon_group_params), 0
/** Initializes a tenon_group_params with the defaults. */
#define TENON_GROUP_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_GROUP_PARAMS_DEFAULTS                                                                \
    }

/** Creates a group.
 *  @param streams  the members, each stream once; they must exist until the group is destroyed
 *  @param count    1 to TENON_GROUP_MAX_MEMBERS; a group of one works
 *  @param params   NULL means the defaults; read only during the call
 *  @param out      receives the group, to be freed with tenon_group_destroy; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a stream twice; an invalid count) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_group_create(tenon_stream *const *streams, uint32_t count,
                                           const tenon_group_params *params, tenon_group **out);

/** Waits until all collectives are done, and frees the group. NULL is allowed. */
TENON_API void tenon_group_destroy(tenon_group *group);

/** Returns the number of members; 0 for NULL. */
TENON_API uint32_t tenon_group_size(const tenon_group *group);

/** Combines the members' tensors; every member receives the result: y[m] = x[0] ∘ x[1] ∘ … for each
 * m. Each member combines an equal share and sends it to the others, so 2 (n - 1) / n of the bytes
 * of a tensor move to and from each of n members.
 *  @param kind    a tenon_group_kind
 *  @param x       one tensor per member, all of the same type and shape: f64, f32, f16, bf16, i32
 *                 or i64; any strides
 *  @param y       one per member, of x's type and shape; y[m] may be exactly x[m] (same memory,
 *                 offset and strides), must not overlap it otherwise, and its own elements must not
 *                 overlap
 *  @param events  receives one event per member that completes with the call's work on that member,
 *                 released by the caller; NULL: no events. Not written if the call fails. If the
 *                 collective fails later, its events complete all the same
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type or kind) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a member without it) · TENON_ERROR_OUT_OF_MEMORY
 * · TENON_ERROR_OPENCL. An earlier collective that failed after its call had returned: its status,
 * with a message that names the call and the member's rank; this call has then done nothing. The
 * outputs of a failed collective are undefined */
TENON_CALL tenon_status tenon_group_all_reduce(tenon_group *group, tenon_group_kind kind,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               cl_event *events);

/** Combines the members' tensors; the member `root` receives the result in y.
 *  @param root    a rank
 *  @param y       one tensor, of x's type and shape
 *  @param events  as tenon_group_all_reduce: one per member
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_reduce(tenon_group *group, tenon_group_kind kind, uint32_t root,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           cl_event *events);

/** Combines the members' tensors; each member receives a part of the result: y[m] is the m-th of n
 * equal parts of x[0] ∘ x[1] ∘ … along the first dimension.
 *  @param x  as tenon_group_all_reduce, of rank at least 1; the first dimension is a multiple of
 *            the number of members
 *  @param y  one tensor per member, of x's type and shape except for the first dimension; must not
 *            overlap x[m]
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_reduce_scatter(tenon_group *group, tenon_group_kind kind,
                                                   const tenon_tensor *x, const tenon_tensor *y,
                                                   cl_event *events);

/** Gives every member the tensors of all, one after the other along the first dimension: y[m] =
 * x[0], x[1], … for each m.
 *  @param x  one tensor per member, of any type, all of the same type and shape, of rank at least 1
 *  @param y  one per member, of x's type and shape, except that the first dimension is multiplied
 *            by the number of members; x[m] may be the m-th part of y[m], must not overlap it
 *            otherwise
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_all_gather(tenon_group *group, const tenon_tensor *x,
                                               const tenon_tensor *y, cl_event *events);

/** Gives every member the tensor of the member `root`: y[m] = x for each m.
 *  @param root  a rank
 *  @param x     one tensor, of any type, of that member
 *  @param y     one tensor per member, of x's type and shape; y[root] may be exactly x
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_broadcast(tenon_group *group, uint32_t root,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              cl_event *events);

/** Gives each member a part of every other member's tensor: part j of y[m] is part m of x[j], where
 * tensors are divided into n equal parts along the first dimension.
 *  @param x  one tensor per member, of any type, all of the same type and shape, of rank at least
 *            1; the first dimension is a multiple of the number of members
 *  @param y  one per member, of x's type and shape; must not overlap x[m]
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_all_to_all(tenon_group *group, const tenon_tensor *x,
                                               const tenon_tensor *y, cl_event *events);

/** Copies a tensor from one member to another.
 *  @param from, to  ranks; may be equal
 *  @param x         a tensor of member `from`, of any type
 *  @param y         a tensor of member `to`, of x's type and shape; may be exactly x
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_transfer(tenon_group *group, uint32_t from, uint32_t to,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             cl_event *events);

/** Makes later work of every member's stream wait for the earlier work of all of them.
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_barrier(tenon_group *group, cl_event *events);

/** Waits until all collectives are done.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · the status of a collective that failed
 *          after its call had returned, as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_wait(tenon_group *group);

TENON_END_C

#endif
