/* The first messages of a group: its processes exchange their parameters and member counts. */
#ifndef TN_GROUP_CONNECT_H
#define TN_GROUP_CONNECT_H

#include "group/group.h"

/* Fails for a malformed transport. */
tenon_status tn_transport_check(const char *caller, const tenon_transport *transport);

/* Sets the places of all members; `count` of them are in this process. Waits for the other
 * processes, which must use the same parameters. */
tenon_status tn_connect(tenon_group *group, uint32_t count);

#endif
