/*
 * What Tenon knows of kinds of devices before anything is measured on one: which device is of a
 * kind, what it can do at best, what the steps of kernels cost it, and which tiles suit it. All of
 * it decides defaults and estimates alone, never whether something works: that is tried
 * (runtime/probe/capability.h).
 *
 * kinds/NAME.json has one kind, with the names of the struct's fields; "like" names the file that
 * has what it leaves out. A new kind of device is a new file. "offline" is not part of the struct:
 * it says how the kind's kernels are compiled without a device (scripts/offline/machines.py).
 */
#ifndef TN_DEVICE_KIND_H
#define TN_DEVICE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which devices are of a kind. Where a number and beyond are, the kind with the largest that a
 * device reaches. */
typedef struct tn_kind_match {
    uint32_t nvidia;           /* compute capability times 10, and beyond; 0: not NVIDIA's */
    const char *amd[4];        /* how the name begins, as "gfx94"; the longest beginning decides */
    const char *extensions[4]; /* one of these, of those that its vendor alone has */
    uint32_t intel[4][2]; /* from and to: architecture times 100 and release of the IP version */
    /* A CPU with vectors of so many f32, and beyond; 0: not a CPU. Of kinds with the same lanes the
     * last cache decides in the same way: bytes, and beyond. */
    uint32_t cpu_lanes;
    uint64_t cpu_cache;
} tn_kind_match;

/* Multiply-adds in a nanosecond of a compute unit as CL_DEVICE_MAX_COMPUTE_UNITS counts them (a
 * pair of AMD's on RDNA, a vector engine of Intel's): of a CPU in full vectors as a good loop
 * reaches them; of a GPU at best. Matrix units' are 0 where there are none. */
typedef struct tn_kind_rates {
    double f32, f64;
    double matrix_16; /* of f16 or bf16; twice as many of bytes */
    double matrix_32; /* of f32 or tf32 */
    /* Of single elements, with what finds them: a work-item's plain code. */
    double scalar;
} tn_kind_rates;

/* Nanoseconds of a CPU's core, beside multiply-adds. */
typedef struct tn_kind_steps {
    double vector_element; /* of f32, read or written as part of a vector that is loaded whole */
    double single_element; /* read or written alone */
    double row;            /* beginning one: where it lies, its edges, its ragged end */
} tn_kind_steps;

/* Memory in bytes a nanosecond, and which share of it kernels of a GPU reach by how their
 * work-items read. */
typedef struct tn_kind_memory {
    double bandwidth;    /* of the whole device */
    double cache;        /* of a compute unit, where all fits the last cache; 0: not known */
    double local;        /* of a compute unit, its local memory; 0: not known */
    double latency;      /* nanoseconds until it answers */
    double side_by_side; /* neighbours read neighbours */
    double short_rows;   /* each goes through a short row of its own, whose lines the cache keeps */
    double long_rows;    /* through a long one, of which nothing is left at the next vector */
    double apart;        /* elements lie apart */
    uint32_t items;      /* work-items of a compute unit that cover the latency */
    /* Of kernels of GPUs that stream from memory to memory: work-items of a group, and vectors of
     * 16 bytes that each has on their way at once, of one tensor or two. */
    uint32_t group, vectors;
} tn_kind_memory;

/* What choices hang on though no vendor says it and nobody has measured it on a device of the kind:
 * guesses, or others' measurements, that `./run gpu` is to replace. Of GPUs. */
typedef struct tn_kind_assumed {
    const char *source; /* of these figures alone */
    double core_share;  /* so many times its share of the bandwidth a core reads at most */
    double fetching; /* so much faster than from memory work-groups fetch from the last cache what
                      * others fetch as well */
    /* Instructions beside the products of matrix units: for each row and column of a warp's tile
     * and each step of K, which is read from local memory; for each element of a factor that is
     * brought there, and for each vector of 16 bytes that is copied past the registers. */
    double reading, bringing, copying;
    double mma; /* of the matrix units' rate, what instructions other than wgmma can reach */
} tn_kind_assumed;

/* Shares of a CPU's rate that are left to a product's inner loop which reads its panel of b in
 * place: from rows that begin whole pages apart, which compete for few sets of the caches; and from
 * rows that begin within cache lines. 1 where rows are packed. */
typedef struct tn_kind_in_place {
    double pages, unaligned;
} tn_kind_in_place;

/* What good kernels of a CPU reach of what device/host_speed.h measures. */
typedef struct tn_kind_reached {
    double rate, memory, cache;
} tn_kind_reached;

typedef struct tn_kind_launch {
    /* Nanoseconds of a launch, of one that is behind another, and more where it works on blocks. */
    double first, next, blocks;
} tn_kind_launch;

/* A block of gemm/tiled and its like: mb, nb, kb, mr, nr, lb. Of lists the estimate takes one for
 * each problem, the first of equals; those that are not full end with blocks of 0. */
enum { TN_KIND_TILES = 5 };
typedef struct tn_kind_tile {
    int16_t mb, nb, kb, mr, nr, lb;
} tn_kind_tile;

typedef struct tn_kind_tiled {
    tn_kind_tile f32[TN_KIND_TILES]; /* of 16-bit types too, which are added up in f32 */
    tn_kind_tile f64[TN_KIND_TILES];
    /* For kernels that need registers beside the sums. */
    tn_kind_tile small[TN_KIND_TILES];
} tn_kind_tiled;

/* A block of matrix units and its grid of warps: mb, nb, wm, wn; and, where they are not 64, how
 * many bytes of K a line of it has. */
typedef struct tn_kind_block {
    int16_t mb, nb, wm, wn, line;
} tn_kind_block;

enum { TN_KIND_BLOCKS = 8 };
typedef struct tn_kind_matrix {
    tn_kind_block blocks[TN_KIND_BLOCKS]; /* as tiles are listed */
    double efficiency; /* of the units' rate, what a kernel reaches beside its reads */
} tn_kind_matrix;

/* A register tile of a CPU's product, and the time of a multiply-add beside the best one's. */
typedef struct tn_kind_cpu_tile {
    int16_t mr, vectors;
    double time;
} tn_kind_cpu_tile;

/* A usual device of the kind, for lists of kernels and for tests where there is none. */
typedef struct tn_kind_usual {
    uint32_t compute_units, max_work_group, least_sub_group;
    uint64_t memory, cache, local_memory; /* bytes */
    /* Bytes of local memory in truth: of an array, of an argument, and of an array enlarged in PTX
     * (runtime/probe/local_memory.h); an array has `local_memory` where it says less. */
    uint64_t local_array, local_argument, local_enlarged;
    const char *capabilities[16]; /* by the names that `tenon devices -v` prints */
    const char *second_forms[4];  /* of which it has the second form */
} tn_kind_usual;

typedef struct tn_device_kind {
    const char *name;
    const char *source; /* of the figures */
    tn_kind_match match;
    uint32_t lanes;            /* f32 of a CPU's vectors */
    uint32_t vector_registers; /* of a CPU */
    /* Of a GPU: registers of a hardware thread that kernels ask for which keep more than others; 0:
     * as many as the compiler takes. */
    uint32_t registers;
    uint32_t group_units; /* compute units that share local memory: a work-group has all of them */
    tn_kind_rates rates;
    tn_kind_steps steps;
    tn_kind_memory memory;
    tn_kind_in_place in_place;
    tn_kind_reached reached;
    tn_kind_assumed assumed;
    tn_kind_launch launch;
    tn_kind_tiled tiled;
    tn_kind_matrix matrix, wgmma;
    tn_kind_matrix copied; /* of `matrix` where blocks reach local memory past the registers */
    tn_kind_cpu_tile cpu_tiles[4]; /* the first that is best for a shape; ends with vectors of 0 */
    int16_t
        cpu_rows[4]; /* of register tiles of 1 to 4 vectors, for kernels that pack both factors */
    tn_kind_usual usual;
} tn_device_kind;

/* All kinds, in the order of their names. */
extern const tn_device_kind tn_device_kinds[];
extern const size_t tn_device_kind_count;

static inline bool tn_device_kind_is_cpu(const tn_device_kind *kind)
{
    return kind->match.cpu_lanes != 0;
}

/* The kind of that name; NULL where there is none. */
const tn_device_kind *tn_device_kind_named(const char *name);

/* Of a GPU of which nothing is known. */
const tn_device_kind *tn_device_kind_other(void);

/* By the vendors' own ways to say what a device is; a newer or a lesser one is taken for the
 * nearest older kind of its vendor. */
const tn_device_kind *tn_device_kind_of_nvidia(uint32_t major, uint32_t minor);
const tn_device_kind *tn_device_kind_of_amd(const char *name);
const tn_device_kind *tn_device_kind_of_intel(uint32_t ip_version);
/* By the device's extensions, between blanks; NULL where none of them says a kind. */
const tn_device_kind *tn_device_kind_of_extensions(const char *words);
const tn_device_kind *tn_device_kind_of_cpu(uint32_t vector_width_f32, uint64_t last_cache);

/* The same among `count` kinds. */
const tn_device_kind *tn_device_kind_of_cpu_among(const tn_device_kind *kinds, size_t count,
                                                  uint32_t vector_width_f32, uint64_t last_cache);

#endif
