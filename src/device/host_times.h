/*
 * From times of a processor to the numbers that the device model needs. Pure functions of a table
 * of times: device/host_speed.c fills it in on the processor at hand, tests on imaginary ones.
 */
#ifndef TN_DEVICE_HOST_TIMES_H
#define TN_DEVICE_HOST_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Working sets from TN_HOST_LEAST_SET bytes on, each twice the one before, and the repeats of each
 * measurement. The largest set is 256 MiB. */
#define TN_HOST_LEAST_SET ((uint64_t)1 << 20)
enum { TN_HOST_SETS = 9, TN_HOST_REPEATS = 5 };

/* How the panel of a product's inner loop lies in memory: packed, its rows one behind the other; at
 * rows that begin two pages apart; at rows that begin within cache lines. */
typedef enum tn_host_panel {
    TN_HOST_PACKED,
    TN_HOST_PAGES,
    TN_HOST_UNALIGNED,
    TN_HOST_PANELS
} tn_host_panel;

/* Nanoseconds, each of the slowest of the threads that measure together. */
typedef struct tn_host_times {
    uint32_t threads;
    uint32_t sets, repeats; /* that were measured; at least one of each */
    struct {
        uint64_t bytes;                      /* of all threads together */
        double nanoseconds[TN_HOST_REPEATS]; /* to read all of them once */
    } reads[TN_HOST_SETS];
    double multiply_adds; /* of f32, of one thread in each of these times */
    double panels[TN_HOST_PANELS][TN_HOST_REPEATS];
} tn_host_times;

typedef struct tn_host_speed {
    /* Multiply-adds of f32 in a nanosecond of a core, where all cores work: of a product's inner
     * loop at a depth of K whose packed panel is in the second cache. */
    double rate;
    /* Bytes in a nanosecond: from memory, of all cores together; from the last cache, of each. */
    double memory, cache;
    /* Bytes that all cores together read again faster than from memory: the part of the last cache
     * that is theirs, with the caches before it. A power of two. The largest working set where no
     * speed has dropped up to it: at least so much. */
    uint64_t cache_size;
    /* Shares of `rate` that are left where the panel is read from rows that begin pages apart, and
     * from rows that begin within cache lines; at most 1. */
    double pages, unaligned;
} tn_host_speed;

/* Fills in a table by so many threads and vectors of so many f32, with at most `most_bytes` of
 * memory; false where it cannot. tn_host_times_take is one. */
typedef bool tn_host_timer(uint32_t threads, uint32_t lanes, uint64_t most_bytes,
                           tn_host_times *out);

/* The mean of the pieces of one work, without those in which its thread was interrupted. At least
 * one piece; sorts them. */
double tn_host_undisturbed(double *pieces, uint32_t count);

/* False where the table has no times, or times that are not positive and finite. */
bool tn_host_speed_of(const tn_host_times *times, tn_host_speed *out);

#endif
