/* Internal interface of the family of tenon_sort and tenon_top_k. */
#ifndef TN_OPS_SORT_INTERNAL_H
#define TN_OPS_SORT_INTERNAL_H

#include "ops/common/axis.h"
#include "sort/args.h"

#include <tenon/sort.h>

/* Operands of a call. */
enum { SORT_CALL_X, SORT_CALL_PAYLOAD, SORT_CALL_Y, SORT_CALL_INDICES, SORT_CALL_MOVED };
#define SORT_CALL_OPERANDS 5
enum { TOP_K_X, TOP_K_Y, TOP_K_INDICES, TOP_K_OPERANDS };
enum { SEARCH_SORTED, SEARCH_VALUES, SEARCH_INDICES, SEARCH_OPERANDS };

/* The problem of a sort, and of a search: of sorted elements (x), values (y) and indices, where
 * `limit` is the number of values in a row. */
typedef struct sort_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t flags;               /* SORT_HAS_INDICES, SORT_HAS_PAYLOAD */
    uint32_t descending;          /* 0 or 1 */
    uint32_t payload_size;        /* bytes of an element; 0: no payload */
    uint32_t operand[SORT_VIEWS]; /* number of each view among the operands; absent ones are those
                                     of x or y */
    uint32_t wide;                /* 1: indices are i64 */
    int64_t limit;                /* sorted elements of a row that are written */
    tn_axis_space space;
} sort_problem;

extern const tn_family tn_sort_family, tn_search_sorted_family;
extern const tn_solver tn_sort_rank, tn_sort_select, tn_sort_merge, tn_sort_radix;

tn_prepare_function tn_sort_prepare, tn_top_k_prepare, tn_search_sorted_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_sort_reference, tn_top_k_reference, tn_search_sorted_reference;
tn_fill_function tn_sort_fill_valid, tn_search_sorted_fill_valid;
tn_awkward_function tn_sort_awkward, tn_search_sorted_awkward;

/* Sets the build options of a choice. */
void tn_sort_options(tenon_context *context, const sort_problem *p, tn_choice *choice);

/* Fills in the arguments of a kernel that follow from the problem. */
void tn_sort_args_fill(const sort_problem *p, sort_args *args);

/* Records a launch of `items` work-items, whose source, kernel and arguments are set. `operands`
 * are views, or TN_WORKSPACE. */
tenon_status tn_sort_record(const char *caller, tn_recording *recording, const sort_problem *p,
                            const tn_choice *choice, int64_t items, tn_launch *launch);

#endif
