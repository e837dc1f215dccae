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
 * and its configuration; "" without OpenBLAS. OpenBLAS treats a processor that it does not know as
 * an old one; bench_prepare_environment then requests the best kernels that the processor's
 * features allow. */
typedef struct bench_openblas_kernels {
    char now[32], own[32], version[32], config[192];
} bench_openblas_kernels;
const bench_openblas_kernels *bench_openblas(void);

/* Returns the number of processors that the process may use, at least 1. */
int bench_processors(void);

/* Pins the calling thread to a processor by number, or with -1 lets it run on all. */
void bench_pin(int processor);

/* Pins the threads of OpenBLAS, one per processor; the caller's thread is the first. */
void bench_pin_openblas(void);

#endif
