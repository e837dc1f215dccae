#include "device/copy_speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Minimum time of a repeat in nanoseconds; maximum copies per repeat; and maximum time of the first
 * copy, beyond which repeats would take too long. */
#define MIN_TIME   3e6
#define MAX_COPIES 64
#define MAX_TIME   2.5e8
/* Maximum ratio of the third quartile to the first. */
#define MAX_SPREAD 1.3
/* Plausible range in bytes per nanosecond: maximum of the whole device, maximum per compute unit
 * (128 bytes per cycle at 4 GHz), and minimum. */
#define MAX_SPEED 32768.0
#define MAX_UNIT  512.0
#define MIN_SPEED 0.1
/* The correction is 2^(n / STEPS) with |n| at most MAX_STEPS. */
#define STEPS     4
#define MAX_STEPS 24

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

bool tn_copy_speed_of(const double *nanoseconds, int count, double bytes, double units,
                      double *speed)
{
    double sorted[TN_COPY_REPEATS];
    if (count < 1 || count > TN_COPY_REPEATS)
        return false;
    for (int i = 0; i < count; i++)
        if (!(nanoseconds[i] > 0) || !isfinite(nanoseconds[i]))
            return false;
    memcpy(sorted, nanoseconds, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    const double found = bytes / sorted[count / 2];
    if (sorted[3 * count / 4] > MAX_SPREAD * sorted[count / 4] || !(found >= MIN_SPEED) ||
        found > fmin(MAX_SPEED, MAX_UNIT * units))
        return false;
    *speed = found;
    return true;
}

bool tn_copy_speed_measure(const tn_copy_probe *probe, double *speed)
{
    double times[TN_COPY_REPEATS], first = 0;
    /* The first run compiles the kernel and maps the memory; the second gives the time of a copy.
     */
    for (int i = 0; i < 2; i++)
        if (!probe->run(probe->user, 1, &first))
            return false;
    if (!(first > 0) || first > MAX_TIME)
        return false;
    const double copies = fmax(1, fmin(ceil(MIN_TIME / first), MAX_COPIES));
    for (int i = 0; i < TN_COPY_REPEATS; i++)
        if (!probe->run(probe->user, (uint32_t)copies, &times[i]))
            return false;
    return tn_copy_speed_of(times, TN_COPY_REPEATS, copies * probe->bytes, probe->units, speed);
}

void tn_copy_speed_apply(const tn_device_kind *kind, double speed, tn_device_kind *out)
{
    const double factor = speed / (kind->memory.bandwidth * kind->memory.coalesced),
                 steps = fmax(fmin(nearbyint(STEPS * log2(factor)), MAX_STEPS), -MAX_STEPS);
    *out = *kind;
    if (steps != 0)
        out->memory.bandwidth *= exp2(steps / STEPS);
}
