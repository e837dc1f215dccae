/* The floating-point functions of cl_kernels/common/function_list.h: names, references, and the
 * launch of function/rows.cl, which operations with one and with two inputs share. */
#ifndef TN_OPS_FUNCTION_FUNCTIONS_H
#define TN_OPS_FUNCTION_FUNCTIONS_H

#include "common/function_list.h"
#include "ops/common/pointwise.h"

/* Elements of a list of functions that count them, and that are their names. */
#define TN_FUNCTION_COUNT(number, NAME, name, is_build, ulps, device, reference) +1
#define TN_FUNCTION_WORD(number, NAME, name, is_build, ulps, device, reference)  #name,

#define TN_FUNCTION_KINDS (0 TENON_UNARY_FUNCTIONS(TN_FUNCTION_COUNT))

/* Names indexed by tenon_function_kind; terminated by NULL. */
extern const char *const tn_function_words[];

/* Returns true if the function has a kernel build of its own. */
bool tn_function_is_build(uint32_t kind);

/* Return the value of a function with the bound of a device's error. x may be off by its bound; y
 * is exact. The bound is TN_ANYTHING if the device's result may be NaN and the value is not, or the
 * reverse. `kind` is a number of the list of unary or of binary functions. */
tn_bounded tn_function_reference(uint32_t kind, tenon_dtype dtype, tn_bounded x);
tn_bounded tn_function2_reference(uint32_t kind, tenon_dtype dtype, tn_bounded x, double y);

/* Returns the options of a build with the functions of a mask (FUNCTION_MASK), in `text`. */
#define TN_FUNCTION_OPTIONS 64
const char *tn_function_mask_option(uint64_t mask, char text[TN_FUNCTION_OPTIONS]);

/* Bit of a function in such a mask. */
#define TN_FUNCTION_BIT(kind)  (UINT64_C(1) << (kind))
#define TN_FUNCTION2_BIT(kind) (UINT64_C(1) << (48 + (kind)))

/* Configures a solver that launches function/rows.cl, and records the launch: members of tn_solver.
 * The problem has two operands (an input) or three. */
const char *tn_function_configure(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice);
tenon_status tn_function_launch(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice);

#endif
