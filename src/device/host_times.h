/* Conversion of measured times of a processor to constants of the device model. Pure functions of
 * a table of times: device/host_speed.c fills it in on the processor in use, tests on imaginary
 * ones. */
#ifndef TN_DEVICE_HOST_TIMES_H
#define TN_DEVICE_HOST_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Number of working sets, from TN_HOST_MIN_SET bytes, each twice the previous one, up to 256
 * MiB; and of repeats of each measurement. */
#define TN_HOST_MIN_SET ((uint64_t)1 << 20)
enum { TN_HOST_SETS = 9, TN_HOST_REPEATS = 5 };

/* Memory layout of the panel in a product's inner loop: packed, with contiguous rows; rows that
 * begin two pages apart; rows that begin within cache lines. */
typedef enum tn_host_panel {
    TN_HOST_PACKED,
    TN_HOST_PAGES,
    TN_HOST_UNALIGNED,
    TN_HOST_PANELS
} tn_host_panel;

/* Times in nanoseconds, each of the slowest of the concurrent threads. */
typedef struct tn_host_times {
    uint32_t threads;
    uint32_t sets, repeats; /* number measured; at least one of each */
    struct {
        uint64_t bytes;                      /* of all threads together */
        double nanoseconds[TN_HOST_REPEATS]; /* to read all of them once */
    } reads[TN_HOST_SETS];
    double multiply_adds; /* f32 multiply-adds of one thread in each of these times */
    double panels[TN_HOST_PANELS][TN_HOST_REPEATS];
} tn_host_times;

typedef struct tn_host_speed {
    /* f32 multiply-adds per nanosecond of one core while all cores work: the inner loop of a
     * product whose packed panel is in the second-level cache. */
    double rate;
    /* Bytes per nanosecond: from memory by all cores together; from the last-level cache by each
     * core. */
    double memory, cache;
    /* Bytes that all cores together re-read faster than from memory: their part of the last-level
     * cache, including the caches before it. A power of two; the largest working set if the speed
     * has not dropped up to it, so at least that much. */
    uint64_t cache_size;
    /* Fractions of `rate` that remain if the panel is read from rows that begin pages apart, and
     * from rows that begin within cache lines; at most 1. */
    double pages, unaligned;
} tn_host_speed;

/* Fills in a table with this many threads, vectors of `lanes` f32 and at most `most_bytes` of
 * memory. Returns false on failure. tn_host_times_take is one. */
typedef bool tn_host_timer(uint32_t threads, uint32_t lanes, uint64_t most_bytes,
                           tn_host_times *out);

/* Returns the mean of the pieces of one piece of work, excluding those during which the thread was
 * interrupted. Needs at least one piece; sorts them. */
double tn_host_uninterrupted_mean(double *pieces, uint32_t count);

/* Returns false if the table has no times, or times that are not positive and finite. */
bool tn_host_speed_of(const tn_host_times *times, tn_host_speed *out);

#endif
