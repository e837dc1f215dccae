/* Host memory for messages. */
#ifndef TN_GROUP_STAGING_H
#define TN_GROUP_STAGING_H

#include "base/platform.h"
#include "group/member.h"

/* The alignment of host memory that a device uses directly: kernels load vectors of up to 16
 * elements of 8 bytes. */
#define TN_STAGING_ALIGNMENT 128

/* Host memory for a message. Pinned if the device that copies to or from it has memory of its own
 * and copies pinned memory faster (staging_choice.h). */
typedef struct tn_staging {
    struct tn_staging *next; /* in the pool */
    void *pointer;           /* a multiple of TN_STAGING_ALIGNMENT, unless pinned */
    uint64_t bytes;
    void *block;            /* allocated; NULL: pinned */
    tenon_pinned *pinned;   /* in the context */
    tenon_context *context; /* of `pinned`; NULL: not pinned */
} tn_staging;

/* Unused staging memory is kept for the next messages, since new pages cost more than copies. Any
 * thread may use it. */
typedef struct tn_staging_pool {
    tn_mutex lock;
    tn_staging *first;
} tn_staging_pool;

bool tn_staging_pool_init(tn_staging_pool *pool);

/* Takes memory of at least `bytes` from the pool, or allocates it. */
tenon_status tn_staging_take(tn_staging_pool *pool, const tn_group_member *member, uint64_t bytes,
                             tn_staging **out);

/* Returns memory to the pool; NULL is allowed. */
void tn_staging_give_back(tn_staging_pool *pool, tn_staging *staging);

/* Frees memory that is not pinned when the event's command, which uses it, has ended. */
void tn_staging_free_after(tn_staging *staging, cl_event event);

/* Frees the memory in the pool. */
void tn_staging_pool_destroy(tn_staging_pool *pool);

#endif
