/* Emulation of solvers on matrix units. test_run_all also runs every problem on an emulated unit of
 * its family, selected by the seed, or on all of them if TENON_TEST_EMULATED is set, which takes a
 * few minutes more per family. */
#ifndef TEST_OPS_EMULATION_H
#define TEST_OPS_EMULATION_H

#include "support.h"

#include "matrix/layout.h"

/* A problem as seen by matrix units. */
typedef struct emulation {
    int type; /* type of its factors, MATRIX_F16 ...; 0 if the family's solvers do not support it */
    const char *no_type; /* message of units that do not multiply the type */
    const char *refusal; /* message with which units that do multiply the type must refuse the
                            problem, or NULL */
    bool is_build;       /* it requires builds of its own, so only one unit tries it */
} emulation;

/* Returns the type in which units multiply these elements, or 0. */
int emulated_type(tenon_dtype dtype);

/* For a problem that is otherwise tried only in `tried`, returns a type that most units support,
 * alternating f16 and bf16; TENON_DTYPE_INVALID if `tried` is one of them. */
tenon_dtype emulated_other(tenon_dtype tried);

/* Returns true if the family's f32 problems should also be tried in TF32. */
bool emulated_in_tf32(const tn_family *family);

/* Tries units of the subject's family: each must serve within the bound, or refuse with the reason
 * given by the problem. For MATRIX_TF32, only the units that support it. Devices other than CPUs
 * have units of their own, and emulation is skipped. */
void emulate(const test_subject *subject, const emulation *e);

/* Fails if a unit of the family has not served in a type that it supports. For the end of a
 * program. `types` is terminated by 0. */
void assert_emulated(const char *family, const int *types);

/* Prints how often each unit served. */
void emulation_print(void);

#endif
