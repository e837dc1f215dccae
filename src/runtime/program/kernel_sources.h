/* The embedded kernel sources: tables that cl_kernels/embed.py generates at build time, and the
 * assembly of a program's source from them. */
#ifndef TN_RUNTIME_PROGRAM_KERNEL_SOURCES_H
#define TN_RUNTIME_PROGRAM_KERNEL_SOURCES_H

#include <stddef.h>

struct tenon_kernel_file {
    const char *name; /* path below the root: "gemm/plain.cl" */
    const char *text; /* without comments; each #include names another file of the table */
    size_t length;    /* of the text */
};

struct tenon_kernel_sources {
    const char *root;                      /* prefix of the names in build logs */
    const struct tenon_kernel_file *files; /* sorted by name */
    size_t count;
};

extern const struct tenon_kernel_sources tenon_kernel_sources;

/* Returns the file of a kernel source by its name without ".cl" ("gemm/plain"), or NULL. */
const struct tenon_kernel_file *tn_kernel_file(const struct tenon_kernel_sources *sources,
                                               const char *kernel);

/* Returns the complete source of a program: the file with every include replaced by its text at
 * the first occurrence, and #line directives so that build logs refer to the files. The caller
 * frees it. Returns NULL if memory is short. */
char *tn_kernel_text(const struct tenon_kernel_sources *sources,
                     const struct tenon_kernel_file *file, size_t *length);

#endif
