/* The solver sort/rows: work-items of a CPU each sort the rows that they have in their caches. */
#include "base/checked.h"
#include "ops/sort/internal.h"

#include <math.h>

/* Work-items per compute unit, if there are enough rows; and the elements per work-item that are
 * worth its launch. */
#define SHARE 8
#define CHUNK 4096
/* The core's own caches are assumed to have this size at most, and a part of the last one at least.
 */
#define CORE_BYTES  (INT64_C(1) << 20)
#define LEAST_BYTES (INT64_C(1) << 17)
/* Plain code per element and pass: a count and a move; and per digit and pass. */
#define PASS  3
#define DIGIT 2.5

/* The layout of a choice. */
typedef struct rows_layout {
    int64_t each, items;  /* rows per work-item, and the number of work-items */
    int64_t keys, places; /* offsets in the workspace */
} rows_layout;

int64_t tn_sort_cached_elements(const tenon_context *context, const sort_problem *p)
{
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const int64_t share =
        (int64_t)((double)context->device.model.cache_size / context->device.model.units);
    const int64_t bytes = tn_min_i64(tn_max_i64(share, LEAST_BYTES), CORE_BYTES);
    return bytes / (2 * (size + (p->flags != 0 ? (int64_t)sizeof(int32_t) : 0)));
}

tn_work tn_sort_cached_work(const sort_problem *p, double runs, double bits, double items)
{
    const double elements = (double)tn_axis_rows(&p->space) * (double)p->space.size;
    const double digit =
        elements / runs < SORT_CACHED_FEW ? SORT_CACHED_BITS_FEW : SORT_CACHED_BITS;
    const double passes = ceil(bits / digit);
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double bytes = elements * (size + (p->flags != 0 ? 4 : 0));
    return (tn_work){.launches = 1,
                     .groups = items,
                     .items = items,
                     .scalar = passes * (PASS * elements + DIGIT * runs * exp2(digit)),
                     .bytes = 2 * bytes,
                     .reads = TN_LONG_ROWS};
}

static const char *configure_rows(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    rows_layout *l = TN_LAYOUT(rows_layout, choice);
    const int64_t rows = tn_axis_rows(&p->space), size = p->space.size;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (size > tn_sort_cached_elements(context, p))
        return "a row does not fit a core's caches";
    l->each = tn_max_i64(tn_ceil_div(rows, context->device.info.compute_units * SHARE),
                         tn_max_i64(CHUNK / size, 1));
    l->items = tn_ceil_div(rows, l->each);
    int64_t end = 0;
    l->keys =
        tn_sort_part(&end, l->items * 2 * size, (int64_t)tenon_dtype_size((tenon_dtype)p->dtype));
    l->places = end;
    if (p->flags != 0)
        l->places = tn_sort_part(&end, l->items * 2 * size, sizeof(int32_t));
    choice->workspace = (uint64_t)end;
    const tn_work work = tn_sort_cached_work(
        p, (double)rows, 8.0 * (double)tenon_dtype_size((tenon_dtype)p->dtype), (double)l->items);
    tn_choice_add(context, choice, &work);
    tn_sort_options(context, p, choice);
    return NULL;
}

static tenon_status launch_rows(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    const rows_layout *l = TN_LAYOUT(const rows_layout, choice);
    sort_args args;
    tn_sort_args_fill(p, &args);
    args.each = l->each;
    args.keys_to = l->keys;
    args.places_to = l->places;
    return tn_sort_record_all(caller, recording, p, choice, "sort/rows", "sort_rows", &args,
                              l->items);
}

const tn_solver tn_sort_rows = {
    .name = "rows",
    .serves =
        "rows that fit the caches of a CPU's core; a radix sort by the bits in which the keys "
        "differ",
    .needs = "workspace of two elements for each element of the rows that are sorted at once, and "
             "of as many i32 for indices or a payload",
    .configure = configure_rows,
    .launch = launch_rows};
