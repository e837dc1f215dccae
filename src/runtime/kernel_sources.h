/* The embedded kernel sources, a table that cl_kernels/embed.py writes at build time. */
#ifndef TN_RUNTIME_KERNEL_SOURCES_H
#define TN_RUNTIME_KERNEL_SOURCES_H

#include <stddef.h>
#include <stdint.h>

struct tenon_kernel_source {
    const char *name; /* the file's path below cl_kernels without its ending: "gemm/plain" */
    const unsigned char *data; /* with every include expanded; terminated */
    size_t length;             /* without the terminator */
    uint64_t hash;             /* FNV-1a of the text */
};

extern const struct tenon_kernel_source tenon_kernel_sources[]; /* sorted by name */
extern const size_t tenon_kernel_source_count;

#endif
