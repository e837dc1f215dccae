/* Device capabilities, determined by compiling and running a small kernel in the validation
 * context. */
#ifndef TN_RUNTIME_PROBE_CAPABILITY_H
#define TN_RUNTIME_PROBE_CAPABILITY_H

#include "base/platform.h"

#include <tenon/context.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The number of capabilities. */
enum { TN_CAPABILITY_COUNT = TENON_CAPABILITY_X86_DOT + 1 };

typedef struct tn_capability_result {
    bool known, available;
    bool is_reported;    /* reported by the compiler, so it need not be measured */
    int option_set;      /* index of the trial's options that passed */
    char types[8];       /* of a matrix unit: the types of the trial with correct results */
    const char *options; /* the options that passed; static */
    char reason[256];
} tn_capability_result;

typedef struct tn_capabilities {
    tn_mutex lock;
    tn_capability_result results[TN_CAPABILITY_COUNT];
    atomic_uint untested;           /* number of trials that could not be carried out */
    const char *processor_features; /* in place of the processor's, for tests; NULL: its own */
} tn_capabilities;

/* Returns true if the device has the capability; runs the trial at the first call. A trial that
 * cannot be carried out (out of memory, say) counts as absent this time and is repeated at the
 * next call. Preserves the thread's last error. */
bool tn_context_has(tenon_context *context, tenon_capability capability);

/* Like tn_context_has, for a caller that reports a missing capability: fails with the trial's
 * status if the trial cannot be carried out. */
tenon_status tn_context_try(const char *caller, tenon_context *context, tenon_capability capability,
                            bool *available);

/* Returns the number of trials so far that could not be carried out. A choice made while the
 * number increases may ignore a capability and must not be stored. */
unsigned tn_capabilities_untested(tenon_context *context);

/* Returns the form of the capability: 0 for the first; 1 for the second of AMD_WMMA (gfx12),
 * INTEL_MATRIX (sub-groups of 8) or F64 (with Tenon's own exp), for example; -1 if it is absent. */
int tn_capability_form(tenon_context *context, tenon_capability capability);

/* Returns true if a matrix unit supports a type, given by its number in kernels (TENON_UNIT_TYPE).
 */
bool tn_capability_has_type(tenon_context *context, tenon_capability capability, int type);

/* Sets the result without a trial: present in the first form (0) or the second (1), or absent
 * (-1). */
void tn_capability_set(tenon_context *context, tenon_capability capability, int form);

/* The build of a capability's trial kernel. */
typedef struct tn_trial_build {
    const char *source;
    char options[160];
    uint32_t items; /* size of its only work-group */
} tn_trial_build;

/* Returns the trial build of a capability by its number; false past the last one, or if the device
 * lacks the capability. */
bool tn_capability_trial(tenon_context *context, tenon_capability capability, uint32_t number,
                         tn_trial_build *out);

/* Writes the options that every kernel gets, then those of `format`: "-cl-std=CL1.2
 * -DTENON_HW_FMA=1 ...". Returns `options`. */
char *tn_build_options(tenon_context *context, char options[512], const char *format, ...)
    TN_PRINTF(3, 4);

char *tn_build_options_list(tenon_context *context, char options[512], const char *format,
                            va_list arguments);

/* Like tn_build_options, with the options of a capability's trial instead of -cl-std=CL1.2 if the
 * device has the capability. */
char *tn_build_options_with(tenon_context *context, tenon_capability capability, char options[512],
                            const char *format, ...) TN_PRINTF(4, 5);

#endif
