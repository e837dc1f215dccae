/* The solver sort/buckets: divides long rows into buckets, which are sorted in the caches. */
#include "base/checked.h"
#include "ops/common/stores.h"
#include "ops/sort/internal.h"

#include <math.h>

/* The most intervals and sampled elements of a row, and the elements of a row per interval and per
 * sampled element. */
#define INTERVALS    65536
#define SAMPLES      16384
#define PER_INTERVAL 4
#define PER_SAMPLE   16
/* Least elements of a row. */
#define LEAST_ELEMENTS 32768
/* The usual size of a bucket relative to the greatest one that fits the caches, and the greatest
 * one relative to the usual one. */
#define USUAL 4
#define ROOM  3
/* Buckets of at most this part of a row per compute unit are sorted even if they exceed the caches.
 */
#define PARTS 4
/* Work-items per compute unit. */
#define SHARE 8

/* The layout of a choice; offsets in the workspace are in bytes. */
typedef struct buckets_layout {
    sort_radix_layout radix;
    int64_t samples, intervals, buckets, room;
    int64_t each, items; /* buckets of a work-item, and the number of work-items */
    int64_t rows, row_bytes, keys, places;
} buckets_layout;

static buckets_layout layout_of(const tenon_context *context, const sort_problem *p)
{
    const int64_t rows = tn_axis_rows(&p->space), size = p->space.size;
    const int64_t bytes = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const int64_t usual = tn_max_i64(tn_sort_cached_elements(context, p) / USUAL, 1);
    buckets_layout l = {.radix = tn_sort_radix_layout(context, p)};
    l.samples = tn_min_i64(SAMPLES, size / PER_SAMPLE);
    l.intervals = tn_min_i64(INTERVALS, tn_round_up(size / PER_INTERVAL, 64));
    l.buckets = tn_min_i64(tn_max_i64(tn_ceil_div(size, usual), 4), SORT_DIGITS);
    l.room = tn_ceil_div(size, l.buckets) * ROOM;
    l.each = tn_ceil_div(rows * l.buckets, context->device.info.compute_units * SHARE);
    l.items = tn_ceil_div(rows * l.buckets, l.each);
    l.row_bytes = tn_round_up(SORT_DIVISION_BYTES + l.intervals * (int64_t)sizeof(uint32_t) +
                                  l.samples * bytes + l.intervals,
                              TN_WORKSPACE_ALIGNMENT);
    int64_t end = l.radix.end;
    l.rows = tn_sort_part(&end, rows, l.row_bytes);
    l.keys = tn_sort_part(&end, l.items * l.room, bytes);
    l.places = end;
    if (p->flags != 0)
        l.places = tn_sort_part(&end, l.items * l.room, sizeof(int32_t));
    l.radix.end = end;
    return l;
}

static const char *configure_buckets(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (tenon_dtype_size((tenon_dtype)p->dtype) == 1)
        return "an element has one byte, which is one pass of sort/radix";
    if (p->space.size < LEAST_ELEMENTS)
        return "a row has fewer than 32768 elements";
    const buckets_layout l = layout_of(context, p);
    const double rows = (double)tn_axis_rows(&p->space), elements = rows * (double)p->space.size;
    const double bytes = (double)tenon_dtype_size((tenon_dtype)p->dtype) + (p->flags != 0 ? 4 : 0);
    const double items = rows * (double)l.radix.pieces;
    if (l.room > ROOM * tn_sort_cached_elements(context, p))
        return "256 buckets of a row do not fit a core's caches";
    const tn_work choose = {.launches = 2,
                            .groups = rows,
                            .items = rows,
                            .scalar = rows * (double)(10 * l.samples + 8 * l.intervals)};
    const tn_work divide = {.launches = 2,
                            .follows = true,
                            .groups = items,
                            .items = items,
                            .scalar = 5 * elements,
                            .bytes = 3 * elements * bytes,
                            .reads = TN_LONG_ROWS};
    const double bits =
        8.0 * (double)tenon_dtype_size((tenon_dtype)p->dtype) - log2((double)l.buckets);
    tn_work sort = tn_sort_cached_work(p, rows * (double)l.buckets, bits, (double)l.items);
    const tn_work skipped = {.launches = 3.0 * l.radix.passes, .follows = true, .items = items};
    sort.follows = true;
    tn_choice_add(context, choice, &choose);
    tn_choice_add(context, choice, &divide);
    tn_choice_add(context, choice, &sort);
    tn_choice_add(context, choice, &skipped);
    *TN_LAYOUT(buckets_layout, choice) = l;
    choice->workspace = (uint64_t)l.radix.end;
    tn_stores_configure(context, (int64_t)(elements * bytes), choice);
    tn_sort_options(context, p, choice);
    return NULL;
}

/* Records the kernel of a name with operand x, unless it is false, and the workspace. */
static tenon_status record_step(const char *caller, tn_recording *recording, const sort_problem *p,
                                const tn_choice *choice, const sort_args *args, const char *kernel,
                                bool has_x, int64_t items)
{
    tn_launch launch = {.source = "sort/buckets",
                        .kernel = kernel,
                        .operands = {TN_WORKSPACE},
                        .operand_count = 1,
                        TN_ARGS(*args)};
    if (has_x) {
        launch.operands[0] = (uint16_t)p->operand[SORT_X];
        launch.operands[1] = TN_WORKSPACE;
        launch.operand_count = 2;
    }
    return tn_sort_record(caller, recording, p, choice, items, &launch);
}

static tenon_status launch_buckets(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    const buckets_layout *l = TN_LAYOUT(const buckets_layout, choice);
    sort_args args;
    tn_sort_args_fill(p, &args);
    args.rows_at = l->rows;
    args.row_bytes = l->row_bytes;
    args.samples = l->samples;
    args.intervals = l->intervals;
    args.buckets = l->buckets;
    args.room = l->room;
    args.most = p->space.size / (PARTS * (int64_t)recording->context->device.info.compute_units);
    sort_args uneven = args;
    uneven.flags |= SORT_UNEVEN_ROWS;
    args.pieces = l->radix.pieces;
    args.length = l->radix.length;
    args.each = l->each;
    args.counts_at = l->radix.counts;
    args.keys_from = l->keys;
    args.places_from = l->places;
    args.keys_to = l->radix.keys[0];
    args.places_to = l->radix.places[0];
    const int64_t rows = args.axis.rows, pieces = rows * args.pieces;
    TN_TRY(record_step(caller, recording, p, choice, &args, "bucket_sample", true, rows));
    TN_TRY(record_step(caller, recording, p, choice, &args, "bucket_counts", true, pieces));
    TN_TRY(record_step(caller, recording, p, choice, &args, "bucket_places", false, rows));
    TN_TRY(record_step(caller, recording, p, choice, &args, "bucket_move", true, pieces));
    TN_TRY(tn_sort_record_all(caller, recording, p, choice, "sort/buckets", "bucket_sort", &args,
                              l->items));
    return tn_sort_radix_record(caller, recording, p, choice, &l->radix, &uneven);
}

const tn_solver tn_sort_buckets = {
    .name = "buckets",
    .serves = "long rows on CPUs, elements of at least 2 bytes; divides a row into buckets, and "
              "sorts each in a core's caches",
    .needs = "workspace of that of sort/radix, of buckets that are sorted at once, and of a sample",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = configure_buckets,
    .launch = launch_buckets};
