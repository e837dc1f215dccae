/* gemm_int8/cpu: the register tile of gemm/cpu_packed on floats that hold integers. Serves every
 * layout. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/int8.h"

/* A block of K may be shorter: as many products as a float sums exactly, 256 at least. */
#define USUAL_KC 384
#define LEAST_KC 64
/* As gemm/int8_cpu.cl: tiles of rows that a work-group does. */
#define SUM_TILES   32
#define PACKED_ROWS 8 /* tiles of a packed at once */

static const tn_parameter parameters[CPU_PARAMETERS] = {[CPU_MR] = {"mr", 1, 14},
                                                        [CPU_NR] = {"nr", 2, 64},
                                                        [CPU_KC] = {"kc", LEAST_KC, 1024},
                                                        [CPU_PANELS] = {"np", 1, 16}};

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    return tn_gemm_refuses_cpu(context, (const gemm_problem *)problem);
}

static int64_t local_elements(const gemm_problem *p, const int32_t *values)
{
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    (void)p;
    return (columns + (int64_t)PACKED_ROWS * values[CPU_MR]) * values[CPU_KC] +
           SUM_TILES * values[CPU_MR] * columns;
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    bool free_block = values[CPU_KC] == 0;
    if (free_block)
        values[CPU_KC] = USUAL_KC;
    tn_gemm_cpu_tune(context, p, 2, local_elements, values);
    while (free_block && values[CPU_KC] > LEAST_KC &&
           (uint64_t)local_elements(p, values) * sizeof(float) > context->device.info.local_memory)
        values[CPU_KC] /= 2;
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    if (values[CPU_KC] % 4 != 0)
        return "kc must be a multiple of 4";
    return tn_gemm_cpu_constrains(context, (const gemm_problem *)problem, values, local_elements);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    return CPU_LAUNCH_TIME + tn_gemm_cpu_tile_time(context, (const gemm_problem *)problem, values);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const gemm_problem *p = (const gemm_problem *)problem;
    int lanes = (int)tn_gemm_lanes(context, p->dtype);
    tn_build_options(context, text,
                     GEMM_OPTIONS_FORMAT
                     " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d -DTENON_KC=%d -DTENON_NTP=%d",
                     GEMM_OPTIONS_VALUES(p), lanes, values[CPU_MR], values[CPU_NR] / lanes,
                     values[CPU_KC], values[CPU_PANELS]);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const int8_problem *p = (const int8_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    int64_t rows = tn_min_i64(tn_gemm_cpu_tile_rows(recording->context, &p->gemm, values),
                              (int64_t)SUM_TILES * values[CPU_MR]);
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    options(recording->context, problem, values, text);
    tn_launch launch = {
        .source = "gemm/int8_cpu",
        .options = text,
        .kernel = "gemm_int8_cpu",
        .global = {(size_t)tn_ceil_div(p->gemm.n, columns), (size_t)tn_ceil_div(p->gemm.m, rows)},
        .local = {1, 1, 1},
    };
    return tn_gemm_int8_record_launch(operation, recording, p, rows, &launch);
}

const tn_solver tn_gemm_int8_cpu = {.name = "cpu",
                                    .parameters = parameters,
                                    .parameter_count = CPU_PARAMETERS,
                                    .refuses = refuses,
                                    .tune = tune,
                                    .constrains = constrains,
                                    .estimate = estimate,
                                    .options = options,
                                    .record = record};
