/* A family of two solvers that compute nothing, of which the faster one, "bad", comes out of its
 * self-check as a test says. */
#ifndef TEST_OPS_FAKE_SOLVERS_H
#define TEST_OPS_FAKE_SOLVERS_H

#include "kept.h"

#include "dispatch/call.h"

typedef enum fake_outcome { FAKE_RIGHT, FAKE_WRONG } fake_outcome;
extern fake_outcome fake_behaviour;
extern bool fake_good_is_wrong;
extern int fake_checks;                               /* that were made */
extern void (*fake_at_check)(tenon_context *context); /* in a check of "bad"; or NULL */

extern const tn_family fake_family;
extern const tn_family fake_family_alone;          /* "bad" and no other */
extern const tn_problem fake_problem, fake_forced; /* by "bad" */

/* What is chosen in a new context, and how many checks that took. */
void fake_assert_chosen(kept_session *s, const char *folder, const char *solver, int checks);

#endif
