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

static double estimate_sets(tenon_context *context, const tn_problem *problem,
                            const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    (void)values;
    return tn_norm_time(context, p, tn_norm_kept(p), false);
}

static double estimate_split(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    (void)values;
    return tn_norm_time(context, p, tn_norm_kept(p), true);
}

static uint64_t workspace_split(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    (void)values;
    return tn_norm_work_of(context, p, tn_norm_kept(p));
}

static tenon_status record_sets(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    static const int views[] = {NORM_X,    NORM_GAMMA, NORM_BETA,         NORM_Y,
                                NORM_MEAN, NORM_RSTD,  NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE,
                                -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    (void)values;
    tn_norm_space(p, tn_norm_kept(p), p->stride, &args);
    tn_norm_share(recording->context, p, false, &args);
    return tn_norm_record(operation, recording, p,
                          args.columns ? "norm_sets_columns" : "norm_sets_rows", views, 0, &args);
}

/* y from statistics: given ones, or what norm_combine left in the workspace at `work`. */
static tenon_status record_apply(const char *operation, tn_recording *recording,
                                 const norm_problem *p, bool in_work, int64_t work)
{
    static const int views[] = {NORM_X, NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_RSTD, NORM_Y, -1};
    int64_t stride[NORM_VIEWS][TENON_MAX_RANK];
    norm_args args;
    memcpy(stride, p->stride, sizeof stride);
    for (int v = NORM_MEAN; v <= NORM_RSTD && in_work; v++)
        tn_norm_work_strides(p, stride[v]);
    tn_norm_space(p, 0, (const int64_t(*)[TENON_MAX_RANK])stride, &args);
    tn_norm_share_elements(recording->context, p, &args);
    if (in_work) {
        args.offset[NORM_MEAN] = work;
        args.offset[NORM_RSTD] = work + tn_norm_sets_of(p, tn_norm_kept(p));
    }
    return tn_norm_record(operation, recording, p, "norm_apply", views,
                          in_work ? 1u << NORM_MEAN | 1u << NORM_RSTD : 0, &args);
}

static tenon_status record_split(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    static const int partial[] = {NORM_X, NORM_WORK, -1};
    static const int combine[] = {
        NORM_WORK, NORM_MEAN, NORM_RSTD, NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE, -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    (void)values;
    tn_norm_space(p, tn_norm_kept(p), p->stride, &args);
    tn_norm_share(recording->context, p, true, &args);
    TN_TRY(tn_norm_record(operation, recording, p,
                          args.columns ? "norm_partial_columns" : "norm_partial_rows", partial, 0,
                          &args));
    args.items = tn_norm_vectors(recording->context, p, args.sets);
    TN_TRY(tn_norm_record(operation, recording, p, "norm_combine", combine, 0, &args));
    return record_apply(operation, recording, p, true, 2 * args.pieces * args.sets);
}

static tenon_status record_given(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return record_apply(operation, recording, (const norm_problem *)problem, false, 0);
}

const tn_solver tn_norm_sets = {.name = "sets",
                                .refuses = refuses_given,
                                .estimate = estimate_sets,
                                .options = tn_norm_options,
                                .record = record_sets};

const tn_solver tn_norm_split = {.name = "split",
                                 .refuses = refuses_given,
                                 .workspace = workspace_split,
                                 .estimate = estimate_split,
                                 .options = tn_norm_options,
                                 .record = record_split};

const tn_solver tn_norm_given = {.name = "given",
                                 .refuses = refuses_own,
                                 .estimate = estimate_sets,
                                 .options = tn_norm_options,
                                 .record = record_given};
