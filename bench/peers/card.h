/* Shared code of the peers that use the GPU vendor's own interface: CUDA's driver for NVIDIA, HIP
 * for AMD. The libraries are opened at run time and their functions declared here by hand, so the
 * benchmark builds without them and runs on machines that lack them. */
#ifndef BENCH_CARD_H
#define BENCH_CARD_H

#include "operands.h"

/* An address in the GPU's memory: CUDA's CUdeviceptr, or a pointer of HIP, which has the same width
 * on the 64-bit hosts that these libraries support. */
typedef uint64_t bench_card_address;

/* The GPU that is the session's OpenCL device. The functions return 0 for success. */
typedef struct bench_card {
    bool ready;
    int (*allocate)(bench_card_address *address, size_t bytes);
    int (*release)(bench_card_address address);
    int (*to_device)(bench_card_address to, const void *from, size_t bytes);
    int (*to_host)(void *to, bench_card_address from, size_t bytes);
    int (*synchronize)(void);
} bench_card;

/* Open the GPU with its vendor's interface: find it by its PCI address and make its context
 * current. Return NULL if the device is not of that vendor. Done once; the reason for a failure is
 * printed to stderr once. */
const bench_card *bench_cuda_open(const bench_session *session);
const bench_card *bench_hip_open(const bench_session *session);

/* A function of a library, and the location for its address. */
typedef struct bench_card_function {
    const char *name;
    void *address;
} bench_card_function;

/* Opens the first of the libraries that is installed, and looks up the functions (both lists are
 * terminated by NULL). If something is missing, prints it to stderr and returns false. */
bool bench_card_find(const char *what, const char *const *names,
                     const bench_card_function *functions);

#define BENCH_CARD_VERSION_SIZE 64

/* A library whose functions take a handle, which is created once. */
typedef struct bench_card_library {
    const char *title;
    const char *const *names;
    const bench_card_function *functions;
    int (**create)(void **handle); /* one of `functions` */
    /* Writes the version that the library reports; "" if it does not. */
    void (*version)(void *handle, char text[BENCH_CARD_VERSION_SIZE]);
    bool tried;
    void *handle;
} bench_card_library;

/* Returns the handle, or NULL if the library cannot be used. The reason is printed to stderr once,
 * and the version is recorded as that of `peer`. */
void *bench_card_handle(bench_card_library *library, const char *peer);

/* The operands of a case in the GPU's memory. */
typedef struct bench_card_operands {
    const bench_operands *from;
    bench_card_address at[BENCH_MAX_COPIES][BENCH_MAX_OPERANDS];
} bench_card_operands;

bool bench_card_copy(const bench_card *card, const bench_operands *operands,
                     bench_card_operands *copied);
void bench_card_free(const bench_card *card, bench_card_operands *copied);

/* Returns an element of an operand's first copy in the GPU's memory; NaN if it cannot be read. */
double bench_card_element(const bench_card *card, const bench_card_operands *copied,
                          uint32_t number, int64_t element);

/* Checks a result within the rounding errors of the type; intended for sums of `terms` products of
 * numbers up to 1. Prints a line to stderr and returns false if it differs. */
bool bench_card_agrees(const char *who, tenon_dtype dtype, double got, double wanted,
                       int64_t terms);

#endif
