/* The embedded kernel sources: tables that cl_kernels/embed.py writes at build time, and programs'
 * texts put together from them. */
#ifndef TN_RUNTIME_PROGRAM_KERNEL_SOURCES_H
#define TN_RUNTIME_PROGRAM_KERNEL_SOURCES_H

#include <stddef.h>

struct tenon_kernel_file {
    const char *name; /* its path below the root: "gemm/plain.cl" */
    const char *text; /* without comments; each #include is of another file's name */
    size_t length;    /* of the text */
};

struct tenon_kernel_sources {
    const char *root;                      /* what a build log shows before the names */
    const struct tenon_kernel_file *files; /* sorted by name */
    size_t count;
};

extern const struct tenon_kernel_sources tenon_kernel_sources;

/* The file of a kernel source by its name without ".cl": "gemm/plain"; NULL where there is none. */
const struct tenon_kernel_file *tn_kernel_file(const struct tenon_kernel_sources *sources,
                                               const char *kernel);

/* All of a program: the file with every include in its place, the first time that it is named, and
 * #line directives by which build logs point at the files. The caller frees it; NULL without
 * memory. */
char *tn_kernel_text(const struct tenon_kernel_sources *sources,
                     const struct tenon_kernel_file *file, size_t *length);

#endif
