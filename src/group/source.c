#include "group/source.h"

#include "base/status.h"
#include "group/staging.h"

#include <string.h>

bool tn_source_is_shared(const tn_group_member *a, const tn_group_member *b)
{
    return tenon_context_cl(a->context) == tenon_context_cl(b->context);
}

tenon_status tn_source_wrap(tn_source *s, void *pointer, tenon_dtype dtype, int64_t count,
                            const tn_group_member *user, tenon_tensor *view)
{
    const uint64_t bytes = (uint64_t)count * tenon_dtype_size(dtype);
    if (user->is_unified && (uintptr_t)pointer % TN_STAGING_ALIGNMENT == 0) {
        s->made = tenon_tensor_view(dtype, 1, &count);
        TN_TRY(tenon_memory_wrap(user->context, pointer, bytes, &s->made.memory));
    } else {
        TN_TRY(tn_array_create(user, dtype, count, &s->made));
        TN_TRY(tenon_tensor_upload_async(user->own, pointer, bytes, &s->made, NULL));
    }
    *view = s->made;
    return TENON_OK;
}

tenon_status tn_source_map(tn_source *s, const tn_group_member *owner, const tenon_tensor *part,
                           const tn_group_member *user, tenon_tensor *view)
{
    TN_TRY(tenon_tensor_map(owner->own, part, TENON_MAP_READ, &s->pointer, NULL));
    s->owner = owner;
    s->mapped = *part;
    return tn_source_wrap(s, s->pointer, part->dtype, part->shape[0], user, view);
}

tenon_status tn_source_close(tn_source *s)
{
    tenon_status status = TENON_OK;
    tenon_tensor_destroy(&s->made);
    if (s->owner != NULL)
        status = tenon_tensor_unmap(s->owner->own, &s->mapped, s->pointer, NULL);
    memset(s, 0, sizeof *s);
    return status;
}
