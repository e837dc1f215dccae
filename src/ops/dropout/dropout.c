/* Argument validation of tenon_dropout, its scalars, and its family. */
#include "base/shape.h"
#include "ops/common/philox.h"
#include "ops/dropout/internal.h"
#include "ops/common/epilogue.h"

#include <string.h>

/* As in random/lines.c. */
#define CPU_CHUNK 4096
#define GPU_CHUNK 64
#define GPU_PARTS 4

static const char *dropout_configure(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    *TN_LAYOUT(tn_lines_launch, choice) = (tn_lines_launch){.source = "dropout/dropout",
                                                            .kernel = "dropout",
                                                            .cpu_chunk = CPU_CHUNK,
                                                            .gpu_chunk = GPU_CHUNK,
                                                            .gpu_parts = GPU_PARTS,
                                                            .bits = 3,
                                                            .numbers = 1};
    tn_lines_options(context, (const tn_lines_problem *)problem, choice->options);
    return NULL;
}

/* Each work-item processes pieces of lines. */
static const tn_solver lines_solver = {
    .name = "lines",
    .serves = "everything; the lanes of a vector are neighboring blocks of random words",
    .configure = dropout_configure,
    .launch = tn_lines_launch_choice};

static const tn_solver *const solvers[] = {&lines_solver};

const tn_family tn_dropout_family = {
    .name = "dropout", TN_SOLVERS(solvers), .awkward = tn_dropout_awkward};

/* Sets the seed, the sequence, the threshold of words that drop an element, and the scale. */
static void set_scalars(const tenon_dropout_params *params, double scalars[TN_MAX_SCALARS])
{
    const int64_t threshold = tn_philox_threshold(params->probability);
    memcpy(&scalars[0], &params->seed, sizeof params->seed);
    memcpy(&scalars[1], &params->sequence, sizeof params->sequence);
    memcpy(&scalars[2], &threshold, sizeof threshold);
    scalars[3] = params->probability < 1 ? 1 / (1 - params->probability) : 0;
}

tenon_status tn_dropout_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_dropout_params *params = given;
    const tenon_tensor *views[] = {call->operands[DROPOUT_X].view, call->operands[DROPOUT_Y].view};
    const tenon_tensor *x = views[DROPOUT_X], *y = views[DROPOUT_Y];
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(caller, "y", y, "x", x->dtype));
    TN_TRY(tn_lines_shape_check(caller, "y", y, "x", x));
    TN_TRY(tn_number_check(caller, "probability", params->probability, 0, 1));
    *empty = tn_tensor_empty(y);
    tn_lines_canonicalize(views, DROPOUT_OPERANDS, TN_LINES_NUMBERED, (tn_lines_problem *)problem);
    set_scalars(params, call->scalars);
    return TENON_OK;
}
