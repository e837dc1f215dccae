/* Runs kernels of a PTX module and reports violations of the PTX ISA. */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

#include "program.h"

/* Global memory at a device address. */
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
    uint64_t seed; /* determines the order of work-groups and warps */
} ptx_launch;

/* Numbers of executed operations, so that a test can check what has run. */
typedef struct ptx_counts {
    uint64_t instructions, products, copies, barriers;
} ptx_counts;

/* Runs a kernel. Returns false with a message on an error: accesses outside its memory, data races,
 * or use of data still in flight. */
bool ptx_run(const ptx_launch *launch, ptx_counts *counts, char message[512]);

#endif
