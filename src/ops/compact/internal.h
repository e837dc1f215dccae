/* Internal interface of the compaction family. */
#ifndef TN_OPS_COMPACT_INTERNAL_H
#define TN_OPS_COMPACT_INTERNAL_H

#include "base/shape.h"
#include "compact/args.h"
#include "ops/common/epilogue.h"
#include "ops/common/rows.h"

#include <tenon/compact.h>

/* Operands of a masked put. */
enum { PUT_MASK, PUT_SOURCE, PUT_Y, PUT_OPERANDS };

/* Flag of a problem: elements of y, as x, are replaced by those of the source, as y. */
#define COMPACT_PUTS 256

/* The canonical problem of a compaction or a masked put. Dimensions of the mask and x keep their
 * order, and are merged where possible. */
typedef struct compact_problem {
    tn_problem head;
    uint32_t mask_dtype;
    uint32_t size;  /* bytes of an element of x; 0: no x */
    uint32_t flags; /* those of the kernels, and COMPACT_PUTS */
    uint32_t rank;  /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[COMPACT_INPUTS][TENON_MAX_RANK];
    int64_t sizes[TENON_MAX_RANK]; /* of the mask's own dimensions, for coordinates; else 0 */
    int64_t dimensions;
    int64_t step[2], coordinate_step; /* as in compact_args */
    int64_t capacity, elements;
    uint32_t operand[COMPACT_OPERANDS]; /* numbers among the operands of the call */
    uint32_t reserved;
} compact_problem;

extern const tn_family tn_compact_family, tn_masked_put_family;
extern const tn_solver tn_compact_serial, tn_compact_blocks;

tn_prepare_function tn_compact_prepare, tn_masked_put_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_compact_reference, tn_masked_put_reference;
tn_fill_function tn_compact_fill_valid;
tn_awkward_function tn_compact_awkward, tn_masked_put_awkward;

#endif
