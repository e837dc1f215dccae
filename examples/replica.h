/* A whole network on one device: its parameters, and the state with which Adam updates them. */
#ifndef EXAMPLES_REPLICA_H
#define EXAMPLES_REPLICA_H

#include "network.h"

typedef struct replica {
    network n;
    uint32_t count; /* parameters */
    tenon_tensor values[MOST_PARAMETERS], firsts[MOST_PARAMETERS], seconds[MOST_PARAMETERS];
} replica;

/* Makes a network for up to `rows` rows of a batch, with the initial parameters. */
static inline replica replica_open(tenon_stream *stream, const int64_t *widths, int layers,
                                   int64_t rows)
{
    replica r = {.n = network_open(stream, widths, layers, 0, layers, rows)};
    tenon_tensor views[MOST_PARAMETERS];
    r.count = network_views(widths, layers, views);
    network_tensors(stream, r.count, views, r.values);
    network_tensors(stream, r.count, views, r.firsts);
    network_tensors(stream, r.count, views, r.seconds);
    network_initials(stream, 0, layers, r.values);
    return r;
}

/* Updates the parameters. Steps are counted from 1. */
static inline void replica_update(replica *r, const tenon_tensor *gradients, uint64_t step,
                                  double rate)
{
    for (uint32_t i = 0; i < r->count; i++)
        TRY(tenon_adam(r->n.stream, &tenon_adam_params(.learning_rate = rate, .step = step),
                       &gradients[i], &r->values[i], &r->firsts[i], &r->seconds[i], NULL, NULL));
}

static inline void replica_close(replica *r)
{
    network_destroy(r->count, r->values);
    network_destroy(r->count, r->firsts);
    network_destroy(r->count, r->seconds);
    network_close(&r->n);
}

#endif
