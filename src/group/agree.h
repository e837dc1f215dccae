/* Agreement of the processes on a call, before its data is moved. */
#ifndef TN_GROUP_AGREE_H
#define TN_GROUP_AGREE_H

#include "group/group.h"

/* Waits for the earlier work of the job's members. If it has failed, the job's header says so, for
 * all processes. */
tenon_status tn_agree_ready(tenon_group *group, tn_job *job, tn_progress *progress, bool *over);

/* Exchanges headers with the job's peers: `peers` processes by number. Fails in all of them if they
 * make different calls or one cannot take part. */
tenon_status tn_agree(tenon_group *group, tn_job *job, tn_progress *progress, bool *over);

/* Ends the exchange after a failure. Returns false if the job's memory may still be used. */
bool tn_agree_abandon(tenon_group *group, tn_job *job);

/* Returns the process of the i-th peer of a job. */
uint32_t tn_peer_of(const tenon_group *group, const tn_job *job, uint32_t i);

static inline bool tn_is_pair(const tn_job *job)
{
    return tn_kind_is_pair(job->call.collective.kind);
}

#endif
