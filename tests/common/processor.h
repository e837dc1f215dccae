/* Simulated processors: they provide the times that measuring a real one would take. */
#ifndef TENON_TESTS_PROCESSOR_H
#define TENON_TESTS_PROCESSOR_H

#include "common/testing.h"
#include "device/host_times.h"

typedef struct processor {
    uint32_t units, lanes;
    uint64_t driver_cache; /* bytes of the last-level cache as reported by the driver; 0: unknown */
    uint64_t cache;        /* bytes of it that other guests of the machine leave free */
    double rate;           /* multiply-adds per nanosecond of one core */
    double memory;         /* bytes per nanosecond of all cores */
    double cache_speed;    /* bytes per nanosecond of one core */
    double pages, unaligned;
    /* Noise: the largest random increase of a time, as a fraction of it; and the maximum number of
     * repeats of a measurement in which the thread was interrupted. */
    double noise;
    int interrupted;
} processor;

/* The processor that processor_take measures, and the random source of its noise. */
typedef struct processor_here {
    processor is;
    test_random random;
    unsigned taken; /* number of measurements so far */
} processor_here;
extern processor_here processor_at_hand;

/* A desktop processor with 8 lanes and no noise. */
processor processor_usual(void);

/* Makes measurements use processor `p` in place of the real one. */
void processor_put(const processor *p, test_random random);

tn_host_timer processor_take;

#endif
