/* Capabilities, found by compiling and running a tiny kernel in the validation context. */
#ifndef TN_RUNTIME_PROBE_CAPABILITY_H
#define TN_RUNTIME_PROBE_CAPABILITY_H

#include "base/platform.h"

#include <tenon/context.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

/* One more than the last. */
enum { TN_CAPABILITY_COUNT = TENON_CAPABILITY_AMD_WMMA + 1 };

typedef struct tn_capability_result {
    bool known, available;
    bool told;           /* the compiler says what would else be measured */
    int way;             /* which of the trial's options passed */
    char types[8];       /* of a matrix unit: those of the trial's types that came out right */
    const char *options; /* what the trial was compiled with where it passed; static */
    char reason[256];
} tn_capability_result;

typedef struct tn_capabilities {
    tn_mutex lock;
    tn_capability_result results[TN_CAPABILITY_COUNT];
    atomic_uint unmade; /* how many trials could not be made */
} tn_capabilities;

/* Whether the device has the capability; runs the trial where it has not run yet. A trial that
 * cannot even be made (no memory, say) counts as absent this time, and is tried again the next.
 * Keeps the thread's last error. */
bool tn_context_has(tenon_context *context, tenon_capability capability);

/* The same for a caller who is told that the device lacks something: fails, with the trial's
 * status, where the trial cannot be made. */
tenon_status tn_context_try(const char *caller, tenon_context *context, tenon_capability capability,
                            bool *available);

/* How many trials could not be made so far. What is chosen while the number grows may be less than
 * the device can do, and must not be kept. */
unsigned tn_capabilities_unmade(tenon_context *context);

/* In which form the device has the capability: 0, or 1 for the second of AMD_WMMA (that of gfx12),
 * of INTEL_MATRIX (of sub-groups of 8) and of F64 (with Tenon's own exp), say; -1 where it has it
 * not. */
int tn_capability_form(tenon_context *context, tenon_capability capability);

/* Whether a matrix unit has a type, by its number in kernels (TENON_UNIT_TYPE). */
bool tn_capability_has_type(tenon_context *context, tenon_capability capability, int type);

/* In place of a trial: the device has it, by the options that are tried first (0) or next (1); or
 * has it not (-1). */
void tn_capability_set(tenon_context *context, tenon_capability capability, int form);

/* A kernel `trial` that a capability is tried with. */
typedef struct tn_trial_build {
    const char *source;
    char options[160];
    uint32_t items; /* of its one work-group */
} tn_trial_build;

/* Those of a capability by their number; false past the last one, and where the device lacks it. */
bool tn_capability_trial(tenon_context *context, tenon_capability capability, uint32_t number,
                         tn_trial_build *out);

/* The compiler's options that every kernel gets, then those of `format`: "-cl-std=CL1.2
 * -DTENON_HW_FMA=1 …". Returns `options`. */
char *tn_build_options(tenon_context *context, char options[512], const char *format, ...)
    TN_PRINTF(3, 4);

char *tn_build_options_list(tenon_context *context, char options[512], const char *format,
                            va_list arguments);

/* The same with the options of a capability's trial in place of -cl-std=CL1.2, where the device has
 * the capability. */
char *tn_build_options_with(tenon_context *context, tenon_capability capability, char options[512],
                            const char *format, ...) TN_PRINTF(4, 5);

#endif
