#include "runtime/memory/buffer_registry.h"

#include "base/platform.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/heap.h"
#include "runtime/opencl/opencl.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

static tn_mutex lock = TN_MUTEX_INIT;
static tn_buffer_entry *buckets[BUCKETS];
static atomic_uint entries; /* read without the lock, since most programs have no entry */

static tn_buffer_entry **bucket_of(cl_mem buffer)
{
    return &buckets[((uintptr_t)buffer >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

/* Returns the link to a buffer's entry. The caller holds the lock. */
static tn_buffer_entry **owners_find(cl_mem buffer)
{
    tn_buffer_entry **at = bucket_of(buffer);
    while (*at != NULL && (*at)->buffer != buffer)
        at = &(*at)->next;
    return at;
}

static tn_buffer_entry *unlink_at(tn_buffer_entry **at)
{
    tn_buffer_entry *owned = *at;
    *at = owned->next;
    atomic_fetch_sub(&entries, 1);
    return owned;
}

static void link_to(tn_buffer_entry *owned)
{
    tn_buffer_entry **bucket = bucket_of(owned->buffer);
    owned->next = *bucket;
    *bucket = owned;
    atomic_fetch_add(&entries, 1);
}

void tn_buffer_registry_enter(tn_buffer_entry *owned)
{
    tn_mutex_lock(&lock);
    /* An existing entry with this handle belongs to a buffer that the application released through
     * OpenCL. */
    tn_buffer_entry **at = owners_find(owned->buffer), *stale = *at != NULL ? unlink_at(at) : NULL;
    owned->uses = 1;
    owned->is_exported = false;
    link_to(owned);
    tn_mutex_unlock(&lock);
    if (stale != NULL)
        tn_heap_forget(stale);
}

tenon_status tn_buffer_registry_import(const char *caller, cl_mem buffer,
                                       tn_release_callback give_back, void *what)
{
    tn_import *import = malloc(sizeof *import);
    tn_buffer_entry *made = calloc(1, sizeof *made);
    if (import == NULL || made == NULL) {
        free(import);
        free(made);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    tn_mutex_lock(&lock);
    tn_buffer_entry *owned = *owners_find(buffer);
    if (owned == NULL) {
        made->buffer = buffer;
        link_to(made);
        owned = made;
        made = NULL;
    }
    *import = (tn_import){owned->imports, give_back, what};
    owned->imports = import;
    tn_mutex_unlock(&lock);
    free(made);
    return TENON_OK;
}

tenon_status tn_buffer_registry_retain(const char *caller, cl_mem buffer)
{
    tn_mutex_lock(&lock);
    tn_buffer_entry *owned = *owners_find(buffer);
    if (owned != NULL && (owned->heap != NULL || owned->usage != NULL)) {
        owned->uses++;
        owned->is_exported = true;
    } else {
        owned = NULL;
    }
    tn_mutex_unlock(&lock);
    if (owned == NULL)
        TN_CL_TRY(caller, "clRetainMemObject", clRetainMemObject(buffer));
    return TENON_OK;
}

/* Releases a buffer whose last use has ended. An imported buffer has been given back. */
static void release_last(tn_buffer_entry *last)
{
    if (last->heap != NULL) {
        tn_heap_take_back(last);
        return;
    }
    if (last->usage != NULL)
        clReleaseMemObject(last->buffer);
    tn_usage_remove(last->usage, last->bytes);
    free(last);
}

/* All uses of a buffer are equivalent, so imports are ended first. */
void tn_buffer_registry_drop(cl_mem buffer)
{
    tn_import *import = NULL;
    tn_buffer_entry *last = NULL;
    bool is_owned = false;
    if (tn_gate_is_shut())
        return; /* the operating system reclaims it */
    if (atomic_load(&entries) > 0) {
        tn_mutex_lock(&lock);
        tn_buffer_entry **at = owners_find(buffer), *owned = *at;
        is_owned = owned != NULL;
        if (is_owned && (import = owned->imports) != NULL)
            owned->imports = import->next;
        else if (is_owned)
            owned->uses--;
        if (is_owned && owned->imports == NULL && owned->uses == 0)
            last = unlink_at(at);
        tn_mutex_unlock(&lock);
    }
    if (!is_owned)
        clReleaseMemObject(buffer);
    if (import != NULL) {
        import->give_back(import->what);
        free(import);
    }
    if (last != NULL)
        release_last(last);
}
