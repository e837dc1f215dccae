/*
 * Kinds of devices: how a device is recognized, its peak rates, the cost of the steps of kernels,
 * and the tiles that suit it. Kinds only determine defaults and estimates, never whether something
 * works; that is tried (runtime/probe/capability.h).
 *
 * kinds/NAME.json describes one kind with the names of the struct's members; "like" names the file
 * that supplies what is left out. To add a kind, add a file. "offline" is not part of the struct:
 * it says how the kind's kernels are compiled without a device (scripts/offline/machines.py).
 */
#ifndef TN_DEVICE_KIND_H
#define TN_DEVICE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Criteria by which devices of a kind are recognized. "Minimum" members: the kind with the largest
 * minimum that the device reaches is used. */
typedef struct tn_kind_match {
    uint32_t nvidia;    /* minimum compute capability times 10; 0: not NVIDIA */
    const char *amd[4]; /* prefixes of the name, such as "gfx94"; the longest match is used */
    const char *extensions[4]; /* any one of these vendor-specific extensions */
    uint32_t intel[4][2];      /* ranges of the IP version: architecture times 100 plus release */
    /* For a CPU: minimum vector width in f32 lanes; 0: not a CPU. Among kinds with the same width,
     * the minimum last-level cache size in bytes decides. */
    uint32_t cpu_lanes;
    uint64_t cpu_cache;
} tn_kind_match;

/* Multiply-adds per nanosecond of a compute unit as counted by CL_DEVICE_MAX_COMPUTE_UNITS (a pair
 * of units on AMD's RDNA, a vector engine of Intel): for a CPU with full vectors in a good loop,
 * for a GPU the peak. Rates of matrix units are 0 if there are none. */
typedef struct tn_kind_rates {
    double f32, f64;
    double matrix_16; /* f16 or bf16; twice as many for 8-bit integers */
    double matrix_32; /* f32 or TF32 */
    /* Single elements, including address computation: plain code of a work-item. */
    double scalar;
} tn_kind_rates;

/* Nanoseconds of a CPU core for steps other than multiply-adds. */
typedef struct tn_kind_steps {
    double vector_element; /* per f32 element read or written as part of a whole vector */
    double single_element; /* per element read or written individually */
    double row;            /* per row begun: its address, its edges, its remainder */
} tn_kind_steps;

/* Memory speeds in bytes per nanosecond, and the fraction that GPU kernels reach for each access
 * pattern of their work-items. */
typedef struct tn_kind_memory {
    double bandwidth; /* of the whole device */
    double cache;     /* of a compute unit if all data fits into the last-level cache; 0:
                       * unknown */
    double local;     /* of a compute unit's local memory; 0: unknown */
    double latency;   /* nanoseconds */
    double coalesced;
    double short_rows; /* each work-item reads a short row of its own, whose lines stay cached */
    double long_rows;  /* each reads a long row, whose lines are evicted before the next vector */
    double scattered;
    uint32_t items; /* work-items per compute unit that hide the latency */
    /* For GPU kernels that stream from memory to memory: the work-group size, and the number of
     * 16-byte vectors that each work-item has in flight, for one tensor or two. */
    uint32_t group, vectors;
} tn_kind_memory;

/* Figures that choices depend on although no vendor publishes them and nobody has measured them on
 * a device of the kind: guesses, or measurements by others, which `./run gpu` is to replace. For
 * GPUs. */
typedef struct tn_kind_assumed {
    const char *source; /* of these figures only */
    double core_share; /* maximum read rate of a core, in multiples of its share of the bandwidth */
    double fetching;   /* speed, relative to memory, at which work-groups fetch data from the
                        * last-level cache that other work-groups fetch as well */
    /* Instructions besides the products of matrix units: per row and column of a warp's tile and
     * step of K, read from local memory; per factor element loaded to local memory through
     * registers; and per 16-byte vector copied asynchronously. */
    double reading, loading, copying;
    double mma; /* fraction of the matrix units' rate that instructions other than wgmma reach */
    /* Convolutions as implicit GEMM: instructions in each step of K for each line of the block,
     * beyond those of gemm/tiled (forward only); the highest fraction of the matrix units' rate
     * that gathering the image permits. */
    double gathering, gathered;
} tn_kind_assumed;

/* Fractions of a CPU's rate that remain for an inner loop that reads its panel of b in place: from
 * rows that begin whole pages apart, which compete for a few cache sets, and from rows that begin
 * within cache lines. 1 for packed rows. */
typedef struct tn_kind_in_place {
    double pages, unaligned;
} tn_kind_in_place;

/* Fractions of the measurements of device/host_speed.h that good CPU kernels reach. */
typedef struct tn_kind_reached {
    double rate, memory, cache;
} tn_kind_reached;

typedef struct tn_kind_launch {
    /* Nanoseconds of a launch, of a launch after another one, and the extra cost of one that works
     * on blocks. */
    double first, next, blocks;
} tn_kind_launch;

/* A block of gemm/tiled and similar kernels: mb, nb, kb, mr, nr, lb. The estimate selects one from
 * the list for each problem, the first of equals. A list that is not full ends with a block of 0.
 */
enum { TN_KIND_TILES = 5 };
typedef struct tn_kind_tile {
    int16_t mb, nb, kb, mr, nr, lb;
} tn_kind_tile;

typedef struct tn_kind_tiled {
    tn_kind_tile f32[TN_KIND_TILES]; /* also for 16-bit types, which accumulate in f32 */
    tn_kind_tile f64[TN_KIND_TILES];
    /* For kernels that need registers besides the sums. */
    tn_kind_tile small[TN_KIND_TILES];
} tn_kind_tiled;

/* A block of matrix units and its grid of warps: mb, nb, wm, wn; and the bytes of K in a line if
 * not 64. */
typedef struct tn_kind_block {
    int16_t mb, nb, wm, wn, line;
} tn_kind_block;

enum { TN_KIND_BLOCKS = 8 };
typedef struct tn_kind_matrix {
    tn_kind_block blocks[TN_KIND_BLOCKS]; /* listed like tiles */
    double efficiency; /* fraction of the units' rate that a kernel reaches, apart from its reads */
} tn_kind_matrix;

/* A register tile of a CPU product, and the time of a multiply-add relative to the best tile. */
typedef struct tn_kind_cpu_tile {
    int16_t mr, vectors;
    double time;
} tn_kind_cpu_tile;

/* A typical device of the kind, for lists of kernels and tests without a device. */
typedef struct tn_kind_usual {
    uint32_t compute_units, max_work_group, least_sub_group;
    uint64_t memory, cache, local_memory; /* in bytes */
    /* Actual bytes of local memory: of an array, of an argument, and of an array enlarged in PTX
     * (runtime/probe/local_memory.h). An array has `local_memory` if `local_array` is smaller. */
    uint64_t local_array, local_argument, local_enlarged;
    const char *capabilities[16]; /* names as printed by `tenon devices -v` */
    const char *second_forms[4];  /* those present in their second form */
} tn_kind_usual;

typedef struct tn_device_kind {
    const char *name;
    const char *source; /* of the figures */
    tn_kind_match match;
    uint32_t lanes;            /* f32 lanes of a CPU's vectors */
    uint32_t vector_registers; /* of a CPU */
    /* For a GPU: registers per hardware thread that register-heavy kernels request; 0: the
     * compiler decides. */
    uint32_t registers;
    uint32_t
        group_units; /* compute units that share local memory and together run one work-group */
    tn_kind_rates rates;
    tn_kind_steps steps;
    tn_kind_memory memory;
    tn_kind_in_place in_place;
    tn_kind_reached reached;
    tn_kind_assumed assumed;
    tn_kind_launch launch;
    tn_kind_tiled tiled;
    tn_kind_matrix matrix, wgmma;
    tn_kind_matrix copied;         /* instead of `matrix` if blocks are copied to local memory
                                    * asynchronously */
    tn_kind_cpu_tile cpu_tiles[4]; /* the first that is best for a shape is used; ends with
                                    * `vectors` 0 */
    int16_t cpu_rows[4]; /* rows of register tiles of 1 to 4 vectors, for kernels that pack both
                          * factors */
    tn_kind_usual usual;
} tn_device_kind;

/* All kinds, ordered by name. */
extern const tn_device_kind tn_device_kinds[];
extern const size_t tn_device_kind_count;

static inline bool tn_device_kind_is_cpu(const tn_device_kind *kind)
{
    return kind->match.cpu_lanes != 0;
}

/* Returns the kind of this name, or NULL. */
const tn_device_kind *tn_device_kind_named(const char *name);

/* Returns the kind of an unknown GPU. */
const tn_device_kind *tn_device_kind_other(void);

/* Return the kind by the vendor's identification. A newer or lesser device is treated as the
 * nearest older kind of its vendor. */
const tn_device_kind *tn_device_kind_of_nvidia(uint32_t major, uint32_t minor);
const tn_device_kind *tn_device_kind_of_amd(const char *name);
const tn_device_kind *tn_device_kind_of_intel(uint32_t ip_version);
/* Returns the kind by the device's blank-separated extensions; NULL if none identifies a kind. */
const tn_device_kind *tn_device_kind_of_extensions(const char *words);
const tn_device_kind *tn_device_kind_of_cpu(uint32_t vector_width_f32, uint64_t last_cache);

/* The same among `count` kinds. */
const tn_device_kind *tn_device_kind_of_cpu_among(const tn_device_kind *kinds, size_t count,
                                                  uint32_t vector_width_f32, uint64_t last_cache);

#endif
