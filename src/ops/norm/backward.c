/* norm_backward/sets and norm_backward/split. */
#include "base/checked.h"
#include "ops/norm/internal.h"

#include <string.h>

static bool wants_parameters(const norm_problem *p)
{
    return (p->flags & NORM_PARAMETERS) != 0;
}

/* Batch normalization: the sums of a set are the gradients of its parameters. */
bool tn_norm_sets_are_parameters(const norm_problem *p)
{
    return tn_norm_kept(p) == p->parameters && (p->flags & NORM_WEIGHTED) == 0;
}

/* Whether dx needs sums over the sets. */
bool tn_norm_wants_sums(const norm_problem *p)
{
    return (p->flags & NORM_HAS(NORM_DX)) != 0 && (p->flags & NORM_GIVEN) == 0;
}

/* Whether the gradients of the parameters need sums of their own. */
bool tn_norm_wants_own_sums(const norm_problem *p)
{
    return wants_parameters(p) && !(tn_norm_wants_sums(p) && tn_norm_sets_are_parameters(p));
}

static const char *refuses_nothing(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

static void share(const tenon_context *context, const norm_problem *p, uint32_t kept, bool split,
                  norm_args *args)
{
    tn_norm_space(p, kept, &p->stride, &p->stride, args);
    tn_norm_share(context, p, split ? NORM_SUMS : NORM_WHOLE, args);
}

/* The sums of dy and dy · h over the sets or, with dimensions `kept` that are the parameters', over
 * what shares a parameter. `drop` are flags that do not hold for them. */
static tenon_status record_sums(const char *operation, tn_recording *recording,
                                const norm_problem *p, uint32_t kept, uint32_t drop, bool split,
                                norm_args *args)
{
    static const int sums[] = {NORM_X,    NORM_DY,     NORM_GAMMA, NORM_MEAN, NORM_RSTD,
                               NORM_WORK, NORM_DGAMMA, NORM_DBETA, -1};
    share(recording->context, p, kept, split, args);
    args->flags &= ~(tenon_i32)drop;
    args->flags |= split ? NORM_TO_WORK : 0;
    return tn_norm_record(operation, recording, p, "norm_sums", sums, 0, args, NULL);
}

/* Adds up the pieces of what record_sums left: to dgamma and dbeta unless they are dropped, and to
 * the workspace where sums of sets are wanted. */
static tenon_status record_reduce(const char *operation, tn_recording *recording,
                                  const norm_problem *p, bool to_work, norm_args *args)
{
    static const int views[] = {NORM_WORK, NORM_DGAMMA, NORM_DBETA, -1};
    if (!to_work)
        args->flags &= ~NORM_TO_WORK;
    args->items = tn_norm_vectors(recording->context, p, args->sets);
    return tn_norm_record(operation, recording, p, "norm_reduce", views, 0, args, NULL);
}

/* dx, from sums in the workspace at `work` where it needs them. */
static tenon_status record_gradient(const char *operation, tn_recording *recording,
                                    const norm_problem *p, int64_t work)
{
    static const int views[] = {NORM_X,    NORM_DY,     NORM_GAMMA, NORM_MEAN,
                                NORM_RSTD, NORM_DGAMMA, NORM_DX,    -1};
    const bool sums = tn_norm_wants_sums(p);
    const uint32_t kept = tn_norm_kept(p);
    norm_strides stride = p->stride;
    norm_args args;
    for (int v = NORM_DGAMMA; v <= NORM_DBETA; v++)
        tn_norm_work_strides(p, kept, stride.of[v]);
    tn_norm_elements(recording->context, p, kept, &stride, &args);
    args.offset[NORM_DGAMMA] = work;
    args.offset[NORM_DBETA] = work + tn_norm_sets_of(p, kept);
    return tn_norm_record(operation, recording, p, "norm_gradient", views,
                          sums ? (uint32_t)1 << NORM_DGAMMA | (uint32_t)1 << NORM_DBETA : 0, &args,
                          NULL);
}

static tenon_status record_whole(const char *operation, tn_recording *recording,
                                 const norm_problem *p)
{
    static const int views[] = {NORM_X,  NORM_DY,     NORM_GAMMA, NORM_MEAN, NORM_RSTD,
                                NORM_DX, NORM_DGAMMA, NORM_DBETA, -1};
    norm_args args;
    share(recording->context, p, tn_norm_kept(p), false, &args);
    if (!tn_norm_sets_are_parameters(p))
        args.flags &= ~NORM_PARAMETERS;
    return tn_norm_record(operation, recording, p, "norm_whole", views, 0, &args, NULL);
}

/* The gradients of the parameters come first: dx may be dy. Their sums have no weights. */
static tenon_status record_sets(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    (void)values;
    if (tn_norm_wants_own_sums(p))
        TN_TRY(record_sums(operation, recording, p, p->parameters, NORM_WEIGHTED, false, &args));
    if (tn_norm_wants_sums(p))
        return record_whole(operation, recording, p);
    return (p->flags & NORM_HAS(NORM_DX)) != 0 ? record_gradient(operation, recording, p, 0)
                                               : TENON_OK;
}

/* In pieces, where they are not those of the sets. */
tenon_status tn_norm_record_parameters(const char *operation, tn_recording *recording,
                                       const norm_problem *p)
{
    norm_args args;
    if (!tn_norm_wants_own_sums(p))
        return TENON_OK;
    TN_TRY(record_sums(operation, recording, p, p->parameters, NORM_WEIGHTED, true, &args));
    return record_reduce(operation, recording, p, false, &args);
}

static tenon_status record_split(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    int64_t work = 0;
    norm_args args;
    (void)values;
    TN_TRY(tn_norm_record_parameters(operation, recording, p));
    if (tn_norm_wants_sums(p)) {
        const uint32_t drop = tn_norm_sets_are_parameters(p) ? 0 : NORM_PARAMETERS;
        TN_TRY(record_sums(operation, recording, p, tn_norm_kept(p), drop, true, &args));
        TN_TRY(record_reduce(operation, recording, p, true, &args));
        work = 2 * args.pieces * args.sets;
    }
    return (p->flags & NORM_HAS(NORM_DX)) != 0 ? record_gradient(operation, recording, p, work)
                                               : TENON_OK;
}

static uint64_t work_of(const tenon_context *context, const norm_problem *p, uint32_t kept)
{
    norm_args args;
    share(context, p, kept, true, &args);
    return (uint64_t)(2 * (args.pieces + 1) * args.sets) * tn_acc_size(p->dtype);
}

uint64_t tn_norm_parameters_work(const tenon_context *context, const norm_problem *p)
{
    return tn_norm_wants_own_sums(p) ? work_of(context, p, p->parameters) : 0;
}

static uint64_t workspace_split(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    (void)values;
    uint64_t own = tn_norm_parameters_work(context, p);
    uint64_t sets = tn_norm_wants_sums(p) ? work_of(context, p, tn_norm_kept(p)) : 0;
    return own > sets ? own : sets;
}

static double part_time(const tenon_context *context, const norm_problem *p, uint32_t kept,
                        bool split)
{
    norm_args args;
    share(context, p, kept, split, &args);
    return tn_norm_time(context, p, &args, split);
}

double tn_norm_parameters_time(const tenon_context *context, const norm_problem *p)
{
    return tn_norm_wants_own_sums(p) ? part_time(context, p, p->parameters, true) : 0;
}

static double time_of(const tenon_context *context, const norm_problem *p, bool split)
{
    double time = 0;
    if (tn_norm_wants_own_sums(p))
        time += part_time(context, p, p->parameters, split);
    if ((p->flags & NORM_HAS(NORM_DX)) != 0)
        time += part_time(context, p, tn_norm_kept(p), split);
    return time;
}

static double estimate_sets(tenon_context *context, const tn_problem *problem,
                            const int32_t *values)
{
    (void)values;
    return time_of(context, (const norm_problem *)problem, false);
}

static double estimate_split(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    (void)values;
    return time_of(context, (const norm_problem *)problem, true);
}

const tn_solver tn_norm_backward_sets = {.name = "sets",
                                         .refuses = refuses_nothing,
                                         .estimate = estimate_sets,
                                         .options = tn_norm_options,
                                         .record = record_sets};

const tn_solver tn_norm_backward_split = {.name = "split",
                                          .refuses = refuses_nothing,
                                          .workspace = workspace_split,
                                          .estimate = estimate_split,
                                          .options = tn_norm_options,
                                          .record = record_split};
