/* The stages of the network of three_kinds.c, and their passes. A stage sends tensors to the other
 * one through groups, or copies them on one device. */
#ifndef EXAMPLES_THREE_KINDS_H
#define EXAMPLES_THREE_KINDS_H

#include "divided.h"

enum { COPIES = 2, STAGES = 2, PARTS = 2, MEMBERS = COPIES * STAGES * PARTS };
enum { MICRO_BATCHES = 3, ROWS = 16, STEPS = 100 };
static const int64_t widths[] = {16, 64, 32, 64, 4}; /* two layers in each stage */
#define RATE 0.01

enum { DATA, PIPELINE, TENSOR, AXES }; /* of the grid of members */
static const uint32_t strides[AXES] = {STAGES * PARTS, PARTS, 1};

/* A stage of a copy of the network: its members in this process, and their groups. */
typedef struct stage {
    uint32_t copy, number, part, count; /* `part`: of the first of `count` members */
    divided members[PARTS];
    tenon_tensor inputs[PARTS], targets[PARTS], teachers[PARTS]; /* of the last stage */
    tenon_group *sums, *pipelines[PARTS]; /* NULL: on one device, beside `other` */
    struct stage *other;
} stage;

static inline stage stage_open(tenon_stream *const *streams, uint32_t rank, uint32_t count,
                               uint32_t flights)
{
    stage s = {.copy = rank / strides[DATA], .number = rank / PARTS % STAGES, .part = rank % PARTS};
    const bool is_end = s.number == STAGES - 1;
    s.count = count;
    for (uint32_t i = 0; i < count; i++) {
        s.members[i] =
            divided_open(streams[i], widths, 2 * (int)s.number, is_end, s.part + i, flights, ROWS);
        s.inputs[i] = network_matrix(streams[i], ROWS, widths[0]);
        s.targets[i] = network_matrix(streams[i], ROWS, widths[4]);
        s.teachers[i] = network_matrix(streams[i], widths[0], widths[4]);
        network_normal(streams[i], &s.teachers[i], 3, 0, 1);
    }
    return s;
}

static inline void stage_close(stage *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        divided_close(&s->members[i]);
        tenon_tensor_destroy(&s->inputs[i]);
        tenon_tensor_destroy(&s->targets[i]);
        tenon_tensor_destroy(&s->teachers[i]);
    }
}

static inline void draw(const stage *s, uint32_t i, const tenon_tensor *x, uint64_t step,
                        uint32_t micro)
{
    network_normal(s->members[i].stream, x, 2, (step * COPIES + s->copy) * MICRO_BATCHES + micro,
                   1);
}

/* Adds tensors of the two parts, in place: each has the sum. */
static inline void add_parts(const stage *s, const tenon_tensor *x)
{
    if (s->sums != NULL) {
        TRY(tenon_group_all_reduce(s->sums, TENON_GROUP_SUM, x, x, NULL));
        return;
    }
    divided_add(s->members[0].stream, 1, &x[0], &x[1]);
    TRY(tenon_copy(s->members[0].stream, NULL, &x[0], &x[1], NULL));
}

/* Sends a tensor to the member of another stage. On one device this copies it. */
static inline void pass(const stage *s, uint32_t i, uint32_t to, const tenon_tensor *x,
                        const tenon_tensor *y)
{
    if (s->pipelines[i] != NULL)
        TRY(tenon_group_send(s->pipelines[i], s->number, to, x, NULL));
    else
        TRY(tenon_copy(s->members[i].stream, NULL, x, y, NULL));
}

static inline void take(const stage *s, uint32_t i, uint32_t from, const tenon_tensor *y)
{
    if (s->pipelines[i] != NULL)
        TRY(tenon_group_receive(s->pipelines[i], from, s->number, y, NULL));
}

/* A forward pass. The inputs come from the previous stage, and the results go to the next one. The
 * last stage draws the inputs too, for the target. */
static inline void forward(stage *s, uint64_t step, uint32_t micro)
{
    tenon_tensor y[PARTS];
    const uint32_t f = micro % s->members[0].flights;
    for (uint32_t i = 0; i < s->count; i++) {
        divided *d = &s->members[i];
        if (s->number == 0)
            draw(s, i, &d->x[f], step, micro);
        else
            take(s, i, s->number - 1, &d->x[f]);
        if (d->is_end) {
            draw(s, i, &s->inputs[i], step, micro);
            TRY(tenon_gemm(d->stream, NULL, &s->inputs[i], &s->teachers[i], NULL, NULL,
                           &s->targets[i], NULL));
        }
        divided_forward(d, f);
        y[i] = d->y[f];
    }
    add_parts(s, y);
    for (uint32_t i = 0; i < s->count; i++) {
        divided_end_forward(&s->members[i], f);
        if (!s->members[i].is_end)
            pass(s, i, s->number + 1, &y[i], s->other != NULL ? &s->other->members[i].x[0] : NULL);
    }
}

/* A backward pass, which adds the gradients to the sums. */
static inline void backward(stage *s, uint32_t micro)
{
    tenon_tensor dx[PARTS];
    const uint32_t f = micro % s->members[0].flights;
    const tenon_mse_params loss = tenon_mse_params(.scale = 0.5 / (COPIES * MICRO_BATCHES));
    for (uint32_t i = 0; i < s->count; i++) {
        divided *d = &s->members[i];
        if (d->is_end)
            TRY(tenon_mse_backward(d->stream, &loss, &d->y[f], &s->targets[i], NULL, &d->dy, NULL));
        else
            take(s, i, s->number + 1, &d->dy);
        divided_backward(d, f, micro == 0 ? d->sums : d->gradients);
        dx[i] = d->dx;
    }
    add_parts(s, dx);
    for (uint32_t i = 0; i < s->count; i++) {
        divided *d = &s->members[i];
        if (micro > 0)
            divided_add(d->stream, DIVIDED_PARAMETERS, d->sums, d->gradients);
        if (s->number > 0)
            pass(s, i, s->number - 1, &dx[i], s->other != NULL ? &s->other->members[i].dy : NULL);
    }
}

static inline void update(stage *s, uint64_t step)
{
    for (uint32_t i = 0; i < s->count; i++)
        divided_update(&s->members[i], step, RATE);
}

/* Returns the mean square error of the last stage. */
static inline float stage_error(const stage *s)
{
    return network_mean_square(s->members[0].stream, &s->members[0].y[0], &s->targets[0]);
}

#endif
