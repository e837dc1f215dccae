/* Running the trial of a capability in the validation context. */
#include "runtime/probe/capability_trials.h"

#include "base/processor.h"
#include "capability/args.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/queue/launch.h"
#include "runtime/queue/stream.h"
#include "runtime/context/validation.h"

#include <stdio.h>

#define TIMED_ITERATIONS 20000
#define MIN_TIMED_RUNS   3
#define MAX_TIMED_RUNS   16

uint32_t tn_trial_items(const tn_trial *t)
{
    return t->items != 0 ? t->items : TN_TRIAL_ITEMS;
}

/* Launches one kernel of the trial on a tensor of results, and waits. */
static tenon_status capability_run_launch(tenon_stream *stream, const tn_trial *t,
                                          const char *options, const char *kernel,
                                          const tenon_tensor *results)
{
    trial_args args = {1, TIMED_ITERATIONS};
    tn_launch one = {.source = t->source,
                     .options = options,
                     .kernel = kernel,
                     .dimensions = 1,
                     .global = {tn_trial_items(t)},
                     .local = {tn_trial_items(t)},
                     .operand_count = 1,
                     .local_argument = t->local_argument,
                     TN_ARGS(args)};
    tn_recording recording = {.context = stream->context};
    tn_operand operand = {results->memory, 0};
    tenon_status status = tn_record("capability trial", &recording, &one);
    if (status == TENON_OK)
        status = tn_recording_run("capability trial", t->source, stream, &recording, &operand, NULL,
                                  NULL);
    if (status == TENON_OK)
        status = tenon_stream_finish(stream);
    tn_recording_destroy(&recording);
    return status;
}

/* Returns the answer of all work-items (see args.h); TRIAL_WRONG if they differ. */
static tenon_status run_kernel(tenon_stream *stream, const tn_trial *t, const char *options,
                               const char *kernel, int32_t *answer)
{
    int32_t values[TN_MAX_TRIAL_ITEMS] = {0};
    const uint32_t items = tn_trial_items(t);
    const int64_t shape[] = {items + t->beside};
    tenon_tensor results;
    TN_TRY(tenon_tensor_create(stream->context, TENON_DTYPE_I32, 1, shape, &results));
    results.shape[0] = items;
    tenon_status status =
        tenon_tensor_upload(stream, values, items * sizeof *values, &results, NULL);
    if (status == TENON_OK)
        status = capability_run_launch(stream, t, options, kernel, &results);
    if (status == TENON_OK)
        status = tenon_tensor_download(stream, &results, values, items * sizeof *values, NULL);
    tenon_memory_destroy(&results.memory);
    *answer = values[0];
    for (uint32_t i = 1; i < items; i++)
        *answer = values[i] == values[0] ? *answer : TRIAL_WRONG;
    return status;
}

/* Lowers *nanoseconds to the time of one run of a kernel if that is shorter. */
static tenon_status time_run(tenon_stream *stream, const tn_trial *t, const char *kernel,
                             double *nanoseconds)
{
    int32_t answer;
    const uint64_t began = tn_now();
    TN_TRY(run_kernel(stream, t, t->options[0], kernel, &answer));
    const double took = (double)(tn_now() - began);
    if (took < *nanoseconds)
        *nanoseconds = took;
    return TENON_OK;
}

/* Other work on the machine makes some runs longer, often several in a row, and none shorter. So
 * the minimum of each kernel counts, the two alternate, and an fma that looks slow gets more runs.
 * Launch overhead is included in both, which only reduces the ratio of an emulated fma (20 and
 * more). */
tenon_status tn_capability_time_fma(tenon_stream *stream, tn_capability_result *result)
{
    tn_trial timed = tn_trials[TENON_CAPABILITY_HARDWARE_FMA];
    const tn_trial *t = &timed;
    timed.source = "capability/fma_time";
    double fma_time = 1e18, mul_add_time = 1e18, compiling = 1e18;
    TN_TRY(time_run(stream, t, "time_fma", &compiling));
    TN_TRY(time_run(stream, t, "time_mul_add", &compiling));
    result->available = false;
    for (int i = 0; i < MAX_TIMED_RUNS && (i < MIN_TIMED_RUNS || !result->available); i++) {
        TN_TRY(time_run(stream, t, "time_fma", &fma_time));
        TN_TRY(time_run(stream, t, "time_mul_add", &mul_add_time));
        result->available = fma_time < 4 * mul_add_time;
    }
    snprintf(result->reason, sizeof result->reason,
             "a loop of fma takes %.2f times as long as one of multiply and add",
             fma_time / mul_add_time);
    return TENON_OK;
}

static void keep_failure(tn_capability_result *result)
{
    /* The first lines are enough: a build log can be pages long. */
    snprintf(result->reason, sizeof result->reason, "%s", tenon_last_error());
    result->available = false;
}

/* A failure that would recur is the trial's result. Any other is returned, and nothing is
 * concluded. */
static tenon_status take_failure(tn_capability_result *result, tenon_status status)
{
    if (status == TENON_OK)
        return TENON_OK;
    keep_failure(result);
    return tn_failure_lasts(status) ? TENON_OK : status;
}

/* If the trial made the validation context unusable, the capability is absent, and other trials
 * are not affected: `*stream` is then the stream of the new context. */
static tenon_status take_lost_context(tenon_stream **stream, tn_capability_result *result,
                                      tenon_status status)
{
    if (status == TENON_OK || !tn_validation_renewed((*stream)->context, stream))
        return status;
    snprintf(result->reason, sizeof result->reason, "the trial made its context unusable: %.200s",
             tenon_last_error());
    result->available = false;
    return TENON_OK;
}

/* Runs one build of a trial. The result says whether it passed, and if not, why. */
static tenon_status try_build(tenon_stream *stream, const tn_trial *t, const char *options,
                              tn_capability_result *result)
{
    int32_t answer;
    tenon_status status = run_kernel(stream, t, options, "trial", &answer);
    if (status != TENON_OK)
        return take_failure(result, status);
    result->is_reported = answer == TRIAL_TOLD;
    result->available = answer == TRIAL_RIGHT || result->is_reported;
    snprintf(result->reason, sizeof result->reason, "%s",
             result->available ? t->found : "compiles and runs, but the result is wrong");
    return TENON_OK;
}

tenon_status tn_trial_try(tenon_stream **stream, const tn_trial *t, const char *options,
                          tn_capability_result *result)
{
    return take_lost_context(stream, result, try_build(*stream, t, options, result));
}

void tn_trial_options(const tn_trial *t, int option_set, char type, char options[160])
{
    snprintf(options, 160, "%s %s -DTENON_EMULATE=0 -DTENON_UNIT_TYPE=%c", t->options[option_set],
             t->further[TN_TRIAL_FORM(option_set)], type);
}

/* Tries each type of a matrix unit separately. The device has the unit if one passes. The reason
 * is that of the first failing type. */
static tenon_status try_types(tenon_stream **stream, const tn_trial *t, int option_set,
                              tn_capability_result *result)
{
    char wrong[sizeof result->reason] = "";
    size_t right = 0;
    result->types[0] = '\0';
    for (const char *type = t->types; *type != '\0'; type++) {
        char options[160];
        tn_trial_options(t, option_set, *type, options);
        TN_TRY(tn_trial_try(stream, t, options, result));
        if (result->available)
            result->types[right++] = *type;
        else if (wrong[0] == '\0')
            snprintf(wrong, sizeof wrong, "%s", result->reason);
        result->types[right] = '\0';
    }
    result->available = right > 0;
    if (wrong[0] != '\0')
        snprintf(result->reason, sizeof result->reason, "%s", wrong);
    return TENON_OK;
}

static tenon_status try_option_set(tenon_stream **stream, const tn_trial *t, int option_set,
                                   tn_capability_result *result)
{
    TN_TRY(t->types != NULL ? try_types(stream, t, option_set, result)
                            : tn_trial_try(stream, t, t->options[option_set], result));
    result->options = result->available ? t->options[option_set] : NULL;
    result->option_set = result->available ? option_set : -1;
    return TENON_OK;
}

/* Returns true if the processor has the features that an option set requires. */
static bool may_try(const tenon_context *context, const tn_trial *t, int option_set)
{
    const tenon_context *own = context->owner != NULL ? context->owner : context;
    const char *needed = t->features[option_set];
    return needed == NULL || tn_processor_has(own->capabilities.processor_features, needed);
}

tenon_status tn_trial_run(tenon_stream *stream, tenon_capability capability,
                          tn_capability_result *result)
{
    const tn_trial *t = &tn_trials[capability];
    *result = (tn_capability_result){.option_set = -1,
                                     .reason = "the processor does not have the instructions"};
    for (int i = 0; i < TN_TRIAL_OPTION_SETS && t->options[i] != NULL && !result->available; i++)
        if (may_try(stream->context, t, i))
            TN_TRY(try_option_set(&stream, t, i, result));
    if (capability != TENON_CAPABILITY_HARDWARE_FMA || !result->available || result->is_reported)
        return TENON_OK;
    const tenon_status status = tn_capability_time_fma(stream, result);
    return take_lost_context(&stream, result, take_failure(result, status));
}
