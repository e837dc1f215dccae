/* Trains a network whose layers are divided among several devices: a pipeline of stages, each of
 * which works on another micro-batch at the same time (1F1B). The parameters have the same bits as
 * after training on one device that adds the gradients of the micro-batches in their order.
 *
 *     cc pipeline_parallel.c -o pipeline_parallel -ltenon -lm && ./pipeline_parallel
 *     mpicc -DWITH_MPI pipeline_parallel.c -o pipeline_parallel -ltenon -lm &&
 *         mpirun -n 4 ./pipeline_parallel
 */
#include "alone.h"
#include "members.h"

enum { LAYERS = 4, MICRO_BATCHES = 6, ROWS = 16, STEPS = 100 };
static const int64_t widths[] = {16, 64, 48, 32, 4};
#define RATE 0.01

/* Some layers: their parameters, the state of Adam, and the micro-batches in flight, which take
 * turns in `count` places. */
typedef struct stage {
    int first, layers;
    uint32_t number, stages, count, parameters;
    network flights[MICRO_BATCHES];
    tenon_stream *stream;
    tenon_tensor values[MOST_PARAMETERS], sums[MOST_PARAMETERS], gradients[MOST_PARAMETERS],
        firsts[MOST_PARAMETERS], seconds[MOST_PARAMETERS];
} stage;

static stage stage_open(tenon_stream *stream, uint32_t number, uint32_t stages)
{
    stage s = {.number = number, .stages = stages, .stream = stream};
    tenon_tensor views[MOST_PARAMETERS] = {{.rank = 0}};
    s.first = (int)(LAYERS * number / stages);
    s.layers = (int)(LAYERS * (number + 1) / stages) - s.first;
    s.count = stages - number < MICRO_BATCHES ? stages - number : MICRO_BATCHES;
    for (uint32_t i = 0; i < s.count; i++)
        s.flights[i] = network_open(stream, widths, LAYERS, s.first, s.layers, ROWS);
    s.parameters = network_views(&widths[s.first], s.layers, views);
    network_tensors(stream, s.parameters, views, s.values);
    network_tensors(stream, s.parameters, views, s.sums);
    network_tensors(stream, s.parameters, views, s.gradients);
    network_tensors(stream, s.parameters, views, s.firsts);
    network_tensors(stream, s.parameters, views, s.seconds);
    network_initials(stream, s.first, s.layers, s.values);
    return s;
}

static void stage_close(stage *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        network_close(&s->flights[i]);
    network_destroy(s->parameters, s->values);
    network_destroy(s->parameters, s->sums);
    network_destroy(s->parameters, s->gradients);
    network_destroy(s->parameters, s->firsts);
    network_destroy(s->parameters, s->seconds);
}

/* A forward pass. The inputs come from the previous stage, and the results go to the next one. The
 * last stage draws the inputs too, for the target. */
static void forward(stage *s, tenon_group *group, uint64_t step, uint32_t micro_batch)
{
    network *n = &s->flights[micro_batch % s->count];
    tenon_tensor x = n->values[0];
    if (s->number == 0) {
        network_draw(n, &x, step, MICRO_BATCHES, micro_batch);
    } else {
        TRY(tenon_group_receive(group, s->number - 1, s->number, &x, NULL));
        if (n->is_end) {
            x = network_matrix(s->stream, ROWS, widths[0]);
            network_draw(n, &x, step, MICRO_BATCHES, micro_batch);
            tenon_tensor_destroy(&x);
        }
    }
    for (int i = 0; i < s->layers; i++)
        network_forward(n, i, &s->values[2 * i]);
    if (!n->is_end)
        TRY(tenon_group_send(group, s->number, s->number + 1, &n->values[s->layers], NULL));
}

/* A backward pass, which adds the gradients to the sums. */
static void backward(stage *s, tenon_group *group, uint32_t micro_batch)
{
    network *n = &s->flights[micro_batch % s->count];
    const tenon_tensor *gradients = micro_batch == 0 ? s->sums : s->gradients;
    if (n->is_end)
        network_loss(n, 1. / MICRO_BATCHES);
    else
        TRY(tenon_group_receive(group, s->number + 1, s->number, &n->slopes[s->layers], NULL));
    for (int i = s->layers; i-- > 0;)
        network_backward(n, i, &s->values[2 * i], &gradients[2 * i]);
    for (int i = 0; i < 2 * s->layers && micro_batch > 0; i++)
        TRY(tenon_elementwise(s->stream, NULL, &s->sums[i], &gradients[i], &s->sums[i], NULL));
    if (s->number > 0)
        TRY(tenon_group_send(group, s->number, s->number - 1, &n->slopes[0], NULL));
}

static void update(stage *s, uint64_t step)
{
    for (int i = 0; i < 2 * s->layers; i++)
        TRY(tenon_adam(s->stream, &tenon_adam_params(.learning_rate = RATE, .step = step),
                       &s->sums[i], &s->values[i], &s->firsts[i], &s->seconds[i], NULL, NULL));
}

/* Takes a step with the stages of this process. A stage receives a tensor only when it needs it,
 * because its later work waits for it. */
static void train(const members *all, stage *own, uint64_t step)
{
    tenon_pipeline_step steps[2 * LAYERS * MICRO_BATCHES];
    const uint32_t count = 2 * all->size * MICRO_BATCHES;
    TRY(tenon_one_forward_one_backward(all->size, MICRO_BATCHES, count, steps));
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i].stage < all->first || steps[i].stage >= all->first + all->local)
            continue;
        stage *s = &own[steps[i].stage - all->first];
        if (steps[i].is_forward)
            forward(s, all->group, step, steps[i].micro_batch);
        else
            backward(s, all->group, steps[i].micro_batch);
    }
    for (uint32_t m = 0; m < all->local; m++)
        update(&own[m], step);
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, 3, false);
    stage own[LAYERS];
    int failed = 0;
    if (all.size > LAYERS) {
        fprintf(stderr, "pipeline_parallel: at most %d members\n", LAYERS);
        return 2;
    }
    for (uint32_t m = 0; m < all.local; m++)
        own[m] = stage_open(all.streams[m], all.first + m, all.size);
    for (uint64_t step = 1; step <= STEPS; step++)
        train(&all, own, step);
    TRY(tenon_group_wait(all.group));

    alone one = alone_open(all.alone, widths, LAYERS, ROWS);
    for (uint64_t step = 1; step <= STEPS; step++)
        alone_step(&one, step, MICRO_BATCHES, RATE);
    for (uint32_t m = 0; m < all.local; m++)
        failed |= alone_report(&one, "stage", all.first + m,
                               alone_differences(&one, all.streams[m], 2 * (uint32_t)own[m].first,
                                                 2 * (uint32_t)own[m].layers, own[m].values));
    alone_close(&one);
    for (uint32_t m = 0; m < all.local; m++)
        stage_close(&own[m]);
    members_close(&all);
    return failed;
}
