/* The element-wise and copy families within the library. */
#ifndef TN_OPS_ELEMENTWISE_INTERNAL_H
#define TN_OPS_ELEMENTWISE_INTERNAL_H

#include "elementwise/args.h"
#include "ops/common/epilogue.h"

#include <tenon/elementwise.h>

enum { ELEMENTWISE_A, ELEMENTWISE_B, ELEMENTWISE_D, ELEMENTWISE_OPERANDS };
enum { COPY_X, COPY_Y, COPY_OPERANDS };

/* All views over one collapsed index space, whose last dimension is the one along which the output
 * lies closest. The order of elements does not matter to what is done with each alone. */
typedef struct elementwise_problem {
    tn_problem head;
    uint32_t from, to; /* tenon_dtype of the inputs and the output */
    uint32_t kind;     /* tenon_elementwise_kind; 0 of a copy */
    uint32_t operands;
    uint64_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[ELEMENTWISE_MAX_OPERANDS][TENON_MAX_RANK];
} elementwise_problem;

extern const tn_family tn_elementwise_family, tn_copy_family;
extern const tn_solver tn_elementwise_rows, tn_copy_rows;

/* Fills in a problem from checked, non-empty views, the output last; false where one of them does
 * not broadcast (with the message set). */
tenon_status tn_elementwise_canonicalise(const char *operation, uint32_t kind,
                                         const tn_argument *arguments, uint32_t count,
                                         elementwise_problem *problem);

/* Results in double with their error bounds, in row-major order (false without memory); a and b are
 * host memory of kind SVM, d is not read. */
bool tn_elementwise_reference(const tenon_elementwise_params *params, const tenon_tensor *a,
                              const tenon_tensor *b, const tenon_tensor *d, tn_bounded *results);

/* The same of a copy; every result is exact. */
bool tn_copy_reference(const tenon_tensor *x, const tenon_tensor *y, tn_bounded *results);

tenon_status tn_elementwise_self_check(tenon_stream *stream, const tn_problem *problem,
                                       const tn_choice *choice, bool *right, char why[256]);
tenon_status tn_copy_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256]);

#endif
