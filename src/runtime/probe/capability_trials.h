/* How each capability is tried. */
#ifndef TN_RUNTIME_PROBE_CAPABILITY_TRIALS_H
#define TN_RUNTIME_PROBE_CAPABILITY_TRIALS_H

#include "runtime/context/context.h"
#include "runtime/opencl/device.h"

/* The language that kernels are written in, unless they use what came later. */
#define TN_LEAST_VERSION "-cl-std=CL1.2"

/* Work-items of a trial that says nothing else: one warp, and a multiple of every sub-group size
 * there is. */
#define TN_TRIAL_ITEMS 32
/* AMD's matrix units have 64 work-items, and wgmma takes 128 for one product. */
#define TN_MOST_TRIAL_ITEMS 128

/* Ways to build a trial: those with an even number are the first form of the capability, the others
 * the second. */
#define TN_TRIAL_WAYS    18
#define TN_TRIAL_FORM(w) ((w) % 2)

typedef struct tn_trial {
    const char *name;
    const char *source;
    /* Tried in turn until one works, which kernels are then built with; NULL ends them. */
    const char *options[TN_TRIAL_WAYS];
    const char *(*ruled_out)(const tn_device *device); /* why it need not be tried, or NULL */
    const char *found;
    uint32_t items;         /* of the work-group; 0: TN_TRIAL_ITEMS */
    uint32_t beside;        /* words of memory behind the results, for the kernel's own use */
    size_t local_argument;  /* bytes of a __local argument; 0: there is none */
    const char *further[2]; /* options of the trial alone: of the first form, and of the second */
    const char *types; /* of matrix/layout.h, each a digit: all are tried; NULL: there are none */
} tn_trial;

extern const tn_trial tn_trials[TN_CAPABILITY_COUNT];

/* Tries a capability in the validation context that `stream` is of, which may be another afterwards
 * (tn_validation_renewed). Fails where the trial cannot be made. */
tenon_status tn_trial_run(tenon_stream *stream, tenon_capability capability,
                          tn_capability_result *result);

/* Builds a trial with these options and runs it: whether it comes out right, and else why not.
 * Fails where that cannot be found out now. `*stream` as above. */
tenon_status tn_trial_try(tenon_stream **stream, const tn_trial *trial, const char *options,
                          tn_capability_result *result);

/* Work-items of its one work-group; and the options of one type of a matrix unit's. */
uint32_t tn_trial_items(const tn_trial *trial);
void tn_trial_options(const tn_trial *trial, int way, char type, char options[160]);

/* Times fma against a multiply and an add, in the validation context that `stream` is of: what is
 * done where the compiler does not say whether fma is an instruction. */
tenon_status tn_capability_time_fma(tenon_stream *stream, tn_capability_result *result);

#endif
