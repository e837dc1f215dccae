/* Self-checks: comparison of kernel variants with the reference, once per device. */
#ifndef TN_DISPATCH_SELF_CHECK_H
#define TN_DISPATCH_SELF_CHECK_H

#include "dispatch/request.h"

/* The result of a self-check. */
typedef enum tn_verdict {
    TN_VERDICT_RIGHT,
    TN_VERDICT_WRONG,
    TN_VERDICT_GUARDED /* not checked, because a process ended during its check
                        * (runtime/probe/crash_guard.h) */
} tn_verdict;

/* Returns whether a choice may be used; checks the variant in the validation context unless that
 * was done before. In a validation context every choice may be used. Fails if the check cannot be
 * carried out. `why` says what was wrong, or until when it is not checked. */
tenon_status tn_self_check(const tn_request *request, const tn_choice *choice, tn_verdict *verdict,
                           char why[256]);

/* Checks a choice in the validation context of `validation`, regardless of earlier results, and
 * stores no verdict. */
tenon_status tn_self_check_once(tenon_stream *validation, const tn_family *family,
                                const tn_problem *problem, const tn_choice *choice, bool *right,
                                char why[256]);

/* True in a validation context while a self-check runs, false while choices are measured there. */
bool tn_self_check_runs(const tenon_context *context);

/* Within a self-check of the family: returns the choice that is being checked, configured for one
 * of its awkward cases. */
tenon_status tn_self_check_choose(const tn_request *request, tn_choice *choice, bool *chosen);

#endif
