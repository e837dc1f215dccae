/* A training step that is one call: memory that lasts from step to step, and a sequence of planned
 * operations. Used by alexnet.c and dbn.c. */
#ifndef EXAMPLES_TRAINING_H
#define EXAMPLES_TRAINING_H

#include "try.h"

#include <stdbool.h>
#include <time.h>

#define MOST_TENSORS 64

static inline double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct training {
    tenon_context *context;
    tenon_stream *stream;
    tenon_sequence *sequence;
    tenon_tensor made[MOST_TENSORS];
    int count;
    tenon_memory workspace; /* of the sequence, with the tensors that exist only during a step */
} training;

static inline training training_open(void)
{
    training t = {.count = 0};
    TRY(tenon_context_create(NULL, &t.context));
    TRY(tenon_stream_create(t.context, NULL, &t.stream));
    TRY(tenon_sequence_create(t.context, &t.sequence));
    return t;
}

/* Makes a tensor that lasts, such as a parameter. */
static inline tenon_tensor training_tensor(training *t, tenon_dtype dtype, uint32_t rank,
                                           const int64_t *shape)
{
    if (t->count == MOST_TENSORS)
        abort();
    TRY(tenon_tensor_create(t->context, dtype, rank, shape, &t->made[t->count]));
    return t->made[t->count++];
}

static inline tenon_tensor training_constant(training *t, uint32_t rank, const int64_t *shape,
                                             double constant)
{
    const tenon_tensor made = training_tensor(t, TENON_DTYPE_F32, rank, shape);
    TRY(tenon_tensor_fill(t->stream, &made, constant, NULL));
    return made;
}

/* Makes a tensor of normal random numbers, which differ from those of other tensors. */
static inline tenon_tensor training_normal(training *t, uint32_t rank, const int64_t *shape,
                                           double deviation)
{
    const tenon_tensor made = training_tensor(t, TENON_DTYPE_F32, rank, shape);
    TRY(tenon_random(t->stream,
                     &tenon_random_params(.kind = TENON_RANDOM_NORMAL, .deviation = deviation,
                                          .seed = (uint64_t)t->count),
                     &made, NULL));
    return made;
}

/* Makes a tensor that exists only during a step, for example a gradient. */
static inline tenon_tensor training_intermediate(training *t, tenon_dtype dtype, uint32_t rank,
                                                 const int64_t *shape)
{
    tenon_tensor made;
    TRY(tenon_sequence_tensor(t->sequence, NULL, dtype, rank, shape, &made));
    return made;
}

/* Makes an intermediate row-major f32 tensor of another one's shape. */
static inline tenon_tensor training_like(training *t, const tenon_tensor *x)
{
    return training_intermediate(t, TENON_DTYPE_F32, x->rank, x->shape);
}

/* Plans an operation on tensors, which are its arguments in their order, and adds the plan to the
 * step. Runs of the step set the scalars of operations with a label. */
#define ADD(t, label, operation, params, ...)                                                      \
    do {                                                                                           \
        const tenon_tensor *const tensors[] = {__VA_ARGS__};                                       \
        tenon_plan *plan;                                                                          \
        try_status(operation##_plan((t)->context, params, __VA_ARGS__, &plan),                     \
                   #operation "_plan");                                                            \
        TRY(tenon_sequence_add((t)->sequence, label, plan, tensors,                                \
                               sizeof tensors / sizeof *tensors, NULL, 0));                        \
        tenon_plan_release(plan); /* the sequence has a reference */                               \
    } while (0)

static inline void training_finish(training *t)
{
    TRY(tenon_sequence_finish(t->sequence));
    const uint64_t bytes = tenon_sequence_workspace(t->sequence);
    TRY(tenon_memory_create(t->context, bytes, &t->workspace));
    TRY(tenon_stream_set_workspace(t->stream, &t->workspace, 0, bytes));
}

/* Begins another step with the same lasting tensors. */
static inline void training_restart(training *t)
{
    TRY(tenon_stream_finish(t->stream));
    TRY(tenon_stream_set_workspace(t->stream, NULL, 0, 0));
    tenon_memory_destroy(&t->workspace);
    tenon_sequence_release(t->sequence);
    TRY(tenon_sequence_create(t->context, &t->sequence));
}

/* Runs a step. The operations labeled "random" draw the numbers of the given sequence. */
static inline void training_run(training *t, uint64_t sequence)
{
    const tenon_scalar random = tenon_scalar_u64("random.sequence", sequence);
    TRY(tenon_sequence_run(t->stream, t->sequence, NULL, 0, &random, 1, NULL));
}

static inline void training_close(training *t)
{
    TRY(tenon_stream_finish(t->stream));
    for (int i = 0; i < t->count; i++)
        tenon_tensor_destroy(&t->made[i]);
    tenon_sequence_release(t->sequence);
    tenon_stream_destroy(t->stream);
    tenon_memory_destroy(&t->workspace);
    tenon_context_release(t->context);
}

#endif
