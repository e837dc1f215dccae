/*
 * How long work takes: solvers count what they would do, one function turns counts into time by
 * the numbers of the device's kind. Times are compared among solvers; none is a promise.
 */
#ifndef TN_DEVICE_MODEL_H
#define TN_DEVICE_MODEL_H

#include "device/kind.h"

/* A device, to the model: its kind, and how much of it there is. */
typedef struct tn_model {
    const tn_device_kind *kind;
    double units;        /* compute units */
    uint64_t cache_size; /* bytes of the last cache, 0 where unknown */
} tn_model;

/* The units that multiply, for tn_kind_rates. */
typedef enum tn_rate { TN_RATE_F32, TN_RATE_F64, TN_RATE_MATRIX } tn_rate;

/* Bytes that a cache brings at once, at least. */
#define TN_LINE_BYTES 64

/* How neighbouring work-items read: side by side; a short row each, which a GPU's cache keeps; a
 * long one, of which nothing is left there at the next vector; elements that lie apart. */
typedef enum tn_reads { TN_COALESCED, TN_SHORT_ROWS, TN_LONG_ROWS, TN_SCATTERED } tn_reads;

/*
 * Launches one behind the other that do like work, in counts of all of them together. What is 0
 * takes no time; counts of elements and rows are a CPU's alone.
 */
typedef struct tn_work {
    double launches;
    bool follows; /* behind other launches of the same call */
    bool blocks;  /* they work on blocks in local memory, which a CPU's driver sets up */
    /* What runs side by side: work-groups, and work-items whose reads are under way. 0: enough for
     * any device. The last round of work-groups may leave compute units idle. */
    double groups, items;
    /* Multiply-adds with all that ragged tiles do in vain, and which share of the rate the inner
     * loop reaches; 0 is 1. Elements of matrix units have so many bits; vectors of f64 have half
     * the elements. */
    tn_rate rate;
    double multiply_adds, efficiency;
    uint32_t bits;
    /* Blocks of K that every work-group goes through, each of which waits for memory. 0: reads do
     * not wait for one another. */
    double steps;
    double scalar;       /* multiply-adds of single elements, or as much of plain code */
    double instructions; /* of a GPU, beside the multiply-adds: to find and move elements */
    /* While others multiply: to and from local memory; and what work-groups fetch of it from the
     * caches, each for itself. */
    double local_bytes, fetched_bytes;
    double vector_elements; /* read, or written, as part of whole vectors */
    double single_elements; /* alone */
    double rows;            /* begun */
    /* Read and written, from memory or from the last cache where they fit it. */
    double bytes;
    tn_reads reads;
    double reach; /* the share of that speed for reasons of the kernel's own; 0 is 1 */
} tn_work;

/* What the time of work is made of. */
typedef struct tn_work_parts {
    double total;                        /* nanoseconds, as the next three */
    double launching, computing, memory; /* of the last two the longer counts, for each work */
    double launches;
    double groups, rounds; /* work-groups, and rounds of one for each core; 0 where not counted */
} tn_work_parts;

tn_work_parts tn_work_parts_of(const tn_model *model, const tn_work *work);

/* Adds up; groups and rounds are those of the work that has the most of them. */
void tn_work_parts_add(tn_work_parts *sum, const tn_work_parts *more);

/* Nanoseconds: the total of the parts. */
double tn_work_time(const tn_model *model, const tn_work *work);

/* Parts of the device that have a work-group each: compute units, or the several of them that share
 * local memory. */
double tn_model_cores(const tn_model *model);

/* The work-items that keep the device's memory busy. */
double tn_model_items(const tn_model *model);

/* Of work-items that go through a row of so many bytes each. */
tn_reads tn_reads_of_row(double bytes);

#endif
