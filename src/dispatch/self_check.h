/* Checking kernel variants against the reference, once for a device. */
#ifndef TN_DISPATCH_SELF_CHECK_H
#define TN_DISPATCH_SELF_CHECK_H

#include "dispatch/request.h"

/* What is known of a choice. */
typedef enum tn_verdict {
    TN_VERDICT_RIGHT,
    TN_VERDICT_WRONG,
    TN_VERDICT_GUARDED /* not checked, since a process ended while it was:
                          runtime/probe/crash_guard.h */
} tn_verdict;

/* Whether a choice may be used: checks the variant in the validation context unless that has been
 * done. A validation context may use any. Fails where the check itself cannot be made. `why` says
 * what was found wrong, or until when it is not checked.
 */
tenon_status tn_self_check(const tn_request *request, const tn_choice *choice, tn_verdict *verdict,
                           char why[256]);

/* Checks a choice in the validation context that `validation` is of, whatever is known of it, and
 * keeps no verdict. */
tenon_status tn_self_check_once(tenon_stream *validation, const tn_family *family,
                                const tn_problem *problem, const tn_choice *choice, bool *right,
                                char why[256]);

/* In the context of a self-check of the family: the choice that it checks, configured for one of
 * its awkward cases. */
tenon_status tn_self_check_choose(const tn_request *request, tn_choice *choice, bool *chosen);

#endif
