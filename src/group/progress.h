/* The jobs of a group: what makes them progress, and how they end. */
#ifndef TN_GROUP_PROGRESS_H
#define TN_GROUP_PROGRESS_H

#include "group/group.h"

/* Begins to listen for the failures of other processes. */
tenon_status tn_progress_listen(tenon_group *group);

/* Ends the messages about failures. Returns false if their memory may still be used. */
bool tn_progress_stop_listening(tenon_group *group);

/* Continues all jobs as far as possible without waiting. Not called at the same time by two
 * threads. */
void tn_progress_make(tenon_group *group);

/* How long a thread has waited. Zero at first. */
typedef struct tn_patience {
    uint64_t since; /* time of the first attempt in vain since something has ended; 0: none */
} tn_patience;

/* Makes one attempt, and if it was in vain, pauses or waits for a command. Returns false if nothing
 * can progress without another call. */
bool tn_progress_wait(tenon_group *group, tn_patience *patience);

/* Ends all jobs with a failure, which is kept for all later calls, and tells the other processes.
 */
void tn_progress_break(tenon_group *group, tenon_status status);

/* Ends all jobs that are left. */
void tn_progress_end(tenon_group *group);

#endif
