/* gemm_int8/cpu_dot: the register tile of gemm/cpu_packed on words that hold several steps of K,
 * for processors with an instruction that adds their products. Serves every layout. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/int8.h"

enum { DOT_GROUP = CPU_PARAMETERS, DOT_PARAMETERS };

/* Values of the parameter gs: the processor's instruction, or, for tests on any device, groups of
 * two or four steps in plain OpenCL C. */
enum { OWN_INSTRUCTION = 1, PLAIN_PAIRS = 2, PLAIN_QUADS = 4 };

/* Default maximum length of a block of K, and the multiple of which it must be: a cache line. */
#define USUAL_KC 1024
#define KC_UNIT  64
#define LEAST_KC 64

static const tn_parameter parameters[DOT_PARAMETERS] = {
    [CPU_MR] = {"mr", 1, 14},
    [CPU_NR] = {"nr", 2, 64},
    [CPU_KC] = {"kc", LEAST_KC, 2048},
    [CPU_PANELS] = {"np", 1, 16},
    [DOT_GROUP] = {"gs", OWN_INSTRUCTION, PLAIN_QUADS}};

/* Returns the elements of local memory for groups of `group` steps; matches gemm/int8_cpu_dot.cl.
 */
static int64_t local_words(const int32_t *values, int64_t group)
{
    const int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    const int64_t rows = (int64_t)INT8_SUM_TILES * values[CPU_MR], words = values[CPU_KC] / group;
    return columns * words +
           (int64_t)GEMM_PACKED_TILES * values[CPU_MR] * (words + values[CPU_NR]) +
           (rows + 1) * columns + rows + values[CPU_NR] + columns;
}

static int64_t local_of_quads(const gemm_problem *p, const int32_t *values)
{
    (void)p;
    return local_words(values, 4);
}

static int64_t local_of_pairs(const gemm_problem *p, const int32_t *values)
{
    (void)p;
    return local_words(values, 2);
}

/* Returns the steps of K in a word; 0 if the processor has no instruction. Its form 0 multiplies
 * bytes, form 1 16-bit integers. */
static int64_t steps_of_word(tenon_context *context, int32_t group)
{
    if (group != OWN_INSTRUCTION)
        return group;
    const int own = tn_capability_form(context, TENON_CAPABILITY_X86_DOT);
    return own == 0 ? 4 : own == 1 ? 2 : 0;
}

/* Rows of a work-group, if there are enough groups for all cores: packing a vector of b takes about
 * as long as multiplying it by 16 rows. */
#define ROWS_FOR_PACKING 64

static int64_t tile_rows(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    const int64_t usual = tn_gemm_cpu_tile_rows(context, p, values);
    const int64_t units = (int64_t)context->device.info.compute_units;
    const int64_t columns = tn_gemm_cpu_column_groups(p, values) * tn_gemm_batch_count(p);
    const int64_t groups = tn_ceil_div(units, tn_max_i64(1, columns));
    const int64_t most = tn_min_i64(tn_ceil_div(p->m, groups), ROWS_FOR_PACKING);
    const int64_t rows = tn_max_i64(usual, tn_round_up(most, values[CPU_MR]));
    return tn_min_i64(rows, (int64_t)INT8_SUM_TILES * values[CPU_MR]);
}

static const char *constrain(tenon_context *context, const gemm_problem *p, const int32_t *values,
                             tn_gemm_cpu_local local)
{
    if (values[CPU_KC] % KC_UNIT != 0)
        return "kc must be a multiple of 64";
    return tn_gemm_cpu_constrains(context, p, values, local);
}

/* Returns the work. A register tile takes as long as one of f32 that has a step for each word. */
static tn_work work_of(tenon_context *context, const gemm_problem *p, const int32_t *values,
                       double steps)
{
    const double n = (double)tn_round_up(p->n, values[CPU_NR]), m = (double)p->m, k = (double)p->k;
    tn_work work = tn_gemm_cpu_work(context, p, values, n);
    const double batch = (double)tn_gemm_batch_count(p);
    const double row_groups = (double)tn_ceil_div(p->m, tile_rows(context, p, values));
    const double column_groups = (double)tn_gemm_cpu_column_groups(p, values);
    const double packed_a = m * column_groups, packed_b = n * row_groups;
    const bool a_is_strided = tn_gemm_layout(p, GEMM_A) == GEMM_STRIDED,
               b_is_strided = tn_gemm_layout(p, GEMM_B) == GEMM_STRIDED;
    const double a_moves = tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL ? 1 : 4;
    const double blocks = (double)tn_ceil_div(p->k + 1, values[CPU_KC]);
    work.groups = column_groups * row_groups * batch;
    work.multiply_adds = m * n * k * batch / steps;
    work.vector_elements =
        batch *
        (m * n * (blocks + 2) +
         k / steps * ((a_is_strided ? 0 : a_moves * packed_a) + (b_is_strided ? 0 : 4 * packed_b)));
    work.single_elements =
        batch * k * ((a_is_strided ? packed_a : 0) + (b_is_strided ? packed_b : 0));
    work.bytes = k * (m + (double)p->n) * batch;
    return work;
}

static const char *gemm_int8_cpu_dot_configure(tenon_context *context, const tn_problem *problem,
                                               tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int lanes = (int)tn_gemm_lanes(context, p->dtype);
    int32_t *values = choice->values;
    const bool is_plain = values[DOT_GROUP] != 0 && values[DOT_GROUP] != OWN_INSTRUCTION;
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    if (choice->never_chosen == NULL && is_plain)
        choice->never_chosen = "for tests";
    if (values[DOT_GROUP] == 0)
        values[DOT_GROUP] = OWN_INSTRUCTION;
    const int64_t steps = steps_of_word(context, values[DOT_GROUP]);
    if (steps == 0)
        return "the processor has no instruction that adds products of bytes";
    if (steps == 3) {
        choice->misfit = "gs must be 1, 2 or 4";
        return NULL;
    }
    const tn_gemm_cpu_local local = steps == 4 ? local_of_quads : local_of_pairs;
    if (values[CPU_KC] == 0)
        values[CPU_KC] = USUAL_KC;
    tn_gemm_cpu_tune(context, p, tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL ? 2 : 4, local, values);
    choice->misfit = constrain(context, p, values, local);
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = work_of(context, p, values, (double)steps);
    tn_choice_add(context, choice, &work);
    if (choice->is_estimate)
        return NULL;
#define DOT_OPTIONS                                                                                \
    GEMM_OPTIONS_FORMAT " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d -DTENON_KC=%d -DTENON_NTP=%d"
#define DOT_VALUES                                                                                 \
    GEMM_OPTIONS_VALUES(p), lanes, values[CPU_MR], values[CPU_NR] / lanes, values[CPU_KC],         \
        values[CPU_PANELS]
    if (is_plain)
        tn_build_options(context, choice->options, DOT_OPTIONS " -DTENON_DOT=%d", DOT_VALUES,
                         values[DOT_GROUP] == PLAIN_PAIRS);
    else
        tn_build_options_with(context, TENON_CAPABILITY_X86_DOT, choice->options, DOT_OPTIONS,
                              DOT_VALUES);
    return NULL;
}

static tenon_status gemm_int8_cpu_dot_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    const int8_problem *p = (const int8_problem *)problem;
    const int64_t rows = tile_rows(recording->context, &p->gemm, choice->values);
    return tn_gemm_int8_cpu_record(caller, recording, p, choice, rows, "gemm/int8_cpu_dot",
                                   "gemm_int8_cpu_dot");
}

const tn_solver tn_gemm_int8_cpu_dot = {
    .name = "cpu_dot",
    .serves = "any layout, on CPUs with an instruction that adds products of bytes",
    .awkward = "m=9*mr+3 k=kc+67",
    TN_PARAMETERS(parameters, DOT_PARAMETERS),
    .configure = gemm_int8_cpu_dot_configure,
    .launch = gemm_int8_cpu_dot_launch};
