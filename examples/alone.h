/* Training on one device that adds the gradients of the parts of a batch in their order: what the
 * examples of parallel training are compared with. */
#ifndef EXAMPLES_ALONE_H
#define EXAMPLES_ALONE_H

#include "replica.h"

typedef struct alone {
    tenon_stream *stream;
    replica r;
    network last; /* the rows of r.n that the last part used */
    tenon_tensor sums[MOST_PARAMETERS], gradients[MOST_PARAMETERS];
    float first_error; /* of the first part */
} alone;

static inline alone alone_open(tenon_context *context, const int64_t *widths, int layers,
                               int64_t rows)
{
    alone a = {.stream = NULL};
    tenon_tensor views[MOST_PARAMETERS];
    TRY(tenon_stream_create(context, NULL, &a.stream));
    a.r = replica_open(a.stream, widths, layers, rows);
    network_views(widths, layers, views);
    network_tensors(a.stream, a.r.count, views, a.sums);
    network_tensors(a.stream, a.r.count, views, a.gradients);
    return a;
}

/* Adds the gradients of a part of the batch, which is computed in `n`. `share`: of its rows in the
 * batch. */
static inline void alone_part(alone *a, network *n, uint64_t step, uint32_t parts, uint32_t part,
                              double share, bool is_first)
{
    const tenon_tensor *gradients = is_first ? a->sums : a->gradients;
    a->last = *n;
    network_draw(n, &n->values[0], step, parts, part);
    for (int i = 0; i < n->layers; i++)
        network_forward(n, i, &a->r.values[2 * i]);
    if (step == 1 && is_first)
        a->first_error = network_error(n);
    network_loss(n, share);
    for (int i = n->layers; i-- > 0;)
        network_backward(n, i, &a->r.values[2 * i], &gradients[2 * i]);
    for (uint32_t i = 0; i < a->r.count && !is_first; i++)
        TRY(tenon_elementwise(a->stream, NULL, &a->sums[i], &gradients[i], &a->sums[i], NULL));
}

/* Takes step number `step`, counted from 1, with equal parts. */
static inline void alone_step(alone *a, uint64_t step, uint32_t parts, double rate)
{
    for (uint32_t part = 0; part < parts; part++)
        alone_part(a, &a->r.n, step, parts, part, 1. / parts, part == 0);
    replica_update(&a->r, a->sums, step, rate);
}

/* Returns how many elements of `count` parameters from the one of number `first` on differ from
 * those of one device. */
static inline int64_t alone_differences(alone *a, tenon_stream *stream, uint32_t first,
                                        uint32_t count, const tenon_tensor *parameters)
{
    int64_t different = 0;
    for (uint32_t i = 0; i < count; i++)
        different +=
            network_differences(stream, &parameters[i], a->stream, &a->r.values[first + i]);
    return different;
}

/* Prints the result of a member. Returns 1 if parameters differ or the error has not fallen to a
 * tenth, otherwise 0. */
static inline int alone_report(alone *a, const char *name, uint32_t rank, int64_t different)
{
    const float error = network_error(&a->last);
    printf("%s %u: %lld parameters differ from one device; error %.3g, at first %.3g\n", name,
           (unsigned)rank, (long long)different, (double)error, (double)a->first_error);
    return different != 0 || !(error < a->first_error / 10);
}

static inline void alone_close(alone *a)
{
    network_destroy(a->r.count, a->sums);
    network_destroy(a->r.count, a->gradients);
    replica_close(&a->r);
    tenon_stream_destroy(a->stream);
}

#endif
