/* conv/implicit_matrix, conv_backward_data/implicit_matrix and
 * conv_backward_filter/implicit_matrix: the products of implicit_tiled on matrix units, of f16 and
 * bf16. The parameters are those of gemm/mma. */
#include "base/checked.h"
#include "ops/conv/gradient.h"
#include "ops/conv/implicit_tiled.h"
#include "ops/gemm/matrix.h"
#include "runtime/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const source_names[] = {
    "conv/forward/implicit_matrix", "conv/data/implicit_matrix", "conv/filter/implicit_matrix"};

/* Elements of a vector of 16 bytes. */
#define VECTOR 8
/* Slices of the pixels have at least so many steps. */
#define LEAST_SLICE 512

typedef struct layout {
    conv_tiled_layout tiled;
    matrix_unit unit;
} layout;

static int unit_type(const conv_problem *p)
{
    return p->dtype == TENON_DTYPE_F16 ? MATRIX_F16 : MATRIX_BF16;
}

/* The first kind of unit that the device has; emulated, the two that differ most. */
static bool find_unit(tenon_context *context, const conv_problem *p, int32_t form,
                      matrix_unit *unit)
{
    const int type = unit_type(p);
    if (form == MATRIX_EMULATED || form == MATRIX_EMULATED_OTHER) {
        matrix_kind kind = form == MATRIX_EMULATED ? MATRIX_MMA : MATRIX_AMD_MFMA;
        return tn_matrix_unit(context, kind, form, type, unit);
    }
    for (int kind = MATRIX_MMA; kind <= MATRIX_XMX; kind++)
        if (tn_matrix_unit(context, (matrix_kind)kind, form, type, unit))
            return true;
    return false;
}

static const char *misfit_of(tenon_context *context, const matrix_unit *unit, const int32_t *values)
{
    const char *why = tn_matrix_constrains(context, unit, values);
    if (why != NULL)
        return why;
    if (values[MATRIX_STAGES] != 1)
        return "st above 1 is for gemm/mma";
    const int64_t warps = (int64_t)values[MATRIX_WM] * values[MATRIX_WN],
                  columns = values[MATRIX_NB], steps = values[MATRIX_KB];
    if (steps > warps * MATRIX_LANES(unit->number))
        return "kb is more than the work-group";
    const int64_t tables = columns * CONV_COLUMN_BYTES + steps * CONV_STEP_BYTES + CONV_PART_BYTES;
    return (uint64_t)(tn_matrix_local(unit, values) + tables) > context->device.info.local_memory
               ? "the blocks and the tables do not fit the local memory"
               : NULL;
}

/* Instructions that compute the addresses of what a step of a block needs: an element at a time, or
 * a vector where it is read whole. */
static double address_instructions(const conv_problem *p, const conv_tiled_layout *l,
                                   const int32_t *values)
{
    const double run = tn_conv_run(p, l->direction, values[MATRIX_KB], VECTOR),
                 a_run = tn_conv_reads_vectors_of_a(p, l) ? VECTOR : 1;
    return CONV_ADDRESS_INSTRUCTIONS * values[MATRIX_KB] *
           (values[MATRIX_MB] / a_run + values[MATRIX_NB] / run);
}

static void add_time(tenon_context *context, const conv_problem *p, const layout *l,
                     tn_choice *choice)
{
    const int32_t *values = choice->values;
    const conv_tiled_layout *t = &l->tiled;
    const double groups =
        (double)tn_gemm_tiled_groups(&t->product, values[MATRIX_MB], values[MATRIX_NB]);
    const tn_work slices = tn_conv_slices_work(p, t->slices);
    tn_work loop = tn_matrix_loop(context, &l->unit, values, groups, tn_conv_depth(p, t),
                                  address_instructions(p, t, values));
    loop.bytes = tn_conv_bytes(p);
    tn_choice_add(context, choice, &loop);
    tn_choice_add(context, choice, &slices);
}

/* The slices of the filters' gradient, where they are free, are those that the block wants. */
static void try_block(tenon_context *context, const tn_problem *problem, const matrix_unit *unit,
                      tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_direction direction = (conv_direction)choice->solver->variant;
    layout *l = TN_LAYOUT(layout, choice);
    int32_t *values = choice->values;
    choice->misfit = misfit_of(context, unit, values);
    if (choice->misfit != NULL)
        return;
    if (direction == CONV_GRADIENT_OF_FILTER && values[MATRIX_SLICES] == 0) {
        const gemm_problem whole = tn_conv_tiled_product(p, direction, 1);
        const int64_t groups = tn_gemm_tiled_groups(&whole, values[MATRIX_MB], values[MATRIX_NB]);
        values[MATRIX_SLICES] = tn_conv_tune_slices(context, p, groups, LEAST_SLICE);
    }
    tn_conv_tiled_lay_out(p, direction, values[MATRIX_SLICES], &l->tiled);
    choice->workspace = tn_conv_slices_size(p, l->tiled.slices);
    add_time(context, p, l, choice);
}

/* How a and b lie is the kernel's business here, and makes no variants. */
static void set_options(tenon_context *context, const conv_problem *p, const layout *l,
                        tn_choice *choice)
{
    gemm_problem g = l->tiled.product;
    g.matrix[GEMM_A].row = g.matrix[GEMM_A].col = 0;
    g.m = g.n = g.k = 0;
    tn_matrix_options(context, &g, &l->unit, choice->values, choice->options);
    const size_t used = strlen(choice->options);
    snprintf(choice->options + used, TN_OPTIONS_SIZE - used, " -DTENON_ALONG_K=%d -DTENON_RUN=%d",
             tn_conv_gathers_along_k(p, l->tiled.direction),
             tn_conv_run(p, l->tiled.direction, choice->values[MATRIX_KB], VECTOR));
}

/* The solver's variant is the direction. */
static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_direction direction = (conv_direction)choice->solver->variant;
    layout *l = TN_LAYOUT(layout, choice);
    if (!tn_conv_is_converted(p->dtype))
        return "made for f16 and bf16";
    if (!find_unit(context, p, choice->values[MATRIX_FORM], &l->unit))
        return "the device has no such matrix units";
    const char *why = tn_conv_tiled_refuses(p, direction);
    if (why != NULL)
        return why;
    choice->never_chosen = context->device.is_cpu ? "made for GPUs" : NULL;
    if (choice->values[MATRIX_STAGES] == 0)
        choice->values[MATRIX_STAGES] = 1;
    tn_matrix_choose_block(context, problem, &l->unit, try_block, choice);
    if (choice->misfit == NULL && !choice->is_estimate)
        set_options(context, p, l, choice);
    return NULL;
}

static tenon_status launch(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const tn_choice *choice)
{
    const layout *l = TN_LAYOUT(const layout, choice);
    const int32_t *values = choice->values, block[] = {values[MATRIX_MB], values[MATRIX_NB]};
    const size_t warps = (size_t)values[MATRIX_WM] * (size_t)values[MATRIX_WN];
    tn_launch launch = {.source = source_names[l->tiled.direction],
                        .options = choice->options,
                        .kernel = "conv_matrix",
                        .local = {warps * (size_t)MATRIX_LANES(l->unit.number)}};
    return tn_conv_tiled_launch(operation, recording, (const conv_problem *)problem, &l->tiled,
                                block, &launch);
}

const tn_solver tn_conv_implicit_matrix = {
    .name = "implicit_matrix",
    .serves = "tensors of fewer than 2³¹ elements in f16 and bf16, on GPUs with "
              "matrix units",
    .awkward = TN_CONV_TILED_AWKWARD,
    .parameters = tn_gemm_matrix_parameters,
    .parameter_count = MATRIX_PARAMETERS,
    .variant = CONV_RESULT,
    .configure = configure,
    .launch = launch};

const tn_solver tn_conv_backward_data_implicit_matrix = {
    .name = "implicit_matrix",
    .serves = "tensors of fewer than 2³¹ elements in f16 and bf16 and strides "
              "whose product is at most 64, on GPUs with matrix units",
    .awkward = TN_CONV_TILED_DATA_AWKWARD,
    .parameters = tn_gemm_matrix_parameters,
    .parameter_count = MATRIX_PARAMETERS,
    .variant = CONV_GRADIENT_OF_IMAGE,
    .configure = configure,
    .launch = launch};

const tn_solver tn_conv_backward_filter_implicit_matrix = {
    .name = "implicit_matrix",
    .serves = "tensors of fewer than 2³¹ elements in f16 and bf16, on GPUs with "
              "matrix units",
    .needs = "workspace for slices of the pixels where dw is small",
    .awkward = TN_CONV_TILED_FILTER_AWKWARD,
    .parameters = tn_gemm_matrix_parameters,
    .parameter_count = MATRIX_SPLIT_PARAMETERS,
    .variant = CONV_GRADIENT_OF_FILTER,
    .configure = configure,
    .launch = launch};
