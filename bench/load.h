/* The load of the machine while a case is measured, as the system reports it (/proc/stat). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>

/* Processor time since the system started, in clock ticks, over all processors. */
typedef struct bench_ticks {
    bool known; /* false where the system does not report it; the rest is 0 then */
    double all, busy, steal;
    double own; /* of this process and its descendants, included in busy */
} bench_ticks;

/* Shares of all processors' time between two readings. */
typedef struct bench_load {
    bool known;   /* false where the system does not report it, or the time was too short */
    double other; /* work of other processes */
    double steal; /* time in which the hypervisor ran other guests */
} bench_load;

bench_ticks bench_ticks_now(void);
bench_load bench_load_between(const bench_ticks *begin, const bench_ticks *end);

/* Returns true if the load exceeds the limits within which a measurement counts as undisturbed:
 * 10 % of the processors' time for other processes, 2 % stolen. */
bool bench_is_disturbed(const bench_load *load);

/* Returns the folder that stands for /proc or /sys: that of the variable TENON_BENCH_PROC or
 * TENON_BENCH_SYS, which tests set, otherwise the system's. */
const char *bench_proc(void);
const char *bench_sys(void);

#endif
