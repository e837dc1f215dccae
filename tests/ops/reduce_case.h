/* A reduction to try: what test_reduce and test_reduce_calls share. */
#ifndef TEST_OPS_REDUCE_CASE_H
#define TEST_OPS_REDUCE_CASE_H

#include "support.h"

#include "ops/reduce/internal.h"

#define REDUCE_KINDS (TENON_REDUCE_VARIANCE + 1)

typedef struct reduce_case {
    uint32_t kind, correction;
    bool moments, wide, keeps; /* `keeps`: the axes stay in y, of size 1 */
    uint32_t rank;
    uint32_t axes; /* a bit for each; none for all */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_MAX_RANK]; /* of x */
    test_layout y_layout;
    int64_t offset;
    test_judge judge;
} reduce_case;

typedef struct reduce_data {
    reduce_case problem;
    tenon_dtype dtype;
    uint32_t count; /* of the operands */
    test_tensor operands[MOMENTS_OPERANDS];
    tn_bounded *expected;
} reduce_data;

tenon_reduce_params reduce_params(const reduce_case *p);

/* Makes the operands and fills x. */
void reduce_make(reduce_data *data, const reduce_case *p, tenon_dtype dtype, test_random *random);

/* Tries every solver, or with `automatic` the choice alone, and gives everything back. */
void reduce_run(reduce_data *data, bool automatic);

/* Both of these. */
void reduce_check(const reduce_case *p, tenon_dtype dtype, test_random *random);

#endif
