/** @file
 * Parallel training on a group (group.h): gradients that are combined in buckets during the
 * backward pass, optimizer state and parameters that are divided among the members, the order of
 * steps of a pipeline, the exchange of rows between experts, and shares of a batch for unequal
 * devices. docs/parallel.md has an introduction and lists the examples.
 *
 * All processes make the same calls in the same order, as for collectives. Where a function has an
 * argument `member`, it is the index of a local member: 0 to tenon_group_local_count - 1. Sums are
 * those of the group: in the order of the ranks, with the same bits on every member. One device
 * that adds the gradients of the same parts in this order trains to the same bits.
 *
 * An object belongs to the group that it was created with, which must exist until the object is
 * destroyed; a failure of an earlier collective is returned by its calls, as by any call on the
 * group. Calls on a group and on its objects must not overlap in time.
 */
#ifndef TENON_PARALLEL_H
#define TENON_PARALLEL_H

#include <tenon/group.h>
#include <tenon/optimizer.h>

TENON_BEGIN_C

/** Gradients of data-parallel members in buckets. Opaque; owns the memory of the gradients. */
typedef struct tenon_buckets tenon_buckets;

/** Start from TENON_BUCKETS_PARAMS_INIT. */
typedef struct tenon_buckets_params {
    uint32_t struct_size;  /**< sizeof(tenon_buckets_params) */
    uint32_t flags;        /**< 0 */
    tenon_group_kind kind; /**< how gradients are combined: TENON_GROUP_SUM, for example */
    uint64_t
        bytes; /**< minimum size of a bucket: parameters are added until it is reached; 25 MiB */
} tenon_buckets_params;

/** The defaults of tenon_buckets_params, without braces. */
#define TENON_BUCKETS_PARAMS_DEFAULTS                                                              \
    sizeof(tenon_buckets_params), 0, TENON_GROUP_SUM, UINT64_C(26214400)
/** Initializes a tenon_buckets_params with the defaults. */
#define TENON_BUCKETS_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_BUCKETS_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_buckets_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_buckets_params(...)                                                                  \
    TENON_LITERAL(tenon_buckets_params, TENON_BUCKETS_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_buckets_params) */
TENON_API void tenon_buckets_params_default(tenon_buckets_params *params, uint32_t size);

/** Creates buckets for the gradients of `count` parameters. A bucket is an array with the gradients
 * of successive parameters; the first bucket has the last parameters. It is combined as soon as its
 * gradients are ready on all local members and the buckets before it have been combined:
 *
 *     for i from the last parameter to the first, for each member m:
 *         enqueue what writes tenon_buckets_gradients(buckets, m)[i] on streams[m]
 *         tenon_buckets_ready(buckets, m, i, streams[m])
 *     tenon_buckets_finish(buckets, streams)
 *     enqueue what reads the gradients
 *
 * For an overlap of the sums with the backward pass, create the group with other streams than those
 * of the backward pass, in the same contexts.
 *  @param params      NULL means the defaults; read only during the call
 *  @param count       at least 1
 *  @param parameters  views; only their types and shapes are used: all f64, f32, f16 or bf16. They
 *                     need no memory
 *  @param out         receives the buckets, to be freed with tenon_buckets_destroy; all gradients
 *                     are 0. NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a member without it) ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_buckets_create(tenon_group *group, const tenon_buckets_params *params,
                                             uint32_t count, const tenon_tensor *parameters,
                                             tenon_buckets **out);

/** Waits until the group's collectives have ended and frees the buckets. NULL is allowed. */
TENON_API void tenon_buckets_destroy(tenon_buckets *buckets);

/** Returns the number of buckets; 0 for NULL. */
TENON_API uint32_t tenon_buckets_count(const tenon_buckets *buckets);

/** Returns a member's gradients, in the order of the parameters, which exist until the buckets are
 * destroyed. NULL for NULL, or if there is no such member. */
TENON_API const tenon_tensor *tenon_buckets_gradients(const tenon_buckets *buckets,
                                                      uint32_t member);

/** Declares that the work that writes a gradient has been enqueued, and combines the buckets that
 * are complete. Buckets are combined in their order, so members and processes may declare their
 * gradients in any order. But if other collectives are called during a backward pass, all processes
 * must declare so that all calls on the group have the same order in each of them.
 *  @param member  a local member
 *  @param index   of the parameter; once for each member between two calls of tenon_buckets_finish
 *  @param stream  in which the work was enqueued, for which the group's stream then waits; NULL:
 *                 the group's own
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also if the gradient is ready already) · as
 *          tenon_stream_wait; the gradient is then not ready · as tenon_group_all_reduce; the
 *          gradient is then ready, and the next call makes the collective again */
TENON_CALL tenon_status tenon_buckets_ready(tenon_buckets *buckets, uint32_t member, uint32_t index,
                                            tenon_stream *stream);

/** Ends a backward pass: the gradients are the combined ones for work that is enqueued from now on,
 * and none is ready. Returns without waiting.
 *  @param streams  one per local member, which waits for the sums; NULL: the group's own streams
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also if a gradient is not ready) · as
 *          tenon_group_all_reduce · as tenon_stream_wait. A call that has failed may be repeated */
TENON_CALL tenon_status tenon_buckets_finish(tenon_buckets *buckets, tenon_stream *const *streams);

/** Adam for data-parallel members, each of which keeps the moments of an equal part of the
 * parameters (ZeRO-1: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
 * Parameter Models", SC 2020). Opaque; owns the memory of parameters, gradients and moments: in
 * bytes of f32 parameters, a member has 1 for them, 1 for gradients, and 3/n for moments and the
 * sum of gradients.
 *
 *     enqueue what reads tenon_sharded_adam_parameters(adam, m) and writes
 *         tenon_sharded_adam_gradients(adam, m), on the stream of each local member m
 *     tenon_sharded_adam_step(adam, &tenon_adam_params(.step = number)) */
typedef struct tenon_sharded_adam tenon_sharded_adam;

/** Creates parameters, their gradients and moments, all 0. Give all members the same initial
 * parameters: write them on each (tenon_tensor_upload, tenon_checkpoint_load), or on one and call
 * tenon_group_broadcast.
 *  @param count       at least 1
 *  @param parameters  as for tenon_buckets_create. 16-bit parameters have moments of f32, and no
 *                     master
 *  @param out         receives the object, to be freed with tenon_sharded_adam_destroy; NULL on
 *                     failure
 *  @return as tenon_buckets_create */
TENON_CALL tenon_status tenon_sharded_adam_create(tenon_group *group, uint32_t count,
                                                  const tenon_tensor *parameters,
                                                  tenon_sharded_adam **out);

/** Waits until the group's collectives have ended and frees the object. NULL is allowed. */
TENON_API void tenon_sharded_adam_destroy(tenon_sharded_adam *adam);

/** Returns a member's parameters, which exist until the object is destroyed. Work on them is
 * enqueued on the group's streams, or on others that are ordered with these (tenon_stream_wait).
 * NULL for NULL, or if there is no such member. */
TENON_API const tenon_tensor *tenon_sharded_adam_parameters(const tenon_sharded_adam *adam,
                                                            uint32_t member);

/** Returns a member's gradients, in the order of the parameters. Otherwise as
 * tenon_sharded_adam_parameters. */
TENON_API const tenon_tensor *tenon_sharded_adam_gradients(const tenon_sharded_adam *adam,
                                                           uint32_t member);

/** Returns a member's parts of the first and the second moment: two tensors of one dimension, for
 * checkpoints. The parts of all members, in the order of the ranks, are the moments of all
 * parameters, one after the other, each from a multiple of 64 elements on. NULL as for
 * tenon_sharded_adam_parameters. */
TENON_API const tenon_tensor *tenon_sharded_adam_moments(const tenon_sharded_adam *adam,
                                                         uint32_t member);

/** Adds the gradients of all members, updates each part on its member and gives it to the others.
 * Returns without waiting.
 *  @param params  of tenon_adam, equal in all processes; NULL means the defaults. skip and
 *                 gradient_scale have to be usable in the streams of all local members
 *  @return as tenon_group_reduce_scatter · as tenon_adam. After a failure in the middle of the
 *          parameters, members may have different ones: continue from a checkpoint */
TENON_CALL tenon_status tenon_sharded_adam_step(tenon_sharded_adam *adam,
                                                const tenon_adam_params *params);

/** Layers whose parameters, gradients and moments of Adam are divided among data-parallel members
 * (ZeRO-3 of the same paper, FSDP). The whole parameters of a layer exist only while they are used.
 * Opaque; owns all this memory: in bytes of f32 parameters, a member has 4/n of all layers, and
 * buffers for the parameters of two layers and the gradients of one.
 *
 *     for each layer:                   tenon_sharded_layers_gather, forward pass
 *     for each layer, from the last:    tenon_sharded_layers_gather, backward pass, which writes
 *                                       tenon_sharded_layers_gradients; tenon_sharded_layers_reduce
 *     tenon_sharded_layers_step */
typedef struct tenon_sharded_layers tenon_sharded_layers;

/** Creates layers whose parameters are 0. To initialize a layer: tenon_sharded_layers_gather, write
 * the same values to the parameters of each member, tenon_sharded_layers_keep.
 *  @param layers      at least 1
 *  @param counts      the number of parameters of each layer, at least 1
 *  @param parameters  those of the first layer, then those of the second, and so on; otherwise as
 *                     for tenon_sharded_adam_create
 *  @param out         receives the object, to be freed with tenon_sharded_layers_destroy; NULL on
 *                     failure
 *  @return as tenon_buckets_create */
TENON_CALL tenon_status tenon_sharded_layers_create(tenon_group *group, uint32_t layers,
                                                    const uint32_t *counts,
                                                    const tenon_tensor *parameters,
                                                    tenon_sharded_layers **out);

/** Waits until the group's collectives have ended and frees the object. NULL is allowed. */
TENON_API void tenon_sharded_layers_destroy(tenon_sharded_layers *layers);

/** Makes the whole parameters of a layer available on all members, unless they are already. Returns
 * without waiting.
 *  @param parameters  receives an array of views: those of the first local member, then those of
 *                     the second, and so on. They are valid until two other layers have been
 *                     gathered or tenon_sharded_layers_step is called. Work on them is enqueued on
 *                     the group's streams. NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · as tenon_group_all_gather */
TENON_CALL tenon_status tenon_sharded_layers_gather(tenon_sharded_layers *layers, uint32_t layer,
                                                    const tenon_tensor **parameters);

/** Makes each member keep its part of a gathered layer's parameters, as they have been written.
 *  @param layer  one of the last two that were gathered
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also if the layer is not gathered) · as
 *          tenon_copy */
TENON_CALL tenon_status tenon_sharded_layers_keep(tenon_sharded_layers *layers, uint32_t layer);

/** Returns the tensors for the gradients of a layer: those of the first local member, then those of
 * the second, and so on. They share memory with those of other layers: use them until
 * tenon_sharded_layers_reduce. The array is valid until the next call. NULL for NULL, or if there
 * is no such layer. */
TENON_API const tenon_tensor *tenon_sharded_layers_gradients(tenon_sharded_layers *layers,
                                                             uint32_t layer);

/** Adds the gradients of a layer; each member keeps its part of the sum. Returns without waiting.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · as tenon_group_reduce_scatter */
TENON_CALL tenon_status tenon_sharded_layers_reduce(tenon_sharded_layers *layers, uint32_t layer);

/** Returns a member's parts of a layer's first and second moment, as tenon_sharded_adam_moments.
 * NULL for NULL, or if there is no such layer or member. */
TENON_API const tenon_tensor *tenon_sharded_layers_moments(const tenon_sharded_layers *layers,
                                                           uint32_t layer, uint32_t member);

/** Updates the parameters of the layers whose gradients were reduced since the last step; others
 * remain as they are. Views of gathered parameters become invalid. Returns without waiting.
 *  @param params  as tenon_sharded_adam_step
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · as tenon_adam. After a failure some layers may
 *          have been updated: continue from a checkpoint */
TENON_CALL tenon_status tenon_sharded_layers_step(tenon_sharded_layers *layers,
                                                  const tenon_adam_params *params);

/** Divides a batch among members so that the slowest one is done as early as possible: the longest
 * time, of samples / speed, is the smallest that whole samples allow. A member that would need
 * longer for one sample than the others for all gets none. With equal inputs all processes get the
 * same result. Measure the speeds in a few steps and keep the shares: later steps are then
 * reproducible. Scale the loss of each sample by 1 / batch, so that the gradients of members can be
 * added. Needs no group and no context; may be called from any thread.
 *  @param batch    samples, 0 to INT32_MAX
 *  @param members  1 to TENON_GROUP_MAX_MEMBERS
 *  @param speeds   samples per second of each member, in any unit; members with 0 get no samples
 *  @param counts   receives the samples of each member; unchanged on failure. Among equally fast
 *                  members the first ones get one more
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also if no speed is above 0) */
TENON_CALL tenon_status tenon_divide_batch(int64_t batch, uint32_t members, const double *speeds,
                                           int64_t *counts);

/** The samples of a batch that each member of a data-parallel training gets, by the times that they
 * need. Opaque; needs no group and no context. All members begin with equal shares. The times of a
 * few steps change them; then the shares are fixed, so that later steps, and a training that is
 * resumed with the same counts, are reproducible.
 *
 *     for each step:
 *         compute on each member the gradients of tenon_shares_counts(shares)[rank] samples
 *         while tenon_shares_is_fixed(shares) is 0: measure these times, exchange them
 *             (tenon_group_all_gather) and call tenon_shares_record
 *
 * Each division is used for two steps, and the shorter time of each member counts, because the
 * first step with new shapes also selects and compiles kernels. The next division is that of
 * tenon_divide_batch by the speeds so far. At most three divisions follow; the one with the
 * shortest step is kept. If there are more members than samples, they take turns first, so that
 * each one is measured. Once the shares are fixed, members without samples need not take part.
 *
 * Calls on one object must not overlap in time. */
typedef struct tenon_shares tenon_shares;

/** Creates shares.
 *  @param batch    samples, 1 to INT32_MAX
 *  @param members  1 to TENON_GROUP_MAX_MEMBERS
 *  @param counts   the samples of each member from an earlier training, together `batch`: the
 *                  shares are fixed. NULL: they are measured, if there are at least two members
 *  @param out      receives the shares, to be freed with tenon_shares_destroy; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_shares_create(int64_t batch, uint32_t members, const int64_t *counts,
                                            tenon_shares **out);

/** Frees the shares. NULL is allowed. */
TENON_API void tenon_shares_destroy(tenon_shares *shares);

/** Returns the samples of each member in the next step, in an array that exists until the shares
 * are destroyed and that tenon_shares_record changes. NULL for NULL. */
TENON_API const int64_t *tenon_shares_counts(const tenon_shares *shares);

/** Returns 1 if the shares do not change any more, otherwise 0; 0 for NULL. */
TENON_API int tenon_shares_is_fixed(const tenon_shares *shares);

/** Takes the times of a step that was made with these shares, which may change them. Does nothing
 * once they are fixed. In several processes all of them must give the same times. Measure from
 * before the work of a step is enqueued to the end of the stream's work, without collectives, which
 * would add the others' times: give the group other streams.
 *  @param seconds  of each member; those of members without samples are ignored
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also a time that is not positive and finite);
 *          the shares are then unchanged */
TENON_CALL tenon_status tenon_shares_record(tenon_shares *shares, const double *seconds);

/** A step of a pipeline. */
typedef struct tenon_pipeline_step {
    uint32_t stage;       /**< 0 for the first layers */
    uint32_t is_forward;  /**< 1: forward pass, 0: backward pass */
    uint32_t micro_batch; /**< 0 to the number of micro-batches - 1 */
} tenon_pipeline_step;

/** Writes the steps of a pipeline in an order in which each one follows those that it depends on.
 * Each stage has the order of 1F1B (PipeDream-Flush: D. Narayanan et al., "Memory-Efficient
 * Pipeline-Parallel DNN Training", ICML 2021): as many forward passes as there are stages after it,
 * then one forward and one backward pass in turn, then the rest of the backward passes. A stage
 * therefore keeps the activations of at most stages - stage micro-batches. Gradients are added in
 * the order of the micro-batches. A process with some of the stages skips the steps of the others.
 * Needs no group and no context; may be called from any thread.
 *  @param stages         1 to TENON_GROUP_MAX_MEMBERS
 *  @param micro_batches  any number
 *  @param count          elements of `steps`: 2 · stages · micro_batches
 *  @param steps          receives the steps; unchanged on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT */
TENON_CALL tenon_status tenon_one_forward_one_backward(uint32_t stages, uint32_t micro_batches,
                                                       uint64_t count, tenon_pipeline_step *steps);

/** Moves rows to the members that have their experts and back (expert parallel), without waiting
 * for the device. Opaque; owns buffers with space for the rows of all members on each, so no row is
 * ever dropped, whichever experts are chosen.
 *
 *     tenon_exchange_route(exchange, chosen)         the expert of each row
 *     tenon_exchange_dispatch(exchange, x, rows)     tenon_gemm_ragged with the offsets …
 *     tenon_exchange_collect(exchange, rows, y)      in the order of x
 *
 * Dispatch and collect are each other's transpose: in the backward pass the gradients of y are
 * dispatched, and those of the rows are collected. */
typedef struct tenon_exchange tenon_exchange;

/** Creates an exchange. Each member has an equal part of the experts, in the order of the ranks.
 *  @param experts  a positive multiple of the group's members
 *  @param rows     a view of the rows of a member, the same for all members: any type but the f8
 *                  types; the first dimension counts the rows. It needs no memory
 *  @param out      receives the exchange, to be freed with tenon_exchange_destroy; NULL on failure
 *  @return as tenon_buckets_create */
TENON_CALL tenon_status tenon_exchange_create(tenon_group *group, uint32_t experts,
                                              const tenon_tensor *rows, tenon_exchange **out);

/** Waits until the group's collectives have ended and frees the exchange. NULL is allowed. */
TENON_API void tenon_exchange_destroy(tenon_exchange *exchange);

/** Determines the destinations of the rows. Returns without waiting.
 *  @param chosen  one per local member: i32, of rank 1: the expert of each row, from 0 on. The
 *                 results of rows with other numbers are undefined
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · as tenon_group_all_to_all · as tenon_sort.
 * After a failure the rows have no destination */
TENON_CALL tenon_status tenon_exchange_route(tenon_exchange *exchange, const tenon_tensor *chosen);

/** Returns the offsets of a member's experts in its dispatched rows, for tenon_gemm_ragged: i32,
 * the first row of each expert and the end of the last. Written by tenon_exchange_route, in the
 * group's streams. NULL for NULL, or if there is no such member. */
TENON_API const tenon_tensor *tenon_exchange_offsets(const tenon_exchange *exchange,
                                                     uint32_t member);

/** Sends the rows to their experts. Returns without waiting.
 *  @param x  one per local member: its rows, like those of tenon_exchange_create; any strides
 *  @param y  one per local member: receives the rows for its experts in the order of the offsets,
 *            and of the ranks for each expert, then rows of zeros. The first dimension is that of x
 *            multiplied by the members of the group; must not overlap x
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also if there is no route) · as
 *          tenon_group_all_to_all · as tenon_scatter */
TENON_CALL tenon_status tenon_exchange_dispatch(tenon_exchange *exchange, const tenon_tensor *x,
                                                const tenon_tensor *y);

/** Sends rows back: the inverse of tenon_exchange_dispatch. Returns without waiting.
 *  @param x  one per local member, like y of tenon_exchange_dispatch
 *  @param y  one per local member, like x of tenon_exchange_dispatch: receives the rows in its
 * order
 *  @return as tenon_exchange_dispatch */
TENON_CALL tenon_status tenon_exchange_collect(tenon_exchange *exchange, const tenon_tensor *x,
                                               const tenon_tensor *y);

/** Copies dispatched rows to blocks, one for each expert of a member. A product of the transposed
 * blocks of inputs and of the blocks of gradients is the gradient of the experts' weights; its bits
 * do not depend on how experts are divided among members. Returns without waiting.
 *  @param x  one per local member: rows in the order of tenon_exchange_dispatch, as many as its y
 *            has, such as that y or what was computed of it. The other dimensions, any strides and
 *            any type but the f8 types are allowed. What follows the last expert's rows is not read
 *  @param y  one per local member, of x's type, of the shape (experts of the member) × (shape of
 * x). Receives each expert's rows, then zeros. The strides of its first two dimensions must be such
 * that they can be seen as one dimension; must not overlap x
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (also if there is no route) · as
 *          tenon_group_poll (a failure of an earlier collective) · as tenon_scatter */
TENON_CALL tenon_status tenon_exchange_blocks(tenon_exchange *exchange, const tenon_tensor *x,
                                              const tenon_tensor *y);

TENON_END_C

#endif
