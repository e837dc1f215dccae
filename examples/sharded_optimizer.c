/* Trains a network on several devices, each of which keeps the moments of Adam for an equal part of
 * the parameters and updates that part (ZeRO-1). The parameters have the same bits as after
 * training on one device that adds the same gradients in the same order. Fails if they differ, or
 * if a member keeps more moments than its part of the parameters.
 *
 *     cc sharded_optimizer.c -o sharded_optimizer -ltenon -lm && ./sharded_optimizer
 *     mpicc -DWITH_MPI sharded_optimizer.c -o sharded_optimizer -ltenon -lm &&
 *         mpirun -n 4 ./sharded_optimizer
 */
#include "alone.h"
#include "members.h"

enum { LAYERS = 3, PARAMETERS = 2 * LAYERS, ROWS = 24, STEPS = 150 };
static const int64_t widths[] = {16, 64, 32, 4};
#define RATE 0.01

/* Enqueues the computation of a member's gradients of its part of a batch. */
static void compute(network *n, tenon_sharded_adam *adam, uint32_t local, uint64_t step,
                    uint32_t parts, uint32_t part)
{
    const tenon_tensor *parameters = tenon_sharded_adam_parameters(adam, local);
    const tenon_tensor *gradients = tenon_sharded_adam_gradients(adam, local);
    network_draw(n, &n->values[0], step, parts, part);
    for (int i = 0; i < LAYERS; i++)
        network_forward(n, i, &parameters[2 * i]);
    network_loss(n, 1. / parts);
    for (int i = LAYERS; i-- > 0;)
        network_backward(n, i, &parameters[2 * i], &gradients[2 * i]);
}

/* Compares the moments that members keep with their part of those of one device. Each
 * parameter begins at a multiple of 64 elements, and so does each part. */
static int check_moments(const members *all, const tenon_sharded_adam *adam)
{
    int64_t whole = 0, most = 0;
    for (int i = 0; i < LAYERS; i++)
        whole += 2 * (widths[i] + 1) * widths[i + 1];
    const int64_t allowed = whole / all->size + (int64_t)2 * 64 * (PARAMETERS + 1);
    for (uint32_t m = 0; m < all->local; m++) {
        const tenon_tensor *moments = tenon_sharded_adam_moments(adam, m);
        const int64_t own = tenon_tensor_elements(&moments[0]) + tenon_tensor_elements(&moments[1]);
        most = own > most ? own : most;
    }
    printf("moments: one device %lld, a member %lld\n", (long long)whole, (long long)most);
    return most > allowed;
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, 4, false);
    tenon_tensor views[MOST_PARAMETERS];
    tenon_sharded_adam *adam;
    network n[MOST_MEMBERS];
    network_views(widths, LAYERS, views);
    TRY(tenon_sharded_adam_create(all.group, PARAMETERS, views, &adam));
    for (uint32_t m = 0; m < all.local; m++) {
        n[m] = network_open(all.streams[m], widths, LAYERS, 0, LAYERS, ROWS);
        for (int i = 0; i < LAYERS; i++)
            network_initial(all.streams[m], i, &tenon_sharded_adam_parameters(adam, m)[2 * i]);
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        for (uint32_t m = 0; m < all.local; m++)
            compute(&n[m], adam, m, step, all.size, all.first + m);
        TRY(tenon_sharded_adam_step(adam, &tenon_adam_params(.learning_rate = RATE, .step = step)));
    }
    TRY(tenon_group_wait(all.group));

    alone one = alone_open(all.alone, widths, LAYERS, ROWS);
    for (uint64_t step = 1; step <= STEPS; step++)
        alone_step(&one, step, all.size, RATE);
    int failed = check_moments(&all, adam);
    for (uint32_t m = 0; m < all.local; m++)
        failed |= alone_report(&one, "member", all.first + m,
                               alone_differences(&one, all.streams[m], 0, PARAMETERS,
                                                 tenon_sharded_adam_parameters(adam, m)));
    alone_close(&one);
    tenon_sharded_adam_destroy(adam);
    for (uint32_t m = 0; m < all.local; m++)
        network_close(&n[m]);
    members_close(&all);
    return failed;
}
