/* Runs a few lines of PTX, for the tests of the interpreter. */
#ifndef PTX_RUN_TEXT_H
#define PTX_RUN_TEXT_H

#include "machine.h"

/* A kernel "k" of one work-group. %in and %out are the addresses of its memory, %tid is the
 * work-item; it has the registers %p<20>, %h<20> (16 bits), %r<200> and %d<40> (64 bits), and
 * `shared` bytes called "shared". */
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

/* Runs the kernel; returns true if it completes without an error. A text that cannot be parsed
 * fails the test. */
bool run_text(test_kernel *t);

/* Checks that the kernel fails with a message that contains `said`. */
void expect_failure(test_kernel *t, const char *said);

/* Returns true if the parser accepts the text for a target (NULL: sm_90a). */
bool parses(const char *body, const char *target, char message[256]);

#endif
