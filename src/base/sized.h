/* Structs that begin with their size and may grow at the end. Callers may have been compiled with
 * headers of another version. docs/abi.md has the rules. */
#ifndef TN_BASE_SIZED_H
#define TN_BASE_SIZED_H

#include "base/status.h"

#include <stddef.h>

/* Bounds of the size of any struct in any version. Other values mean that the size was never set.
 */
#define TN_SIZED_MIN 16
#define TN_SIZED_MAX 4096

/* Converts parameters to this version's struct of `size` bytes: returns `given` itself if its size
 * matches, the defaults if it is NULL, or a copy made in `room`. Members unknown to an older
 * caller get their defaults; members unknown to this version must be 0. `initializer` is the
 * initializer macro's name, for the message about an invalid size; NULL if there is none. */
tenon_status tn_params_take(const char *caller, const void *given, const void *defaults,
                            size_t size, const char *initializer, void *room, const void **params);

/* The last member of a struct, which begins with a size of its own. */
typedef struct tn_last_member {
    const char *name;
    size_t offset;           /* in its struct */
    const char *initializer; /* its initializer macro, for the message about an invalid size */
} tn_last_member;

/* Like tn_params_take, for parameters that end with such a member, whose size in the caller's
 * version may differ as well. The member must be inside the caller's struct, and all bytes after
 * it must be 0. */
tenon_status tn_params_take_with(const char *caller, const void *given, const void *defaults,
                                 size_t size, const char *initializer, const tn_last_member *last,
                                 void *room, const void **params);

/* Writes the defaults to a caller's struct of `given_size` bytes. */
void tn_params_give(void *params, uint32_t given_size, const void *defaults, size_t size);

/* The same for parameters that end with a member of its own size at offset `last`. */
void tn_params_give_with(void *params, uint32_t given_size, const void *defaults, size_t size,
                         size_t last);

/* Fails for an output struct with an impossible size. */
tenon_status tn_sized_check(const char *caller, const char *argument, const void *out);

/* Copies `made` to the caller's struct as far as it fits, and zeros members unknown to this
 * version. Keeps the caller's size. */
void tn_sized_fill(void *out, const void *made, size_t size);

#endif
