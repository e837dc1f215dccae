/* Internal interface of the random family. */
#ifndef TN_OPS_RANDOM_INTERNAL_H
#define TN_OPS_RANDOM_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/random.h>

enum { RANDOM_Y, RANDOM_OPERANDS };
/* Operands of bernoulli (p) and categorical (x). */
enum { DRAW_X, DRAW_Y, DRAW_OPERANDS };

extern const tn_family tn_random_family, tn_bernoulli_family, tn_categorical_family,
    tn_permutation_family;
extern const tn_solver tn_random_lines;

/* Computes the least and the greatest number of a type in [low, high). False if there is none. */
bool tn_random_limits(tenon_dtype dtype, double low, double high, double *least, double *most);

/* Returns the bits of half an index in the network that permutes `count` numbers. */
uint32_t tn_permutation_bits(uint64_t count);

tn_prepare_function tn_random_prepare, tn_bernoulli_prepare, tn_categorical_prepare,
    tn_permutation_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_random_reference, tn_bernoulli_reference, tn_categorical_reference,
    tn_permutation_reference;
tn_awkward_function tn_random_awkward, tn_bernoulli_awkward, tn_categorical_awkward,
    tn_permutation_awkward;

#endif
