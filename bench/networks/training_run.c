/* The plans, memory and sequence of a training step, and the times of its parts. */
#include "training.h"

#include "../judge.h"
#include "../runner.h"
#include "../timing.h"
#include "check/host.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

#define PASSES 3

tenon_tensor bench_training_view(const bench_training *t, const bench_step *step, uint32_t operand,
                                 tenon_tensor stored)
{
    if (step->flattened >> operand & 1) {
        const int64_t rows = stored.shape[0],
                      shape[] = {rows, tenon_tensor_elements(&stored) / rows};
        const tenon_tensor image = stored;
        stored = tenon_tensor_view(image.dtype, 2, shape);
        stored.memory = image.memory;
        stored.offset = image.offset;
    } else if (t->values[step->values[operand]].is_image) {
        stored = tenon_tensor_nhwc(stored);
    }
    return step->transposed >> operand & 1 ? tenon_tensor_transpose(stored, 0, 1) : stored;
}

static void stored_shape(const bench_value *value, int64_t shape[4])
{
    memcpy(shape, value->shape, sizeof value->shape);
    if (!value->is_image)
        return;
    shape[1] = value->shape[2];
    shape[2] = value->shape[3];
    shape[3] = value->shape[1];
}

static double bytes_of(const bench_value *value)
{
    double bytes = (double)tenon_dtype_size(value->dtype);
    for (uint32_t d = 0; d < value->rank; d++)
        bytes *= (double)value->shape[d];
    return bytes;
}

double bench_training_bytes(const bench_training *t, bool all)
{
    double bytes = 0;
    for (uint32_t i = 0; i < t->value_count; i++)
        if (all || t->values[i].lasts || t->values[i].name != NULL)
            bytes += bytes_of(&t->values[i]);
    return bytes;
}

/* Fills a value with its initial numbers, which depend only on its own number. */
static bool fill(tenon_stream *stream, const bench_value *value, uint64_t number)
{
    const int64_t count = tenon_tensor_elements(&value->own);
    const uint64_t bytes = (uint64_t)count * tenon_dtype_size(value->dtype);
    uint64_t seed = number;
    float *reals = malloc(bytes + 1);
    int32_t *integers = (int32_t *)(void *)reals;
    for (int64_t i = 0; reals != NULL && i < count; i++) {
        const double random = value->low + (value->high - value->low) * (tn_random(&seed) + 1) / 2;
        if (value->dtype == TENON_DTYPE_I32)
            integers[i] = (int32_t)random;
        else
            reals[i] = (float)random;
    }
    const bool well = reals != NULL &&
                      BENCH_WELL(tenon_tensor_upload(stream, reals, bytes, &value->own, NULL)) &&
                      BENCH_WELL(tenon_stream_finish(stream));
    free(reals);
    return well;
}

bool bench_training_reset(bench_training *t, tenon_stream *stream)
{
    for (uint32_t i = 0; i < t->value_count; i++)
        if ((t->values[i].lasts || t->values[i].name != NULL) &&
            !fill(stream, &t->values[i], i + 1))
            return false;
    return true;
}

static bool allocate(bench_training *t, bench_value *value)
{
    int64_t shape[4];
    stored_shape(value, shape);
    return value->own.memory.kind != TENON_MEMORY_NONE ||
           BENCH_WELL(
               tenon_tensor_create(t->context, value->dtype, value->rank, shape, &value->own));
}

static bool place(bench_training *t, bench_value *value)
{
    int64_t shape[4];
    stored_shape(value, shape);
    if ((value->lasts || value->name != NULL) && !allocate(t, value))
        return false;
    value->placed = value->own;
    return value->lasts || BENCH_WELL(tenon_sequence_tensor(t->sequence, value->name, value->dtype,
                                                            value->rank, shape, &value->placed));
}

/* Sets the views of a step's operands, in the sequence or in memory of their own. */
static void set_views(const bench_training *t, const bench_step *step, bool own,
                      tenon_tensor views[TN_MAX_OPERANDS],
                      const tenon_tensor *list[TN_MAX_OPERANDS])
{
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++) {
        list[i] = NULL;
        if (i >= step->operation->operand_count || step->values[i] < 0)
            continue;
        const bench_value *value = &t->values[step->values[i]];
        views[i] = bench_training_view(t, step, i, own ? value->own : value->placed);
        list[i] = &views[i];
    }
}

static bool add_step(bench_session *session, bench_training *t, bench_step *step)
{
    tenon_tensor views[TN_MAX_OPERANDS];
    const tenon_tensor *list[TN_MAX_OPERANDS];
    set_views(t, step, false, views, list);
    return bench_plan(session, step->operation, step->params.bytes, list, NULL, &step->plan) &&
           BENCH_WELL(tenon_sequence_add(t->sequence, NULL, step->plan, list,
                                         step->operation->operand_count, NULL, 0));
}

bool bench_training_create(bench_session *session, bench_training *t)
{
    t->context = session->context;
    if (!BENCH_WELL(tenon_sequence_create(session->context, &t->sequence)))
        return false;
    for (uint32_t i = 0; i < t->value_count; i++)
        if (!place(t, &t->values[i]))
            return false;
    for (uint32_t i = 0; i < t->step_count; i++)
        if (bench_interrupted || !add_step(session, t, &t->steps[i]))
            return false;
    return BENCH_WELL(tenon_sequence_finish(t->sequence)) &&
           BENCH_WELL(tenon_memory_create(t->context, tenon_sequence_workspace(t->sequence),
                                          &t->workspace)) &&
           bench_training_reset(t, session->stream);
}

void bench_training_destroy(bench_training *t)
{
    tenon_sequence_release(t->sequence);
    tenon_memory_destroy(&t->workspace);
    for (uint32_t i = 0; i < t->step_count; i++)
        tenon_plan_release(t->steps[i].plan);
    for (uint32_t i = 0; i < t->value_count; i++)
        tenon_memory_destroy(&t->values[i].own.memory);
}

bool bench_training_run(bench_training *t, tenon_stream *stream)
{
    tenon_operand operands[4];
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->value_count && count < 4; i++)
        if (t->values[i].name != NULL)
            operands[count++] = (tenon_operand){t->values[i].name, t->values[i].own.memory, 0};
    const uint64_t bytes = tenon_sequence_workspace(t->sequence);
    const bool well =
        BENCH_WELL(tenon_stream_set_workspace(stream, &t->workspace, 0, bytes)) &&
        BENCH_WELL(tenon_sequence_run(stream, t->sequence, operands, count, NULL, 0, NULL));
    return BENCH_WELL(tenon_stream_set_workspace(stream, NULL, 0, 0)) && well;
}

bool bench_training_allocate(bench_training *t)
{
    for (uint32_t i = 0; i < t->value_count; i++)
        if (!allocate(t, &t->values[i]))
            return false;
    return true;
}

bool bench_training_run_step(bench_training *t, tenon_stream *stream, uint32_t number)
{
    const bench_step *step = &t->steps[number];
    tenon_memory memories[TN_MAX_OPERANDS];
    memset(memories, 0, sizeof memories);
    for (uint32_t i = 0; i < step->operation->operand_count; i++)
        if (step->values[i] >= 0)
            memories[i] = t->values[step->values[i]].own.memory;
    return BENCH_WELL(
        tenon_plan_run(stream, step->plan, memories, step->operation->operand_count, NULL));
}

bool bench_training_shares(bench_training *t, tenon_stream *stream,
                           double nanoseconds[BENCH_LAYER_KINDS])
{
    static double times[BENCH_MAX_STEPS][PASSES];
    if (!bench_training_allocate(t))
        return false;
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < t->step_count; i++) {
            const double start = bench_now();
            if (!bench_training_run_step(t, stream, i) || !BENCH_WELL(tenon_stream_finish(stream)))
                return false;
            times[i][pass] = 1e9 * (bench_now() - start);
        }
    memset(nanoseconds, 0, BENCH_LAYER_KINDS * sizeof *nanoseconds);
    for (uint32_t i = 0; i < t->step_count; i++)
        nanoseconds[t->steps[i].kind] += bench_median(times[i], PASSES);
    return true;
}
