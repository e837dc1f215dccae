/* The environment of a measurement: variables that libraries read when they are loaded, and the
 * processors that threads run on. */
#ifndef BENCH_ENVIRONMENT_H
#define BENCH_ENVIRONMENT_H

#include <stdbool.h>

/* Prepares the environment; must be called first. Removes variables that slow a peer down, and
 * makes PoCL pin its threads. If anything changes, the program restarts with the same arguments,
 * because libraries have read the environment before main. */
void bench_prepare_environment(char **argv);

/* The processors whose kernels OpenBLAS uses (`now`) and would use by itself (`own`), its version
 * and its configuration; "" without OpenBLAS. */
typedef struct bench_openblas_kernels {
    char now[32], own[32], version[32], config[192];
} bench_openblas_kernels;

/* Returns the number of processors that the process may use, at least 1. */
int bench_processors(void);

/* Pins the calling thread to a processor by number, or with -1 lets it run on all. */
void bench_pin(int processor);

/* OpenBLAS treats a processor that it does not know as an old one. Returns the kernels to request
 * by OPENBLAS_CORETYPE instead of `own`, or NULL if the processor's features allow no better ones.
 * bench_prepare_environment does so for the OpenBLAS with which the program is linked. */
const char *bench_better_core(const char *own);

/* Returns the kernels that the linked OpenBLAS selects by itself, if the environment requests
 * others; otherwise "". */
const char *bench_own_core(void);

#endif
