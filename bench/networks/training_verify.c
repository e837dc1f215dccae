/* Verification of a training step: each of its steps runs alone, and a few channels of its results
 * are compared with the reference. */
#include "training.h"

#include "../runner.h"

#include "base/dtype.h"
#include "base/shape.h"
#include "check/host.h"
#include "ops/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES 2 /* channels compared: the first and the last */

/* For each operation, the dimension of each operand by which its results can be divided into
 * independent parts; -1: each part reads the whole operand. */
typedef struct division {
    const tn_operation *operation;
    int32_t dimensions[TN_MAX_OPERANDS];
    int32_t groups[3]; /* of convolutions: the same, by which groups divide the first operands */
} division;

static const division divisions[] = {
    {&tn_operation_conv, {-1, 0, 1, 0, 1}, {1, -1, -1}},
    {&tn_operation_conv_backward_data, {-1, 1, 1}, {1, 0, -1}},
    {&tn_operation_conv_backward_filter, {-1, 1, 0}, {1, -1, -1}},
    {&tn_operation_conv_backward_bias, {1, 0}},
    {&tn_operation_norm, {1, 0, 0, 1, 0, 0, 0, 0}},
    {&tn_operation_norm_backward, {1, 1, 0, 0, 0, 1, 0, 0}},
    {&tn_operation_activation, {1, 1}},
    {&tn_operation_activation_backward, {1, 1, 1}},
    {&tn_operation_elementwise_chain, {1, 1, 1, 1, 1}},
    {&tn_operation_pool, {1, 1, 1}},
    {&tn_operation_pool_backward, {1, 1, 1, 1}},
    {&tn_operation_cross_entropy, {0, 0, 0}},
    {&tn_operation_cross_entropy_backward, {0, 0, 0, 0}},
    {&tn_operation_sgd, {0, 0, 0, 0}},
    {&tn_operation_gemm, {-1, 1, 1, 0, 1}},
    {&tn_operation_reduce, {1, 0}},
    {&tn_operation_elementwise, {1, 1, 1}},
    {&tn_operation_lrn, {0, 0}},
    {&tn_operation_lrn_backward, {0, 0, 0}},
    /* Random numbers depend on the index in the whole tensor. */
    {&tn_operation_dropout, {-1, -1}},
    {&tn_operation_bernoulli, {-1, -1}},
    {&tn_operation_mse, {-1, -1, -1}},
};

/* Returns the member of a convolution's parameters; NULL for other operations. */
static int64_t *groups_of(const tn_operation *operation, tn_case_params *params)
{
    if (operation == &tn_operation_conv)
        return &((tenon_conv_params *)(void *)params->bytes)->groups;
    if (operation == &tn_operation_conv_backward_data ||
        operation == &tn_operation_conv_backward_filter)
        return &((tenon_conv_backward_params *)(void *)params->bytes)->groups;
    return NULL;
}

/* Copies of a step's operands on the host, before and after it ran. */
typedef struct step_values {
    const bench_training *training;
    const bench_step *step;
    const division *division;
    int64_t groups; /* of a convolution; otherwise 1 */
    void *before[TN_MAX_OPERANDS], *after[TN_MAX_OPERANDS];
} step_values;

static void *download(tenon_stream *stream, const tenon_tensor *tensor)
{
    const uint64_t bytes =
        (uint64_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
    void *data = malloc(bytes + 1);
    if (data != NULL && !BENCH_WELL(tenon_tensor_download(stream, tensor, data, bytes, NULL))) {
        free(data);
        data = NULL;
    }
    return data;
}

static const bench_value *value_of(const step_values *v, uint32_t operand)
{
    const bool is_operand = operand < v->step->operation->operand_count;
    const int32_t number = is_operand ? v->step->values[operand] : -1;
    return number >= 0 ? &v->training->values[number] : NULL;
}

/* Downloads the operands, or only those that the step writes. */
static bool copy(const step_values *v, tenon_stream *stream, bool only_written, void **copies)
{
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++) {
        const bench_value *value = value_of(v, i);
        if (value == NULL || (only_written && !tn_operation_writes(v->step->operation, i)))
            continue;
        copies[i] = download(stream, &value->own);
        if (copies[i] == NULL)
            return false;
    }
    return true;
}

/* Returns the number of parts, which is the size of the result that is divided. */
static int64_t part_count(const step_values *v)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++) {
        const bench_value *value = value_of(v, i);
        const int32_t d = v->division->dimensions[i];
        if (value != NULL && d >= 0 && tn_operation_writes(v->step->operation, i))
            count = bench_training_view(v->training, v->step, i, value->own).shape[d];
    }
    return count;
}

/* Returns part `at` of an operand in a copy on the host. */
static tenon_tensor part_of(const step_values *v, uint32_t operand, void *data, int64_t at)
{
    const bench_value *value = value_of(v, operand);
    tenon_tensor host = value->own;
    host.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = data};
    host = bench_training_view(v->training, v->step, operand, host);
    if (v->groups > 1 && operand < 3 && v->division->groups[operand] >= 0) {
        const uint32_t by = (uint32_t)v->division->groups[operand];
        const int64_t size = host.shape[by] / v->groups;
        host = tenon_tensor_slice(host, by, at * v->groups / part_count(v) * size, size);
    }
    const int32_t d = v->division->dimensions[operand];
    return d >= 0 ? tenon_tensor_slice(host, (uint32_t)d, at % host.shape[d], 1) : host;
}

static bool compare_output(const step_values *v, uint32_t operand, int64_t at,
                           const tn_bounded *expected, double *error_over_bound, char why[256])
{
    const tenon_tensor got = part_of(v, operand, v->after[operand], at);
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; i < tenon_tensor_elements(&got); i++) {
        const double value = tn_dtype_load(got.dtype, tn_host_element(&got, index)),
                     ratio = fabs(value - expected[i].value) / expected[i].bound;
        if (!tn_within(value, expected[i])) {
            snprintf(why, 256, "%s: element %lld of part %lld is %.9g, must be %.9g within %.3g",
                     v->step->operation->operands[operand].name, (long long)i, (long long)at, value,
                     expected[i].value, expected[i].bound);
            return false;
        }
        if (expected[i].bound > 0 && ratio > *error_over_bound)
            *error_over_bound = ratio;
        tn_next_index(index, got.shape, got.rank);
    }
    return true;
}

static bool compare_part(const step_values *v, int64_t at, double *error_over_bound, char why[256])
{
    const tn_operation *operation = v->step->operation;
    tenon_tensor parts[TN_MAX_OPERANDS];
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    int64_t count = 0, done = 0;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        if (value_of(v, i) == NULL)
            continue;
        parts[i] = part_of(v, i, v->before[i], at);
        views[i] = &parts[i];
        count += tn_operation_writes(operation, i) ? tenon_tensor_elements(&parts[i]) : 0;
    }
    tn_bounded *expected = malloc(((size_t)count + 1) * sizeof *expected);
    tn_case_params params = v->step->params;
    if (v->groups > 1)
        *groups_of(operation, &params) = 1;
    bool well = expected != NULL && operation->reference(params.bytes, views, expected);
    for (uint32_t i = 0; well && i < operation->operand_count; i++) {
        if (views[i] == NULL || !tn_operation_writes(operation, i))
            continue;
        well = compare_output(v, i, at, expected + done, error_over_bound, why);
        done += tenon_tensor_elements(&parts[i]);
    }
    free(expected);
    return well;
}

static bool verify_step(bench_training *t, tenon_stream *stream, uint32_t number,
                        double *error_over_bound, char why[256])
{
    step_values v = {.training = t, .step = &t->steps[number], .groups = 1};
    const int64_t *groups = groups_of(v.step->operation, &t->steps[number].params);
    if (groups != NULL)
        v.groups = *groups;
    for (size_t i = 0; i < sizeof divisions / sizeof *divisions; i++)
        if (divisions[i].operation == v.step->operation)
            v.division = &divisions[i];
    bool well = v.division != NULL && copy(&v, stream, false, v.before) &&
                bench_training_run_step(t, stream, number) && copy(&v, stream, true, v.after);
    const int64_t count = well ? part_count(&v) : 0;
    for (int64_t i = 0; well && i < SLICES && i < count; i++)
        well = compare_part(&v, i * (count - 1), error_over_bound, why);
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++) {
        free(v.before[i]);
        free(v.after[i]);
    }
    return well;
}

/* Compares a result of the sequence with that of the steps that ran alone. */
static bool compare_ends(const bench_training *t, tenon_stream *stream, uint32_t number,
                         const void *sequence, char why[256])
{
    const bench_value *value = &t->values[number];
    void *alone = download(stream, &value->own);
    const uint64_t bytes =
        (uint64_t)tenon_tensor_elements(&value->own) * tenon_dtype_size(value->dtype);
    const bool well = alone != NULL && memcmp(alone, sequence, bytes) == 0;
    if (alone != NULL && !well)
        snprintf(why, 256, "value %u differs after the sequence and after its steps run alone",
                 number);
    free(alone);
    return well;
}

/* Runs the steps alone from the initial values, and compares each. */
static bool verify_steps(bench_training *t, tenon_stream *stream, double *error_over_bound,
                         char why[256])
{
    for (uint32_t i = 0; i < t->step_count && !bench_interrupted; i++) {
        char what[256] = "";
        if (!verify_step(t, stream, i, error_over_bound, what)) {
            snprintf(why, 256, "step %u, %.40s: %.180s", i, t->steps[i].operation->name, what);
            return false;
        }
    }
    return true;
}

bool bench_training_verify(bench_training *t, tenon_stream *stream, double *error_over_bound,
                           char why[256])
{
    static void *results[BENCH_MAX_VALUES];
    bool well = bench_training_allocate(t) && bench_training_reset(t, stream) &&
                bench_training_run(t, stream);
    for (uint32_t i = 0; i < t->value_count; i++) {
        const bool is_result = t->values[i].lasts || t->values[i].name != NULL;
        results[i] = well && is_result ? download(stream, &t->values[i].own) : NULL;
        well = well && (!is_result || results[i] != NULL);
    }
    well =
        well && bench_training_reset(t, stream) && verify_steps(t, stream, error_over_bound, why);
    for (uint32_t i = 0; i < t->value_count; i++) {
        well = well && (results[i] == NULL || compare_ends(t, stream, i, results[i], why));
        free(results[i]);
    }
    return well;
}
