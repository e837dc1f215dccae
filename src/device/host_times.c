#include "device/host_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set is in the caches if it is read at least this many times as fast as the largest one. */
#define CACHED 1.4
/* The last-level cache's speed is that of a set of at most 1 / WITHIN of its size, which leaves
 * room for other data. */
#define WITHIN 4
/* A piece that takes more than this many times the median was interrupted. */
#define INTERRUPTED 3

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts a copy of the repeats. */
static void sort(const double *times, uint32_t count, double sorted[TN_HOST_REPEATS])
{
    memcpy(sorted, times, count * sizeof *times);
    qsort(sorted, count, sizeof *sorted, compare);
}

static double least(const double *times, uint32_t count)
{
    double sorted[TN_HOST_REPEATS];
    sort(times, count, sorted);
    return sorted[0];
}

/* Returns the median; for an even number of repeats, the longer of the middle two. */
static double median(const double *times, uint32_t count)
{
    double sorted[TN_HOST_REPEATS];
    sort(times, count, sorted);
    return sorted[count / 2];
}

double tn_host_uninterrupted_mean(double *pieces, uint32_t count)
{
    double sum = 0;
    uint32_t kept = 0;
    qsort(pieces, count, sizeof *pieces, compare);
    const double most = INTERRUPTED * pieces[count / 2];
    for (; kept < count && pieces[kept] <= most; kept++)
        sum += pieces[kept];
    return sum / kept;
}

static bool are_times(const double *times, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(times[i] > 0) || !isfinite(times[i]))
            return false;
    return true;
}

static bool is_whole(const tn_host_times *t)
{
    if (t->threads == 0 || t->repeats == 0 || t->repeats > TN_HOST_REPEATS ||
        !(t->multiply_adds > 0) || !isfinite(t->multiply_adds))
        return false;
    for (uint32_t i = 0; i < t->sets; i++)
        if (!are_times(t->reads[i].nanoseconds, t->repeats) || t->reads[i].bytes == 0)
            return false;
    for (int i = 0; i < TN_HOST_PANELS; i++)
        if (!are_times(t->panels[i], t->repeats))
            return false;
    return true;
}

/* Returns element i of the nearest non-increasing list, by the min-max formula of isotonic
 * regression. */
static double fitted(const double *list, uint32_t count, uint32_t i)
{
    double least = INFINITY;
    for (uint32_t begin = 0; begin <= i; begin++) {
        double sum = 0, greatest = -INFINITY;
        for (uint32_t end = begin; end < count; end++) {
            sum += list[end];
            if (end >= i)
                greatest = fmax(greatest, sum / (end - begin + 1));
        }
        least = fmin(least, greatest);
    }
    return least;
}

/* Computes the bytes per nanosecond of all threads for each working set, from medians, since other
 * processes share the memory. A larger set cannot be faster: where measurements say so, the sets
 * get their geometric mean. */
static void speeds_of(const tn_host_times *t, double speeds[TN_HOST_SETS])
{
    double logarithms[TN_HOST_SETS];
    for (uint32_t i = 0; i < t->sets; i++)
        logarithms[i] =
            log((double)t->reads[i].bytes / median(t->reads[i].nanoseconds, t->repeats));
    for (uint32_t i = 0; i < t->sets; i++)
        speeds[i] = exp(fitted(logarithms, t->sets, i));
}

/* Returns the largest set that is in the caches, or the largest of all if none is read faster. */
static uint32_t last_cached(const double *speeds, uint32_t count)
{
    uint32_t i = count - 1;
    while (i > 0 && speeds[i] < CACHED * speeds[count - 1])
        i--;
    return speeds[i] < CACHED * speeds[count - 1] ? count - 1 : i;
}

/* Uses the fastest repeat, since other processes can only slow a core down. */
static double cache_speed(const tn_host_times *t, uint32_t cached)
{
    uint32_t i = cached;
    while (i > 0 && t->reads[i].bytes > t->reads[cached].bytes / WITHIN)
        i--;
    return (double)t->reads[i].bytes / least(t->reads[i].nanoseconds, t->repeats) / t->threads;
}

/* Returns the nearest power of two. */
static uint64_t power_of_two(uint64_t bytes)
{
    return (uint64_t)1 << (int)fmin(round(log2((double)bytes)), 63);
}

bool tn_host_speed_of(const tn_host_times *t, tn_host_speed *out)
{
    double speeds[TN_HOST_SETS], panels[TN_HOST_PANELS];
    if (t->sets == 0 || t->sets > TN_HOST_SETS || !is_whole(t))
        return false;
    speeds_of(t, speeds);
    for (int i = 0; i < TN_HOST_PANELS; i++)
        panels[i] = least(t->panels[i], t->repeats);
    const uint32_t cached = last_cached(speeds, t->sets);
    *out =
        (tn_host_speed){.rate = t->multiply_adds / panels[TN_HOST_PACKED],
                        .memory = speeds[t->sets - 1],
                        .cache = cache_speed(t, cached),
                        .cache_size = power_of_two(t->reads[cached].bytes),
                        .pages = fmin(panels[TN_HOST_PACKED] / panels[TN_HOST_PAGES], 1),
                        .unaligned = fmin(panels[TN_HOST_PACKED] / panels[TN_HOST_UNALIGNED], 1)};
    return true;
}
