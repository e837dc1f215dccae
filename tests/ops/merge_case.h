/* Support for tests of sequences whose steps merge: building a sequence, and comparing its result
 * with that of single calls. */
#ifndef TENON_TESTS_OPS_MERGE_CASE_H
#define TENON_TESTS_OPS_MERGE_CASE_H

#include "support.h"

/* A sequence that is being built, and the memory of its operands "x" and "y". */
typedef struct merge_sequence {
    tenon_sequence *sequence;
    tenon_tensor x, y;
} merge_sequence;

merge_sequence merge_begin(tenon_dtype dtype, uint32_t rank, const int64_t *x, const int64_t *y);

/* Returns an intermediate of the same type, shape and order of dimensions as `like`. */
tenon_tensor merge_intermediate(const merge_sequence *b, const tenon_tensor *like);

/* Adds a step; the plan is released. */
void merge_add_plan(const merge_sequence *b, const char *label, tenon_plan *plan,
                    const tenon_tensor *const *tensors, uint32_t count);
void merge_add_activation(const merge_sequence *b, const char *label, tenon_activation activation,
                          const tenon_tensor *x, const tenon_tensor *y);

/* Adds the step d = p + q. */
void merge_add_sum(const merge_sequence *b, const tenon_tensor *p, const tenon_tensor *q,
                   const tenon_tensor *d);

/* Adds the step d = x · w + bias. */
void merge_add_gemm(const merge_sequence *b, const tenon_gemm_params *params, const tenon_tensor *w,
                    const tenon_tensor *bias, const tenon_tensor *d);

/* Finishes and runs a sequence, which is then released. Checks the number of its steps. */
void merge_finish(merge_sequence *b, uint32_t steps, const tenon_tensor *x, const tenon_tensor *y);

/* Compares two tensors that end with an activation of this kind. */
void merge_compare(const tenon_tensor *got, const tenon_tensor *expected,
                   tenon_activation_kind kind, const char *what);

/* Returns a tensor of random reals of a type. */
tenon_tensor merge_random(test_random *random, tenon_dtype dtype, uint32_t rank,
                          const int64_t *shape);

/* Operands of the tests of products: d = a · b, and others of the shape of d. */
typedef struct merge_operands {
    tenon_tensor a, b, bias, r, d, expected;
} merge_operands;

enum { MERGE_ROWS = 37, MERGE_INNER = 29, MERGE_COLUMNS = 83 };
extern const int64_t merge_a[2], merge_b[2], merge_d[2], merge_bias[1];

merge_operands merge_make_operands(test_random *random, tenon_dtype dtype);
void merge_free_operands(merge_operands *o);

#endif
