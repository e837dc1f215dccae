#include "dispatch/state.h"

#include "dispatch/nearest.h"
#include "dispatch/prepare.h"

#include <stdlib.h>

static void *create_dispatch(void)
{
    tn_dispatch *dispatch = calloc(1, sizeof *dispatch);
    if (dispatch == NULL)
        return NULL;
    if (tn_plan_table_init(&dispatch->plans)) {
        if (tn_mutex_init(&dispatch->checked_lock))
            return dispatch;
        tn_plan_table_destroy(&dispatch->plans);
    }
    free(dispatch);
    return NULL;
}

static void destroy_dispatch(void *data)
{
    tn_dispatch *dispatch = data;
    tn_preparer_end(dispatch->preparer);
    tn_plan_table_destroy(&dispatch->plans);
    for (uint32_t i = 0; i < dispatch->checked_count; i++)
        free(dispatch->checked[i].key);
    free(dispatch->checked);
    free(dispatch->tuned);
    tn_nearest_forget(dispatch);
    tn_mutex_destroy(&dispatch->checked_lock);
    free(dispatch);
}

tn_dispatch *tn_dispatch_of(tenon_context *context)
{
    return tn_context_slot(context, TN_SLOT_DISPATCH, create_dispatch, destroy_dispatch);
}
