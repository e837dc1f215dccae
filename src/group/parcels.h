/* Parcels: what a process sends to others in one phase of an exchange, or receives. */
#ifndef TN_GROUP_PARCELS_H
#define TN_GROUP_PARCELS_H

#include "group/message.h"
#include "group/staging.h"

/* A range of a member's tensor that one process sends to another. */
typedef struct tn_parcel {
    uint32_t from; /* member */
    bool from_output;
    int64_t start, count;
    tn_staging *staging;
    tn_message message;
    uint32_t before; /* number of an earlier parcel of the same member, counted from 1; 0: none */
} tn_parcel;

/* A list of parcels. All zeros: empty. */
typedef struct tn_parcels {
    tn_parcel *at;
    uint32_t count;
    uint32_t last[TENON_GROUP_MAX_MEMBERS]; /* by member: number of its last parcel, from 1 */
} tn_parcels;

/* Returns the parcel with the same range of the same member and the same peer; NULL if there is
 * none. */
tn_parcel *tn_parcels_find(const tn_parcels *parcels, const tn_parcel *like);

/* Adds a parcel unless the same range of the same member already goes to that process. */
tenon_status tn_parcels_add(tn_parcels *parcels, const tn_parcel *parcel);

/* Tests the messages, and sets *over if all have ended. */
tenon_status tn_parcels_test(const tn_parcels *parcels, const tenon_transport *transport,
                             const tn_places *places, bool *moved, bool *over);

/* Returns the process of a message that has not ended, or TN_NO_PROCESS. */
#define TN_NO_PROCESS UINT32_MAX
uint32_t tn_parcels_pending(const tn_parcels *parcels);

/* Empties the list. Gives back memory whose messages have ended; that of others stays allocated
 * forever. */
void tn_parcels_clear(tn_parcels *parcels, const tenon_transport *transport, tn_staging_pool *pool);

#endif
