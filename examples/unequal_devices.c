/* Trains a network on unequal devices: each gets a share of the batch by its speed, which is
 * measured in the first steps. A device that is too slow for a single row is left out. Here all
 * devices are equal, but the last member computes everything several times, so that it is slow. The
 * parameters have the same bits as after training on one device that adds the gradients of the same
 * parts in the same order.
 *
 *     cc unequal_devices.c -o unequal_devices -ltenon -lm && ./unequal_devices [SLOWNESS]
 *     mpicc -DWITH_MPI unequal_devices.c -o unequal_devices -ltenon -lm &&
 *         mpirun -n 2 ./unequal_devices
 */
#include "alone.h"
#include "members.h"

#include <time.h>

enum { LAYERS = 3, PARAMETERS = 2 * LAYERS, BATCH = 256, STEPS = 100 };
static const int64_t widths[] = {32, 256, 128, 8};
#define RATE 0.01

/* A device's network, with room for a whole batch. */
typedef struct member {
    replica r;
    int times; /* that it computes everything */
} member;

/* Members that train together: all of them, or those that have samples. */
typedef struct team {
    tenon_group *group;
    tenon_buckets *buckets;
    uint32_t count, ranks[MOST_MEMBERS];
} team;

static team team_open(const members *all, uint32_t count, const uint32_t *ranks)
{
    team t = {.count = count};
    tenon_tensor views[MOST_PARAMETERS];
    network_views(widths, LAYERS, views);
    memcpy(t.ranks, ranks, count * sizeof *ranks);
    t.group = members_group(all, count, ranks);
    if (t.group != NULL)
        TRY(tenon_buckets_create(t.group, NULL, PARAMETERS, views, &t.buckets));
    return t;
}

static void team_close(team *t)
{
    tenon_buckets_destroy(t->buckets);
    tenon_group_destroy(t->group);
}

/* Computes the gradients of a member's part of the batch. */
static void compute(member *m, tenon_buckets *buckets, uint32_t local, int64_t rows, uint64_t step,
                    uint32_t parts, uint32_t part)
{
    const tenon_tensor *gradients = tenon_buckets_gradients(buckets, local);
    network n = network_rows(&m->r.n, rows);
    for (int time = 1; time <= m->times; time++) {
        network_draw(&n, &n.values[0], step, parts, part);
        for (int i = 0; i < LAYERS; i++)
            network_forward(&n, i, &m->r.values[2 * i]);
        network_loss(&n, (double)rows / BATCH);
        for (int i = LAYERS; i-- > 0;) {
            network_backward(&n, i, &m->r.values[2 * i], &gradients[2 * i]);
            for (uint32_t p = 2; p-- > 0 && time == m->times;)
                TRY(tenon_buckets_ready(buckets, local, 2 * (uint32_t)i + p, n.stream));
        }
    }
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Gives the times of the local members to all processes, and to the shares. */
static void record(const members *all, tenon_shares *shares, const float *times)
{
    tenon_tensor own[MOST_MEMBERS], whole[MOST_MEMBERS];
    float every[MOST_MEMBERS];
    double seconds[MOST_MEMBERS];
    const int64_t one = 1, size = all->size;
    for (uint32_t m = 0; m < all->local; m++) {
        TRY(tenon_tensor_create(all->contexts[m], TENON_DTYPE_F32, 1, &one, &own[m]));
        TRY(tenon_tensor_create(all->contexts[m], TENON_DTYPE_F32, 1, &size, &whole[m]));
        TRY(tenon_tensor_upload(all->sums[m], &times[m], sizeof *times, &own[m], NULL));
    }
    TRY(tenon_group_all_gather(all->group, own, whole, NULL));
    TRY(tenon_group_wait(all->group));
    TRY(tenon_tensor_download(all->sums[0], &whole[0], every, all->size * sizeof *every, NULL));
    for (uint32_t m = 0; m < all->size; m++)
        seconds[m] = (double)every[m];
    TRY(tenon_shares_record(shares, seconds));
    for (uint32_t m = 0; m < all->local; m++) {
        tenon_tensor_destroy(&own[m]);
        tenon_tensor_destroy(&whole[m]);
    }
}

/* Takes a step with the members of a team. Until the shares are fixed, that is all of them. */
static void train(const members *all, const team *t, member *own, tenon_shares *shares,
                  uint64_t step)
{
    const bool measures = !tenon_shares_is_fixed(shares);
    const uint32_t local = tenon_group_local_count(t->group),
                   first = tenon_group_first_rank(t->group);
    tenon_stream *streams[MOST_MEMBERS];
    float times[MOST_MEMBERS];
    for (uint32_t i = 0; i < local; i++) {
        const uint32_t rank = t->ranks[first + i];
        member *m = &own[rank - all->first];
        const double begin = seconds_now();
        streams[i] = m->r.n.stream;
        compute(m, t->buckets, i, tenon_shares_counts(shares)[rank], step, all->size, rank);
        if (measures)
            TRY(tenon_stream_finish(m->r.n.stream));
        times[i] = (float)(seconds_now() - begin);
    }
    TRY(tenon_buckets_finish(t->buckets, streams));
    for (uint32_t i = 0; i < local; i++) {
        member *m = &own[t->ranks[first + i] - all->first];
        replica_update(&m->r, tenon_buckets_gradients(t->buckets, i), step, RATE);
        if (measures) /* the next step begins with nothing left to do */
            TRY(tenon_stream_finish(streams[i]));
    }
    if (measures)
        record(all, shares, times);
}

/* Leaves members without samples out. */
static void leave(const members *all, team *t, const tenon_shares *shares)
{
    uint32_t ranks[MOST_MEMBERS], count = 0;
    for (uint32_t m = 0; m < all->size; m++)
        if (tenon_shares_counts(shares)[m] > 0)
            ranks[count++] = m;
    if (count == t->count)
        return;
    team_close(t);
    *t = team_open(all, count, ranks);
}

static void print_counts(const members *all, const tenon_shares *shares, uint64_t step)
{
    if (all->first > 0)
        return;
    printf("step %u, rows:", (unsigned)step);
    for (uint32_t m = 0; m < all->size; m++)
        printf(" %lld", (long long)tenon_shares_counts(shares)[m]);
    printf("%s\n", tenon_shares_is_fixed(shares) ? ", kept" : "");
}

/* Trains on the device alone with the same parts. A member is in the team if it has rows, or until
 * the step `fixed`. Compares the members that are left. */
static int compare(const members *all, const team *t, const member *own,
                   int64_t (*rows)[MOST_MEMBERS], uint64_t fixed)
{
    alone one = alone_open(all->alone, widths, LAYERS, BATCH);
    int failed = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        bool is_first = true;
        for (uint32_t m = 0; m < all->size; m++) {
            network n = network_rows(&one.r.n, rows[step][m]);
            if (rows[step][m] == 0 && step > fixed)
                continue;
            alone_part(&one, &n, step, all->size, m, (double)rows[step][m] / BATCH, is_first);
            is_first = false;
        }
        replica_update(&one.r, one.sums, step, RATE);
    }
    for (uint32_t i = 0; i < tenon_group_local_count(t->group); i++) {
        const uint32_t rank = t->ranks[tenon_group_first_rank(t->group) + i];
        const member *m = &own[rank - all->first];
        failed |= alone_report(&one, "member", rank,
                               alone_differences(&one, m->r.n.stream, 0, PARAMETERS, m->r.values));
    }
    alone_close(&one);
    return failed;
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, 2, true);
    static member own[MOST_MEMBERS];
    static int64_t rows[STEPS + 1][MOST_MEMBERS];
    const int slowness = argc > 1 ? atoi(argv[1]) : 8;
    uint32_t everyone[MOST_MEMBERS];
    tenon_shares *shares;
    uint64_t fixed = 0;
    for (uint32_t m = 0; m < all.size; m++)
        everyone[m] = m;
    for (uint32_t m = 0; m < all.local; m++)
        own[m] = (member){.r = replica_open(all.streams[m], widths, LAYERS, BATCH),
                          .times = all.first + m == all.size - 1 ? slowness : 1};
    TRY(tenon_shares_create(BATCH, all.size, NULL, &shares));
    team t = team_open(&all, all.size, everyone);
    for (uint64_t step = 1; step <= STEPS; step++) {
        const size_t size = all.size * sizeof **rows;
        memcpy(rows[step], tenon_shares_counts(shares), size);
        if (step == 1 || memcmp(rows[step], rows[step - 1], size) != 0)
            print_counts(&all, shares, step);
        if (!tenon_shares_is_fixed(shares))
            fixed = step;
        else if (step == fixed + 1)
            leave(&all, &t, shares);
        if (t.group != NULL)
            train(&all, &t, own, shares, step);
    }
    if (t.group != NULL)
        TRY(tenon_group_wait(t.group));
    print_counts(&all, shares, STEPS);
    const int failed = compare(&all, &t, own, rows, fixed) || !tenon_shares_is_fixed(shares);
    team_close(&t);
    tenon_shares_destroy(shares);
    for (uint32_t m = 0; m < all.local; m++)
        replica_close(&own[m].r);
    members_close(&all);
    return failed;
}
