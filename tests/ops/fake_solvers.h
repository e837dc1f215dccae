/* A family of two solvers that compute nothing. A test determines the self-check result of the
 * faster one, "bad". */
#ifndef TEST_OPS_FAKE_SOLVERS_H
#define TEST_OPS_FAKE_SOLVERS_H

#include "kept.h"

#include "dispatch/call.h"

typedef enum fake_outcome { FAKE_RIGHT, FAKE_WRONG } fake_outcome;
extern fake_outcome fake_behavior;
extern bool fake_good_is_wrong;
extern int fake_checks;         /* number of self-checks made */
extern const char *fake_misfit; /* why the parameters of "bad" do not fit; NULL if they do */
extern void (*fake_at_check)(
    tenon_context *context); /* called during a self-check of "bad"; may be NULL */

extern const tn_family fake_family;
extern const tn_family fake_family_alone;          /* contains only "bad" */
extern const tn_problem fake_problem, fake_forced; /* fake_forced forces "bad" */

/* Checks which solver is chosen in a new context, and how many self-checks this takes. */
void fake_assert_chosen(kept_session *s, const char *folder, const char *solver, int checks);

#endif
