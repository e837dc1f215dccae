/* Comparison of kernel variants with the reference in the validation context, once per device. */
#include "dispatch/self_check.h"

#include "dispatch/operation.h"
#include "dispatch/verdicts.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/program/program.h"
#include "runtime/probe/crash_guard.h"
#include "runtime/context/validation.h"
#include "runtime/opencl/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A variant to check. */
typedef struct variant {
    const tn_family *family;
    const tn_problem *problem;
    const tn_choice *choice;
    uint64_t paths; /* that the problem uses */
    char name[TN_SOLVER_NAME_SIZE], options[TN_OPTIONS_SIZE],
        key[TN_SOLVER_NAME_SIZE + TN_OPTIONS_SIZE + 2];
    char repeat[TN_REPEAT_SIZE];
    bool is_guarded; /* not checked, because a process ended during its check */
} variant;

static uint64_t paths_of(const tn_family *family, const tn_problem *problem)
{
    return family->paths != NULL ? family->paths(problem) : 0;
}

static void name_variant(const tn_choice *choice, variant *v)
{
    tn_solver_name(v->family, choice, v->name);
    snprintf(v->options, sizeof v->options, "%s", choice->options);
    snprintf(v->key, sizeof v->key, "%s %s", v->name, v->options);
}

/* Longest time that a check waits for the same check in another process, in nanoseconds. */
#define LONGEST_WAIT UINT64_C(60000000000)

/* Maximum number of times that a variant is compiled by a driver that miscompiles at random. */
#define MAX_TRIES 4

bool tn_self_check_runs(const tenon_context *context)
{
    if (context->owner == NULL)
        return false;
    const tn_dispatch *dispatch = tn_dispatch_of((tenon_context *)context); /* may create it */
    return dispatch != NULL && dispatch->checking != NULL;
}

tenon_status tn_self_check_once(tenon_stream *validation, const tn_family *family,
                                const tn_problem *problem, const tn_choice *choice, bool *right,
                                char why[256])
{
    tn_dispatch *dispatch = tn_dispatch_of(validation->context);
    const tn_family *before = dispatch->checking;
    tenon_status status;
    dispatch->checking = family;
    if (family->awkward == NULL) {
        status = family->self_check(validation, problem, choice, right, why);
    } else {
        dispatch->choice = choice;
        status = family->registry->check(validation, family, problem, choice, right, why);
        dispatch->choice = NULL;
    }
    dispatch->checking = before;
    return status;
}

/* Repeats the check with new build options until the results are correct, if the driver
 * miscompiles at random: it caches what it has compiled, and new options force a new compilation.
 * Only the validation context repeats; the context itself then uses the options that gave correct
 * results, and nothing of a variant that never did. */
static tenon_status check_until_right(tenon_context *context, tenon_stream *validation, variant *v,
                                      bool *right, char why[256])
{
    const int most = context->device.miscompiles_at_random ? MAX_TRIES : 1;
    const tn_log log = tn_context_log(context);
    tenon_status status =
        tn_self_check_once(validation, v->family, v->problem, v->choice, right, why);
    for (int tries = 1; status == TENON_OK && !*right && tries < most; tries++) {
        tn_log_send(&log, TENON_LOG_INFO,
                    "compiling solver %s again, since this driver miscompiles at random: %s",
                    v->name, why);
        tn_programs_judge(validation->context, false);
        validation->context->programs.rebuild_salt++;
        why[0] = '\0';
        status = tn_self_check_once(validation, v->family, v->problem, v->choice, right, why);
    }
    tn_programs_judge(validation->context, status == TENON_OK && *right);
    if (status == TENON_OK && *right)
        context->programs.rebuild_salt = validation->context->programs.rebuild_salt;
    validation->context->programs.rebuild_salt = context->programs.rebuild_salt;
    if (most > 1) {
        tn_choice renewed = *v->choice; /* its options say how many times it was compiled */
        tn_configure(context, v->problem, &renewed);
        name_variant(&renewed, v);
    }
    return status;
}

tenon_status tn_self_check_choose(const tn_request *r, tn_choice *choice, bool *chosen)
{
    tenon_context *context = r->context;
    tn_dispatch *validation = context->owner != NULL ? tn_dispatch_of(context) : NULL;
    *chosen = validation != NULL && validation->choice != NULL &&
              strcmp(validation->checking->name, r->family->name) == 0;
    if (!*chosen)
        return TENON_OK;
    *choice = *validation->choice;
    const char *why = tn_configure(context, r->problem, choice); /* with the same values */
    why = why != NULL ? why : choice->misfit;
    if (why == NULL && validation->same_options &&
        strcmp(choice->options, validation->choice->options) != 0)
        why = "it would use another kernel variant";
    if (why != NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: solver %s/%s cannot serve: %s", r->caller,
                       r->family->name, choice->solver->name, why);
    validation->paths |= paths_of(validation->checking, r->problem);
    return TENON_OK;
}

/* The caller has entered the validation context. */
static tenon_status check(tenon_context *context, tenon_stream *stream, tn_dispatch *validation,
                          variant *v, bool *right, char why[256])
{
    const unsigned untested = tn_capabilities_untested(context);
    validation->repeat[0] = '\0';
    validation->checking = v->family;
    validation->paths = 0;
    tenon_status status = check_until_right(context, stream, v, right, why);
    validation->checking = NULL;
    memcpy(v->repeat, validation->repeat, sizeof v->repeat);
    TN_TRY(status);
    if (*right && (v->paths & ~validation->paths) != 0)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "self-check of %s does not cover the problem's paths %#" PRIx64
                       " of %#" PRIx64,
                       v->name, v->paths & ~validation->paths, v->paths);
    /* If a capability could not be tried, another variant may have been built. */
    if (tn_capabilities_untested(context) == untested) {
        tn_verdict_remember(tn_dispatch_of(context), v->key, validation->paths, *right, why);
        tn_verdict_store(context, v->key);
    }
    return TENON_OK;
}

static tenon_status check_and_report(tenon_context *context, tenon_stream *stream,
                                     tn_dispatch *validation, variant *v, bool *right,
                                     char why[256])
{
    const uint64_t began = tn_now();
    tn_progress_send(stream->context, TENON_PROGRESS_CHECK, v->name, "", -1);
    const tenon_status status = check(context, stream, validation, v, right, why);
    const double milliseconds = tn_count(context, TN_CHECKS_MADE, began);
    tn_count_only(context, TN_CHECKS_WRONG, status == TENON_OK && !*right);
    tn_progress_send(stream->context, TENON_PROGRESS_CHECK, v->name,
                     status != TENON_OK ? "could not be run"
                     : *right           ? "right"
                                        : "wrong",
                     milliseconds);
    return status;
}

/* Checks a variant under the crash guard. That a variant is disabled for a time is neither stored
 * nor remembered, since elsewhere it may be the last resort. */
static tenon_status check_guarded(tenon_context *context, tenon_stream *stream,
                                  tn_dispatch *validation, variant *v, bool *right, char why[256])
{
    tenon_status status = TENON_OK;
    char *name = tn_verdict_name(context, v->key);
    v->is_guarded = !v->choice->is_last_resort && tn_crash_guard_bars(context, name, 1, why);
    *right = !v->is_guarded;
    if (!v->is_guarded) {
        tn_guard *guard = tn_crash_guard_begin(context, name, 1);
        status = check_and_report(context, stream, validation, v, right, why);
        tn_crash_guard_end(guard);
    }
    free(name);
    return status;
}

/* A kernel that makes its context unusable is wrong, and must not affect the checks of other
 * variants. */
static tenon_status check_or_blame(tenon_context *context, tenon_stream *stream, variant *v,
                                   bool *right, char why[256])
{
    tn_dispatch *validation = tn_dispatch_of(stream->context);
    if (validation == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the self-check", v->name);
    const tenon_status status = check_guarded(context, stream, validation, v, right, why);
    if (status == TENON_OK || tn_failure_lasts(status) || !tn_validation_renewed(context, &stream))
        return status;
    *right = false;
    snprintf(why, 256, "it makes its context unusable: %.200s", tenon_last_error());
    tn_count_only(context, TN_CHECKS_WRONG, 1);
    tn_verdict_remember(tn_dispatch_of(context), v->key, v->paths, false, why);
    tn_verdict_store(context, v->key);
    return TENON_OK;
}

static tenon_status check_in_validation(tenon_context *context, variant *v, bool *right,
                                        char why[256])
{
    tenon_status status = TENON_OK;
    tenon_stream *stream, *used = NULL;
    TN_TRY(tn_validation_enter(context, &stream));
    /* Another thread may have checked it while this one waited. If a trial has made the context
     * unusable meanwhile, a new one has replaced it. */
    while (used != stream &&
           !tn_verdict_recall(tn_dispatch_of(context), v->key, v->paths, right, why)) {
        used = stream;
        status = check_or_blame(context, stream, v, right, why);
        stream = context->validation.stream;
        if (status == TENON_OK || tn_failure_lasts(status))
            break;
    }
    tn_validation_leave(context);
    return status;
}

static void report(const tenon_context *context, const variant *v, tenon_status status,
                   const char *why)
{
    const char *device = context->device.info.name;
    if (status == TENON_ERROR_PROCESS)
        return; /* the process is ending, and the variant is not at fault */
    if (status != TENON_OK)
        tn_log_send(&context->reports.log, TENON_LOG_ERROR, "solver %s cannot be checked on %s: %s",
                    v->name, device, tenon_last_error());
    else
        tn_log_send(&context->reports.log, TENON_LOG_WARNING,
                    "solver %s is barred on %s: %s (options %s)", v->name, device, why, v->options);
    if (v->repeat[0] != '\0')
        tn_log_send(&context->reports.log, TENON_LOG_WARNING, "to reproduce: %s", v->repeat);
}

/* Returns true unless the process is ending. */
static bool is_open(const void *caller)
{
    return tn_gate_check(caller) == TENON_OK;
}

/* Processes that start at the same time check each variant once: the others wait until the first
 * one has stored its verdict and its program. A process that ends releases the lock. Returns NULL
 * if the check must do without a lock. */
static tn_store_lock *wait_for_lock(const tenon_context *context, const variant *v)
{
    return tn_store_lock_wait(context->persistence.store, v->key, LONGEST_WAIT, is_open, v->name);
}

static tenon_status check_alone(tenon_context *context, tn_dispatch *dispatch, variant *v,
                                bool *right, char why[256])
{
    tenon_status status = TENON_OK;
    tn_store_lock *lock = wait_for_lock(context, v);
    if (lock != NULL)
        tn_verdict_recall_stored(context, v->key);
    if (!tn_verdict_recall(dispatch, v->key, v->paths, right, why))
        status = check_in_validation(context, v, right, why);
    tn_store_lock_release(lock);
    return status;
}

static tenon_status check_variant(const char *caller, tenon_context *context, variant *v,
                                  bool *right, char why[256])
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    if (dispatch == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the self-check", caller);
    name_variant(v->choice, v);
    v->paths = paths_of(v->family, v->problem);
    if (tn_verdict_recall(dispatch, v->key, v->paths, right, why))
        return TENON_OK;
    tn_verdict_recall_stored(context, v->key);
    if (tn_verdict_recall(dispatch, v->key, v->paths, right, why)) {
        if (!*right)
            report(context, v, TENON_OK, why);
        return TENON_OK;
    }
    tenon_status status = check_alone(context, dispatch, v, right, why);
    if (status != TENON_OK || !*right)
        report(context, v, status, why);
    return status;
}

tenon_status tn_self_check(const tn_request *r, const tn_choice *choice, tn_verdict *verdict,
                           char why[256])
{
    const tenon_context *context = r->context;
    bool right = true;
    *verdict = TN_VERDICT_RIGHT;
    why[0] = '\0';
    if (context->owner != NULL || context->cl == NULL || context->policy.unchecked)
        return TENON_OK;
    variant *v = calloc(1, sizeof *v);
    if (v == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the self-check", r->caller);
    v->family = r->family;
    v->problem = r->problem;
    v->choice = choice;
    tenon_status status = check_variant(r->caller, r->context, v, &right, why);
    *verdict = right ? TN_VERDICT_RIGHT : v->is_guarded ? TN_VERDICT_GUARDED : TN_VERDICT_WRONG;
    free(v);
    return status;
}
