/* The solver random/lines: each work-item fills pieces of lines. */
#include "ops/common/gpu.h"
#include "ops/random/internal.h"

#include <stdio.h>

/* Sizes of a piece, in groups of 64 numbers, and the work-items of a GPU that share one. */
#define CPU_CHUNK 4096
#define GPU_CHUNK 64
#define GPU_PARTS 4

static const char *random_lines_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    static const uint32_t numbers[] = {[TENON_RANDOM_UNIFORM] = 4, [TENON_RANDOM_NORMAL] = 2, 0};
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const bool integer = p->dtype > TENON_DTYPE_BF16;
    const uint32_t dtype = integer ? (uint32_t)TENON_DTYPE_F32 : p->dtype;
    char bytes[40] = "";
    if (integer)
        snprintf(bytes, sizeof bytes, " -DTENON_OUT_BYTES=%u", p->element_size[RANDOM_Y]);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s -DTENON_RANDOM_KIND=%u%s",
                      dtype, tn_lanes(context, dtype), tn_gpu_option(context), p->kind, bytes);
    *TN_LAYOUT(tn_lines_launch, choice) =
        (tn_lines_launch){.source = "random/random",
                          .kernel = "random_fill",
                          .cpu_chunk = CPU_CHUNK,
                          .gpu_chunk = GPU_CHUNK,
                          .gpu_parts = GPU_PARTS,
                          .bits = p->kind == TENON_RANDOM_BERNOULLI ? 3 : 2,
                          .numbers = numbers[p->kind]};
    return NULL;
}

const tn_solver tn_random_lines = {
    .name = "lines",
    .serves = "everything; the lanes of a vector are neighboring blocks of random words",
    .configure = random_lines_configure,
    .launch = tn_lines_launch_choice};
