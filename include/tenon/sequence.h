/** @file
 * Sequences: plans, copies and concatenations that are recorded once and run by one call, such as
 * the layers of a network.
 *
 *     tenon_sequence_create(context, &sequence);
 *     tenon_sequence_tensor(sequence, "x", TENON_DTYPE_F32, 2, x_shape, &x);    given at each run
 *     tenon_sequence_tensor(sequence, NULL, TENON_DTYPE_F32, 2, h_shape, &h);   an intermediate
 *     tenon_sequence_tensor(sequence, "y", TENON_DTYPE_F32, 2, y_shape, &y);
 *     tenon_gemm_plan(context, &relu, &x, &w1, NULL, &b1, &h, &first);
 *     tenon_gemm_plan(context, NULL, &h, &w2, NULL, &b2, &y, &second);
 *     tenon_sequence_add(sequence, NULL, first, (const tenon_tensor *[]){&x, &w1, NULL, &b1, &h},
 * 5, NULL, 0); tenon_sequence_add(sequence, NULL, second, (const tenon_tensor *[]){&h, &w2, NULL,
 * &b2, &y}, 5, NULL, 0); tenon_sequence_finish(sequence); tenon_sequence_run(stream, sequence,
 * (const tenon_operand[]){{"x", in, 0}, {"y", out, 0}}, 2, NULL, 0, NULL); any number of times
 *
 * A sequence has three kinds of memory:
 *   - Operands have a name. Their memory is given at each run.
 *   - Intermediates have no name. They exist only during a run, in the stream's workspace, where
 *     intermediates that are not in use at the same time share bytes.
 *   - All other memory, such as that of weights, is bound when a step is added.
 */
#ifndef TENON_SEQUENCE_H
#define TENON_SEQUENCE_H

#include <tenon/concat.h>
#include <tenon/elementwise.h>
#include <tenon/plan.h>

TENON_BEGIN_C

/** Opaque and reference-counted. A sequence holds references to its context and its plans. While it
 * is being built, one thread may use it. After tenon_sequence_finish() it is immutable and can be
 * run from any thread, on any stream of its context, also by several threads at the same time. */
typedef struct tenon_sequence tenon_sequence;

/** Makes an empty sequence.
 *  @param sequence  receives the sequence, with one reference owned by the caller; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_PROCESS (the process is ending or was forked) */
TENON_CALL tenon_status tenon_sequence_create(tenon_context *context, tenon_sequence **sequence);

/** Adds a reference. NULL is allowed. */
TENON_API void tenon_sequence_retain(tenon_sequence *sequence);
/** Drops a reference; the last one frees the sequence and drops its references to plans. Enqueued
 * work continues. NULL is allowed. */
TENON_API void tenon_sequence_release(tenon_sequence *sequence);

/** Makes a row-major tensor in memory of the sequence. Its views (tenon_tensor_slice,
 * tenon_tensor_nhwc, …) can be used wherever a plan is made, and in the steps of this sequence;
 * calls that run something reject them. Several tensors may be views of one memory.
 *  @param name    the name under which runs pass the memory, copied; NULL: an intermediate. A name
 *                 is used once in a sequence
 *  @param shape   `rank` sizes
 *  @param tensor  receives the view
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL, an empty or repeated name, an invalid
 *          type or shape, a finished sequence) · TENON_ERROR_UNSUPPORTED (more than 254 names) ·
 *          TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_sequence_tensor(tenon_sequence *sequence, const char *name,
                                              tenon_dtype dtype, uint32_t rank,
                                              const int64_t *shape, tenon_tensor *tensor);

/** Appends a run of a plan. Waits for a plan that is still being made in the background.
 *  @param label    names the step so that runs can set its scalars; copied. Several steps may have
 *                  the same label, and are then set together. NULL: the scalars cannot be set
 *  @param plan     a plan of the sequence's context. The sequence holds a reference to it
 *  @param tensors  one for each operand of the plan (tenon_plan_operand_name), of the type, shape
 *                  and strides that the plan was made with, at any offset; NULL for an operand that
 *                  was absent. Memory that is not of the sequence is bound: it must remain valid
 *                  as long as the sequence runs
 *  @param count    tenon_plan_operands(plan)
 *  @param scalars  values of this step, as for tenon_plan_run_operands; NULL with scalar_count 0
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a finished sequence; a plan of another
 *          context; a tensor that does not match the plan, has no memory, or has that of another
 *          sequence; an intermediate that is read before a step has written it; an overlap that
 *          the operation does not allow; a scalar that tenon_plan_run_operands would reject) · the
 *          status of the function that made the plan · TENON_ERROR_OUT_OF_MEMORY. The sequence is
 *          unchanged on failure */
TENON_CALL tenon_status tenon_sequence_add(tenon_sequence *sequence, const char *label,
                                           const tenon_plan *plan,
                                           const tenon_tensor *const *tensors, uint32_t count,
                                           const tenon_scalar *scalars, uint32_t scalar_count);

/** Appends a copy: makes a plan of tenon_copy and adds it.
 *  @param params  as for tenon_copy; NULL means the defaults
 *  @param x, y    as for tenon_copy, in memory of the sequence or any other
 *  @return as tenon_copy_plan and tenon_sequence_add */
TENON_CALL tenon_status tenon_sequence_copy(tenon_sequence *sequence,
                                            const tenon_copy_params *params, const tenon_tensor *x,
                                            const tenon_tensor *y);

/** Appends a concatenation: a copy of each input to its slice of y. No copy is made of an input
 * that is its slice of y already.
 *  @param params  as for tenon_concat; NULL means the defaults: axis 0
 *  @param inputs  `count` tensors, as for tenon_concat, in memory of the sequence or any other
 *  @param y       as for tenon_concat
 *  @return as tenon_concat, tenon_copy_plan and tenon_sequence_add. The sequence is unchanged on
 *          failure */
TENON_CALL tenon_status tenon_sequence_concat(tenon_sequence *sequence,
                                              const tenon_concat_params *params,
                                              const tenon_tensor *const *inputs, uint32_t count,
                                              const tenon_tensor *y);

/** Finishes the sequence: merges steps, places the intermediates and records the launches.
 *
 * A step is merged into the epilogue of the product or convolution before it if it only applies an
 * activation, or adds or multiplies a tensor, to an intermediate that nothing else reads, and if
 * the plan with that epilogue runs with the same solver. A sum with the product itself is merged
 * before the activation; other products and sums become post_scale, post_shift and residual, in
 * this order and with their shapes (epilogue.h). In f32 and f64 the results keep their bits; those
 * of an activation that computes exp, log, tanh or erf may differ within the error bound, because
 * some drivers round these functions differently for vectors and for single numbers. In f16 and
 * bf16 the intermediate result is not rounded, so that results may differ within the error bound.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; already finished; an operand that no step
 *          uses) · TENON_ERROR_UNSUPPORTED (more than 65,280 bound memories, or more than 4095
 *          steps with labels) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_PROCESS */
TENON_CALL tenon_status tenon_sequence_finish(tenon_sequence *sequence);

/** Returns the workspace that a run requires, with all intermediates, in bytes; 0 for NULL and
 * before tenon_sequence_finish(). See tenon_stream_reserve_workspace and
 * tenon_stream_set_workspace. */
TENON_API uint64_t tenon_sequence_workspace(const tenon_sequence *sequence);

/** Returns the number of steps; after tenon_sequence_finish() the merged ones are not counted. 0
 * for NULL. */
TENON_API uint32_t tenon_sequence_steps(const tenon_sequence *sequence);

/** Returns the plan of a step, which the sequence owns; NULL beyond the last step and for NULL. */
TENON_API const tenon_plan *tenon_sequence_step(const tenon_sequence *sequence, uint32_t step);

/** Returns the name of an operand of a run, which lives as long as the sequence; NULL beyond the
 * last operand and for a NULL sequence. */
TENON_API const char *tenon_sequence_operand_name(const tenon_sequence *sequence, uint32_t index);

/** Enqueues all steps in order. Never compiles. Allocates only if the stream's workspace is too
 * small, at the first use of a kernel on a stream, and if scalars are given.
 *  @param operands  each operand of the sequence once, in any order, at any offset that is a
 *                   multiple of the element's size. The memory of an operand that a step writes
 *                   must not overlap that of another operand or bound memory
 *  @param count     number of operands
 *  @param scalars   values for this run only. Their names begin with a step's label, as in
 *                   "adam.learning_rate"; every step with this label gets the value. Rules and
 *                   values are those of tenon_plan_run_operands. NULL with scalar_count 0
 *  @param sync      may be NULL; the first step waits for the wait list, the event completes with
 *                   the last one
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; not finished; a stream of another
 * context; a name that is unknown, repeated or missing; memory that is too small or overlaps; an
 *          offset that is not a multiple of an element's size; a scalar that is unknown, given
 *          twice, or has an invalid value) · TENON_ERROR_WORKSPACE_TOO_SMALL ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE (some steps
 *          were enqueued: the contents of all outputs are undefined) · TENON_ERROR_UNSUPPORTED
 *          (gemm/clblast, which only supports buffers) · TENON_ERROR_ASYNCHRONOUS,
 *          TENON_ERROR_DEVICE_LOST (earlier work on the stream failed: tenon/stream.h) */
TENON_CALL tenon_status tenon_sequence_run(tenon_stream *stream, const tenon_sequence *sequence,
                                           const tenon_operand *operands, uint32_t count,
                                           const tenon_scalar *scalars, uint32_t scalar_count,
                                           const tenon_sync *sync);

TENON_END_C

#endif
