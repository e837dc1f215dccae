/* Trains a mixture of experts on several devices, each of which has its part of the experts (expert
 * parallel). A gate chooses two experts for each row; an all-to-all brings the row to the devices
 * that have them, and another one brings the results back. The host never reads how many rows an
 * expert gets. The weights have the same bits as after training on one device that has all experts
 * and adds the gradients of the gate in the same order.
 *
 *     cc expert_parallel.c -o expert_parallel -ltenon -lm && ./expert_parallel
 *     mpicc -DWITH_MPI expert_parallel.c -o expert_parallel -ltenon -lm &&
 *         mpirun -n 4 ./expert_parallel
 */
#include "experts.h"
#include "members.h"

/* Members that train together: those of this process, or the one that has everything. */
typedef struct team {
    tenon_group *group;
    tenon_exchange *exchange;
    uint32_t count;
    expert_member *members;
} team;

static team team_open(tenon_group *group, uint32_t count, expert_member *own)
{
    team t = {.group = group, .count = count, .members = own};
    TRY(tenon_exchange_create(group, EXPERTS, &own[0].rows, &t.exchange));
    return t;
}

static void team_close(team *t)
{
    tenon_exchange_destroy(t->exchange);
    for (uint32_t m = 0; m < t->count; m++)
        experts_close(&t->members[m]);
}

/* Lists a tensor of each member, given its place in the struct. */
#define LIST(t, list, name)                                                                        \
    for (uint32_t i = 0; i < (t)->count; i++)                                                      \
    (list)[i] = (t)->members[i].name

/* Chooses the experts, brings the rows to them, and their results back. */
static void forward(team *t, uint64_t step)
{
    tenon_tensor chosen[MOST_MEMBERS], x[MOST_MEMBERS], y[MOST_MEMBERS];
    for (uint32_t i = 0; i < t->count; i++) {
        expert_member *m = &t->members[i];
        for (uint32_t part = 0; part < m->parts; part++)
            experts_choose(m, step, part);
        TRY(tenon_tensor_reshape(&m->experts, 1, (int64_t[]){-1}, &chosen[i]));
    }
    TRY(tenon_exchange_route(t->exchange, chosen));
    LIST(t, x, rows);
    LIST(t, y, sent);
    TRY(tenon_exchange_dispatch(t->exchange, x, y));
    for (uint32_t i = 0; i < t->count; i++)
        experts_forward(&t->members[i], tenon_exchange_offsets(t->exchange, i));
    LIST(t, x, z);
    LIST(t, y, results);
    TRY(tenon_exchange_collect(t->exchange, x, y));
}

/* Copies what the experts of all members have computed to blocks, one for each expert. */
static void to_blocks(team *t)
{
    tenon_tensor x[MOST_MEMBERS], y[MOST_MEMBERS];
    LIST(t, x, sent);
    LIST(t, y, x_blocks);
    TRY(tenon_exchange_blocks(t->exchange, x, y));
    LIST(t, x, h);
    LIST(t, y, h_blocks);
    TRY(tenon_exchange_blocks(t->exchange, x, y));
    LIST(t, x, d);
    LIST(t, y, d_blocks);
    TRY(tenon_exchange_blocks(t->exchange, x, y));
    LIST(t, x, dh);
    LIST(t, y, dh_blocks);
    TRY(tenon_exchange_blocks(t->exchange, x, y));
}

static void train(team *t, uint64_t step)
{
    tenon_tensor x[MOST_MEMBERS], y[MOST_MEMBERS];
    forward(t, step);
    for (uint32_t i = 0; i < t->count; i++)
        for (uint32_t part = 0; part < t->members[i].parts; part++)
            experts_weigh(&t->members[i], part); /* replaces the results by their gradients */
    LIST(t, x, gradients[GATE]);
    TRY(tenon_group_all_reduce(t->group, TENON_GROUP_SUM, x, x, NULL));
    LIST(t, x, results);
    LIST(t, y, d);
    TRY(tenon_exchange_dispatch(t->exchange, x, y));
    for (uint32_t i = 0; i < t->count; i++)
        experts_backward(&t->members[i], tenon_exchange_offsets(t->exchange, i));
    to_blocks(t);
    for (uint32_t i = 0; i < t->count; i++)
        experts_update(&t->members[i], step);
}

/* Prints how many weights of a member differ from those of the device alone. Returns 1 if any does,
 * otherwise 0. */
static int report(const expert_member *m, const expert_member *one)
{
    int64_t different = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        const int64_t own = m->values[i].shape[0];
        const tenon_tensor expected =
            tenon_tensor_slice(one->values[i], 0, i == GATE ? 0 : m->first * own, own);
        different += network_differences(m->stream, &m->values[i], one->stream, &expected);
    }
    printf("member %u: %lld weights differ from one device\n", (unsigned)m->first,
           (long long)different);
    return different != 0;
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, 3, false);
    static expert_member own[MOST_MEMBERS], one;
    tenon_stream *stream;
    tenon_group *group;
    float first = 0;
    int failed = 0;
    if (EXPERTS % all.size != 0) {
        fprintf(stderr, "expert_parallel: %d experts cannot be divided\n", EXPERTS);
        return 2;
    }
    for (uint32_t m = 0; m < all.local; m++)
        experts_open(&own[m], all.streams[m], all.first + m, all.size, false);
    TRY(tenon_stream_create(all.alone, NULL, &stream));
    TRY(tenon_group_create(&stream, 1, NULL, &group));
    experts_open(&one, stream, 0, all.size, true);
    team divided = team_open(all.group, all.local, own), alone = team_open(group, 1, &one);
    for (uint64_t step = 1; step <= STEPS; step++) {
        train(&divided, step);
        train(&alone, step);
        if (step == 1)
            first = network_mean_square(stream, &one.y, &one.target);
    }
    TRY(tenon_group_wait(all.group));
    TRY(tenon_group_wait(group));
    for (uint32_t m = 0; m < all.local; m++)
        failed |= report(&own[m], &one);
    const float last = network_mean_square(stream, &one.y, &one.target);
    printf("error %.3g, at first %.3g\n", (double)last, (double)first);
    failed |= !(last < first / 5);
    team_close(&divided);
    team_close(&alone);
    tenon_group_destroy(group);
    tenon_stream_destroy(stream);
    members_close(&all);
    return failed;
}
