/*
 * Structs that begin with their size and grow at their end: callers may have been compiled with the
 * headers of another version. docs/abi.md has the rules.
 */
#ifndef TN_BASE_SIZED_H
#define TN_BASE_SIZED_H

#include "base/status.h"

#include <stddef.h>

/* No struct of any version is smaller or larger: what is beyond was never set. */
#define TN_SIZED_LEAST 16
#define TN_SIZED_MOST  4096

/* Parameters as this version has them, `size` bytes: `given` itself where its size is that, the
 * defaults where it is NULL, else made in `room`. What an older caller does not know has its
 * default; what this version does not know must be 0. `initialiser` is the name of the macro that
 * callers begin with, for the message of a size that cannot be; NULL where they have none. */
tenon_status tn_params_take(const char *caller, const void *given, const void *defaults,
                            size_t size, const char *initialiser, void *room, const void **params);

/* A member that begins with a size of its own and is the last one of its struct. */
typedef struct tn_last_member {
    const char *name;
    size_t offset;           /* in its struct */
    const char *initialiser; /* how callers make one, for the message of an impossible size */
} tn_last_member;

/* tn_params_take for parameters that end with such a member: the caller's version of the member may
 * be shorter or longer, too. It must lie within the caller's struct, and what follows it there must
 * be 0. */
tenon_status tn_params_take_with(const char *caller, const void *given, const void *defaults,
                                 size_t size, const char *initialiser, const tn_last_member *last,
                                 void *room, const void **params);

/* The defaults for a caller whose struct has `given_size` bytes. */
void tn_params_give(void *params, uint32_t given_size, const void *defaults, size_t size);

/* The same for parameters that end with a member at `last` that has a size of its own. */
void tn_params_give_with(void *params, uint32_t given_size, const void *defaults, size_t size,
                         size_t last);

/* Refuses a struct that is to be filled in, where its size cannot be meant. */
tenon_status tn_sized_check(const char *caller, const char *argument, const void *out);

/* Fills it in with `made`, as far as the caller's goes, and zeros beyond what this version knows;
 * the size stays the caller's. */
void tn_sized_fill(void *out, const void *made, size_t size);

#endif
