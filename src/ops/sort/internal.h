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
extern const tn_solver tn_sort_rank, tn_sort_select, tn_sort_merge, tn_sort_rows, tn_sort_buckets,
    tn_sort_radix;

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

/* Records a launch of `items` work-items of a kernel whose operands are all views, and the
 * workspace if the choice has one. */
tenon_status tn_sort_record_all(const char *caller, tn_recording *recording, const sort_problem *p,
                                const tn_choice *choice, const char *source, const char *kernel,
                                const sort_args *args, int64_t items);

/* Offsets of the parts of the radix sort's workspace in bytes; and the division of the rows. */
typedef struct sort_radix_layout {
    int64_t pieces, length;
    int64_t keys[2], places[2]; /* passes alternate between the two */
    int64_t counts, totals, end;
    int32_t passes;
    bool via_results; /* every second pass writes y and the indices instead of the workspace */
} sort_radix_layout;

/* Returns *end, the offset of the next part of the workspace, which has `count` elements of `size`
 * bytes, and adds the part to *end. */
int64_t tn_sort_part(int64_t *end, int64_t count, int64_t size);

/* Divides the rows and the workspace of the radix sort. */
sort_radix_layout tn_sort_radix_layout(const tenon_context *context, const sort_problem *p);

/* Records the passes of the radix sort. `given` has the arguments that are the same in all of them.
 */
tenon_status tn_sort_radix_record(const char *caller, tn_recording *recording,
                                  const sort_problem *p, const tn_choice *choice,
                                  const sort_radix_layout *l, const sort_args *given);

/* Returns the elements of a row that a core of a CPU sorts in its caches, with another copy of
 * them. */
int64_t tn_sort_cached_elements(const tenon_context *context, const sort_problem *p);

/* Returns the work of sorting all elements in the caches, divided into `runs` whose keys differ in
 * this many bits, by `items` work-items. */
tn_work tn_sort_cached_work(const sort_problem *p, double runs, double bits, double items);

#endif
