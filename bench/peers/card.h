/* What the peers that reach the card by its vendor's own interface share: CUDA's driver for
 * NVIDIA's, HIP for AMD's. The libraries are opened at run time and their functions declared here
 * by hand, so that the benchmark builds without them, and runs where they are not. */
#ifndef BENCH_CARD_H
#define BENCH_CARD_H

#include "operands.h"

/* Where something is in the card's memory: CUDA's CUdeviceptr, and HIP's pointers, which are as
 * wide on the 64-bit hosts that there are libraries for. */
typedef uint64_t bench_card_address;

/* The card that the session's OpenCL device is. Of the functions 0 is success. */
typedef struct bench_card {
    bool ready;
    int (*allocate)(bench_card_address *address, size_t bytes);
    int (*release)(bench_card_address address);
    int (*to_device)(bench_card_address to, const void *from, size_t bytes);
    int (*to_host)(void *to, bench_card_address from, size_t bytes);
    int (*synchronize)(void);
} bench_card;

/* The card by its vendor's interface: found by its place on the bus, its context made current. NULL
 * where the device is not that vendor's. Done once; why not goes to stderr, once. */
const bench_card *bench_cuda_open(const bench_session *session);
const bench_card *bench_hip_open(const bench_session *session);

/* A function of a library, and where its address is put. */
typedef struct bench_card_function {
    const char *name;
    void *address;
} bench_card_function;

/* Opens the first of the libraries that is there and finds the functions in it (both lists with
 * NULL at the end); false, with a line on stderr, where something is not there. */
bool bench_card_find(const char *what, const char *const *names,
                     const bench_card_function *functions);

/* A library whose functions take a handle, which is made once. */
typedef struct bench_card_library {
    const char *title;
    const char *const *names;
    const bench_card_function *functions;
    int (**create)(void **handle); /* one of the functions */
    bool tried;
    void *handle;
} bench_card_library;

/* The handle; NULL where the library is not there. Why not goes to stderr, once. */
void *bench_card_handle(bench_card_library *library);

/* The operands of a case in the card's memory. */
typedef struct bench_card_operands {
    const bench_operands *from;
    bench_card_address at[BENCH_MAX_COPIES][BENCH_MAX_OPERANDS];
} bench_card_operands;

bool bench_card_copy(const bench_card *card, const bench_operands *operands,
                     bench_card_operands *copied);
void bench_card_free(const bench_card *card, bench_card_operands *copied);

/* An element of an operand's first copy, as it is on the card; NaN where it cannot be read. */
double bench_card_element(const bench_card *card, const bench_card_operands *copied,
                          uint32_t number, int64_t element);

/* Whether a result is what it must be but for rounding: of a type's precision, to be trusted with
 * sums of `terms` products of numbers up to 1. Otherwise a line on stderr. */
bool bench_card_agrees(const char *who, tenon_dtype dtype, double got, double wanted,
                       int64_t terms);

#endif
