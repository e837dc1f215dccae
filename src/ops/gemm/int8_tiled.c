/* gemm_int8/tiled: gemm/tiled with words of four bytes along K as elements. For GPUs; serves every
 * layout. */
#include "base/checked.h"
#include "ops/gemm/int8.h"
#include "ops/gemm/tiled.h"
#include "runtime/probe/local_memory.h"

#include <math.h>
#include <string.h>

enum { INT8_TILED_PARAMETERS = TILED_NR + 1 };

/* Bytes of a word, and words of a patch, the unit that a work-item reads. */
#define WORD 4
/* Instructions for the products of a word if the device has no dot-product instruction: four
 * multiply-adds and the extraction of eight bytes. */
#define WITHOUT_DOT 12.0

/* Returns why the parameters are incompatible, or NULL. A word counts as an element of the
 * accumulator's type; the sums of lines need memory in addition. */
static const char *constrains(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    int32_t tile[TN_MAX_PARAMETERS] = {[TILED_VW] = 1, [TILED_LB] = 2};
    memcpy(tile, values, INT8_TILED_PARAMETERS * sizeof *tile);
    const int32_t mb = tile[TILED_MB], nb = tile[TILED_NB];
    const char *why = tn_gemm_tiled_constrains(context, &p->head, tile);
    if (why != NULL)
        return why;
    if (mb % WORD != 0 || nb % WORD != 0 || tile[TILED_KB] % WORD != 0)
        return "mb, nb and kb must be multiples of 4";
    const uint64_t lines = (uint64_t)(mb + nb) * WORD;
    return tn_local_array_fits(context, tn_gemm_tiled_local(p, tile) + lines)
               ? NULL
               : "the blocks do not fit the local memory";
}

/* Tries a tile as gemm/tiled does, with words as elements; the factors in memory are bytes. */
static void try_tile(tenon_context *context, const gemm_problem *p, tn_choice *choice)
{
    const int32_t *values = choice->values;
    choice->misfit = constrains(context, p, values);
    if (choice->misfit != NULL)
        return;
    const double groups = (double)tn_gemm_tiled_groups(p, values[TILED_MB], values[TILED_NB]);
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double d =
        (double)tenon_dtype_size((tenon_dtype)((const int8_problem *)p)->types[GEMM_D]);
    tn_work work = tn_gemm_tiled_loop(p->dtype, values, groups, ceil(k / WORD), 0);
    if (!tn_context_has(context, TENON_CAPABILITY_INT8_DOT))
        work.instructions = WITHOUT_DOT * (work.instructions + work.multiply_adds);
    work.bytes = (m * k + k * n + m * n * d) * (double)tn_gemm_batch_count(p);
    tn_choice_add(context, choice, &work);
}

static const char *gemm_int8_tiled_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int32_t *values = choice->values;
    choice->never_chosen = tn_gemm_made_for_gpus(context);
    tn_gemm_choose_tile(context, p, try_tile, tn_gemm_tiles(context, TENON_DTYPE_F32, true), 1,
                        INT8_TILED_PARAMETERS, choice);
    if (choice->misfit != NULL)
        return NULL;
    tn_build_options_with(
        context, TENON_CAPABILITY_INT8_DOT, choice->options,
        GEMM_OPTIONS_FORMAT " -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d -DTENON_MR=%d -DTENON_NR=%d"
                            " -DTENON_A_ALONG_K=%d -DTENON_B_ALONG_K=%d",
        GEMM_OPTIONS_VALUES(p), values[TILED_MB], values[TILED_NB], values[TILED_KB],
        values[TILED_MR], values[TILED_NR], tn_gemm_layout(p, GEMM_A) != GEMM_UNIT_ROW,
        tn_gemm_layout(p, GEMM_B) == GEMM_UNIT_ROW);
    return NULL;
}

static tenon_status gemm_int8_tiled_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const int8_problem *p = (const int8_problem *)problem;
    tn_launch launch = {
        .source = "gemm/int8_tiled", .options = choice->options, .kernel = "gemm_int8_tiled"};
    tn_gemm_tiled_sizes(&p->gemm, choice->values, &launch);
    return tn_gemm_int8_record_launch(caller, recording, p, 0, &launch);
}

const tn_solver tn_gemm_int8_tiled = {
    .name = "tiled",
    .serves = "everything, on GPUs",
    .awkward = "m=129 width=16",
    TN_PARAMETERS(tn_gemm_tiled_parameters, INT8_TILED_PARAMETERS),
    .configure = gemm_int8_tiled_configure,
    .launch = gemm_int8_tiled_launch};
