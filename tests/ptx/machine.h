/* Runs kernels of a PTX module, and finds what the PTX ISA does not allow. */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

#include "program.h"

/* Global memory at an address of the device. */
typedef struct ptx_buffer {
    uint64_t address, size;
    unsigned char *bytes;
} ptx_buffer;

typedef struct ptx_launch {
    const ptx_program *program;
    const ptx_function *kernel;
    uint32_t groups[3], items[3];
    const unsigned char *params; /* param_bytes of the kernel */
    const ptx_buffer *buffers;
    int buffer_count;
    uint64_t seed; /* of the order of groups and warps */
} ptx_launch;

/* How often what was interpreted, so that a test can tell that it has run. */
typedef struct ptx_counts {
    uint64_t instructions, products, copies, barriers;
} ptx_counts;

/* False with a message where a kernel does what it must not: reads or writes outside its memory,
 * races, takes what has not arrived. */
bool ptx_run(const ptx_launch *launch, ptx_counts *counts, char message[512]);

#endif
