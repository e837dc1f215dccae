/* Trains a network on several devices at once: each computes the gradients of its part of a batch,
 * and they are added in buckets during the backward pass. The parameters have the same bits as
 * after training on one device that adds the gradients of the same parts in the same order.
 *
 *     cc data_parallel.c -o data_parallel -ltenon -lm && ./data_parallel
 *     mpicc -DWITH_MPI data_parallel.c -o data_parallel -ltenon -lm && mpirun -n 4 ./data_parallel
 */
#include "alone.h"
#include "members.h"

enum { LAYERS = 3, PARAMETERS = 2 * LAYERS, ROWS = 48, STEPS = 150 };
static const int64_t widths[] = {16, 64, 32, 4};
#define RATE 0.01

/* Enqueues the computation of the gradients of a part of a batch. A bucket whose gradients are
 * ready on all members is added at once, while the backward pass continues. */
static void compute(replica *m, uint32_t local, tenon_buckets *buckets, uint64_t step,
                    uint32_t parts, uint32_t part)
{
    const tenon_tensor *gradients = tenon_buckets_gradients(buckets, local);
    network_draw(&m->n, &m->n.values[0], step, parts, part);
    for (int i = 0; i < LAYERS; i++)
        network_forward(&m->n, i, &m->values[2 * i]);
    network_loss(&m->n, 1. / parts);
    for (int i = LAYERS; i-- > 0;) {
        network_backward(&m->n, i, &m->values[2 * i], &gradients[2 * i]);
        for (uint32_t p = 2; p-- > 0;)
            TRY(tenon_buckets_ready(buckets, local, 2 * (uint32_t)i + p, m->n.stream));
    }
}

int main(int argc, char **argv)
{
    /* The group has streams of its own, so that the backward pass does not wait for the sums. */
    members all = members_open(&argc, &argv, 2, true);
    tenon_tensor views[MOST_PARAMETERS];
    tenon_buckets *buckets;
    replica own[MOST_MEMBERS] = {{.count = 0}};
    int failed = 0;
    network_views(widths, LAYERS, views);
    for (uint32_t m = 0; m < all.local; m++)
        own[m] = replica_open(all.streams[m], widths, LAYERS, ROWS);
    TRY(tenon_buckets_create(all.group, &tenon_buckets_params(.bytes = 4096), PARAMETERS, views,
                             &buckets));
    for (uint64_t step = 1; step <= STEPS; step++) {
        for (uint32_t m = 0; m < all.local; m++)
            compute(&own[m], m, buckets, step, all.size, all.first + m);
        TRY(tenon_buckets_finish(buckets, all.streams));
        for (uint32_t m = 0; m < all.local; m++)
            replica_update(&own[m], tenon_buckets_gradients(buckets, m), step, RATE);
    }
    TRY(tenon_group_wait(all.group));

    alone one = alone_open(all.alone, widths, LAYERS, ROWS);
    for (uint64_t step = 1; step <= STEPS; step++)
        alone_step(&one, step, all.size, RATE);
    for (uint32_t m = 0; m < all.local; m++)
        failed |=
            alone_report(&one, "member", all.first + m,
                         alone_differences(&one, all.streams[m], 0, PARAMETERS, own[m].values));
    alone_close(&one);
    tenon_buckets_destroy(buckets);
    for (uint32_t m = 0; m < all.local; m++)
        replica_close(&own[m]);
    members_close(&all);
    return failed;
}
