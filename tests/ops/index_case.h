/* Random index modes, with shapes of the tensors of a gather or a scatter. */
#ifndef TENON_TESTS_OPS_INDEX_CASE_H
#define TENON_TESTS_OPS_INDEX_CASE_H

#include "fixture.h"

typedef struct index_case {
    uint32_t mode, axis, flags;
    uint32_t rank, index_rank, picked_rank;
    int64_t table[TENON_MAX_RANK], indices[TENON_MAX_RANK], picked[2 * TENON_MAX_RANK];
} index_case;

/* Draws a mode and shapes; most dimensions are short. */
index_case draw_index_case(test_random *random);

/* Begins a gather, its gradient or a scatter (its operation) of a case, with random layouts.
 * `scatter_op` is a tenon_scatter_op, only for a scatter. */
void begin_index_case(test_fixture *f, const tn_operation *operation, const index_case *p,
                      uint32_t scatter_op, tenon_dtype dtype, test_random *random);

#endif
