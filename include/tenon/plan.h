/** @file
 * Plans: an operation validated, its solver chosen, its kernels compiled and checked, once; run as
 * often as you like.
 *
 * Every operation has three calls: the immediate one (tenon_gemm), the one that makes a plan
 * (tenon_gemm_plan), and tenon_plan_run, which is the same for all. The immediate call looks its
 * plan up in a bounded table of the context and runs it, so the first call of a kind compiles and
 * later ones do not; to warm up, make plans.
 */
#ifndef TENON_PLAN_H
#define TENON_PLAN_H

#include <tenon/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque, immutable and reference counted; usable from any thread and with any stream of its
 * context, which it holds a reference to. */
typedef struct tenon_plan tenon_plan;

/** @file
 * @details Solver names, wherever one is printed or can be forced, follow one grammar:
 *
 *     operation/solver[:name1value1,name2value2,…]        gemm/cpu_packed:mr6,nr64,kc384
 *
 * The part from the colon on gives tuning parameters; those not given take the value for the
 * device. A name without a known operation or solver, with an unknown parameter, or with a value
 * outside its constraints is TENON_ERROR_INVALID_ARGUMENT; one that cannot serve the problem is
 * TENON_ERROR_UNSUPPORTED, with the reason.
 */

/** Adds a reference. NULL is allowed. */
TENON_API void tenon_plan_retain(tenon_plan *plan);
/** Drops a reference; the last one frees the plan. Work already enqueued goes on. NULL is allowed.
 */
TENON_API void tenon_plan_release(tenon_plan *plan);

/** The bytes of workspace that a run needs; 0 for NULL. */
TENON_API uint64_t tenon_plan_workspace(const tenon_plan *plan);

/** How many operands a run takes; 0 for NULL. */
TENON_API uint32_t tenon_plan_operands(const tenon_plan *plan);

/** Writes a line about the plan: the solver's name, the workspace and the launches.
 *  @param text  receives the line, cut to `size` bytes and terminated; may be NULL with size 0
 *  @return the length of the whole line without its terminator; 0 for a NULL plan */
TENON_API size_t tenon_plan_describe(const tenon_plan *plan, char *text, size_t size);

/** @file
 * @details Plans in the background: what compiling and checking take need not be waited for.
 *
 *     tenon_prepare_begin(context);
 *     tenon_gemm_plan(context, NULL, &a, &b, NULL, NULL, &d, &product);    returns at once
 *     tenon_conv_forward_plan(context, &params, &x, &w, NULL, NULL, &y, &convolution);
 *     tenon_prepare_end(context);
 *     …                                        the plans are made on a thread of the library's
 *     tenon_plan_run(stream, product, memories, 5, NULL);                  waits where it must
 */

/** From here until tenon_prepare_end() the plans of the context that the calling thread asks for
 * are made on a thread of the library's, in their order. The functions that make them check their
 * arguments and return a plan, which every function takes; those that need what is not there yet
 * wait for it. Immediate calls and other threads are not touched. The context's callbacks (log,
 * progress) may come from that thread. A plan whose last reference the application drops before its
 * turn is not made.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; this thread has begun already) ·
 *          TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_prepare_begin(tenon_context *context);

/** Ends what tenon_prepare_begin() began, without waiting for the plans.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; this thread has not begun with it) */
TENON_CALL tenon_status tenon_prepare_end(tenon_context *context);

/** How many plans in the background are made.
 *  @param made   receives how many have been made, have failed, or were dropped before their turn
 *  @param asked  receives how many there were to make since the context began
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_prepare_progress(tenon_context *context, uint64_t *made,
                                               uint64_t *asked);

/** Waits until a plan has been made.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · as the function that made it; a plan
 *          that failed gives the same status from tenon_plan_run; it has no workspace and no text
 */
TENON_CALL tenon_status tenon_plan_wait(const tenon_plan *plan);

/** Enqueues the plan. Never compiles, waits for nothing but a plan in the background, and allocates
 * nothing but, at the first run on a stream, the stream's kernel objects and its workspace (see
 * tenon_stream_reserve_workspace). Shapes, strides and offsets are those of the views it was made
 * from; only the memory is new.
 *  @param memories  one for each operand, in the order of the operation's arguments; kind NONE
 *                   where the operand was absent or empty
 *  @param count     tenon_plan_operands(plan)
 *  @param sync      or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a stream of another context; memory too
 *          small for its view, or overlapping where the operation does not allow it) ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE · TENON_ERROR_UNSUPPORTED (gemm/clblast, which takes buffers
 *          alone) · TENON_ERROR_ASYNCHRONOUS, TENON_ERROR_DEVICE_LOST (of earlier work on the
 *          stream: tenon/stream.h) */
TENON_CALL tenon_status tenon_plan_run(tenon_stream *stream, const tenon_plan *plan,
                                       const tenon_memory *memories, uint32_t count,
                                       const tenon_sync *sync);

/** An operand of a run, by its name. It lies in `memory` from byte `offset` on: that takes the
 * place of the offset of the view that the plan was made from, and is not added to it. */
typedef struct tenon_operand {
    const char *name; /**< as tenon_plan_operand_name gives it: that of the operation's argument */
    tenon_memory memory; /**< kind NONE where the operand is empty */
    uint64_t offset;     /**< bytes, any multiple of the element's size */
} tenon_operand;

/** The name of an operand that a run takes.
 *  @param index  below tenon_plan_operands(plan)
 *  @return the name, which lasts as long as the library; NULL past the last one, and for NULL */
TENON_API const char *tenon_plan_operand_name(const tenon_plan *plan, uint32_t index);

/** Which member of a tenon_scalar holds the value. */
typedef enum tenon_scalar_kind {
    TENON_SCALAR_F64 = 1, /**< `real` */
    TENON_SCALAR_U64 = 2  /**< `integer` */
} tenon_scalar_kind;

/** A parameter of an operation with a value for one run: a learning rate, a step, a seed.
 * tenon_scalar_f64 and tenon_scalar_u64 make one. */
typedef struct tenon_scalar {
    const char *name;  /**< as tenon_plan_scalar gives it: the member of the operation's parameter
                          struct ("learning_rate", "seed"). Members of an epilogue are "alpha" and
                          "beta", constants of an activation "activation.alpha" and
                          "activation.beta", those of a chain's steps "steps[0].alpha" */
    uint32_t kind;     /**< tenon_scalar_kind */
    uint32_t reserved; /**< 0 */
    double real;       /**< the value of TENON_SCALAR_F64; otherwise ignored */
    uint64_t integer;  /**< the value of TENON_SCALAR_U64; otherwise ignored */
} tenon_scalar;

/** A scalar in floating point. Callable from any thread.
 *  @param name  not copied */
TENON_API tenon_scalar tenon_scalar_f64(const char *name, double value);

/** A scalar of 64 bits: a seed, a sequence, a step. Up to 2⁵³ it also sets a parameter in floating
 * point. Callable from any thread.
 *  @param name  not copied */
TENON_API tenon_scalar tenon_scalar_u64(const char *name, uint64_t value);

/** Returns one of the scalars that a run can set, with the value that the plan was made with. These
 * are the members of the parameter struct of type double or uint64_t that the plan's operation uses
 * with its other parameters: a plan of normal random numbers has mean and deviation, not low and
 * high. Callable from any thread.
 *  @param index  from 0 on
 *  @return the scalar, whose name lasts as long as the library; name NULL past the last one, and
 *          for a NULL plan */
TENON_API tenon_scalar tenon_plan_scalar(const tenon_plan *plan, uint32_t index);

/** tenon_plan_run with operands by name, in any order, each at an offset of its own: one plan
 * serves all the places of an arena, and all the parts of a batch. Shapes and strides are the
 * plan's; no offset has to have more alignment than an element.
 *
 * Scalars are of this run alone and leave the plan as it is, so threads may run one plan at the
 * same time with different values. They give the same bits as the immediate call, or another plan,
 * with these parameters. A scalar can change a value, but not what is computed: where the plan was
 * made with an alpha or beta of 0 it stays 0, since a product or an operand is left out, and other
 * values cannot become 0.
 *  @param operands  each operand of the plan once; those that it was made without, or does not read
 *                   (c where beta is 0), are not named, unless their memory is of kind NONE
 *  @param count     of these
 *  @param scalars   each at most once; parameters that are not named have the values that the plan
 *                   was made with; NULL with scalar_count 0
 *  @param sync      or NULL
 *  @return as tenon_plan_run; TENON_ERROR_INVALID_ARGUMENT too where a name is none of the plan's,
 *          is given twice or is missing (the message lists them all), an offset is no multiple of
 *          the element's size, or a scalar is of the wrong kind or of a value that changes what is
 *          computed; as the function that made the plan where that does not allow the value */
TENON_CALL tenon_status tenon_plan_run_operands(tenon_stream *stream, const tenon_plan *plan,
                                                const tenon_operand *operands, uint32_t count,
                                                const tenon_scalar *scalars, uint32_t scalar_count,
                                                const tenon_sync *sync);

#ifdef __cplusplus
}
#endif

#endif
