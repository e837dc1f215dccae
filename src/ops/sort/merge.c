/* The solver sort/merge: work-items of a CPU each merge the rows that they have. */
#include "base/checked.h"
#include "ops/sort/internal.h"

#include <math.h>

/* The largest buffer of a row; both fit in a cache. */
#define MOST_BYTES (INT64_C(1) << 18)
/* Vector elements that take as long as a word of a merge (measured on calls of 4 Mi elements in
 * rows of 1024 to 65536). */
#define LEVEL 13
/* Least elements per work-item, to be worth its launch, and work-items per compute unit, if there
 * are enough rows. */
#define CHUNK 4096
#define SHARE 4
/* Words per vector; and words after a buffer, of which merges read one. */
#define VECTOR 16

/* The layout of a choice. */
typedef struct merge_layout {
    int64_t each, length, items; /* as in sort_args, and the number of work-items */
} merge_layout;

static merge_layout layout_of(const tenon_context *context, const sort_problem *p)
{
    const int64_t rows = tn_axis_rows(&p->space), size = p->space.size;
    const int64_t most = context->device.info.compute_units * SHARE;
    merge_layout l;
    l.each = tn_max_i64(tn_ceil_div(rows, most), tn_max_i64(CHUNK / size, 1));
    l.items = tn_ceil_div(rows, l.each);
    l.length = tn_round_up(size, VECTOR) + VECTOR;
    return l;
}

static const char *configure_merge(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    const int64_t word = p->flags != 0 ? sizeof(uint64_t) : sizeof(uint32_t);
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (tenon_dtype_size((tenon_dtype)p->dtype) > sizeof(uint32_t))
        return "an element has more than 4 bytes";
    if (p->space.size > MOST_BYTES / word)
        return "the words of a row have more than 256 KiB";
    const merge_layout l = layout_of(context, p);
    const double rows = (double)tn_axis_rows(&p->space), size = (double)(l.length - VECTOR);
    const double words = rows * size * (double)word / sizeof(uint32_t);
    const tn_work work = {.launches = 1,
                          .groups = (double)l.items,
                          .items = (double)l.items,
                          .vector_elements = words * (LEVEL * log2(size / VECTOR) + 2),
                          .single_elements = p->flags != 0 ? rows * size : 0,
                          .rows = rows,
                          .bytes = 2 * words * sizeof(uint32_t),
                          .reads = TN_LONG_ROWS};
    tn_choice_add(context, choice, &work);
    *TN_LAYOUT(merge_layout, choice) = l;
    choice->workspace = (uint64_t)(l.items * 2 * l.length * word);
    tn_choice_options(context, choice, "-DTENON_KEY=%u -DTENON_NUMBERS=%d%s",
                      (unsigned)tenon_dtype_size((tenon_dtype)p->dtype), p->flags != 0,
                      p->wide != 0 ? " -DTENON_WIDE=1" : "");
    return NULL;
}

static tenon_status launch_merge(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    const merge_layout *l = TN_LAYOUT(const merge_layout, choice);
    sort_args args;
    tn_sort_args_fill(p, &args);
    args.each = l->each;
    args.length = l->length;
    return tn_sort_record_all(caller, recording, p, choice, "sort/merge", "merge_rows", &args,
                              l->items);
}

const tn_solver tn_sort_merge = {
    .name = "merge",
    .serves =
        "elements of at most 4 bytes, on CPUs, rows of up to 65536 or with indices or a payload "
        "32768; merges vectors",
    .needs = "workspace of two words for each element of the rows that are sorted at once",
    .configure = configure_merge,
    .launch = launch_merge};
