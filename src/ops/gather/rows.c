/* The solver gather/rows: copies lines of the table, or elements if each has its own index. */
#include "base/dtype.h"
#include "ops/common/walk.h"
#include "ops/gather/internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Sets no time estimate, because there is no other solver. */
static const char *gather_rows_configure(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const gather_problem *p = (const gather_problem *)problem;
    char tuple[GATHER_TUPLE_SIZE];
    tn_element_options(context, (tenon_dtype)p->dtype, NULL, choice->options);
    strcat(choice->options, tn_gather_tuple_options(p->index_type, &p->tuple, tuple));
    return NULL;
}

static int64_t missing_bits(tenon_dtype dtype)
{
    int64_t bits = 0;
    tn_dtype_store(dtype, &bits, tn_dtype_is_float(dtype) ? (double)NAN : 0);
    return bits;
}

static bool copies_lines(const gather_problem *p)
{
    const uint64_t last = p->rank - 1;
    return p->stride[GATHER_INDICES][last] == 0 && p->stride[GATHER_FROM][last] == 1 &&
           p->stride[GATHER_TO][last] == 1;
}

static tenon_status gather_rows_launch(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice)
{
    const gather_problem *p = (const gather_problem *)problem;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, GATHER_FROM, offsetof(gather_args, walk.offset[GATHER_FROM]), size},
        {TN_PATCH_OFFSET, GATHER_INDICES, offsetof(gather_args, walk.offset[GATHER_INDICES]),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->index_type)},
        {TN_PATCH_OFFSET, GATHER_TO, offsetof(gather_args, walk.offset[GATHER_TO]), size}};
    gather_args args = {.walk.rank = (tenon_i32)p->rank,
                        .tuple = p->tuple,
                        .missing = missing_bits((tenon_dtype)p->dtype)};
    tn_launch rows = {.source = "gather/forward",
                      .options = choice->options,
                      .kernel = "forward",
                      .operands = {GATHER_FROM, GATHER_INDICES, GATHER_TO},
                      .operand_count = GATHER_OPERANDS,
                      TN_ARGS(args),
                      TN_PATCHES(patches)};
    memcpy(args.walk.shape, p->shape, sizeof p->shape);
    memcpy(args.walk.stride, p->stride, sizeof p->stride);
    const int64_t lanes = tn_element_lanes(recording->context, (tenon_dtype)p->dtype);
    const tn_stream_share share = {copies_lines(p) ? lanes : 1, 1};
    tn_walk_cut(recording->context, share, &args.walk, &rows);
    return tn_record(caller, recording, &rows);
}

const tn_solver tn_gather_rows = {.name = "rows",
                                  .serves =
                                      "everything; copies lines of the table that share an index",
                                  .configure = gather_rows_configure,
                                  .launch = gather_rows_launch};
