/* Creation of groups: validation, members and memory. */
#ifndef TN_GROUP_CREATE_H
#define TN_GROUP_CREATE_H

#include "group/group.h"

tenon_status tn_group_check_params(const char *caller, const tenon_group_params *params);
tenon_status tn_group_check_streams(const char *caller, tenon_stream *const *streams,
                                    uint32_t count);

/* Makes a group, without its thread, and meets the other processes. */
tenon_status tn_group_build(const char *caller, tenon_stream *const *streams, uint32_t count,
                            const tenon_group_params *params, tenon_group **out);

/* Frees a group without jobs and, if `with_transport`, its transport. */
void tn_group_free(tenon_group *group, bool with_transport);

#endif
