/* Sends and receives: from one member to another, through host memory. */
#ifndef TN_GROUP_PAIR_H
#define TN_GROUP_PAIR_H

#include "group/group.h"

/* Continues a send or receive as far as possible without waiting. */
tenon_status tn_pair_advance(tenon_group *group, tn_job *job, tn_progress *progress);

/* As tn_collective_pending and tn_collective_abandon. */
uint32_t tn_pair_pending(const tn_job *job);
bool tn_pair_abandon(tenon_group *group, tn_job *job);

#endif
