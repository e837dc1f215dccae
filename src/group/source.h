/* Elements of one member that a device of another member reads. */
#ifndef TN_GROUP_SOURCE_H
#define TN_GROUP_SOURCE_H

#include "group/member.h"

/* A range of a local member's tensor, or of a message, in use by another member. */
typedef struct tn_source {
    const tn_group_member *owner; /* maps the bytes; NULL: none does */
    tenon_tensor mapped, made;    /* `made` is memory with these bytes for the other member */
    void *pointer;
} tn_source;

/* Returns true if the members' devices are in one OpenCL context. */
bool tn_source_is_shared(const tn_group_member *a, const tn_group_member *b);

/* Gives `user` a view of elements of `owner`, whose device is in another OpenCL context. The source
 * must be closed, also after a failure. */
tenon_status tn_source_map(tn_source *source, const tn_group_member *owner,
                           const tenon_tensor *part, const tn_group_member *user,
                           tenon_tensor *view);

/* Gives `user` a view of elements in host memory. Likewise. */
tenon_status tn_source_wrap(tn_source *source, void *pointer, tenon_dtype dtype, int64_t count,
                            const tn_group_member *user, tenon_tensor *view);

/* Ends the use. The commands that use the view have ended. */
tenon_status tn_source_close(tn_source *source);

#endif
