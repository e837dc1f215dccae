#include "group/parcels.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

tn_parcel *tn_parcels_find(const tn_parcels *parcels, const tn_parcel *like)
{
    for (uint32_t i = parcels->last[like->from]; i > 0; i = parcels->at[i - 1].before) {
        tn_parcel *p = &parcels->at[i - 1];
        if (p->message.peer == like->message.peer && p->from_output == like->from_output &&
            p->start == like->start && p->count == like->count)
            return p;
    }
    return NULL;
}

tenon_status tn_parcels_add(tn_parcels *parcels, const tn_parcel *parcel)
{
    const uint32_t count = parcels->count;
    if (tn_parcels_find(parcels, parcel) != NULL)
        return TENON_OK;
    if ((count & (count - 1)) == 0) { /* 0 or a power of two: full */
        const size_t room = count > 0 ? 2 * (size_t)count : 1;
        tn_parcel *grown = realloc(parcels->at, room * sizeof *grown);
        if (grown == NULL)
            return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory for a list of messages");
        parcels->at = grown;
    }
    parcels->at[count] = *parcel;
    parcels->at[count].before = parcels->last[parcel->from];
    parcels->last[parcel->from] = ++parcels->count;
    return TENON_OK;
}

tenon_status tn_parcels_test(const tn_parcels *parcels, const tenon_transport *transport,
                             const tn_places *places, bool *moved, bool *over)
{
    *over = true;
    for (uint32_t i = 0; i < parcels->count; i++) {
        TN_TRY(tn_message_test(transport, places, &parcels->at[i].message, moved));
        *over = *over && !parcels->at[i].message.is_pending;
    }
    return TENON_OK;
}

uint32_t tn_parcels_pending(const tn_parcels *parcels)
{
    for (uint32_t i = 0; i < parcels->count; i++)
        if (parcels->at[i].message.is_pending)
            return parcels->at[i].message.peer;
    return TN_NO_PROCESS;
}

void tn_parcels_clear(tn_parcels *parcels, const tenon_transport *transport, tn_staging_pool *pool)
{
    for (uint32_t i = 0; i < parcels->count; i++)
        if (tn_message_cancel(transport, &parcels->at[i].message))
            tn_staging_give_back(pool, parcels->at[i].staging);
    free(parcels->at);
    memset(parcels, 0, sizeof *parcels);
}
