/** @file
 * Plans: an operation is validated, its solver chosen, and its kernels compiled and checked once. A
 * plan can be run any number of times.
 *
 * Every operation has three calls: the immediate call (tenon_gemm), the call that makes a plan
 * (tenon_gemm_plan), and tenon_plan_run, which is the same for all operations. The immediate call
 * looks up its plan in a bounded cache of the context and runs it. The first call of a kind
 * therefore compiles and later ones do not. To avoid this latency, make plans in advance.
 */
#ifndef TENON_PLAN_H
#define TENON_PLAN_H

#include <tenon/tensor.h>

TENON_BEGIN_C

/** Opaque, immutable and reference-counted. A plan holds a reference to its context and can be used
 * from any thread and with any stream of that context. */
typedef struct tenon_plan tenon_plan;

/** @file
 * @details Solver names, wherever they are printed or can be forced, follow one grammar:
 *
 *     operation/solver[:name1value1,name2value2,…]        gemm/cpu_packed:mr6,nr64,kc384
 *
 * The part after the colon sets tuning parameters; parameters that are not given have the device's
 * default values. A name with an unknown operation, solver or parameter, or with a value outside
 * its constraints, gives TENON_ERROR_INVALID_ARGUMENT. A solver that does not support the problem
 * gives TENON_ERROR_UNSUPPORTED, with the reason.
 */

/** Adds a reference. NULL is allowed. */
TENON_API void tenon_plan_retain(tenon_plan *plan);
/** Drops a reference; the last one frees the plan. Enqueued work continues. NULL is allowed. */
TENON_API void tenon_plan_release(tenon_plan *plan);

/** Returns the workspace that a run requires, in bytes; 0 for NULL. */
TENON_API uint64_t tenon_plan_workspace(const tenon_plan *plan);

/** Returns the number of operands of a run; 0 for NULL. */
TENON_API uint32_t tenon_plan_operands(const tenon_plan *plan);

/** Writes a one-line description of the plan: the solver's name, the workspace and the launches.
 *  @param text  receives the line, truncated to `size` bytes and null-terminated; may be NULL with
 *               size 0
 *  @return the length of the whole line without its terminator; 0 for a NULL plan */
TENON_API size_t tenon_plan_describe(const tenon_plan *plan, char *text, size_t size);

/** @file
 * @details Plans made in the background, without waiting for compilation and self-checks:
 *
 *     tenon_prepare_begin(context);
 *     tenon_gemm_plan(context, NULL, &a, &b, NULL, NULL, &d, &product);    returns immediately
 *     tenon_conv_forward_plan(context, &params, &x, &w, NULL, NULL, &y, &convolution);
 *     tenon_prepare_end(context);
 *     …                                        a thread of the library makes the plans
 *     tenon_plan_run(stream, product, memories, 5, NULL);                  waits if necessary
 */

/** Starts background planning for the calling thread. Until tenon_prepare_end(), plans of the
 * context that this thread requests are made on a thread of the library, in the order of the
 * requests. The functions that make plans validate their arguments and return a plan that every
 * function accepts; a function that needs the finished plan waits for it. Immediate calls and other
 * threads are not affected. The context's callbacks (log, progress) may be called on that thread. A
 * plan whose last reference the application drops before it is made is not made.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; this thread has already begun) ·
 *          TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_prepare_begin(tenon_context *context);

/** Ends the background planning started by tenon_prepare_begin(), without waiting for the plans.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; this thread has not called
 *          tenon_prepare_begin for this context) */
TENON_CALL tenon_status tenon_prepare_end(tenon_context *context);

/** Reports the progress of background planning.
 *  @param made   receives the number of plans that have been made, have failed, or were dropped
 *                before they were made
 *  @param asked  receives the number of plans requested since the context was created
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_prepare_progress(tenon_context *context, uint64_t *made,
                                               uint64_t *asked);

/** Waits until a plan has been made.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · the statuses of the function that made
 *          it. A plan that failed gives the same status in tenon_plan_run, and has no workspace and
 *          no description */
TENON_CALL tenon_status tenon_plan_wait(const tenon_plan *plan);

/** Enqueues the plan. Never compiles. Waits only for a plan that is still being made in the
 * background. Allocates only at the first run on a stream: the stream's kernel objects and its
 * workspace (see tenon_stream_reserve_workspace). Shapes, strides and offsets are those of the
 * tensors that the plan was made from; only the memory is given here.
 *  @param memories  one for each operand, in the order of the operation's arguments; kind NONE for
 *                   an operand that was absent or empty
 *  @param count     tenon_plan_operands(plan)
 *  @param sync      may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a stream of another context; memory too
 *          small for its tensor, or an overlap that the operation does not allow) ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE · TENON_ERROR_UNSUPPORTED (gemm/clblast, which only supports
 *          buffers) · TENON_ERROR_ASYNCHRONOUS, TENON_ERROR_DEVICE_LOST (earlier work on the stream
 *          failed: tenon/stream.h) */
TENON_CALL tenon_status tenon_plan_run(tenon_stream *stream, const tenon_plan *plan,
                                       const tenon_memory *memories, uint32_t count,
                                       const tenon_sync *sync);

/** An operand of a run, by name. It begins at byte `offset` of `memory`. This offset replaces the
 * offset of the tensor that the plan was made from; it is not added to it. */
typedef struct tenon_operand {
    const char
        *name; /**< name of the operation's argument, as returned by tenon_plan_operand_name */
    tenon_memory memory; /**< kind NONE if the operand is empty */
    uint64_t offset;     /**< bytes, any multiple of the element's size */
} tenon_operand;

/** Returns the name of an operand of a run.
 *  @param index  below tenon_plan_operands(plan)
 *  @return the name, a static string; NULL beyond the last operand, and for a NULL plan */
TENON_API const char *tenon_plan_operand_name(const tenon_plan *plan, uint32_t index);

/** The member of a tenon_scalar that holds the value. */
typedef enum tenon_scalar_kind {
    TENON_SCALAR_F64 = 1, /**< `real` */
    TENON_SCALAR_U64 = 2  /**< `integer` */
} tenon_scalar_kind;

/** A parameter of an operation with a value for one run: a learning rate, a step, a seed. Make it
 * with tenon_scalar_f64 or tenon_scalar_u64. */
typedef struct tenon_scalar {
    const char *name; /**< as returned by tenon_plan_scalar: the member of the operation's parameter
                         struct ("learning_rate", "seed"). Members of an epilogue are "alpha" and
                         "beta", constants of an activation "activation.alpha" and
                         "activation.beta", those of a chain's steps "steps[0].alpha" */
    uint32_t kind;    /**< tenon_scalar_kind */
    uint32_t reserved; /**< 0 */
    double real;       /**< the value of TENON_SCALAR_F64; otherwise ignored */
    uint64_t integer;  /**< the value of TENON_SCALAR_U64; otherwise ignored */
} tenon_scalar;

/** Returns a floating-point scalar. Callable from any thread.
 *  @param name  not copied */
TENON_API tenon_scalar tenon_scalar_f64(const char *name, double value);

/** Returns a 64-bit integer scalar: a seed, a sequence, a step. Values up to 2⁵³ can also set
 * floating-point parameters. Callable from any thread.
 *  @param name  not copied */
TENON_API tenon_scalar tenon_scalar_u64(const char *name, uint64_t value);

/** Returns one of the scalars that a run can set, with the value in the plan. These are the members
 * of type double or uint64_t of the parameter struct that the operation uses with the plan's other
 * parameters: a plan of normal random numbers has mean and deviation, but not low and high.
 * Callable from any thread.
 *  @param index  from 0 on
 *  @return the scalar; its name is a static string, or NULL beyond the last scalar and for a NULL
 *          plan */
TENON_API tenon_scalar tenon_plan_scalar(const tenon_plan *plan, uint32_t index);

/** Enqueues a plan with operands by name, in any order, each with its own offset. One plan then
 * serves all locations in an arena and all parts of a batch. Shapes and strides are those of the
 * plan. An offset needs no more alignment than an element.
 *
 * Scalars apply to this run only and do not change the plan, so threads may run one plan at the
 * same time with different values. The result has the same bits as the immediate call, or another
 * plan, with these parameters. A scalar can change a value, but not which operations are computed:
 * an alpha or beta that was 0 when the plan was made stays 0, because the plan then omits a product
 * or an operand, and other values cannot become 0.
 *  @param operands  each operand of the plan once; operands that the plan was made without or does
 *                   not read (c if beta is 0) are omitted, or have memory of kind NONE
 *  @param count     number of operands
 *  @param scalars   each at most once; parameters that are not named keep the plan's values; NULL
 *                   with scalar_count 0
 *  @param sync      may be NULL
 *  @return as tenon_plan_run; also TENON_ERROR_INVALID_ARGUMENT if a name is unknown, repeated or
 *          missing (the message lists all names), an offset is not a multiple of the element's
 *          size, or a scalar has the wrong kind or a value that changes which operations are
 *          computed; and the status of the function that made the plan if that function does not
 *          allow the value */
TENON_CALL tenon_status tenon_plan_run_operands(tenon_stream *stream, const tenon_plan *plan,
                                                const tenon_operand *operands, uint32_t count,
                                                const tenon_scalar *scalars, uint32_t scalar_count,
                                                const tenon_sync *sync);

TENON_END_C

#endif
