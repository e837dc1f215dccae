/* Selection of a solver for a problem: the forced one, or a measured one, or the one with the
 * lowest estimated time whose self-check passes. dispatch/solver.h defines problem, family and
 * choice. */
#include "dispatch/select.h"

#include "dispatch/nearest.h"
#include "dispatch/operation.h"
#include "dispatch/self_check.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/probe/constants.h"
#include "runtime/queue/frame.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(TN_MAX_OPERANDS <= TN_FRAME_OPERANDS && TN_MAX_SCALARS <= TN_FRAME_SCALARS,
               "a frame maps every operand and scalar of a call");

static const char *select_configure(tenon_context *context, const tn_problem *problem,
                                    bool is_estimate, tn_choice *choice)
{
    const tn_solver *solver = choice->solver;
    int32_t values[TN_MAX_PARAMETERS];
    memcpy(values, choice->values, sizeof values);
    memset(choice, 0,
           offsetof(tn_choice, options) + 1); /* an empty string: only its first byte is cleared */
    memset(choice->layout, 0, sizeof choice->layout);
    choice->solver = solver;
    choice->is_estimate = is_estimate;
    memcpy(choice->values, values, sizeof values);
    return solver->configure(context, problem, choice);
}

const char *tn_configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    return select_configure(context, problem, false, choice);
}

void tn_choice_options(tenon_context *context, tn_choice *choice, const char *format, ...)
{
    va_list arguments;
    if (choice->is_estimate)
        return;
    va_start(arguments, format);
    tn_build_options_list(context, choice->options, format, arguments);
    va_end(arguments);
}

/* Builds the programs of all launches concurrently, before the launches are recorded one by one.
 * The first call of `launch` only lists the programs. */
static void build_ahead(const char *caller, tenon_context *context, const tn_problem *problem,
                        const tn_choice *choice)
{
    tn_build_list build_requests = {.count = 0};
    tn_recording listing = {.context = context, .build_requests = &build_requests};
    tn_kept_message kept;
    if (!tn_builds_in_parallel(context) || !tn_message_keep(&kept))
        return;
    (void)choice->solver->launch(caller, &listing, problem, choice);
    tn_build_list_run(context, &build_requests);
    tn_message_restore(&kept);
}

tenon_status tn_choice_record(const char *caller, tn_recording *recording,
                              const tn_problem *problem, const tn_choice *choice)
{
    if (recording->build_requests == NULL)
        build_ahead(caller, recording->context, problem, choice);
    const uint64_t end = tn_frame_workspace(recording->frame) + choice->workspace;
    if (choice->workspace > 0 && end > recording->workspace)
        recording->workspace = end;
    return choice->solver->launch(caller, recording, problem, choice);
}

/* Configures a choice again after its self-check. On a driver that miscompiles at random, a
 * self-check may have compiled the variant several times, each time with other options, until it
 * passed. */
static void renew(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    if (context->device.miscompiles_at_random)
        tn_configure(context, problem, choice);
}

/* Returns true if the caller has given a parameter of a forced solver. */
static bool has_forced_values(const tn_problem *problem)
{
    for (size_t i = 0; i < TN_MAX_PARAMETERS; i++)
        if (problem->forced_values[i] != 0)
            return true;
    return false;
}

static tenon_status configure_forced(const tn_request *r, tn_choice *choice)
{
    const tn_problem *problem = r->problem;
    char name[TN_SOLVER_NAME_SIZE];
    *choice = (tn_choice){.solver = r->family->solvers[problem->forced]};
    memcpy(choice->values, problem->forced_values, sizeof choice->values);
    const char *why = tn_configure(r->context, problem, choice);
    if (why == NULL && r->context->policy.only_chosen) /* for plans of absent devices */
        why = choice->never_chosen;
    if (why == NULL && !has_forced_values(problem))
        why = choice->misfit;
    if (why != NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: solver %s/%s cannot serve: %s", r->caller,
                       r->family->name, choice->solver->name, why);
    tn_solver_name(r->family, choice, name);
    if (choice->misfit != NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: solver: %s: %s", r->caller, name,
                       choice->misfit);
    if (choice->workspace > problem->workspace_limit)
        return tn_fail(TENON_ERROR_WORKSPACE_TOO_SMALL,
                       "%s: solver %s needs a workspace of %" PRIu64
                       " bytes, the limit is %" PRIu64,
                       r->caller, name, choice->workspace, problem->workspace_limit);
    return TENON_OK;
}

static tenon_status select_forced(const tn_request *r, tn_choice *choice)
{
    char name[TN_SOLVER_NAME_SIZE], wrong[256];
    tn_verdict verdict;
    TN_TRY(configure_forced(r, choice));
    tn_solver_name(r->family, choice, name);
    TN_TRY(tn_self_check(r, choice, &verdict, wrong));
    if (verdict != TN_VERDICT_RIGHT)
        return tn_fail(TENON_ERROR_SOLVER_BARRED, "%s: solver %s %s on this device: %s", r->caller,
                       name, verdict == TN_VERDICT_WRONG ? "gives wrong results" : "is disabled",
                       wrong);
    renew(r->context, r->problem, choice);
    return TENON_OK;
}

/* Returns why a solver cannot be selected for a problem; NULL if it can, with its time. */
static const char *why_not_selectable(tenon_context *context, const tn_problem *problem,
                                      const tn_solver *solver, double *time)
{
    tn_choice choice;
    choice.solver = solver;
    memset(choice.values, 0, sizeof choice.values);
    const char *why = select_configure(context, problem, true, &choice);
    *time = choice.time;
    return why != NULL                                   ? why
           : choice.never_chosen != NULL                 ? choice.never_chosen
           : choice.misfit != NULL                       ? choice.misfit
           : choice.workspace > problem->workspace_limit ? "needs more workspace than the limit"
                                                         : NULL;
}

uint32_t tn_candidates(tenon_context *context, const tn_family *family, const tn_problem *problem,
                       tn_candidate list[TN_MAX_SOLVERS])
{
    tn_candidate refused[TN_MAX_SOLVERS];
    uint32_t serving = 0, refused_count = 0;
    tn_constants_need(context);
    for (uint32_t i = 0; i < family->solver_count; i++) {
        tn_candidate c = {.solver = family->solvers[i]};
        c.why_not = why_not_selectable(context, problem, c.solver, &c.time);
        if (c.why_not != NULL) {
            refused[refused_count++] = c;
            continue;
        }
        uint32_t at = serving++;
        for (; at > 0 && list[at - 1].time > c.time; at--)
            list[at] = list[at - 1];
        list[at] = c;
    }
    memcpy(list + serving, refused, refused_count * sizeof *refused);
    return serving;
}

static tenon_status fail_with_reasons(const char *caller, const tn_family *family,
                                      const tn_candidate *refused)
{
    char reasons[1024] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < family->solver_count && used < sizeof reasons - 1; i++)
        used += (size_t)snprintf(reasons + used, sizeof reasons - used, "\n  %s/%s: %s",
                                 family->name, refused[i].solver->name, refused[i].why_not);
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: no solver can serve:%s", caller, reasons);
}

double tn_problem_time(tenon_context *context, const tn_family *family, const tn_problem *problem)
{
    double least = (double)INFINITY, time;
    for (uint32_t i = 0; i < family->solver_count; i++)
        if (why_not_selectable(context, problem, family->solvers[i], &time) == NULL && time < least)
            least = time;
    return least;
}

tenon_status tn_child_record(const char *caller, tn_recording *recording, tn_frame *frame,
                             const tn_family *family, const tn_problem *problem)
{
    tn_choice choice;
    TN_TRY(tn_select(&(tn_request){caller, recording->context, family, problem, NULL}, &choice));
    tn_frame_enter(recording, frame);
    const tenon_status status = tn_choice_record(caller, recording, problem, &choice);
    tn_frame_leave(recording);
    return status;
}

tenon_status tn_select_serves(const tn_request *r)
{
    tn_candidate list[TN_MAX_SOLVERS];
    tn_choice choice;
    if (r->problem->forced >= 0)
        return configure_forced(r, &choice);
    if (tn_candidates(r->context, r->family, r->problem, list) == 0)
        return fail_with_reasons(r->caller, r->family, list);
    return TENON_OK;
}

/* Counts of the candidates that were tried and did not pass. */
typedef struct tn_tally {
    uint32_t wrong, guarded, failed;
    tenon_status last;
    char why[256]; /* of the last candidate that is wrong or guarded */
} tn_tally;

/* Configures a candidate and checks it. Sets `*passes` to false if the caller should try the next
 * one. Returns only failures that may be temporary: the plan is cached, and would otherwise exclude
 * this solver from then on. */
static tenon_status try_candidate(const tn_request *r, const tn_candidate *c, bool is_last_resort,
                                  tn_choice *choice, bool *passes, tn_tally *tally)
{
    tn_verdict verdict;
    *choice = (tn_choice){.solver = c->solver};
    tn_configure(r->context, r->problem, choice);
    choice->is_last_resort = is_last_resort;
    const tenon_status status = tn_self_check(r, choice, &verdict, tally->why);
    *passes = status == TENON_OK && verdict == TN_VERDICT_RIGHT;
    if (*passes)
        renew(r->context, r->problem, choice);
    else if (status != TENON_OK)
        tally->failed++;
    else
        *(verdict == TN_VERDICT_WRONG ? &tally->wrong : &tally->guarded) += 1;
    tally->last = status;
    return status == TENON_OK || tn_failure_lasts(status) ? TENON_OK : status;
}

/* Fails because no candidate passes, including those that the crash guard disables. */
static tenon_status fail_with_tally(const char *caller, const tn_tally *tally)
{
    if (tally->last != TENON_OK)
        return tally->last;
    if (tally->failed == 0)
        return tn_fail(TENON_ERROR_SOLVER_BARRED,
                       "%s: every solver gives wrong results on this device; the last one: %s",
                       caller, tally->why);
    return tn_fail(TENON_ERROR_SOLVER_BARRED,
                   "%s: no solver serves on this device: %u give wrong results, %u cannot be "
                   "checked; the last one: %s",
                   caller, tally->wrong, tally->failed, tally->why);
}

/* Selects the first candidate with correct results on this device. Skips candidates that the crash
 * guard disables, because a process ended during their self-check. If no other one passes, it tries
 * these from the last to the first, since the slowest solvers are the simplest. */
static tenon_status take_first(const tn_request *r, const tn_candidate *candidates, uint32_t count,
                               tn_choice *choice)
{
    tn_tally tally = {.last = TENON_OK};
    bool is_guarded[TN_MAX_SOLVERS] = {false}, passes = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t guarded = tally.guarded;
        TN_TRY(try_candidate(r, &candidates[i], i + 1 == count, choice, &passes, &tally));
        if (passes)
            return TENON_OK;
        is_guarded[i] = tally.guarded > guarded;
    }
    for (uint32_t i = count; i-- > 0;) {
        if (!is_guarded[i])
            continue;
        TN_TRY(try_candidate(r, &candidates[i], true, choice, &passes, &tally));
        if (passes)
            return TENON_OK;
    }
    return fail_with_tally(r->caller, &tally);
}

/* Moves the candidate that is measured as the fastest to the front. Returns false, and keeps the
 * order of the estimates, if anything fails. */
static bool measure(const tn_request *r, tn_candidate *candidates, uint32_t count)
{
    tn_choice *choices[TN_TUNING_MAX] = {NULL};
    uint32_t numbers[TN_TUNING_MAX], right = 0;
    tn_tally tally = {.last = TENON_OK};
    if (r->context->policy.measurements != TENON_MEASUREMENTS_MADE || r->context->owner != NULL ||
        r->call == NULL)
        return false;
    for (uint32_t i = 0; i < count && right < TN_TUNING_MAX &&
                         candidates[i].time <= TN_TUNING_RATIO * candidates[0].time;
         i++) {
        bool passes = false;
        if (choices[right] == NULL && (choices[right] = malloc(sizeof **choices)) == NULL)
            break;
        if (try_candidate(r, &candidates[i], false, choices[right], &passes, &tally) != TENON_OK)
            break;
        if (passes)
            numbers[right++] = i;
    }
    uint32_t best = 0;
    const bool measured = right > 1 && tn_tuning_choose(r, choices, right, &best);
    if (measured) {
        const tn_candidate fastest = candidates[numbers[best]];
        memmove(candidates + 1, candidates, numbers[best] * sizeof *candidates);
        candidates[0] = fastest;
    }
    for (uint32_t i = 0; i < TN_TUNING_MAX; i++)
        free(choices[i]);
    return measured;
}

/* Selects the solver `tuned` of a measurement if it is still available. Returns failures that may
 * be temporary, since they must not lead to a different choice. */
static tenon_status take(const tn_request *r, const tn_tuned *tuned, tn_basis basis,
                         tn_choice *choice)
{
    uint64_t words[TN_PROBLEM_SIZE / sizeof(uint64_t)];
    tn_request forced = *r;
    if (r->problem->size > sizeof words)
        return TENON_OK;
    memcpy(words, r->problem, r->problem->size);
    forced.problem = (const tn_problem *)words;
    if (tn_solver_force(r->caller, r->family, tuned->solver, (tn_problem *)words) != TENON_OK)
        return TENON_OK;
    const tenon_status status = select_forced(&forced, choice);
    if (status == TENON_OK && choice->never_chosen == NULL)
        choice->basis = basis;
    return status == TENON_OK || status == TENON_ERROR_SOLVER_BARRED || tn_failure_lasts(status)
               ? TENON_OK
               : status;
}

/* Selects by an earlier measurement of this call. If there is none and the call is not about to be
 * measured, selects by the measurement of the most similar call. Otherwise leaves the choice's
 * basis at "estimate". Children, such as the products of a convolution, have no call: they are
 * selected by estimate only, so that a later measurement of a product does not change the bits of a
 * convolution. */
static tenon_status take_measured(const tn_request *r, tn_choice *choice)
{
    tn_tuned tuned;
    choice->basis = TN_BY_ESTIMATE;
    if (r->call == NULL)
        return TENON_OK;
    if (tn_tuning_find(r, &tuned))
        return take(r, &tuned, TN_BY_MEASUREMENT, choice);
    if (r->context->policy.measurements != TENON_MEASUREMENTS_MADE && tn_nearest_find(r, &tuned))
        return take(r, &tuned, TN_BY_NEAREST, choice);
    return TENON_OK;
}

static tenon_status select_one(const tn_request *r, tn_choice *choice)
{
    tn_candidate candidates[TN_MAX_SOLVERS];
    bool chosen;
    TN_TRY(tn_self_check_choose(r, choice, &chosen));
    if (chosen)
        return TENON_OK;
    if (r->problem->forced >= 0)
        return select_forced(r, choice);
    TN_TRY(take_measured(r, choice));
    if (choice->basis != TN_BY_ESTIMATE)
        return TENON_OK;
    const uint32_t count = tn_candidates(r->context, r->family, r->problem, candidates);
    if (count == 0)
        return fail_with_reasons(r->caller, r->family, candidates);
    const bool measured = measure(r, candidates, count);
    TN_TRY(take_first(r, candidates, count, choice));
    choice->basis = measured ? TN_BY_MEASUREMENT : TN_BY_ESTIMATE;
    return TENON_OK;
}

tenon_status tn_select(const tn_request *request, tn_choice *choice)
{
    tn_constants_need(request->context);
    const tenon_status status = select_one(request, choice);
    const tn_dispatch *dispatch = tn_dispatch_of(request->context);
    if (dispatch != NULL && dispatch->listener != NULL)
        dispatch->listener(dispatch->listener_user, request, status == TENON_OK ? choice : NULL);
    return status;
}
