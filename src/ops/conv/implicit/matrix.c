/* implicit_matrix and implicit_wgmma of conv, conv_backward_data and conv_backward_filter: the
 * products of implicit_tiled on matrix units, for f16 and bf16. The parameters are those of
 * gemm/mma, and whether images and filters with non-contiguous channels are first copied to a
 * channels-last layout. */
#include "ops/conv/implicit/matrix.h"

#include "base/checked.h"
#include "ops/conv/problem/gradient.h"
#include "ops/conv/problem/product.h"
#include "runtime/context/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const source_names[] = {
    "conv/forward/implicit_matrix", "conv/data/implicit_matrix", "conv/filter/implicit_matrix"};

/* Minimum steps of a slice of the pixels. */
#define LEAST_SLICE 512

/* A solver's variant: a direction, and this bit for wgmma. */
#define OF_WGMMA 4

typedef struct layout {
    conv_tiled_layout tiled;
    matrix_unit unit;
    conv_vectors vectors;
    conv_copies copies;
    bool has_async;
    conv_along d_along;
} layout;

static int unit_type(const conv_problem *p)
{
    return p->dtype == TENON_DTYPE_F16 ? MATRIX_F16 : MATRIX_BF16;
}

static conv_direction direction_of(const tn_choice *choice)
{
    return (conv_direction)(choice->solver->variant & ~OF_WGMMA);
}

/* Finds the first kind of unit that the device has. Emulation covers the two kinds that differ
 * most. */
static bool find_unit(tenon_context *context, const conv_problem *p, const tn_choice *choice,
                      matrix_unit *unit)
{
    const int type = unit_type(p);
    const int32_t form = choice->values[MATRIX_FORM];
    if ((choice->solver->variant & OF_WGMMA) != 0)
        return tn_matrix_unit(context, MATRIX_NVIDIA_WGMMA, form, type, unit);
    if (form == MATRIX_EMULATED || form == MATRIX_EMULATED_OTHER) {
        matrix_kind kind = form == MATRIX_EMULATED ? MATRIX_MMA : MATRIX_AMD_MFMA;
        return tn_matrix_unit(context, kind, form, type, unit);
    }
    for (int kind = MATRIX_MMA; kind <= MATRIX_XMX; kind++)
        if (tn_matrix_unit(context, (matrix_kind)kind, form, type, unit))
            return true;
    return false;
}

static const char *conv_implicit_matrix_misfit_of(tenon_context *context, const layout *l,
                                                  const int32_t *values)
{
    if (values[MATRIX_STAGES] > 1 && l->has_async && !l->unit.async)
        return "st above 1 needs vectors of 8 channels in both factors";
    if (l->unit.number == MATRIX_WGMMA && !l->unit.async)
        return "wgmma needs vectors of 8 channels in both factors";
    const char *why = tn_matrix_constrains(context, &l->unit, values);
    if (why != NULL)
        return why;
    const int64_t warps = (int64_t)values[MATRIX_WM] * values[MATRIX_WN];
    return values[MATRIX_KB] > warps * MATRIX_LANES(l->unit.number)
               ? "kb exceeds the size of the work-group"
               : NULL;
}

/* Returns the instructions for the addresses of one step of a block: per element, or per vector if
 * it is loaded whole. */
static double address_instructions(const conv_vectors *v, const int32_t *values)
{
    const double a = v->a ? CONV_VECTOR : 1, image = v->image ? CONV_VECTOR : 1;
    return CONV_ADDRESS_INSTRUCTIONS * values[MATRIX_KB] *
           (values[MATRIX_MB] / a + values[MATRIX_NB] / image);
}

static void conv_implicit_matrix_add_time(tenon_context *context, const conv_problem *p,
                                          const layout *l, tn_choice *choice)
{
    const int32_t *values = choice->values;
    const conv_tiled_layout *t = &l->tiled;
    const double groups =
        (double)tn_gemm_tiled_groups(&t->product, values[MATRIX_MB], values[MATRIX_NB]);
    const tn_work slices = tn_conv_slices_work(p, t->slices);
    tn_work loop = tn_matrix_loop(context, &l->unit, values, groups, tn_conv_depth(p, t),
                                  address_instructions(&l->vectors, values));
    loop.bytes = tn_conv_bytes(p);
    /* Gathering the image limits the rate of the units. The instructions of the copies are scaled
     * by the same number, which was fitted to measurements. */
    loop.efficiency = fmin(loop.efficiency, context->device.model.kind->assumed.gathered);
    loop.instructions /= context->device.model.kind->assumed.gathered;
    tn_choice_add(context, choice, &loop);
    tn_choice_add(context, choice, &slices);
    for (int i = 0; i < l->copies.count; i++) {
        const tn_work copy = tn_conv_copy_work(p->dtype, &l->copies.copy[i]);
        tn_choice_add(context, choice, &copy);
    }
}

/* Vector stores of d are used only with blocks that bypass registers. In other kernels they would
 * take additional registers and reduce the work-groups per compute unit. */
static conv_along results_along(const conv_problem *p, const layout *l)
{
    return l->unit.async ? tn_conv_results_along(p, &l->tiled) : CONV_ALONG_NONE;
}

/* Tries a block. Selects the number of slices of the filters' gradient for it unless the caller has
 * set one. */
static void try_block(tenon_context *context, const tn_problem *problem, const matrix_unit *unit,
                      tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_direction direction = direction_of(choice);
    layout *l = TN_LAYOUT(layout, choice);
    int32_t *values = choice->values;
    (void)unit; /* the layout contains it */
    choice->misfit = conv_implicit_matrix_misfit_of(context, l, values);
    if (choice->misfit != NULL)
        return;
    if (direction == CONV_GRADIENT_OF_FILTER && values[CONV_MATRIX_SLICES] == 0) {
        const gemm_problem whole = tn_conv_tiled_product(p, direction, 1);
        const int64_t groups = tn_gemm_tiled_groups(&whole, values[MATRIX_MB], values[MATRIX_NB]);
        values[CONV_MATRIX_SLICES] = tn_conv_tune_slices(context, p, groups, LEAST_SLICE);
    }
    tn_conv_tiled_lay_out(p, direction,
                          direction == CONV_GRADIENT_OF_FILTER ? values[CONV_MATRIX_SLICES] : 1,
                          &l->tiled);
    l->d_along = results_along(p, l);
    choice->workspace = tn_conv_copies_place(p, &l->tiled, &l->copies);
    conv_implicit_matrix_add_time(context, p, l, choice);
}

/* Sets the options that describe the factors: whether they are loaded as vectors, and their
 * layout. */
static void conv_implicit_matrix_set_options(tenon_context *context, const layout *l,
                                             tn_choice *choice)
{
    const conv_vectors *v = &l->vectors;
    gemm_problem g = l->tiled.product;
    g.m = g.n = g.k = 0;
    g.matrix[GEMM_A].row = v->a && !v->a_along_k;
    g.matrix[GEMM_A].col = !g.matrix[GEMM_A].row;
    g.matrix[GEMM_B].row = v->image_along_k;
    g.matrix[GEMM_B].col = !v->image_along_k;
    tn_matrix_options(context, &g, &l->unit, choice->values, choice->options);
    const size_t used = strlen(choice->options);
    snprintf(choice->options + used, TN_OPTIONS_SIZE - used,
             " -DTENON_ALONG_K=%d -DTENON_RUN=%d -DTENON_A_RUN=%d -DTENON_D_ALONG=%d",
             v->image_along_k, v->image ? CONV_VECTOR : 1, v->a ? CONV_VECTOR : 1, l->d_along);
}

/* Selects the staging method. Blocks are copied without registers if both factors are loaded as
 * vectors. The vectors must be aligned unless the caller requests this method. */
static void choose_way(layout *l, int32_t stages)
{
    l->unit.async =
        l->has_async && l->vectors.a && l->vectors.image &&
        (stages > 1 || l->unit.number == MATRIX_WGMMA || (stages == 0 && l->vectors.image_aligned));
}

/* Configures the solver with the factors in place or copied. */
static void configure_factors(tenon_context *context, const conv_problem *p, tn_choice *choice)
{
    const conv_direction direction = direction_of(choice);
    layout *l = TN_LAYOUT(layout, choice);
    l->copies.count = 0;
    tn_conv_tiled_lay_out(p, direction, 1, &l->tiled);
    l->vectors = choice->values[CONV_MATRIX_PACK] == 2
                     ? tn_conv_copies_lay_out(p, direction, &l->copies)
                     : tn_conv_find_vectors(p, &l->tiled);
    const conv_problem read = tn_conv_copied(p, &l->copies);
    choose_way(l, choice->values[MATRIX_STAGES]);
    l->unit.sums_along_m = results_along(p, l) == CONV_ALONG_M;
    tn_matrix_choose_block(context, &read.head, &l->unit, try_block, choice);
}

/* Returns true if copies are much faster. They fill the workspace and the caches, and small
 * differences are within the error of the estimates. */
static bool copies_pay(const conv_problem *p, const tn_choice *copied, const tn_choice *choice)
{
    return copied->misfit == NULL && copied->workspace <= p->head.workspace_limit &&
           TN_LAYOUT(const layout, copied)->copies.count > 0 &&
           (choice->misfit != NULL || copied->time * CONV_COLUMNS_DOUBT < choice->time);
}

/* Configures the solver, whose variant is the direction. */
static const char *conv_implicit_matrix_configure(tenon_context *context, const tn_problem *problem,
                                                  tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_direction direction = direction_of(choice);
    layout *l = TN_LAYOUT(layout, choice);
    if (!tn_conv_is_converted(p->dtype))
        return "made for f16 and bf16";
    if (!find_unit(context, p, choice, &l->unit))
        return "the device has no such matrix units";
    const char *why = tn_conv_tiled_refuses(p, direction);
    if (why != NULL)
        return why;
    const bool may_copy = choice->values[CONV_MATRIX_PACK] == 0 && !context->device.is_cpu;
    choice->never_chosen = context->device.is_cpu ? "made for GPUs" : NULL;
    l->has_async = l->unit.async;
    l->unit.column_bytes = CONV_COLUMN_BYTES;
    l->unit.step_bytes = CONV_STEP_BYTES;
    l->unit.more_bytes = CONV_PART_BYTES;
    tn_choice copied = *choice;
    if (choice->values[CONV_MATRIX_PACK] == 0)
        choice->values[CONV_MATRIX_PACK] = 1;
    configure_factors(context, p, choice);
    copied.values[CONV_MATRIX_PACK] = 2;
    if (may_copy)
        configure_factors(context, p, &copied);
    if (may_copy && copies_pay(p, &copied, choice))
        *choice = copied;
    if (choice->misfit == NULL &&
        tn_matrix_local_way(context, &TN_LAYOUT(layout, choice)->unit, choice->values,
                            &TN_LAYOUT(layout, choice)->unit.local) &&
        !choice->is_estimate)
        conv_implicit_matrix_set_options(context, TN_LAYOUT(const layout, choice), choice);
    return NULL;
}

static tenon_status conv_implicit_matrix_launch(const char *caller, tn_recording *recording,
                                                const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const layout *l = TN_LAYOUT(const layout, choice);
    const conv_problem read = tn_conv_copied(p, &l->copies);
    const int32_t *values = choice->values, block[] = {values[MATRIX_MB], values[MATRIX_NB]};
    const size_t warps = (size_t)values[MATRIX_WM] * (size_t)values[MATRIX_WN];
    conv_tiled_layout tiled = l->tiled;
    tn_launch launch = {.source = source_names[tiled.direction],
                        .options = choice->options,
                        .kernel = "conv_matrix",
                        .local = {warps * (size_t)MATRIX_LANES(l->unit.number)},
                        .local_argument = tn_matrix_local_argument(&l->unit, values)};
    TN_TRY(tn_conv_record_copies(caller, recording, p, &l->copies));
    tn_conv_results_take(p, &tiled);
    tn_frame frame = tn_conv_copies_frame(p, &l->copies);
    tn_frame_enter(recording, &frame);
    const tenon_status status =
        tn_conv_tiled_launch(caller, recording, &read, &tiled, block, &launch);
    tn_frame_leave(recording);
    return status;
}

/* The shared parameters, then whether factors without contiguous channels are copied (2), and the
 * maximum number of slices of the pixels. */
const tn_parameter tn_conv_matrix_parameters[CONV_MATRIX_SPLIT_PARAMETERS] = {
    TN_MATRIX_PARAMETERS,
    [CONV_MATRIX_PACK] = {"cp", 1, 2},
    [CONV_MATRIX_SLICES] = {"ks", 1, 64},
};

#define ON_UNITS "on GPUs with matrix units"
#define ON_HOPPER                                                                                  \
    "whose channels can be loaded as vectors of 8, on Hopper if the driver accepts wgmma"
#define OF_SIZE       "tensors of fewer than 2³¹ elements in f16 and bf16"
#define OF_STRIDES    OF_SIZE " and strides whose product is at most 64"
#define COPIES_NEEDED "workspace for copies of images and filters whose channels are not contiguous"
#define SLICES_NEEDED                                                                              \
    "workspace for slices of the pixels if dw is small, and for copies of images whose "           \
    "channels are not contiguous"

#define SOLVER(solver, direction, parameters_used, cases, serves_text, needs_text)                 \
    {                                                                                              \
        .name = solver, .serves = serves_text, .needs = needs_text, .awkward = cases,              \
        .parameters = tn_conv_matrix_parameters, .parameter_count = parameters_used,               \
        .variant = direction, .configure = conv_implicit_matrix_configure,                         \
        .launch = conv_implicit_matrix_launch                                                      \
    }

const tn_solver tn_conv_implicit_matrix =
    SOLVER("implicit_matrix", CONV_RESULT, CONV_MATRIX_PARAMETERS, CONV_MATRIX_AWKWARD,
           OF_SIZE ", " ON_UNITS, COPIES_NEEDED);
const tn_solver tn_conv_backward_data_implicit_matrix =
    SOLVER("implicit_matrix", CONV_GRADIENT_OF_IMAGE, CONV_MATRIX_PARAMETERS,
           CONV_MATRIX_DATA_AWKWARD, OF_STRIDES ", " ON_UNITS, COPIES_NEEDED);
const tn_solver tn_conv_backward_filter_implicit_matrix =
    SOLVER("implicit_matrix", CONV_GRADIENT_OF_FILTER, CONV_MATRIX_SPLIT_PARAMETERS,
           CONV_MATRIX_FILTER_AWKWARD, OF_SIZE ", " ON_UNITS, SLICES_NEEDED);

const tn_solver tn_conv_implicit_wgmma =
    SOLVER("implicit_wgmma", CONV_RESULT | OF_WGMMA, CONV_MATRIX_PARAMETERS, CONV_WGMMA_AWKWARD,
           OF_SIZE " " ON_HOPPER, COPIES_NEEDED);
const tn_solver tn_conv_backward_data_implicit_wgmma =
    SOLVER("implicit_wgmma", CONV_GRADIENT_OF_IMAGE | OF_WGMMA, CONV_MATRIX_PARAMETERS,
           CONV_WGMMA_DATA_AWKWARD, OF_STRIDES " " ON_HOPPER, COPIES_NEEDED);
const tn_solver tn_conv_backward_filter_implicit_wgmma =
    SOLVER("implicit_wgmma", CONV_GRADIENT_OF_FILTER | OF_WGMMA, CONV_MATRIX_SPLIT_PARAMETERS,
           CONV_WGMMA_FILTER_AWKWARD, OF_SIZE " " ON_HOPPER, SLICES_NEEDED);
