/* conv_packed/winograd4: the convolution of conv/winograd4 with filters that were transformed when
 * they were packed; and that transformation. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/bounds.h"
#include "dispatch/self_check.h"
#include "ops/common/epilogue.h"
#include "ops/conv/forward/winograd.h"
#include "ops/packed/internal.h"
#include "runtime/opencl/cl_error.h"

#include <string.h>

#define WINOGRAD_TILE 4
/* Fewest channels for which filters are transformed. With fewer, transforming the images takes
 * longer than the products that it saves, so that no call would use them. */
#define LEAST_CHANNELS 5

static winograd winograd_of(const filter_problem *p)
{
    return (winograd){.conv = &p->conv,
                      .tile = WINOGRAD_TILE,
                      .panel = p->transformed.panel,
                      .dense_at = p->dense_at,
                      .transformed_at = p->transformed.at};
}

static const char *conv_packed_winograd_configure(tenon_context *context, const tn_problem *problem,
                                                  tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const winograd w = winograd_of(p);
    const char *why = tn_winograd_refuses(&p->conv);
    if (why != NULL)
        return why;
    if (w.panel == 0)
        return "the packed filters were not transformed";
    if (p->conv.groups > 1 && p->conv.k % w.panel != 0)
        return "the filters of a group are not whole panels of the transformed filters";
    why = tn_winograd_configure(context, &w, choice);
    if (p->only_transforms != 0)
        choice->workspace = 0;
    return why;
}

static tenon_status conv_packed_winograd_launch(const char *caller, tn_recording *recording,
                                                const tn_problem *problem, const tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const winograd w = winograd_of(p);
    return p->only_transforms != 0 ? tn_winograd_transform(caller, recording, &w, choice)
                                   : tn_winograd_launch(caller, recording, &w, choice);
}

/* The transformed filters depend on nr, which packing selects by the number of filters. Every
 * device serves the first three cases: filters that leave lanes of their only panel empty, with a
 * row of one tile more than are multiplied at once; image rows of several runs of tiles; and
 * images that are contiguous along w. The others need more than one panel, or whole panels for each
 * group. A case is left out if packing its number of filters gives panels of another width. */
const tn_solver tn_conv_packed_winograd4 = {
    .name = "winograd4",
    .serves = "filters that were transformed when they were packed (3 × 3, groups of whole "
              "panels), stride and dilation 1, unless TENON_CONV_EXACT is requested; on CPUs",
    .needs = "workspace for transformed tiles; processes tiles in sets that fit the limit",
    .awkward = "channels=37 filters=nr-1 r=3 s=3 h=1 w=4*mr-1; "
               "channels=19 filters=nr/2+1 r=3 s=3 gap=3 h=7 w=75; "
               "channels=21 filters=nr-1 r=3 s=3 gap=1 first=1 h=9 w=67; "
               "channels=37 filters=nr+3 r=3 s=3 gap=1 h=11 w=33; "
               "groups=2 channels=5 filters=nr r=3 s=3 h=5 w=9",
    .inexact = true,
    TN_PARAMETERS(tn_winograd_parameters, WINOGRAD_PARAMETERS),
    .configure = conv_packed_winograd_configure,
    .launch = conv_packed_winograd_launch};

/* Returns true for filters that conv_packed/winograd4 can use. */
static bool are_transformable(const tenon_packed *packed)
{
    const tenon_tensor *filters = &packed->view;
    return packed->layout == PACKED_FILTER_PANELS && packed->context->device.is_cpu &&
           filters->rank == 4 && filters->shape[2] == 3 && filters->shape[3] == 3 &&
           filters->shape[0] > 0 && filters->shape[1] >= LEAST_CHANNELS;
}

void tn_filters_place_transformed(tenon_packed *packed, int64_t *used)
{
    const tenon_tensor *filters = &packed->view;
    const int64_t size = (int64_t)tenon_dtype_size(filters->dtype),
                  wide = (int64_t)tn_acc_size(filters->dtype);
    int64_t start, end;
    if (!are_transformable(packed) || !tn_mul_i64(*used, size, &start) ||
        start > INT64_MAX - TN_WORKSPACE_ALIGNMENT)
        return;
    start = tn_round_up(start, TN_WORKSPACE_ALIGNMENT);
    const int64_t panel = tn_winograd_panel(packed->context, filters->dtype, filters->shape[0]);
    if (!tn_winograd_filters_size(packed->context, filters->dtype, panel, filters->shape[0],
                                  filters->shape[1], &end) ||
        !tn_mul_i64(end, wide, &end) || !tn_add_i64(start, end, &end) ||
        (uint64_t)end > packed->context->device.info.max_allocation)
        return;
    packed->transformed = (packed_transformed){.panel = panel, .at = start / wide};
    *used = end / size;
}

/* Makes the problem of transforming the filters, that of a convolution with a single tile, and its
 * choice. The kernel variant is that of every convolution whose activation is not part of the
 * build. Sets `serves` to false if the solver does not run on this device. */
static tenon_status choose_transform(const char *caller, const tenon_packed *packed,
                                     filter_problem *problem, tn_choice *choice, bool *serves)
{
    const tenon_tensor *w = &packed->view;
    const int64_t x_shape[] = {1, w->shape[1], WINOGRAD_TILE + 2, WINOGRAD_TILE + 2},
                  y_shape[] = {1, w->shape[0], WINOGRAD_TILE, WINOGRAD_TILE};
    const tenon_tensor x = tenon_tensor_view(w->dtype, 4, x_shape),
                       y = tenon_tensor_view(w->dtype, 4, y_shape);
    const tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    memset(problem, 0, sizeof *problem);
    TN_TRY(tn_conv_canonicalize(caller, &params, &x, w, NULL, NULL, &y, &problem->conv));
    tn_filters_complete(packed, problem);
    problem->only_transforms = 1;
    *choice = (tn_choice){.solver = &tn_conv_packed_winograd4};
    const char *why = tn_configure(packed->context, &problem->conv.head, choice);
    *serves = why == NULL && choice->misfit == NULL && choice->never_chosen == NULL;
    return TENON_OK;
}

/* Runs the self-check of the variant, which convolves awkward images. */
static tenon_status check_transform(const char *caller, const tenon_packed *packed, bool *passes)
{
    filter_problem problem;
    tn_choice choice;
    tn_verdict verdict;
    char why[256];
    TN_TRY(choose_transform(caller, packed, &problem, &choice, passes));
    if (!*passes)
        return TENON_OK;
    const tenon_status status = tn_self_check(
        &(tn_request){caller, packed->context, &tn_conv_packed_family, &problem.conv.head, NULL},
        &choice, &verdict, why);
    *passes = status == TENON_OK && verdict == TN_VERDICT_RIGHT;
    return tn_failure_lasts(status) ? TENON_OK : status;
}

tenon_status tn_filters_check_transform(const char *caller, const tenon_packed *packed,
                                        bool *passes)
{
    tn_kept_message kept;
    *passes = packed->transformed.panel > 0;
    if (!*passes)
        return TENON_OK;
    if (!tn_message_keep(&kept))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    return tn_message_end(&kept, check_transform(caller, packed, passes));
}

tenon_status tn_filters_transform(const char *caller, tenon_stream *stream,
                                  const tenon_packed *packed, const tenon_sync *sync)
{
    const double scalars[TN_EPILOGUE_SCALARS] = {0};
    tn_recording recording = {.context = packed->context};
    tn_operand operands[CONV_OPERANDS];
    filter_problem problem;
    tn_choice choice;
    bool serves;
    for (int i = 0; i < CONV_OPERANDS; i++) /* the launch has arguments for all of them */
        operands[i] = (tn_operand){packed->memory.memory, 0};
    TN_TRY(choose_transform(caller, packed, &problem, &choice, &serves));
    tenon_status status = tn_choice_record(caller, &recording, &problem.conv.head, &choice);
    if (status == TENON_OK)
        status = tn_recording_run(caller, "conv_packed/winograd4", stream, &recording, operands,
                                  scalars, sync);
    tn_recording_destroy(&recording);
    return status;
}
