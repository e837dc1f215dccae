/* The table of trials, one per capability. */
#ifndef TN_RUNTIME_PROBE_CAPABILITY_TRIALS_H
#define TN_RUNTIME_PROBE_CAPABILITY_TRIALS_H

#include "runtime/context/context.h"
#include "runtime/opencl/device.h"

/* The language version of kernels that use no later features. */
#define TN_MIN_VERSION "-cl-std=CL1.2"

/* Default work-group size of a trial: one warp, and a multiple of every sub-group size. */
#define TN_TRIAL_ITEMS 32
/* Maximum work-group size: AMD's matrix units use 64 work-items, wgmma uses 128. */
#define TN_MAX_TRIAL_ITEMS 128

/* Maximum number of option sets of a trial. Even indices are the first form of the capability, odd
 * ones the second. */
#define TN_TRIAL_OPTION_SETS 18
#define TN_TRIAL_FORM(w)     ((w) % 2)

typedef struct tn_trial {
    const char *name;
    const char *source;
    /* Tried in order until one passes; kernels are then built with it. NULL ends the list. */
    const char *options[TN_TRIAL_OPTION_SETS];
    const char *(*ruled_out)(const tn_device *device); /* returns why no trial is needed, or NULL */
    const char *found;
    uint32_t items;        /* work-group size; 0: TN_TRIAL_ITEMS */
    uint32_t beside;       /* 32-bit words after the results, as scratch memory of the kernel */
    size_t local_argument; /* bytes of a __local argument; 0: none */
    /* The features that the host's processor must have before options are tried, separated by
     * spaces; NULL: none. Instructions that it lacks would end the process. */
    const char *features[TN_TRIAL_OPTION_SETS];
    const char *further[2]; /* additional options of the trial alone, for the first and the second
                             * form */
    const char *types; /* digits, each a type of matrix/layout.h, all of which are tried; NULL: no
                        * types */
} tn_trial;

extern const tn_trial tn_trials[TN_CAPABILITY_COUNT];

/* Tries a capability in the validation context of `stream`, which may have been replaced
 * afterwards (tn_validation_renewed). Fails if the trial cannot be carried out. */
tenon_status tn_trial_run(tenon_stream *stream, tenon_capability capability,
                          tn_capability_result *result);

/* Builds and runs a trial with these options. The result says whether it passed, and if not, why.
 * Fails if this cannot be determined now. `*stream` as for tn_trial_run. */
tenon_status tn_trial_try(tenon_stream **stream, const tn_trial *trial, const char *options,
                          tn_capability_result *result);

/* Return the work-group size of a trial, and the options of one type of a matrix unit's trial. */
uint32_t tn_trial_items(const tn_trial *trial);
void tn_trial_options(const tn_trial *trial, int option_set, char type, char options[160]);

/* Times fma against a multiply and an add in the validation context of `stream`, for compilers
 * that do not report whether fma is an instruction. */
tenon_status tn_capability_time_fma(tenon_stream *stream, tn_capability_result *result);

#endif
