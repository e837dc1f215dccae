/* gemm_int8/cpu: the register tile of gemm/cpu_packed, on floats that hold integers. Serves every
 * layout. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/int8.h"

/* Default maximum length of a block of K. A block may be shorter: it is limited to the number of
 * products that a float sums exactly, at least 256. */
#define USUAL_KC 384
#define LEAST_KC 64

static const tn_parameter parameters[CPU_PARAMETERS] = {[CPU_MR] = {"mr", 1, 14},
                                                        [CPU_NR] = {"nr", 2, 64},
                                                        [CPU_KC] = {"kc", LEAST_KC, 1024},
                                                        [CPU_PANELS] = {"np", 1, 16}};

static int64_t local_elements(const gemm_problem *p, const int32_t *values)
{
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    (void)p;
    return (columns + (int64_t)GEMM_PACKED_TILES * values[CPU_MR]) * values[CPU_KC] +
           INT8_SUM_TILES * values[CPU_MR] * columns;
}

static void gemm_int8_cpu_tune(tenon_context *context, const gemm_problem *p, int32_t *values)
{
    bool free_block = values[CPU_KC] == 0;
    if (free_block)
        values[CPU_KC] = USUAL_KC;
    tn_gemm_cpu_tune(context, p, 2, local_elements, values);
    while (free_block && values[CPU_KC] > LEAST_KC &&
           (uint64_t)local_elements(p, values) * sizeof(float) > context->device.info.local_memory)
        values[CPU_KC] = (int32_t)tn_max_i64(LEAST_KC, values[CPU_KC] / 2);
}

static const char *gemm_int8_cpu_configure(tenon_context *context, const tn_problem *problem,
                                           tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int lanes = (int)tn_gemm_lanes(context, p->dtype);
    int32_t *values = choice->values;
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    gemm_int8_cpu_tune(context, p, values);
    choice->misfit = tn_gemm_cpu_constrains(context, p, values, local_elements);
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work =
        tn_gemm_cpu_work(context, p, values, (double)tn_round_up(p->n, values[CPU_NR]));
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      GEMM_OPTIONS_FORMAT
                      " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d -DTENON_KC=%d -DTENON_NTP=%d",
                      GEMM_OPTIONS_VALUES(p), lanes, values[CPU_MR], values[CPU_NR] / lanes,
                      values[CPU_KC], values[CPU_PANELS]);
    return NULL;
}

tenon_status tn_gemm_int8_cpu_record(const char *caller, tn_recording *recording,
                                     const int8_problem *p, const tn_choice *choice, int64_t rows,
                                     const char *source, const char *kernel)
{
    rows = tn_min_i64(rows, (int64_t)INT8_SUM_TILES * choice->values[CPU_MR]);
    tn_launch launch = tn_gemm_cpu_launch(&p->gemm, choice, rows, source, kernel);
    return tn_gemm_int8_record_launch(caller, recording, p, rows, &launch);
}

static tenon_status gemm_int8_cpu_launch(const char *caller, tn_recording *recording,
                                         const tn_problem *problem, const tn_choice *choice)
{
    const int8_problem *p = (const int8_problem *)problem;
    const int64_t rows = tn_gemm_cpu_tile_rows(recording->context, &p->gemm, choice->values);
    return tn_gemm_int8_cpu_record(caller, recording, p, choice, rows, "gemm/int8_cpu",
                                   "gemm_int8_cpu");
}

const tn_solver tn_gemm_int8_cpu = {.name = "cpu",
                                    .serves = "any layout, on CPUs",
                                    TN_PARAMETERS(parameters, CPU_PARAMETERS),
                                    .configure = gemm_int8_cpu_configure,
                                    .launch = gemm_int8_cpu_launch};
