/* The exchange of a range of a collective: messages, and steps of the local members. */
#ifndef TN_GROUP_EXCHANGE_H
#define TN_GROUP_EXCHANGE_H

#include "group/parcels.h"
#include "group/source.h"
#include "group/steps.h"

typedef enum tn_exchange_state {
    TN_EXCHANGE_IDLE,
    TN_EXCHANGE_COPIES,   /* what is sent, to the host */
    TN_EXCHANGE_SENDS,    /* and receives */
    TN_EXCHANGE_COMBINES, /* the members execute their steps */
    TN_EXCHANGE_ENDS      /* waits for its sends */
} tn_exchange_state;

typedef struct tn_exchange {
    tn_exchange_state state;
    tn_range range;
    uint64_t number;
    uint32_t phase;
    tn_parcels out, in;
    tn_source *sources;
    size_t source_count;
    cl_event *marks; /* one per local member */
} tn_exchange;

struct tenon_group;
struct tn_job;
struct tn_progress;

/* Begins the exchange of a range in an idle slot. */
tenon_status tn_exchange_begin(struct tenon_group *group, struct tn_job *job, tn_exchange *exchange,
                               tn_range range, uint64_t number);

/* Continues it as far as possible without waiting. It is idle when it is done. */
tenon_status tn_exchange_advance(struct tenon_group *group, struct tn_job *job,
                                 tn_exchange *exchange, struct tn_progress *progress);

/* Ends it after a failure. The members' own streams are idle. */
void tn_exchange_abandon(struct tenon_group *group, struct tn_job *job, tn_exchange *exchange);

/* Returns the process of a message that has not ended, or TN_NO_PROCESS. */
uint32_t tn_exchange_pending(const tn_exchange *exchange);

#endif
