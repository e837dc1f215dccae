#include "summary.h"

#include <math.h>
#include <string.h>

/* Returns the time of a peer, or of the best peer from another library, over Tenon's; false if it
 * was not measured. */
static bool ratio_of(const bench_result *r, const char *peer, double *ratio)
{
    const bool best = strcmp(peer, "best") == 0;
    *ratio = INFINITY;
    for (uint32_t p = 0; p < r->peer_count; p++) {
        const bool counts =
            best ? strcmp(r->peers[p].name, "tenon-f32") != 0 : strcmp(r->peers[p].name, peer) == 0;
        if (counts)
            *ratio = fmin(*ratio, r->peers[p].median / r->wall.median);
    }
    return isfinite(*ratio);
}

static bool counts(const bench_result *r, double least_operations)
{
    return r->operations == 0 || r->operations >= least_operations;
}

static void add(bench_ratio *to, const bench_result *r, double ratio)
{
    if (to->cases == 0 || ratio < to->least) {
        to->least = ratio;
        to->least_at = r;
    }
    to->mean += log(ratio);
    to->cases++;
}

/* Returns true if the cases have the same device, suite and type. */
static bool is_alike(const bench_result *a, const bench_result *b)
{
    return a->device == b->device && a->dtype == b->dtype && strcmp(a->suite, b->suite) == 0;
}

/* Summarizes the ratios to one peer of the cases with the device, suite and type of `first`. */
static void summarize(const bench_result *results, uint32_t count, const bench_result *first,
                      const char *peer, double least_operations, bench_summary *summary)
{
    const bool best = strcmp(peer, "best") == 0;
    bench_ratio all = {first->device, first->suite, first->dtype, peer, 0, 0, 0, NULL};
    double ratio;
    for (uint32_t i = 0; i < count; i++)
        if (is_alike(&results[i], first) && (!best || counts(&results[i], least_operations)) &&
            ratio_of(&results[i], peer, &ratio))
            add(&all, &results[i], ratio);
    if (all.cases == 0 || summary->ratio_count == BENCH_MOST_RATIOS)
        return;
    all.mean = exp(all.mean / all.cases);
    summary->ratios[summary->ratio_count++] = all;
}

static bool is_first(const bench_result *results, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (is_alike(&results[i], &results[number]))
            return false;
    return true;
}

/* Inserts a case at the position of its ratio. */
static void place(const bench_result *r, double ratio, bench_summary *summary)
{
    uint32_t at = summary->slow_count;
    while (at > 0 && summary->slowest[at - 1].least > ratio)
        at--;
    if (at == BENCH_SLOWEST)
        return;
    if (summary->slow_count < BENCH_SLOWEST)
        summary->slow_count++;
    for (uint32_t i = summary->slow_count - 1; i > at; i--)
        summary->slowest[i] = summary->slowest[i - 1];
    summary->slowest[at] = (bench_ratio){r->device, r->suite, r->dtype, "best", 1, ratio, ratio, r};
}

void bench_summarize(const bench_result *results, uint32_t count, double least_operations,
                     bench_summary *summary)
{
    double ratio;
    memset(summary, 0, sizeof *summary);
    for (uint32_t i = 0; i < count; i++)
        if (is_first(results, i)) {
            for (size_t p = 0; p < BENCH_PEER_NAMES; p++)
                summarize(results, count, &results[i], bench_peer_names[p], least_operations,
                          summary);
            summarize(results, count, &results[i], "best", least_operations, summary);
        }
    for (uint32_t i = 0; i < count; i++)
        if (counts(&results[i], least_operations) && ratio_of(&results[i], "best", &ratio))
            place(&results[i], ratio, summary);
}
