/* Trains a network on several devices, each of which keeps only its part of the parameters, of
 * their gradients and of the optimizer's state (ZeRO-3, FSDP). A layer's parameters are gathered
 * when it is computed. The parameters have the same bits as after training on one device that adds
 * the same gradients in the same order. Fails if a member needed more memory than its part of one
 * device's, the parameters and gradients of two layers, and what the batch needs.
 *
 *     cc sharded_parameters.c -o sharded_parameters -ltenon -lm && ./sharded_parameters
 *     mpicc -DWITH_MPI sharded_parameters.c -o sharded_parameters -ltenon -lm &&
 *         mpirun -n 4 ./sharded_parameters
 */
#include "alone.h"
#include "members.h"

enum { LAYERS = 6, ROWS = 16, STEPS = 80 };
static const int64_t widths[] = {32, 256, 256, 256, 256, 256, 4};
#define RATE 0.002

/* Gives the members the initial parameters. */
static void initialize(const members *all, tenon_sharded_layers *layers)
{
    for (int i = 0; i < LAYERS; i++) {
        const tenon_tensor *parameters;
        TRY(tenon_sharded_layers_gather(layers, (uint32_t)i, &parameters));
        for (uint32_t m = 0; m < all->local; m++)
            network_initial(all->streams[m], i, &parameters[2 * m]);
        TRY(tenon_sharded_layers_keep(layers, (uint32_t)i));
    }
}

/* Takes step number `step`, counted from 1. */
static void train(const members *all, tenon_sharded_layers *layers, network *n, uint64_t step)
{
    const tenon_tensor *parameters;
    for (uint32_t m = 0; m < all->local; m++)
        network_draw(&n[m], &n[m].values[0], step, all->size, all->first + m);
    for (int i = 0; i < LAYERS; i++) {
        TRY(tenon_sharded_layers_gather(layers, (uint32_t)i, &parameters));
        for (uint32_t m = 0; m < all->local; m++)
            network_forward(&n[m], i, &parameters[2 * m]);
    }
    for (uint32_t m = 0; m < all->local; m++)
        network_loss(&n[m], 1. / all->size);
    for (int i = LAYERS; i-- > 0;) {
        TRY(tenon_sharded_layers_gather(layers, (uint32_t)i, &parameters));
        const tenon_tensor *gradients = tenon_sharded_layers_gradients(layers, (uint32_t)i);
        for (uint32_t m = 0; m < all->local; m++)
            network_backward(&n[m], i, &parameters[2 * m], &gradients[2 * m]);
        TRY(tenon_sharded_layers_reduce(layers, (uint32_t)i));
    }
    TRY(tenon_sharded_layers_step(layers, &tenon_adam_params(.learning_rate = RATE, .step = step)));
}

/* Returns the elements of the parameters that differ from those of one device, of each member. */
static void compare(const members *all, tenon_sharded_layers *layers, alone *one,
                    int64_t *different)
{
    memset(different, 0, all->local * sizeof *different);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const tenon_tensor *parameters;
        TRY(tenon_sharded_layers_gather(layers, i, &parameters));
        TRY(tenon_group_wait(all->group));
        for (uint32_t m = 0; m < all->local; m++)
            different[m] += alone_differences(one, all->streams[m], 2 * i, 2, &parameters[2 * m]);
    }
}

static double peak(const tenon_context *context)
{
    tenon_statistics statistics = TENON_STATISTICS_INIT;
    TRY(tenon_context_statistics(context, &statistics));
    return (double)statistics.memory_peak;
}

/* Compares the most memory that members have had with that of one device. */
static int check_memory(const members *all)
{
    double sum = 0, largest = 0, highest = 0;
    for (int i = 0; i < LAYERS; i++) {
        const double bytes = sizeof(float) * (double)((widths[i] + 1) * widths[i + 1]);
        sum += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    /* One device has parameters, two moments, gradients and their sums. */
    const double batch = peak(all->alone) - 5 * sum;
    const double most = 4 * sum / all->size + 4 * largest + batch;
    for (uint32_t m = 0; m < all->local; m++) {
        const double own = peak(all->contexts[m]);
        highest = own > highest ? own : highest;
    }
    printf("one device: %.2f MiB; a member: %.2f MiB, of at most %.2f\n",
           peak(all->alone) / (1 << 20), highest / (1 << 20), most / (1 << 20));
    return !(highest <= most);
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, 4, false);
    tenon_tensor views[MOST_PARAMETERS];
    tenon_sharded_layers *layers;
    const uint32_t counts[LAYERS] = {2, 2, 2, 2, 2, 2};
    network n[MOST_MEMBERS];
    int64_t different[MOST_MEMBERS];
    network_views(widths, LAYERS, views);
    for (uint32_t m = 0; m < all.local; m++)
        n[m] = network_open(all.streams[m], widths, LAYERS, 0, LAYERS, ROWS);
    TRY(tenon_sharded_layers_create(all.group, LAYERS, counts, views, &layers));
    initialize(&all, layers);
    for (uint64_t step = 1; step <= STEPS; step++)
        train(&all, layers, n, step);

    alone one = alone_open(all.alone, widths, LAYERS, ROWS);
    for (uint64_t step = 1; step <= STEPS; step++)
        alone_step(&one, step, all.size, RATE);
    compare(&all, layers, &one, different);
    int failed = check_memory(&all);
    for (uint32_t m = 0; m < all.local; m++)
        failed |= alone_report(&one, "member", all.first + m, different[m]);
    alone_close(&one);
    tenon_sharded_layers_destroy(layers);
    for (uint32_t m = 0; m < all.local; m++)
        network_close(&n[m]);
    members_close(&all);
    return failed;
}
