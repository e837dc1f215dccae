/* Processors that are not there: the times that measuring one would take. */
#ifndef TENON_TESTS_PROCESSOR_H
#define TENON_TESTS_PROCESSOR_H

#include "common/testing.h"
#include "device/host_times.h"

typedef struct processor {
    uint32_t units, lanes;
    uint64_t driver_cache; /* bytes of the last cache as the driver has them; 0: not known */
    uint64_t cache;        /* that other guests leave */
    double rate;           /* multiply-adds a nanosecond of a core */
    double memory;         /* bytes a nanosecond of all cores */
    double cache_speed;    /* bytes a nanosecond of a core */
    double pages, unaligned;
    /* The most that a time is longer by chance, as a share of it; and of the repeats of a
     * measurement how many, at most, are those of a thread which was interrupted. */
    double noise;
    int interrupted;
} processor;

/* The processor that processor_take measures, and the source of its noise. */
typedef struct processor_here {
    processor is;
    test_random random;
    unsigned taken; /* how often it was measured */
} processor_here;
extern processor_here processor_at_hand;

/* A desktop processor of 8 lanes, without noise. */
processor processor_usual(void);

/* Puts a processor in the place of the one at hand. */
void processor_put(const processor *p, test_random random);

tn_host_timer processor_take;

#endif
