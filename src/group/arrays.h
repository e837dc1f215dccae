/* The tensors of a collective as one-dimensional arrays. */
#ifndef TN_GROUP_ARRAYS_H
#define TN_GROUP_ARRAYS_H

#include "group/group.h"

/* Makes the job's arrays: views of dense tensors, otherwise memory, to which inputs are copied.
 * Sets the bits of members whose streams have work. */
tenon_status tn_arrays_gather(tenon_group *group, tn_job *job, uint64_t *members);

/* Copies arrays that are not views to the outputs. */
tenon_status tn_arrays_scatter(tenon_group *group, tn_job *job, uint64_t *members);

#endif
