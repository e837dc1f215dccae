/* Execution of collectives, in all processes of a group. */
#ifndef TN_GROUP_COLLECTIVE_H
#define TN_GROUP_COLLECTIVE_H

#include "group/group.h"

/* Continues a collective as far as possible without waiting. */
tenon_status tn_collective_advance(tenon_group *group, tn_job *job, tn_progress *progress);

/* Returns the rank of a member whose process is waited for, or TN_ALL_MEMBERS. */
uint32_t tn_collective_pending(const tenon_group *group, const tn_job *job);

/* Gives the copy of an input that was not sent back. If earlier work of the application's stream
 * may still write to it, it stays allocated forever. */
void tn_collective_drop_ahead(tenon_group *group, tn_job *job);

/* Ends messages after a failure. The members' own streams are idle. Returns false if the memory of
 * the job may still be used. */
bool tn_collective_abandon(tenon_group *group, tn_job *job);

#endif
