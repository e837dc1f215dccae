/* Requests to end, recorded while the application watches for them. */
#include "base/platform.h"
#include "base/status.h"

#include <tenon/checkpoint.h>

static tn_mutex lock = TN_MUTEX_INIT;
static unsigned watches; /* guarded by the lock */

TENON_API tenon_status tenon_termination_watch(void)
{
    tn_mutex_lock(&lock);
    const bool is_watched = watches > 0 || tn_termination_catch();
    watches += is_watched;
    tn_mutex_unlock(&lock);
    return is_watched ? TENON_OK
                      : tn_fail(TENON_ERROR_UNSUPPORTED,
                                "tenon_termination_watch: the system rejects the handler");
}

TENON_API int tenon_termination_requested(void)
{
    return tn_termination_caught();
}

TENON_API void tenon_termination_unwatch(void)
{
    tn_mutex_lock(&lock);
    if (watches > 0 && --watches == 0)
        tn_termination_restore();
    tn_mutex_unlock(&lock);
}
