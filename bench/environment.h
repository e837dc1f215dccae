/* What surrounds a measurement: the environment that the libraries read when they are loaded, and
 * which processors threads run on. */
#ifndef BENCH_ENVIRONMENT_H
#define BENCH_ENVIRONMENT_H

#include <stdbool.h>

/* To be called first. Nothing that cripples a peer is left in the environment, and PoCL pins its
 * threads. Where that changes anything the program starts once more with the same arguments, since
 * libraries have read the environment before main. */
void bench_prepare_environment(char **argv);

/* For which processor OpenBLAS runs its kernels, for which it would by itself, and what it says of
 * itself; "" where it is not there. A processor that it does not know it takes for an old one: then
 * bench_prepare_environment asks it for the best that the processor's features allow. */
typedef struct bench_openblas_kernels {
    char now[32], own[32], config[192];
} bench_openblas_kernels;
const bench_openblas_kernels *bench_openblas(void);

/* The processors that the process may use; 1 at least. */
int bench_processors(void);

/* Keeps the calling thread on one of them by number, or with -1 lets it run on all. */
void bench_pin(int processor);

/* Pins the threads of OpenBLAS, one a processor: the caller's is the first. */
void bench_pin_openblas(void);

#endif
