/* Internal interface of the family of tenon_unique. */
#ifndef TN_OPS_UNIQUE_INTERNAL_H
#define TN_OPS_UNIQUE_INTERNAL_H

#include "base/shape.h"
#include "ops/common/epilogue.h"
#include "ops/common/rows.h"
#include "unique/args.h"

#include <tenon/unique.h>

/* The canonical problem. Dimensions of x and the inverse keep their order, and are merged where
 * possible. */
typedef struct unique_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t flags; /* those of the kernels */
    uint64_t rank;  /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[UNIQUE_VIEWS][TENON_MAX_RANK];
    int64_t step[UNIQUE_OPERANDS]; /* of y, first and counts; otherwise 0 */
    int64_t capacity, elements;
} unique_problem;

extern const tn_family tn_unique_family;
extern const tn_solver tn_unique_serial, tn_unique_blocks;

tn_prepare_function tn_unique_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_unique_reference;
tn_fill_function tn_unique_fill_valid;
tn_awkward_function tn_unique_awkward;

#endif
