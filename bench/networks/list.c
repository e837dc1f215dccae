/* Appending to the lists of values and steps of a training step. */
#include "training.h"

#include "ops/registry.h"

#include <string.h>

int32_t bench_list_value(bench_training *t, bench_value value)
{
    if (t->value_count == BENCH_MAX_VALUES) {
        t->is_full = true;
        return 0;
    }
    t->values[t->value_count] = value;
    return (int32_t)t->value_count++;
}

int32_t bench_list_gradient(bench_training *t, int32_t parameter)
{
    bench_value gradient = t->values[parameter];
    gradient.lasts = false;
    return bench_list_value(t, gradient);
}

void *bench_list_step(bench_training *t, const tn_operation *operation, bench_layer_kind kind,
                      const int32_t *values)
{
    t->is_full = t->is_full || t->step_count == BENCH_MAX_STEPS;
    bench_step *step = &t->steps[t->is_full ? 0 : t->step_count++];
    step->operation = operation;
    step->kind = kind;
    tn_operation_defaults(operation, step->params.bytes);
    memset(step->values, -1, sizeof step->values);
    memcpy(step->values, values, operation->operand_count * sizeof *values);
    return step->params.bytes;
}

int32_t bench_list_update(bench_training *t, int32_t parameter, int32_t gradient,
                          double learning_rate, double momentum, double weight_decay)
{
    bench_value velocity = t->values[parameter];
    velocity.low = velocity.high = 0;
    const int32_t number = bench_list_value(t, velocity);
    tenon_sgd_params *sgd =
        BENCH_LIST_STEP(t, tn_operation_sgd, BENCH_LAYER_UPDATE, gradient, parameter, number, -1);
    sgd->learning_rate = learning_rate;
    sgd->momentum = momentum;
    sgd->weight_decay = weight_decay;
    return number;
}
