/* The solver sort/radix: passes of a radix sort, each of three launches. */
#include "base/checked.h"
#include "ops/common/stores.h"
#include "ops/sort/internal.h"

/* Least elements per piece, and the maximum number of pieces of a row. */
#define CPU_PIECE  16384
#define CPU_PIECES 64
#define GPU_PIECE  1024
#define GPU_PIECES 2048
/* Pieces per compute unit, if there are enough elements. */
#define CPU_SHARE 4
#define GPU_SHARE 64

int64_t tn_sort_part(int64_t *end, int64_t count, int64_t size)
{
    const int64_t at = *end;
    *end += tn_round_up(count * size, TN_WORKSPACE_ALIGNMENT);
    return at;
}

/* Returns true if the results have room for all elements, in contiguous rows. */
static bool are_contiguous(const sort_problem *p)
{
    return p->limit == p->space.size && p->space.axis[SORT_Y] == 1 &&
           ((p->flags & SORT_HAS_INDICES) == 0 ||
            (p->space.axis[SORT_INDICES] == 1 && p->wide == 0));
}

sort_radix_layout tn_sort_radix_layout(const tenon_context *context, const sort_problem *p)
{
    const bool is_cpu = context->device.is_cpu;
    const int64_t rows = tn_axis_rows(&p->space), size = p->space.size, elements = rows * size;
    const int64_t bytes = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const int64_t share = is_cpu ? CPU_SHARE : GPU_SHARE;
    const int64_t wanted = tn_ceil_div(context->device.info.compute_units * share, rows);
    const int64_t most =
        tn_min_i64(is_cpu ? CPU_PIECES : GPU_PIECES, size / (is_cpu ? CPU_PIECE : GPU_PIECE));
    sort_radix_layout l = {.passes = (int32_t)bytes};
    l.pieces = tn_max_i64(tn_min_i64(wanted, most), 1);
    l.length = tn_ceil_div(size, l.pieces);
    l.counts = tn_sort_part(&l.end, rows * l.pieces * SORT_DIGITS, sizeof(uint32_t));
    l.totals = tn_sort_part(&l.end, rows * SORT_DIGITS, sizeof(uint32_t));
    l.via_results = are_contiguous(p);
    for (int i = 0; i < 2 && i + 1 < l.passes; i++) {
        const bool is_result = i == 1 && l.via_results;
        if (!is_result)
            l.keys[i] = tn_sort_part(&l.end, elements, bytes);
        if (p->flags != 0 && !(is_result && (p->flags & SORT_HAS_INDICES) != 0))
            l.places[i] = tn_sort_part(&l.end, elements, sizeof(int32_t));
    }
    return l;
}

static const char *configure_radix(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    const sort_radix_layout l = tn_sort_radix_layout(context, p);
    const double rows = (double)tn_axis_rows(&p->space), elements = rows * (double)p->space.size;
    const double items = rows * (double)l.pieces;
    const double bytes = (double)tenon_dtype_size((tenon_dtype)p->dtype) + (p->flags != 0 ? 4 : 0);
    const tn_work passes = {.launches = 3.0 * l.passes,
                            .groups = items,
                            .items = items,
                            .scalar = l.passes * (6 * elements + 4 * items * SORT_DIGITS),
                            .bytes = 3 * l.passes * elements * bytes,
                            .reads = TN_SCATTERED};
    tn_choice_add(context, choice, &passes);
    *TN_LAYOUT(sort_radix_layout, choice) = l;
    choice->workspace = (uint64_t)l.end;
    tn_stores_configure(context, (int64_t)elements * (int64_t)bytes, choice);
    tn_sort_options(context, p, choice);
    return NULL;
}

/* Records the three launches of a pass. */
static tenon_status record_pass(const char *caller, tn_recording *recording, const sort_problem *p,
                                const tn_choice *choice, const sort_args *args)
{
    const int64_t rows = args->axis.rows;
    tn_launch counts = {
        .source = "sort/radix",
        .kernel = "radix_counts",
        .operands = {(uint16_t)p->operand[SORT_X], (uint16_t)p->operand[SORT_Y], TN_WORKSPACE},
        .operand_count = 3,
        TN_ARGS(*args)};
    tn_launch places = {.source = "sort/radix",
                        .kernel = "radix_places",
                        .operands = {TN_WORKSPACE},
                        .operand_count = 1,
                        TN_ARGS(*args)};
    tn_launch move = {.source = "sort/radix",
                      .kernel = "radix_move",
                      .operand_count = SORT_VIEWS + 1,
                      TN_ARGS(*args)};
    for (int v = 0; v < SORT_VIEWS; v++)
        move.operands[v] = (uint16_t)p->operand[v];
    move.operands[SORT_VIEWS] = TN_WORKSPACE;
    TN_TRY(tn_sort_record(caller, recording, p, choice, rows * args->pieces, &counts));
    TN_TRY(tn_sort_record(caller, recording, p, choice, rows * SORT_DIGITS, &places));
    return tn_sort_record(caller, recording, p, choice, rows * args->pieces, &move);
}

tenon_status tn_sort_radix_record(const char *caller, tn_recording *recording,
                                  const sort_problem *p, const tn_choice *choice,
                                  const sort_radix_layout *l, const sort_args *given)
{
    for (int32_t pass = 0; pass < l->passes; pass++) {
        sort_args args = *given;
        args.pieces = l->pieces;
        args.length = l->length;
        args.keys_from = l->keys[(pass + 1) % 2];
        args.keys_to = l->keys[pass % 2];
        args.places_from = l->places[(pass + 1) % 2];
        args.places_to = l->places[pass % 2];
        args.counts_at = l->counts;
        args.totals_at = l->totals;
        args.shift = 8 * pass;
        args.flags |= (pass == 0 ? SORT_FIRST : 0) | (pass + 1 == l->passes ? SORT_LAST : 0);
        if (l->via_results)
            args.flags |= pass % 2 == 0 ? SORT_FROM_RESULTS : SORT_TO_RESULTS;
        TN_TRY(record_pass(caller, recording, p, choice, &args));
    }
    return TENON_OK;
}

static tenon_status launch_radix(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    sort_args args;
    tn_sort_args_fill(p, &args);
    return tn_sort_radix_record(caller, recording, p, choice,
                                TN_LAYOUT(const sort_radix_layout, choice), &args);
}

const tn_solver tn_sort_radix = {
    .name = "radix",
    .serves = "everything; a pass for each byte of an element",
    .needs = "workspace of one or two elements per element, and of as many i32 for indices or a "
             "payload",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = configure_radix,
    .launch = launch_radix};
