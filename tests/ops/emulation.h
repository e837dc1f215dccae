/* Solvers on matrix units, which are emulated: every problem that is tried on every solver is tried
 * on them as well, by test_run_all: on one unit of the family, which the seed says, and on all of
 * them where TENON_TEST_EMULATED is set, which takes a family's test some minutes more. */
#ifndef TEST_OPS_EMULATION_H
#define TEST_OPS_EMULATION_H

#include "support.h"

#include "matrix/layout.h"

/* What a problem is to matrix units. */
typedef struct emulation {
    int type; /* MATRIX_F16 ... of its factors; 0 where the family's solvers take none of it */
    const char *no_type; /* what units say that do not multiply it */
    const char *refusal; /* what units that multiply the type must say nevertheless, or NULL */
    bool is_build;       /* it needs builds that others do not: one unit alone tries it */
} emulation;

/* The type that units multiply elements in, or 0. */
int emulated_type(tenon_dtype dtype);

/* A type that most units have, f16 and bf16 in turn, for a problem that is tried in `tried` alone;
 * TENON_DTYPE_INVALID where that is one of them. */
tenon_dtype emulated_other(tenon_dtype tried);

/* Whether the family's problems of f32 are to be tried in TF32 as well. */
bool emulated_in_tf32(const tn_family *family);

/* Tries units of the subject's family: each serves, within the bound, or refuses with the reason
 * that the problem gives it. Of MATRIX_TF32, those that have it. A device that is no CPU runs its
 * own units, and these not. */
void emulate(const test_subject *subject, const emulation *e);

/* Fails where a unit of the family has not served in a type that it has; for the end of a program.
 * `types` ends with 0. */
void assert_emulated(const char *family, const int *types);

/* How often each has served. */
void emulation_print(void);

#endif
