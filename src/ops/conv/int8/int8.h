/* Convolutions of i8 and u8: a separate solver family behind tenon_conv_forward. x, w and y take
 * the places of a, b and d of an i8 product, whose types, scales and zero points they share. */
#ifndef TN_OPS_CONV_INT8_INT8_H
#define TN_OPS_CONV_INT8_INT8_H

#include "conv/int8/args.h"
#include "ops/conv/problem/problem.h"
#include "ops/gemm/int8.h"

_Static_assert(CONV_X == (int)GEMM_A && CONV_W == (int)GEMM_B && CONV_C == (int)GEMM_C &&
                   CONV_BIAS == (int)GEMM_BIAS && CONV_Y == (int)GEMM_D,
               "operands have the same numbers as those of products");

/* The type of `conv` is that of y, or f32 if y holds integers. */
typedef struct conv_int8_problem {
    conv_problem conv;
    uint32_t types[CONV_OPERANDS]; /* 0 if absent or not read */
    uint32_t present;              /* bit i: scale or zero point i is present */
    int64_t vectors[INT8_VECTORS]; /* strides along the filters; 0 for a single element */
} conv_int8_problem;

/* Functions as declared in tn_operation and tn_family. */
tn_prepare_function tn_conv_int8_prepare;
tn_reference_function tn_conv_int8_reference;
tn_awkward_function tn_conv_int8_awkward;

/* Fills in a problem from views that have been checked one by one. */
tenon_status tn_conv_int8_canonicalize(const char *caller, const tenon_conv_params *params,
                                       int8_views views, conv_int8_problem *problem);

/* Returns the arguments that follow from the problem: the epilogue, strides, and the window. */
conv_int8_args tn_conv_int8_arguments(const conv_int8_problem *problem);

/* Adds the operands of INT8_POINTERS, with a patch for the offset of each that is read, and the
 * patches of the scalars. An operand that is not read may be absent: y is passed in its place, and
 * also in that of x and w unless `reads_factors`. `patches` has room for CONV_INT8_PATCHES. */
#define CONV_INT8_PATCHES (INT8_OPERANDS + TN_EPILOGUE_SCALARS)
void tn_conv_int8_add_operands(const conv_int8_problem *problem, bool reads_factors,
                               tn_launch *launch, tn_patch *patches);

extern const tn_family tn_conv_int8_family;
extern const tn_solver tn_conv_int8_implicit_dot, tn_conv_int8_depthwise, tn_conv_int8_columns,
    tn_conv_int8_direct;

#endif
