/** @file
 * Groups: collective operations on tensors of several devices, in one process or in several.
 *
 * The members of a group are streams, of one or several contexts and of any devices: cards of
 * different vendors, CPUs, parts of a device (tenon/device.h). In one process a member's rank is
 * its index in the array that the group was created from. In several processes, which a transport
 * connects (tenon/transport.h), the members of process 0 come first, then those of process 1, and
 * so on.
 *
 * A collective is called once in each process, for all its members there. It takes arrays of
 * tensors with one entry per local member, in the order of their ranks. All processes make the same
 * calls in the same order. A collective is enqueued like any other operation: it begins when the
 * earlier work of each member's stream is done, and later work of these streams waits for it.
 * Collectives of a group are executed in the order of their calls.
 *
 * Unlike other operations, a collective does not keep the memory of its tensors: the caller may
 * free it only after the call's events have completed, or after tenon_group_wait. The tenon_tensor
 * structs and the arrays of them are read only during the call.
 *
 * Progress: a thread of the group moves the data and launches the kernels that combine it. If the
 * transport lacks TENON_TRANSPORT_THREADS there is no thread. Only calls on the group then make
 * progress (between others, call tenon_group_poll): call tenon_group_wait before waiting for a
 * stream, because a stream waits for its collectives.
 *
 * Elements are combined in the order of the ranks: ((x0 + x1) + x2) + …, each result by one member
 * that sends it to the others, or, if small, by each member. So all members receive the same bits,
 * and equal calls of equal groups give equal bits, on any transport. f16 and bf16 are combined in
 * f32 and rounded once.
 *
 * Failures: a collective that cannot finish completes its events all the same, because some drivers
 * end the process if an event fails. The group keeps the failure, and its next call returns it,
 * with the rank and the call. The outputs of a failed collective are undefined. In one process, and
 * after TENON_ERROR_MISMATCH or a failure of a member's earlier work, the group can be used again;
 * the call that returned the failure has done nothing and may be repeated.
 * Any other failure of a collective between processes breaks the group: its other collectives end,
 * the other processes are notified, and every later call returns the failure, until
 * tenon_group_shrink makes a group of the processes that are left, or the group is destroyed. No
 * wait for other processes lasts longer than the group's deadline.
 */
#ifndef TENON_GROUP_H
#define TENON_GROUP_H

#include <tenon/tensor.h>
#include <tenon/transport.h>

TENON_BEGIN_C

/** Opaque. Calls on one group must not overlap in time, and no other thread may use the members'
 * streams during a call. A group holds references to the members' contexts. */
typedef struct tenon_group tenon_group;

/** The operation that combines elements: the kind of a reduction. */
typedef enum tenon_group_kind {
    TENON_GROUP_SUM = 0,     /**< sum */
    TENON_GROUP_MEAN = 1,    /**< sum divided by the number of members; not of integers */
    TENON_GROUP_PRODUCT = 2, /**< product */
    TENON_GROUP_MAX = 3,     /**< the greatest; NaN if any is NaN */
    TENON_GROUP_MIN = 4      /**< the least; NaN if any is NaN */
} tenon_group_kind;

/** The largest number of members. */
#define TENON_GROUP_MAX_MEMBERS 64

/** The default deadline in seconds, that of PyTorch's process groups. */
#define TENON_GROUP_DEADLINE 600.0

/** Start from TENON_GROUP_PARAMS_INIT. */
typedef struct tenon_group_params {
    uint32_t struct_size; /**< sizeof(tenon_group_params) */
    uint32_t flags;       /**< 0 */
    /** Connects the processes; the table is copied. NULL: all members are in this process. If the
     * group is created, it owns the transport and destroys it. */
    const tenon_transport *transport;
    /** The longest time in seconds that a collective waits for other processes, from the moment
     * when it is the first unfinished one and its members' earlier work is done. Also for the
     * creation of the group. Greater than 0 and at most 1e9. */
    double deadline_s;
    /** Data between processes is divided into parts of about this many bytes for each member, whose
     * messages, copies and kernels overlap: 64 to TENON_TRANSPORT_MESSAGE_MAX, equal in all
     * processes. 0: automatic. */
    uint64_t chunk_bytes;
} tenon_group_params;

/** The defaults of tenon_group_params, without braces. */
#define TENON_GROUP_PARAMS_DEFAULTS sizeof(tenon_group_params), 0, NULL, TENON_GROUP_DEADLINE, 0
/** Initializes a tenon_group_params with the defaults. */
#define TENON_GROUP_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_GROUP_PARAMS_DEFAULTS                                                                \
    }
#ifndef __cplusplus
/** A const tenon_group_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_group_params(...)                                                                    \
    TENON_LITERAL(tenon_group_params, TENON_GROUP_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_group_params) */
TENON_API void tenon_group_params_default(tenon_group_params *params, uint32_t size);

/** Creates a group. With a transport, every process calls this, and the call waits for the others.
 *  @param streams  the members of this process, each stream once; they must exist until the group
 *                  is destroyed
 *  @param count    at least 1; all processes together have at most TENON_GROUP_MAX_MEMBERS. A group
 *                  of one works
 *  @param params   NULL means the defaults; read only during the call
 *  @param out      receives the group, to be freed with tenon_group_destroy; NULL on failure, after
 *                  which the transport still belongs to the caller
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a stream twice; an invalid count,
 *          parameter or transport) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_TIMEOUT · TENON_ERROR_PEER_LOST · TENON_ERROR_MISMATCH (another version of
 *          Tenon, or parameters that differ) · a failure of the transport */
TENON_CALL tenon_status tenon_group_create(tenon_stream *const *streams, uint32_t count,
                                           const tenon_group_params *params, tenon_group **out);

/** Waits until all collectives have ended, at most until their deadlines, and frees the group and
 * its transport. NULL is allowed. */
TENON_API void tenon_group_destroy(tenon_group *group);

/** Returns the number of members in all processes; 0 for NULL. */
TENON_API uint32_t tenon_group_size(const tenon_group *group);

/** Returns the rank of the first local member; 0 for NULL. */
TENON_API uint32_t tenon_group_first_rank(const tenon_group *group);

/** Returns the number of local members: the length of the arrays of collectives; 0 for NULL. */
TENON_API uint32_t tenon_group_local_count(const tenon_group *group);

/** Combines the members' tensors; every member receives the result: y[m] = x[0] ∘ x[1] ∘ … for each
 * m. Each member combines an equal share and sends it to the others, so 2 (n - 1) / n of the bytes
 * of a tensor move to and from each of n members. Of at most 32 KiB, or 1 MiB if two processes have
 * one member each, each member combines all, if all members have the same device and driver.
 *  @param kind    a tenon_group_kind
 *  @param x       one tensor per local member, all of the same type and shape: f64, f32, f16, bf16,
 *                 i32 or i64; any strides
 *  @param y       one per local member, of x's type and shape; y[m] may be exactly x[m] (same
 *                 memory, offset and strides), must not overlap it otherwise, and its own elements
 *                 must not overlap
 *  @param events  receives one event per local member that completes with the call's work on that
 *                 member, released by the caller; NULL: no events. Not written if the call fails.
 *                 If the collective fails later, its events complete all the same
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type or kind) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a member without it) · TENON_ERROR_OUT_OF_MEMORY
 *          · TENON_ERROR_OPENCL. An earlier collective that failed after its call had returned, or
 *          the failure that broke the group: its status, with a message that names the call and the
 *          rank; this call has then done nothing. Such a status is any of the above,
 *          TENON_ERROR_ASYNCHRONOUS (a member's earlier work has failed), TENON_ERROR_MISMATCH,
 *          TENON_ERROR_TIMEOUT, TENON_ERROR_PEER_LOST or a failure of the transport */
TENON_CALL tenon_status tenon_group_all_reduce(tenon_group *group, tenon_group_kind kind,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               cl_event *events);

/** Combines many tensors of each member at once, like tenon_group_all_reduce of one tensor that
 * contains their elements one after the other: a bucket of gradients. They are copied to and from
 * one array, which is temporary memory of their size on each member.
 *  @param count   tensors of each member, at least 1
 *  @param x       those of the first local member, then those of the second, and so on. All of one
 *                 type; tensor i has the same shape for every member
 *  @param y       likewise; each may be exactly the tensor of x in its place
 *  @param events  as tenon_group_all_reduce: one per local member
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_all_reduce_many(tenon_group *group, tenon_group_kind kind,
                                                    uint32_t count, const tenon_tensor *x,
                                                    const tenon_tensor *y, cl_event *events);

/** Combines the members' tensors; the member `root` receives the result in y.
 *  @param root    a rank
 *  @param y       one tensor, of x's type and shape; not read in processes without that member
 *  @param events  as tenon_group_all_reduce: one per local member
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_reduce(tenon_group *group, tenon_group_kind kind, uint32_t root,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           cl_event *events);

/** Combines the members' tensors; each member receives a part of the result: y[m] is the m-th of n
 * equal parts of x[0] ∘ x[1] ∘ … along the first dimension.
 *  @param x  as tenon_group_all_reduce, of rank at least 1; the first dimension is a multiple of
 *            the number of members
 *  @param y  one per local member, of x's type and shape except for the first dimension; must not
 *            overlap x[m]
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_reduce_scatter(tenon_group *group, tenon_group_kind kind,
                                                   const tenon_tensor *x, const tenon_tensor *y,
                                                   cl_event *events);

/** Gives every member the tensors of all, one after the other along the first dimension: y[m] =
 * x[0], x[1], … for each m.
 *  @param x  one tensor per local member, of any type, all of the same type and shape, of rank at
 *            least 1
 *  @param y  one per local member, of x's type and shape, except that the first dimension is
 *            multiplied by the number of members; x[m] may be the m-th part of y[m], must not
 *            overlap it otherwise
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_all_gather(tenon_group *group, const tenon_tensor *x,
                                               const tenon_tensor *y, cl_event *events);

/** Gives every member the tensor of the member `root`: y[m] = x for each m.
 *  @param root  a rank
 *  @param x     one tensor, of any type, of that member; not read in other processes
 *  @param y     one tensor per local member, of x's type and shape; that of the member `root` may
 *               be exactly x
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_broadcast(tenon_group *group, uint32_t root,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              cl_event *events);

/** Gives each member a part of every other member's tensor: part j of y[m] is part m of x[j], where
 * tensors are divided into n equal parts along the first dimension.
 *  @param x  one tensor per local member, of any type, all of the same type and shape, of rank at
 *            least 1; the first dimension is a multiple of the number of members
 *  @param y  one per local member, of x's type and shape; must not overlap x[m]
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_all_to_all(tenon_group *group, const tenon_tensor *x,
                                               const tenon_tensor *y, cl_event *events);

/** Sends a tensor of a local member to another member, which calls tenon_group_receive with the
 * same two ranks. Sends from one member to another are received in the order of their calls. They
 * are independent of other calls: a send is done when the tensor has been copied to the host,
 * without waiting for the receiver.
 *  @param from   the rank of a local member
 *  @param to     a rank; may be equal to `from`
 *  @param x      a tensor of member `from`, of any type
 *  @param event  receives an event that completes when x may be overwritten; as the events of
 *                tenon_group_all_reduce
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_send(tenon_group *group, uint32_t from, uint32_t to,
                                         const tenon_tensor *x, cl_event *event);

/** Receives a tensor in a local member from another member: see tenon_group_send. Later work of the
 * member's stream waits for it. If the sender is local too, its send may be called later, but
 * before tenon_group_wait and tenon_group_destroy, which end a receive without a send
 * (TENON_ERROR_MISMATCH).
 *  @param from   a rank; may be equal to `to`
 *  @param to     the rank of a local member
 *  @param y      a tensor of member `to`, of the type and shape that is sent
 *  @param event  receives an event that completes when y is written
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_receive(tenon_group *group, uint32_t from, uint32_t to,
                                            const tenon_tensor *y, cl_event *event);

/** Makes later work of every member's stream wait for the earlier work of all of them.
 *  @param events  as tenon_group_all_reduce: one per local member
 *  @return as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_barrier(tenon_group *group, cl_event *events);

/** Makes progress without waiting for other processes. Needed only for transports without
 * TENON_TRANSPORT_THREADS, between other calls; allowed always.
 *  @param busy  receives 1 if a collective, send or receive has not ended, otherwise 0; may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · a failure, as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_poll(tenon_group *group, int *busy);

/** Waits until all collectives, sends and receives have ended.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · a failure, as tenon_group_all_reduce */
TENON_CALL tenon_status tenon_group_wait(tenon_group *group);

/** Makes a group of the processes that are left after a failure. All survivors call this.
 * Unfinished collectives of the old group end without results; it can then only be destroyed. The
 * members keep their order and get new ranks. The call waits for the other survivors.
 *  @param out  receives the new group with the same local members and parameters, to be freed with
 *              tenon_group_destroy; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · TENON_ERROR_UNSUPPORTED (no transport,
 *          or one that cannot shrink) · otherwise as tenon_group_create */
TENON_CALL tenon_status tenon_group_shrink(tenon_group *group, tenon_group **out);

TENON_END_C

#endif
