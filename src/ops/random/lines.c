/* random/lines: each work-item fills pieces of lines. */
#include "ops/common/gpu.h"
#include "ops/random/internal.h"

#include <stdio.h>

/* A piece is whole groups of 64 numbers. */
#define CPU_CHUNK 4096
#define GPU_CHUNK 64
#define GPU_PARTS 4

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    bool integer = p->dtype > TENON_DTYPE_BF16;
    uint32_t dtype = integer ? (uint32_t)TENON_DTYPE_F32 : p->dtype;
    char bytes[40] = "";
    (void)values;
    if (integer)
        snprintf(bytes, sizeof bytes, " -DTENON_RANDOM_BYTES=%u", p->element_size[RANDOM_Y]);
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u%s -DTENON_RANDOM_KIND=%u%s",
                     dtype, tn_lanes(context, dtype), tn_gpu_option(context), p->kind, bytes);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const uint32_t numbers[] = {[TENON_RANDOM_UNIFORM] = 4, [TENON_RANDOM_NORMAL] = 2, 0};
    char text[TN_OPTIONS_SIZE];
    const tn_lines_launch launch = {.source = "random/random",
                                    .kernel = "random_fill",
                                    .options = text,
                                    .cpu_chunk = CPU_CHUNK,
                                    .gpu_chunk = GPU_CHUNK,
                                    .gpu_parts = GPU_PARTS,
                                    .bits = p->kind == TENON_RANDOM_BERNOULLI ? 3 : 2,
                                    .numbers = numbers[p->kind]};
    options(recording->context, problem, values, text);
    return tn_lines_record(operation, recording, p, &launch);
}

const tn_solver tn_random_lines = {.name = "lines",
                                   .refuses = tn_lines_refuses,
                                   .estimate = tn_lines_estimate,
                                   .options = options,
                                   .record = record};
