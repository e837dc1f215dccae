/* dropout/lines: each work-item does pieces of lines. */
#include "ops/dropout/internal.h"

/* As of random/lines. */
#define CPU_CHUNK 4096
#define GPU_CHUNK 64
#define GPU_PARTS 4

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    char text[TN_OPTIONS_SIZE];
    const tn_lines_launch launch = {.source = "dropout/dropout",
                                    .kernel = "dropout",
                                    .options = text,
                                    .cpu_chunk = CPU_CHUNK,
                                    .gpu_chunk = GPU_CHUNK,
                                    .gpu_parts = GPU_PARTS,
                                    .bits = 3,
                                    .numbers = 1};
    tn_lines_options(recording->context, problem, values, text);
    return tn_lines_record(operation, recording, (const tn_lines_problem *)problem, &launch);
}

const tn_solver tn_dropout_lines = {.name = "lines",
                                    .refuses = tn_lines_refuses,
                                    .estimate = tn_lines_estimate,
                                    .options = tn_lines_options,
                                    .record = record};
