/* Runs a few lines of PTX for the interpreter's own tests. */
#ifndef PTX_RUN_TEXT_H
#define PTX_RUN_TEXT_H

#include "machine.h"

/* A kernel "k" of one group: %in and %out are the addresses of the memory, %tid, and the registers
 * %p<20>, %h<20> (16 bits), %r<200>, %d<40> (64 bits). `shared` bytes are called "shared". */
typedef struct test_kernel {
    const char *body;
    const char *target; /* NULL: sm_90a */
    uint32_t items, shared;
    uint64_t seed;
    void *in, *out;
    size_t in_size, out_size;
    char message[512]; /* of a failure */
    ptx_counts counts;
} test_kernel;

/* Whether it runs to its end, with nothing wrong. A text that is not understood fails the test. */
bool run_text(test_kernel *t);

/* It must fail, and say this. */
void expect_failure(test_kernel *t, const char *said);

/* Whether the text is one that the parser takes, of a target (NULL: sm_90a). */
bool parses(const char *body, const char *target, char message[256]);

#endif
