/* Convolutions whose images and filters have other types than the result: a separate solver family
 * behind tenon_conv_forward. */
#ifndef TN_OPS_CONV_MIXED_H
#define TN_OPS_CONV_MIXED_H

#include "ops/common/widen.h"
#include "ops/conv/problem/problem.h"

/* The convolution has the type of y. */
typedef struct conv_mixed_problem {
    conv_problem conv;
    uint32_t types[2]; /* of CONV_X and CONV_W */
} conv_mixed_problem;

extern const tn_family tn_conv_mixed_family;
extern const tn_solver tn_conv_mixed_converted;

/* Functions as declared in tn_operation and tn_family. */
tn_prepare_function tn_conv_mixed_prepare;
tn_reference_function tn_conv_mixed_reference;

#endif
