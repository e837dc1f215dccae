/* The device model: solvers count their work, and one function converts the counts to time with
 * the constants of the device's kind. Times are only compared among solvers. */
#ifndef TN_DEVICE_MODEL_H
#define TN_DEVICE_MODEL_H

#include "device/kind.h"

/* A device as the model sees it: its kind and size. */
typedef struct tn_model {
    const tn_device_kind *kind;
    double units;        /* compute units */
    uint64_t cache_size; /* last-level cache in bytes, 0 if unknown */
} tn_model;

/* The units that multiply, for tn_kind_rates. */
typedef enum tn_rate { TN_RATE_F32, TN_RATE_F64, TN_RATE_MATRIX } tn_rate;

/* Minimum number of bytes that a cache loads at once. */
#define TN_LINE_BYTES 64

/* Access pattern of adjacent work-items: coalesced; each in a short row of its own, which stays in
 * a GPU's cache; each in a long row, evicted before the next vector; scattered elements. */
typedef enum tn_reads { TN_COALESCED, TN_SHORT_ROWS, TN_LONG_ROWS, TN_SCATTERED } tn_reads;

/* A sequence of similar launches, with the counts of all of them together. Counts of 0 take no
 * time. Counts of elements and rows apply to CPUs only. */
typedef struct tn_work {
    double launches;
    bool follows; /* follows other launches of the same call */
    bool blocks;  /* works on blocks in local memory, which a CPU's driver sets up */
    /* Parallelism: work-groups, and work-items with reads in flight. 0: enough for any device. The
     * last round of work-groups may leave compute units idle. */
    double groups, items;
    /* Multiply-adds, including those wasted by ragged tiles, and the fraction of the rate that the
     * inner loop reaches (0 means 1). `bits` is the element size on matrix units; vectors of f64
     * have half the elements. */
    tn_rate rate;
    double multiply_adds, efficiency;
    uint32_t bits;
    /* Blocks of K that every work-group processes, each of which waits for memory. 0: reads do not
     * wait for each other. */
    double steps;
    double scalar;       /* multiply-adds on single elements, or equivalent plain code */
    double instructions; /* of a GPU, besides multiply-adds: address computation and moves */
    /* Concurrent with multiply-adds: bytes to and from local memory, and bytes that each
     * work-group fetches for itself from the caches. */
    double local_bytes, fetched_bytes;
    double vector_elements; /* read or written as part of whole vectors */
    double single_elements; /* read or written individually */
    double rows;            /* begun */
    /* Read and written, from memory or from the last-level cache if they fit there. */
    double bytes;
    tn_reads reads;
    double reach; /* fraction of that speed that the kernel itself allows; 0 means 1 */
} tn_work;

/* Components of the time of work. */
typedef struct tn_work_parts {
    double total;                        /* nanoseconds, like the next three */
    double launching, computing, memory; /* of the last two the larger counts, for each piece of
                                          * work */
    double launches;
    double groups, rounds; /* work-groups, and rounds with one per core; 0 if not counted */
} tn_work_parts;

tn_work_parts tn_work_parts_of(const tn_model *model, const tn_work *work);

/* Adds up the components; groups and rounds are those of the work with the most. */
void tn_work_parts_add(tn_work_parts *sum, const tn_work_parts *more);

/* Returns the total in nanoseconds. */
double tn_work_time(const tn_model *model, const tn_work *work);

/* Returns the number of cores, each of which runs one work-group: compute units, or sets of them
 * that share local memory. */
double tn_model_cores(const tn_model *model);

/* Returns the number of work-items that saturate the device's memory. */
double tn_model_items(const tn_model *model);

/* Returns the access pattern of work-items that each read a row of this many bytes. */
tn_reads tn_reads_of_row(double bytes);

#endif
