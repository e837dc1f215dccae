/** @file
 * Questions about calls and plans: if a call is supported, the shapes of its outputs, and which
 * solver a plan uses.
 */
#ifndef TENON_QUERY_H
#define TENON_QUERY_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Finds out if a call is supported, without making its plan: validates parameters and tensors, and
 * configures the solvers, but compiles and self-checks none of their kernels. Capabilities of the
 * device that a solver depends on are probed at their first use, as by tenon_context_capability. A
 * call that is supported may still fail when its plan is made, because of a lack of memory or of a
 * driver that does not compile a kernel.
 *  @param function  the name of the immediate function: "tenon_gemm"
 *  @param params     the parameters of that function; NULL means the defaults
 *  @param tensors    the tensors of that function in the order of its arguments, NULL where it may
 * be NULL; they need no memory
 *  @param count      the number of tensors
 *  @return TENON_OK if the call is supported; otherwise the status that the call would return, and
 *          tenon_last_error has the reason: TENON_ERROR_INVALID_ARGUMENT (also for an unknown
 *          operation or another number of tensors) · TENON_ERROR_UNSUPPORTED (also for operations
 *          with packed weights, which have no other description) · TENON_ERROR_UNSUPPORTED_DEVICE ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_supported(tenon_context *context, const char *function,
                                        const void *params, const tenon_tensor *const *tensors,
                                        uint32_t count);

/** Computes the type and shape of an output of a call from its parameters and inputs, as a
 * row-major view without memory: for tenon_tensor_create (dtype, rank and shape), or to make a
 * plan. Needs no context, and may be called from any thread. The call accepts an output of this
 * type and shape, with any strides, if it accepts the inputs, which are not all checked here. Some
 * calls also accept others: a reduction keeps its axes with size 1, sums of f16 may be f32, and a
 * product of i8 or u8 may be stored in several types (here: i32).
 *  @param function  the name of the immediate function: "tenon_gemm"
 *  @param params    the parameters of that function; NULL means the defaults
 *  @param tensors   the tensors of that function in the order of its arguments, NULL where it may
 * be NULL; they need no memory. Outputs are not read, and may all be NULL
 *  @param count     the number of tensors
 *  @param index     the number of the output among the tensors, counted from 0
 *  @param output    receives the view; unchanged on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL pointer; an unknown function, or another
 *          number of tensors; an index that is not an output; inputs or parameters that do not fit
 *          together; a shape that overflows) · TENON_ERROR_UNSUPPORTED (an output whose shape is an
 *          argument of the call, such as that of tenon_random, the gradient of an image or a tensor
 *          that is also read; operations with packed weights: ask for the function without
 *          "_packed" and pass a view of the weights) */
TENON_CALL tenon_status tenon_output_shape(const char *function, const void *params,
                                           const tenon_tensor *const *tensors, uint32_t count,
                                           uint32_t index, tenon_tensor *output);

/** Facts about a plan. Start from TENON_PLAN_INFO_INIT. */
typedef struct tenon_plan_info {
    uint32_t struct_size; /**< sizeof(tenon_plan_info) */
    uint32_t launches;    /**< kernels that a run enqueues */
    uint64_t workspace;   /**< bytes that a run requires */
    double estimate; /**< estimated seconds of a run, by the model with which solvers are compared
                        (docs/performance.md); 0 if the solver has no estimate */
    char operation[64];   /**< the family of solvers: "gemm" */
    char solver[64];      /**< "cpu_packed"; "nothing" if the outputs are empty */
    char parameters[128]; /**< the solver's parameters, as they can be forced: "mr6,nr64,kc384" */
} tenon_plan_info;

/** Initializes a tenon_plan_info, to be passed to tenon_plan_inspect. */
#define TENON_PLAN_INFO_INIT                                                                       \
    {                                                                                              \
        sizeof(tenon_plan_info), 0, 0, 0.0, "", "", ""                                             \
    }

/** Reads the facts about a plan. Waits if the plan is being made in the background.
 *  @param info  its struct_size must be set; receives the rest
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL pointer or an invalid struct_size) · the
 *          failure of a plan made in the background */
TENON_CALL tenon_status tenon_plan_inspect(const tenon_plan *plan, tenon_plan_info *info);

TENON_END_C

#endif
