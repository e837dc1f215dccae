/* norm/sets, norm/split and norm/given. */
#include "base/checked.h"
#include "ops/norm/internal.h"

#include <string.h>

static const char *refuses_given(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    return (((const norm_problem *)problem)->flags & NORM_GIVEN) != 0 ? "the statistics are given"
                                                                      : NULL;
}

static const char *refuses_own(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    return (((const norm_problem *)problem)->flags & NORM_GIVEN) != 0
               ? NULL
               : "the statistics are those of x";
}

/* The partial sums read x alone. Where x is contiguous along a short dimension of the sets, vectors
 * lie across it and sums are of its entries: they are put together when pieces are. */
static void share_partial(const tenon_context *context, const norm_problem *p, norm_args *args)
{
    norm_strides x = {.of = {{0}}};
    memcpy(x.of[NORM_X], p->stride.of[NORM_X], sizeof x.of[NORM_X]);
    tn_norm_space(p, tn_norm_parts(p), &x, &x, args);
    tn_norm_share(context, p, NORM_SUMS, args);
}

static void share_sets(const tenon_context *context, const norm_problem *p, norm_args *args)
{
    tn_norm_space(p, tn_norm_kept(p), &p->stride, &p->stride, args);
    tn_norm_share(context, p, NORM_WHOLE, args);
}

/* Where vectors lie along lines of x and y they may be stored past the caches. */
static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    share_sets(context, p, &args);
    const int inner = args.rank - 1;
    const bool along =
        !args.columns && args.stride[NORM_X][inner] == 1 && args.stride[NORM_Y][inner] == 1;
    tn_stores_tune(context, along ? tn_stores_bytes(p->dtype, args.sets * args.count) : 0,
                   &values[0]);
}

static double estimate_sets(tenon_context *context, const tn_problem *problem,
                            const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    (void)values;
    share_sets(context, p, &args);
    return tn_norm_time(context, p, &args, false);
}

static double estimate_split(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    (void)values;
    share_partial(context, p, &args);
    return tn_norm_time(context, p, &args, true);
}

static uint64_t workspace_split(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    (void)values;
    share_partial(context, p, &args);
    return (uint64_t)(2 * (args.pieces + 1) * args.sets) * tn_acc_size(p->dtype);
}

static tenon_status record_sets(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    static const int views[] = {NORM_X,    NORM_GAMMA, NORM_BETA,         NORM_Y,
                                NORM_MEAN, NORM_RSTD,  NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE,
                                -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    share_sets(recording->context, p, &args);
    return tn_norm_record(operation, recording, p, "norm_sets", views, 0, &args, values);
}

/* y from statistics: given ones, or what norm_combine left in the workspace at `work`. */
static tenon_status record_apply(const char *operation, tn_recording *recording,
                                 const norm_problem *p, bool in_work, int64_t work,
                                 const int32_t *values)
{
    static const int views[] = {NORM_X, NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_RSTD, NORM_Y, -1};
    const uint32_t kept = in_work ? tn_norm_parts(p) : tn_norm_kept(p);
    norm_strides stride = p->stride;
    norm_args args;
    for (int v = NORM_MEAN; v <= NORM_RSTD && in_work; v++)
        tn_norm_work_strides(p, kept, stride.of[v]);
    for (int v = NORM_RUNNING_MEAN; v < NORM_VIEWS; v++)
        memset(stride.of[v], 0, sizeof stride.of[v]);
    tn_norm_elements(recording->context, p, kept, &stride, &args);
    if (in_work) {
        args.offset[NORM_MEAN] = work;
        args.offset[NORM_RSTD] = work + tn_norm_sets_of(p, kept);
    }
    return tn_norm_record(operation, recording, p, "norm_apply", views,
                          in_work ? 1u << NORM_MEAN | 1u << NORM_RSTD : 0, &args, values);
}

/* Takes the pieces of `partial`. */
static tenon_status record_combine(const char *operation, tn_recording *recording,
                                   const norm_problem *p, const norm_args *partial,
                                   const int32_t *values)
{
    static const int views[] = {
        NORM_WORK, NORM_MEAN, NORM_RSTD, NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE, -1};
    norm_strides x = {.of = {{0}}};
    norm_args sets, args = *partial;
    memcpy(x.of[NORM_X], p->stride.of[NORM_X], sizeof x.of[NORM_X]);
    /* The same pieces, but of the kept dimensions those that the outputs tell apart. */
    tn_norm_space(p, tn_norm_parts(p), &p->stride, &x, &sets);
    memcpy(args.shape, sets.shape, sizeof args.shape);
    memcpy(args.stride, sets.stride, sizeof args.stride);
    args.kept = sets.kept;
    args.rank = sets.rank;
    args.sets = tn_norm_sets_of(p, tn_norm_kept(p));
    args.count = tn_norm_count_of(p, tn_norm_kept(p));
    args.parts = partial->sets / args.sets;
    args.items = tn_norm_vectors(recording->context, p, args.sets);
    return tn_norm_record(operation, recording, p, "norm_combine", views, 0, &args, values);
}

static tenon_status record_split(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    static const int views[] = {NORM_X, NORM_WORK, -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    share_partial(recording->context, p, &args);
    TN_TRY(tn_norm_record(operation, recording, p, "norm_partial", views, 0, &args, values));
    TN_TRY(record_combine(operation, recording, p, &args, values));
    return record_apply(operation, recording, p, true, 2 * args.pieces * args.sets, values);
}

static tenon_status record_given(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    return record_apply(operation, recording, (const norm_problem *)problem, false, 0, values);
}

const tn_solver tn_norm_sets = {.name = "sets",
                                .refuses = refuses_given,
                                .parameters = tn_stores_parameter,
                                .parameter_count = 1,
                                .tune = tune,
                                .constrains = tn_stores_constrains,
                                .estimate = estimate_sets,
                                .options = tn_norm_options,
                                .record = record_sets};

const tn_solver tn_norm_split = {.name = "split",
                                 .refuses = refuses_given,
                                 .parameters = tn_stores_parameter,
                                 .parameter_count = 1,
                                 .tune = tune,
                                 .constrains = tn_stores_constrains,
                                 .workspace = workspace_split,
                                 .estimate = estimate_split,
                                 .options = tn_norm_options,
                                 .record = record_split};

const tn_solver tn_norm_given = {.name = "given",
                                 .refuses = refuses_own,
                                 .parameters = tn_stores_parameter,
                                 .parameter_count = 1,
                                 .tune = tune,
                                 .constrains = tn_stores_constrains,
                                 .estimate = estimate_sets,
                                 .options = tn_norm_options,
                                 .record = record_given};
