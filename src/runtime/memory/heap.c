#include "runtime/memory/heap.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/opencl.h"
#include "runtime/memory/pool.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

struct tn_heap {
    atomic_uint references; /* one by the context and one by each buffer in use */
    cl_context cl;
    uint64_t largest;          /* maximum buffer size in bytes */
    tenon_allocator allocator; /* `create` is NULL for a pool */
    tn_queue_tracker followed;
    tn_mutex lock; /* guards the pool */
    tn_pool pool;
};

tenon_status tn_heap_create(const char *caller, cl_context cl, uint64_t largest, uint64_t limit,
                            const tenon_allocator *allocator, tn_heap **out)
{
    tn_heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL || !tn_mutex_init(&heap->lock)) {
        free(heap);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    tenon_status status = tn_queue_tracker_init(caller, &heap->followed);
    cl_int error = status == TENON_OK ? clRetainContext(cl) : CL_SUCCESS;
    if (error != CL_SUCCESS) {
        tn_queue_tracker_destroy(&heap->followed);
        status = tn_fail_opencl(caller, "clRetainContext", error);
    }
    if (status != TENON_OK) {
        tn_mutex_destroy(&heap->lock);
        free(heap);
        return status;
    }
    atomic_init(&heap->references, 1);
    heap->cl = cl;
    heap->largest = largest;
    if (allocator != NULL)
        heap->allocator = *allocator;
    tn_pool_init(&heap->pool, limit);
    *out = heap;
    return TENON_OK;
}

static void release(tn_heap *heap)
{
    if (atomic_fetch_sub(&heap->references, 1) != 1)
        return;
    tn_queue_tracker_destroy(&heap->followed);
    tn_mutex_destroy(&heap->lock);
    clReleaseContext(heap->cl);
    free(heap);
}

/* Called without the lock, since releasing a buffer may invoke a callback. */
static void release_buffers(tn_buffer_entry *gone)
{
    while (gone != NULL) {
        tn_buffer_entry *next = gone->next;
        clReleaseMemObject(gone->buffer);
        free(gone);
        gone = next;
    }
}

void tn_heap_trim(tn_heap *heap, uint64_t bytes)
{
    tn_buffer_entry *gone = NULL;
    tn_mutex_lock(&heap->lock);
    tn_pool_shrink(&heap->pool, bytes, &gone);
    tn_mutex_unlock(&heap->lock);
    release_buffers(gone);
}

void tn_heap_close(tn_heap *heap)
{
    if (heap == NULL)
        return;
    tn_mutex_lock(&heap->lock);
    heap->pool.limit = 0;
    tn_mutex_unlock(&heap->lock);
    tn_heap_trim(heap, 0);
    release(heap);
}

static cl_mem create_buffer(const tn_heap *heap, uint64_t bytes, cl_int *error)
{
    return clCreateBuffer(heap->cl, CL_MEM_READ_WRITE, (size_t)bytes, NULL, error);
}

static bool is_shortage(cl_int error)
{
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
           error == CL_OUT_OF_HOST_MEMORY;
}

/* If an allocation fails for lack of memory, cached buffers are freed and it is repeated. */
static tenon_status make(const char *caller, tn_heap *heap, uint64_t bytes, cl_mem *buffer)
{
    cl_int error;
    *buffer = create_buffer(heap, bytes, &error);
    if (is_shortage(error)) {
        tn_heap_trim(heap, 0);
        *buffer = create_buffer(heap, bytes, &error);
    }
    if (error == CL_INVALID_BUFFER_SIZE)
        return tn_fail_cl(TENON_ERROR_OUT_OF_MEMORY, error,
                          "%s: the driver cannot allocate %" PRIu64 " bytes", caller, bytes);
    TN_CL_TRY(caller, "clCreateBuffer", error);
    return TENON_OK;
}

static tenon_status allocate_pooled(const char *caller, tn_heap *heap, uint64_t bytes,
                                    tn_buffer_entry **out)
{
    tn_buffer_entry *owned = NULL;
    uint64_t rounded;
    tn_pool_class(bytes, &rounded);
    tn_mutex_lock(&heap->lock);
    /* Sizes that the pool will not keep are not rounded up. */
    if (rounded > heap->largest || rounded > heap->pool.limit)
        rounded = bytes;
    else
        owned = tn_pool_take(&heap->pool, &heap->followed, rounded);
    tn_mutex_unlock(&heap->lock);
    if (owned == NULL) {
        owned = calloc(1, sizeof *owned);
        if (owned == NULL)
            return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
        owned->bytes = rounded;
        tenon_status status = make(caller, heap, rounded, &owned->buffer);
        if (status != TENON_OK) {
            free(owned);
            return status;
        }
    }
    *out = owned;
    return TENON_OK;
}

/* Checks that the application's allocator returned what was requested. */
static tenon_status check_buffer(const char *caller, const tn_heap *heap, cl_mem buffer,
                                 uint64_t bytes)
{
    cl_context cl;
    cl_mem_object_type type;
    cl_mem_flags flags;
    size_t size;
    TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_TYPE)",
              clGetMemObjectInfo(buffer, CL_MEM_TYPE, sizeof type, &type, NULL));
    TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_CONTEXT)",
              clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof cl, &cl, NULL));
    TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_SIZE)",
              clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL));
    TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_FLAGS)",
              clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    if (type != CL_MEM_OBJECT_BUFFER || cl != heap->cl)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: allocator: it returned %s", caller,
                       type != CL_MEM_OBJECT_BUFFER ? "an object that is not a buffer"
                                                    : "a buffer of another OpenCL context");
    if (size < bytes)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: allocator: it returned %zu bytes, requested %" PRIu64, caller, size,
                       bytes);
    if ((flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: allocator: it returned a buffer that kernels may only %s", caller,
                       (flags & CL_MEM_READ_ONLY) != 0 ? "read" : "write");
    return TENON_OK;
}

static tenon_status allocate_foreign(const char *caller, tn_heap *heap, uint64_t bytes,
                                     tn_buffer_entry **out)
{
    const tenon_allocator *allocator = &heap->allocator;
    tn_buffer_entry *owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    owned->bytes = bytes;
    owned->buffer = allocator->create(allocator->user, heap->cl, bytes);
    tenon_status status =
        owned->buffer != NULL
            ? check_buffer(caller, heap, owned->buffer, bytes)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY,
                      "%s: allocator: it cannot provide %" PRIu64 " bytes", caller, bytes);
    if (status == TENON_OK) {
        *out = owned;
        return TENON_OK;
    }
    if (owned->buffer != NULL)
        allocator->destroy(allocator->user, owned->buffer, 0, NULL);
    free(owned);
    return status;
}

tenon_status tn_heap_allocate(const char *caller, tn_heap *heap, tn_usage *usage, uint64_t bytes,
                              cl_mem *buffer)
{
    tn_buffer_entry *owned = NULL;
    tenon_status status = heap->allocator.create != NULL
                              ? allocate_foreign(caller, heap, bytes, &owned)
                              : allocate_pooled(caller, heap, bytes, &owned);
    if (owned == NULL)
        return status;
    owned->heap = heap;
    owned->usage = usage;
    tn_usage_add(usage, owned->bytes);
    atomic_fetch_add(&heap->references, 1);
    *buffer = owned->buffer;
    tn_buffer_registry_enter(owned);
    return TENON_OK;
}

static void give_to_allocator(tn_heap *heap, tn_buffer_entry *owned)
{
    cl_event *events;
    const uint32_t count = tn_queue_tracker_mark(&heap->followed, &events);
    heap->allocator.destroy(heap->allocator.user, owned->buffer, count, events);
    tn_events_release(events, count);
    free(owned);
}

static void give_to_pool(tn_heap *heap, tn_buffer_entry *owned)
{
    tn_buffer_entry *gone = NULL;
    uint64_t rounded;
    tn_pool_class(owned->bytes, &rounded);
    owned->next = NULL;
    if (owned->is_exported || rounded != owned->bytes) {
        release_buffers(owned);
        return;
    }
    tn_mutex_lock(&heap->lock);
    tn_pool_put(&heap->pool, owned, &gone);
    tn_mutex_unlock(&heap->lock);
    release_buffers(gone);
}

void tn_heap_take_back(tn_buffer_entry *owned)
{
    tn_heap *heap = owned->heap;
    tn_usage_remove(owned->usage, owned->bytes);
    (heap->allocator.create != NULL ? give_to_allocator : give_to_pool)(heap, owned);
    release(heap);
}

void tn_heap_forget(tn_buffer_entry *owned)
{
    tn_heap *heap = owned->heap;
    tn_usage_remove(owned->usage, owned->bytes);
    free(owned);
    if (heap != NULL)
        release(heap);
}

tenon_status tn_heap_stream_begins(const char *caller, tn_heap *heap, cl_command_queue queue)
{
    return heap != NULL ? tn_queue_tracker_begin(caller, &heap->followed, queue) : TENON_OK;
}

void tn_heap_stream_ends(tn_heap *heap, cl_command_queue queue)
{
    if (heap != NULL)
        tn_queue_tracker_end(&heap->followed, queue);
}

void tn_heap_count(tn_heap *heap, uint64_t *bytes, uint64_t *served)
{
    tn_mutex_lock(&heap->lock);
    *bytes = heap->pool.bytes;
    *served = heap->pool.served;
    tn_mutex_unlock(&heap->lock);
}
