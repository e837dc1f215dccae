/* gemm/tiled: a product for GPUs, with blocks of a and b in local memory and sums in registers.
 * Supports every layout. tiled.h has the parameters; cl_kernels/gemm/tiled.clh the kernel. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gemm/tiled.h"
#include "runtime/probe/local_memory.h"

#include <math.h>
#include <string.h>

const tn_parameter tn_gemm_tiled_parameters[TILED_SPLIT_PARAMETERS] = {
    [TILED_MB] = {"mb", 8, 256},   /* rows of a work-group's block */
    [TILED_NB] = {"nb", 8, 256},   /* columns of a work-group's block */
    [TILED_KB] = {"kb", 4, 64},    /* steps of K in local memory */
    [TILED_MR] = {"mr", 1, 16},    /* rows of a work-item */
    [TILED_NR] = {"nr", 1, 16},    /* columns of a work-item */
    [TILED_VW] = {"vw", 1, 8},     /* vector width of a work-item's loads, in elements */
    [TILED_LB] = {"lb", 1, 2},     /* tiles of each factor in local memory */
    [TILED_SLICES] = {"ks", 2, 64} /* maximum number of slices of K */
};

/* Costs for the time estimate, in instructions beyond the multiply-adds: READING for each element
 * that a work-item reads from local memory in a step of K, BRINGING for each element that it loads
 * from global to local memory. Both are guesses until measured on a GPU. */
#define READING  0.6
#define BRINGING 4.0
/* The maximum number of elements of a or b that a work-item holds in registers between loading them
 * from global memory and storing them in local memory. */
#define MOST_WAITING 64

const tn_kind_tile *tn_gemm_tiles(const tenon_context *context, uint32_t dtype, bool small)
{
    const tn_kind_tiled *tiled = &context->device.model.kind->tiled;
    return dtype == TENON_DTYPE_F64 ? tiled->f64 : small ? tiled->small : tiled->f32;
}

int tn_gemm_tile_count(const tn_kind_tile *tiles)
{
    int count = 0;
    while (count < TN_KIND_TILES && tiles[count].mb > 0)
        count++;
    return count;
}

const char *tn_gemm_made_for_gpus(const tenon_context *context)
{
    return context->device.is_cpu ? "made for GPUs" : NULL;
}

int64_t tn_gemm_tiled_groups(const gemm_problem *p, int64_t mb, int64_t nb)
{
    return tn_ceil_div(p->m, mb) * tn_ceil_div(p->n, nb) * tn_gemm_batch_count(p);
}

/* Returns true if the rows or columns of a factor can be read entirely as vectors of `width`
 * elements, provided that its first element is aligned. */
static bool lies_in_vectors(const gemm_problem *p, int matrix, int64_t width)
{
    const gemm_matrix *x = &p->matrix[matrix];
    gemm_layout layout = tn_gemm_layout(p, matrix);
    bool aligned = (layout == GEMM_UNIT_ROW ? x->col : x->row) % width == 0;
    for (uint64_t i = 0; i < p->batch_rank; i++)
        aligned = aligned && x->batch[i] % width == 0;
    return layout != GEMM_STRIDED && aligned;
}

/* Returns the default of vw: 16 bytes (8 for 16-bit types), or one element. There are no other
 * defaults, since each width needs another build of the kernel. */
static int32_t vector_width(const gemm_problem *p)
{
    int32_t width = p->dtype == TENON_DTYPE_F64 ? 2 : 4;
    return lies_in_vectors(p, GEMM_A, width) && lies_in_vectors(p, GEMM_B, width) ? width : 1;
}

static void take_tile(const tn_kind_tile *tile, int32_t width, uint32_t count, int32_t *values)
{
    const int32_t defaults[TILED_PARAMETERS] = {
        [TILED_MB] = tile->mb, [TILED_NB] = tile->nb, [TILED_KB] = tile->kb, [TILED_MR] = tile->mr,
        [TILED_NR] = tile->nr, [TILED_VW] = width,    [TILED_LB] = tile->lb,
    };
    for (uint32_t i = 0; i < count; i++)
        if (values[i] == 0)
            values[i] = defaults[i];
}

void tn_gemm_choose_tile(tenon_context *context, const gemm_problem *p, tn_gemm_tile_trial trial,
                         const tn_kind_tile *tiles, int32_t width, uint32_t count,
                         tn_choice *choice)
{
    const tn_choice given = *choice;
    const int number = tn_gemm_tile_count(tiles);
    take_tile(&tiles[0], width, count, choice->values);
    trial(context, p, choice);
    bool fits = choice->misfit == NULL && !context->device.is_cpu;
    /* A CPU runs this solver only if it is forced, and uses the last tile: the smallest compiles
     * fastest. */
    for (int i = context->device.is_cpu ? number - 1 : 1; i < number; i++) {
        tn_choice tried = given;
        take_tile(&tiles[i], width, count, tried.values);
        trial(context, p, &tried);
        if (tried.misfit == NULL && (!fits || tn_choice_beats(&tried, choice))) {
            fits = true;
            *choice = tried;
        }
    }
}

uint64_t tn_gemm_tiled_local(const gemm_problem *p, const int32_t *values)
{
    int64_t mb = values[TILED_MB], nb = values[TILED_NB];
    int64_t tiles = values[TILED_LB] * values[TILED_KB] * (mb + nb + 2 * GEMM_TILE_PADDING);
    int64_t staged = mb / values[TILED_MR] * nb;
    return (uint64_t)tn_max_i64(tiles, staged) * tn_acc_size(p->dtype);
}

static const char *constrains_vectors(const gemm_problem *p, const int32_t *values)
{
    int32_t width = values[TILED_VW];
    if ((width & (width - 1)) != 0 || width * tenon_dtype_size((tenon_dtype)p->dtype) > 16)
        return "vw must be a power of two, and a vector no longer than 16 bytes";
    if (values[TILED_MB] % width != 0 || values[TILED_NB] % width != 0 ||
        values[TILED_KB] % width != 0)
        return "vw must divide mb, nb and kb";
    if (width > 1 &&
        (tn_gemm_layout(p, GEMM_A) == GEMM_STRIDED || tn_gemm_layout(p, GEMM_B) == GEMM_STRIDED))
        return "vw above 1 needs factors that are contiguous along a dimension";
    return NULL;
}

const char *tn_gemm_tiled_constrains(tenon_context *context, const tn_problem *problem,
                                     const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    int32_t mb = values[TILED_MB], nb = values[TILED_NB];
    if (mb % values[TILED_MR] != 0 || nb % values[TILED_NR] != 0)
        return "mr must divide mb, and nr must divide nb";
    int32_t items = mb / values[TILED_MR] * (nb / values[TILED_NR]);
    if ((size_t)items > context->device.info.max_work_group)
        return "the work-group is larger than the device allows";
    if ((mb > nb ? mb : nb) * values[TILED_KB] > MOST_WAITING * items)
        return "the work-group is too small for its block";
    const char *why = constrains_vectors(p, values);
    if (why != NULL)
        return why;
    return tn_local_array_fits(context, tn_gemm_tiled_local(p, values))
               ? NULL
               : "the blocks do not fit the local memory";
}

/* An element of a that is loaded to local memory is used by the nb columns of the block, one of b
 * by its mb rows; an element in a register by nr columns or mr rows. */
tn_work tn_gemm_tiled_loop(uint32_t dtype, const int32_t *values, double groups, double k,
                           double address_instructions)
{
    const double mr = values[TILED_MR], nr = values[TILED_NR];
    const double mb = values[TILED_MB], nb = values[TILED_NB];
    const double steps = ceil(k / values[TILED_KB]);
    const double all = groups * mb * nb * steps * values[TILED_KB];
    return (tn_work){.launches = 1,
                     .groups = groups,
                     .steps = steps,
                     .rate = tn_sum_rate(dtype),
                     .multiply_adds = all,
                     .instructions = all * (READING * (1 / mr + 1 / nr) + BRINGING / nb +
                                            (BRINGING + address_instructions) / mb)};
}

/* Returns the work of the launch. Every operand is read or written once in memory. */
tn_work tn_gemm_tiled_work(const gemm_problem *p, const int32_t *values)
{
    const double groups = (double)tn_gemm_tiled_groups(p, values[TILED_MB], values[TILED_NB]);
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    tn_work work = tn_gemm_tiled_loop(p->dtype, values, groups, k, 0);
    work.bytes = (m * k + k * n + m * n) * (double)tn_gemm_batch_count(p) *
                 (double)tenon_dtype_size((tenon_dtype)p->dtype);
    return work;
}

static void try_tile(tenon_context *context, const gemm_problem *p, tn_choice *choice)
{
    choice->misfit = tn_gemm_tiled_constrains(context, &p->head, choice->values);
    if (choice->misfit != NULL)
        return;
    const tn_work work = tn_gemm_tiled_work(p, choice->values);
    tn_choice_add(context, choice, &work);
}

static const char *gemm_tiled_configure(tenon_context *context, const tn_problem *problem,
                                        tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int32_t *values = choice->values;
    choice->never_chosen = tn_gemm_made_for_gpus(context);
    tn_gemm_choose_tile(context, p, try_tile, tn_gemm_tiles(context, p->dtype, false),
                        vector_width(p), TILED_PARAMETERS, choice);
    if (choice->misfit != NULL)
        return NULL;
    bool vectors = values[TILED_VW] > 1;
    tn_choice_options(context, choice,
                      GEMM_OPTIONS_FORMAT
                      " -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d -DTENON_MR=%d -DTENON_NR=%d"
                      " -DTENON_VL=%d -DTENON_LB=%d -DTENON_A_ALONG_K=%d -DTENON_B_ALONG_K=%d",
                      GEMM_OPTIONS_VALUES(p), values[TILED_MB], values[TILED_NB], values[TILED_KB],
                      values[TILED_MR], values[TILED_NR], values[TILED_VW], values[TILED_LB],
                      vectors && tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL,
                      vectors && tn_gemm_layout(p, GEMM_B) == GEMM_UNIT_ROW);
    return NULL;
}

void tn_gemm_tiled_sizes(const gemm_problem *p, const int32_t *values, tn_launch *launch)
{
    launch->local[0] = (size_t)(values[TILED_NB] / values[TILED_NR]);
    launch->local[1] = (size_t)(values[TILED_MB] / values[TILED_MR]);
    launch->global[0] = (size_t)tn_ceil_div(p->n, values[TILED_NB]) * launch->local[0];
    launch->global[1] = (size_t)tn_ceil_div(p->m, values[TILED_MB]) * launch->local[1];
}

static tenon_status gemm_tiled_launch(const char *caller, tn_recording *recording,
                                      const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    gemm_arguments arguments;
    tn_launch launch = {.source = "gemm/tiled", .options = choice->options, .kernel = "gemm_tiled"};
    tn_gemm_arguments(p, &arguments);
    tn_gemm_tiled_sizes(p, choice->values, &launch);
    return tn_gemm_record_launch(caller, recording, p, &arguments, &launch);
}

const tn_solver tn_gemm_tiled = {.name = "tiled",
                                 .serves = "everything, on GPUs",
                                 .awkward = "m=2*mb+1 n=2*nb+1 k=4*kb+3 width=vw",
                                 TN_PARAMETERS(tn_gemm_tiled_parameters, TILED_PARAMETERS),
                                 .configure = gemm_tiled_configure,
                                 .launch = gemm_tiled_launch};
