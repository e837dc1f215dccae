/* Kinds of GPU that Tenon has parameters for. Which one a device is decides defaults and estimates
 * alone, never whether something works: that is tried (runtime/capability.h). */
#ifndef TN_RUNTIME_ARCH_H
#define TN_RUNTIME_ARCH_H

#include <stdint.h>

/* Named as the vendors' compilers name them. A device of a newer or a lesser kind is taken for the
 * nearest older one of its vendor. */
typedef enum tn_arch {
    TN_ARCH_OTHER,   /* CPUs, and GPUs that are none of these: the safe defaults */
    TN_ARCH_SM_75,   /* NVIDIA Turing */
    TN_ARCH_SM_80,   /* Ampere, data centre */
    TN_ARCH_SM_86,   /* Ampere */
    TN_ARCH_SM_89,   /* Ada */
    TN_ARCH_SM_90,   /* Hopper */
    TN_ARCH_SM_100,  /* Blackwell */
    TN_ARCH_GFX906,  /* AMD Vega 20 */
    TN_ARCH_GFX90A,  /* CDNA 2 */
    TN_ARCH_GFX942,  /* CDNA 3 */
    TN_ARCH_GFX1030, /* RDNA 2 */
    TN_ARCH_GFX1100, /* RDNA 3 */
    TN_ARCH_GFX1201, /* RDNA 4 */
    TN_ARCH_XE_LP,   /* Intel, without matrix units */
    TN_ARCH_XE_HPG,  /* Intel Arc */
    TN_ARCH_XE_HPC,  /* Intel data centre */
    TN_ARCH_COUNT
} tn_arch;

/* What estimates and defaults go by. All per compute unit as OpenCL counts them. */
typedef struct tn_arch_facts {
    const char *name;
    uint32_t lanes;                /* work-items that run in step; 0 where that is not known */
    uint32_t fma_per_cycle;        /* of f32, by the ordinary units */
    uint32_t group_units;          /* that share local memory: a work-group runs on all of them */
    uint32_t matrix_fma_per_cycle; /* of f16 or bf16, by matrix units; 0 where there are none */
    double clock;                  /* cycles in a nanosecond, of a usual card */
    double bytes_per_ns;           /* of its memory, the whole card's */
} tn_arch_facts;

const tn_arch_facts *tn_arch_facts_of(tn_arch arch);

/* The vendors' own ways to say what a device is. */
tn_arch tn_arch_of_nvidia(uint32_t major, uint32_t minor); /* its compute capability */
tn_arch tn_arch_of_amd(const char *name);                  /* "gfx90a:sramecc+:xnack-" */
tn_arch tn_arch_of_intel(uint32_t ip_version);             /* CL_DEVICE_IP_VERSION_INTEL */

#endif
