#include "runtime/memory/memory.h"

#include "base/checked.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/context/context.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/heap.h"
#include "runtime/opencl/opencl.h"
#include "runtime/memory/buffer_registry.h"
#include "runtime/memory/usm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tenon_status check_size(const char *caller, const tenon_context *context, uint64_t bytes)
{
    /* Some drivers accept larger buffers and fail at their first use. */
    if (bytes > context->device.info.max_allocation)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY,
                       "%s: %" PRIu64 " bytes; the largest allocation of %s is %" PRIu64, caller,
                       bytes, context->device.info.name, context->device.info.max_allocation);
    size_t size;
    if (!tn_to_size(bytes, &size))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY,
                       "%s: %" PRIu64 " bytes; a 32-bit process is limited to %zu", caller, bytes,
                       SIZE_MAX);
    return TENON_OK;
}

static tenon_status find_size(const char *caller, cl_mem buffer, size_t *size)
{
    TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_SIZE)",
              clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof *size, size, NULL));
    return TENON_OK;
}

static tenon_status check_end(const char *caller, const char *argument, const tenon_tensor *tensor,
                              size_t size)
{
    const uint64_t end = tn_tensor_extent(tensor).end;
    if (end > size)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: the view ends at byte %" PRIu64 " of a buffer of %zu bytes", caller,
                       argument, end, size);
    return TENON_OK;
}

tenon_status tn_memory_make(const char *caller, tenon_context *context, cl_mem_flags flags,
                            void *host, uint64_t bytes, tenon_memory *memory)
{
    cl_int error;
    TN_TRY(tn_gate_check(caller));
    TN_TRY(check_size(caller, context, bytes));
    tn_buffer_entry *counted = NULL;
    if (context->memory.usage != NULL && (counted = calloc(1, sizeof *counted)) == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    cl_mem buffer = clCreateBuffer(context->cl, flags, (size_t)bytes, host, &error);
    if (error != CL_SUCCESS) {
        free(counted);
        return error == CL_INVALID_BUFFER_SIZE
                   ? tn_fail_cl(TENON_ERROR_OUT_OF_MEMORY, error,
                                "%s: the driver cannot allocate %" PRIu64 " bytes", caller, bytes)
                   : tn_fail_opencl(caller, "clCreateBuffer", error);
    }
    if (counted != NULL) {
        counted->buffer = buffer;
        counted->bytes = bytes;
        counted->usage = context->memory.usage;
        tn_usage_add(counted->usage, bytes);
        tn_buffer_registry_enter(counted);
    }
    *memory = (tenon_memory){.kind = TENON_MEMORY_BUFFER, .u.buffer = buffer};
    return TENON_OK;
}

tenon_status tn_memory_allocate(const char *caller, tenon_context *context, uint64_t bytes,
                                tenon_memory *memory)
{
    TN_TRY(tn_gate_check(caller));
    if (bytes == 0) {
        memset(memory, 0, sizeof *memory);
        return TENON_OK;
    }
    if (context->memory.heap == NULL)
        return tn_memory_make(caller, context, CL_MEM_READ_WRITE, NULL, bytes, memory);
    cl_mem buffer;
    TN_TRY(check_size(caller, context, bytes));
    TN_TRY(tn_heap_allocate(caller, context->memory.heap, context->memory.usage, bytes, &buffer));
    *memory = (tenon_memory){.kind = TENON_MEMORY_BUFFER, .u.buffer = buffer};
    return TENON_OK;
}

tenon_status tn_memory_constants(const char *caller, tenon_context *context, const void *host,
                                 uint64_t bytes, tenon_memory *memory)
{
    /* Casts away const: OpenCL only reads what it copies. */
    return tn_memory_make(caller, context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                          (void *)(uintptr_t)host, bytes, memory);
}

TENON_API tenon_status tenon_memory_create(tenon_context *context, uint64_t bytes,
                                           tenon_memory *memory)
{
    static const char caller[] = "tenon_memory_create";
    if (context == NULL || memory == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context" : "memory");
    return tn_memory_allocate(caller, context, bytes, memory);
}

TENON_API tenon_status tenon_memory_wrap(tenon_context *context, void *host, uint64_t bytes,
                                         tenon_memory *memory)
{
    static const char caller[] = "tenon_memory_wrap";
    if (context == NULL || host == NULL || memory == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context"
                       : host == NULL  ? "host"
                                       : "memory");
    if (bytes == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: bytes is 0, must be at least 1", caller);
    return tn_memory_make(caller, context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host, bytes,
                          memory);
}

TENON_API void tenon_memory_destroy(tenon_memory *memory)
{
    if (memory == NULL)
        return;
    if (memory->kind == TENON_MEMORY_BUFFER && memory->u.buffer != NULL && !tn_gate_is_shut() &&
        tn_opencl_load("tenon_memory_destroy") == TENON_OK)
        tn_buffer_registry_drop(memory->u.buffer);
    memset(memory, 0, sizeof *memory);
}

TENON_API tenon_status tenon_tensor_create(tenon_context *context, tenon_dtype dtype, uint32_t rank,
                                           const int64_t *shape, tenon_tensor *tensor)
{
    static const char caller[] = "tenon_tensor_create";
    if (context == NULL || tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context" : "tensor");
    if (tenon_dtype_size(dtype) == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: dtype is %d, which is not a tenon_dtype",
                       caller, (int)dtype);
    tenon_tensor view = tenon_tensor_view(dtype, rank, shape);
    TN_TRY(tn_tensor_check(caller, "tensor", &view));
    tn_extent extent = tn_tensor_extent(&view);
    TN_TRY(tn_memory_allocate(caller, context, extent.end, &view.memory));
    *tensor = view;
    return TENON_OK;
}

TENON_API void tenon_tensor_destroy(tenon_tensor *tensor)
{
    if (tensor == NULL)
        return;
    tenon_memory_destroy(&tensor->memory);
    memset(tensor, 0, sizeof *tensor);
}

TENON_API tenon_status tenon_tensor_check(const tenon_tensor *tensor)
{
    return tn_tensor_check("tenon_tensor_check", "tensor", tensor);
}

/* Makes a view of memory that the application owns. */
static tenon_status view_memory(const char *caller, tenon_memory memory, uint64_t offset,
                                tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                                tenon_tensor *view)
{
    if (tenon_dtype_size(dtype) == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: dtype is %d, which is not a tenon_dtype",
                       caller, (int)dtype);
    *view = tenon_tensor_view(dtype, rank, shape);
    if (view->dtype != TENON_DTYPE_INVALID) {
        view->memory = memory;
        view->offset = offset;
    }
    return tn_tensor_check(caller, "tensor", view);
}

TENON_API tenon_status tenon_tensor_from_buffer(cl_mem buffer, uint64_t offset, tenon_dtype dtype,
                                                uint32_t rank, const int64_t *shape,
                                                tenon_tensor *tensor)
{
    static const char caller[] = "tenon_tensor_from_buffer";
    const tenon_memory memory = {.kind = TENON_MEMORY_BUFFER, .u.buffer = buffer};
    tenon_tensor view;
    size_t size;
    if (buffer == NULL || tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       buffer == NULL ? "buffer" : "tensor");
    TN_TRY(view_memory(caller, memory, offset, dtype, rank, shape, &view));
    TN_TRY(tn_opencl_load(caller));
    TN_TRY(find_size(caller, buffer, &size));
    TN_TRY(check_end(caller, "tensor", &view, size));
    *tensor = view;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_from_svm(void *svm, uint64_t offset, tenon_dtype dtype,
                                             uint32_t rank, const int64_t *shape,
                                             tenon_tensor *tensor)
{
    static const char caller[] = "tenon_tensor_from_svm";
    const tenon_memory memory = {.kind = TENON_MEMORY_SVM, .u.svm = svm};
    tenon_tensor view;
    if (svm == NULL || tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       svm == NULL ? "svm" : "tensor");
    TN_TRY(view_memory(caller, memory, offset, dtype, rank, shape, &view));
    *tensor = view;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_from_usm(tenon_context *context, void *usm, uint64_t offset,
                                             tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                                             tenon_tensor *tensor)
{
    static const char caller[] = "tenon_tensor_from_usm";
    const tenon_memory memory = {.kind = TENON_MEMORY_USM, .u.usm = usm};
    tenon_tensor view;
    if (context == NULL || usm == NULL || tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context"
                       : usm == NULL   ? "usm"
                                       : "tensor");
    TN_TRY(view_memory(caller, memory, offset, dtype, rank, shape, &view));
    TN_TRY(tn_usm_check(caller, "tensor", context, usm, tn_tensor_extent(&view).end));
    *tensor = view;
    return TENON_OK;
}

static tenon_status check_buffer(const char *caller, const char *argument, tenon_context *context,
                                 const tenon_tensor *tensor)
{
    size_t size;
    cl_context cl;
    cl_mem buffer = tensor->memory.u.buffer;
    if (buffer == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: its buffer is NULL", caller,
                       argument);
    TN_TRY(find_size(caller, buffer, &size));
    TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_CONTEXT)",
              clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof cl, &cl, NULL));
    if (cl != context->cl)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: its buffer belongs to another OpenCL context", caller, argument);
    return check_end(caller, argument, tensor, size);
}

bool tn_memory_is_pointer(const tenon_memory *memory)
{
    return memory->kind == TENON_MEMORY_SVM || memory->kind == TENON_MEMORY_USM;
}

bool tn_memory_is_plain(const tenon_context *context, const tenon_memory *memory, uint64_t end)
{
    size_t size;
    cl_context cl;
    cl_mem parent;
    cl_mem buffer = memory->u.buffer;
    return memory->kind == TENON_MEMORY_BUFFER && buffer != NULL &&
           clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL) == CL_SUCCESS &&
           size >= end &&
           clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof cl, &cl, NULL) == CL_SUCCESS &&
           cl == context->cl &&
           clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL) ==
               CL_SUCCESS &&
           parent == NULL;
}

tenon_status tn_memory_check(const char *caller, const char *argument, tenon_context *context,
                             const tenon_tensor *tensor)
{
    if (tn_tensor_empty(tensor))
        return TENON_OK;
    if (tensor->memory.kind == TENON_MEMORY_BUFFER)
        return check_buffer(caller, argument, context, tensor);
    if (tensor->memory.kind == TENON_MEMORY_SEQUENCE)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: its memory is that of a sequence, which only steps of the sequence "
                       "can use",
                       caller, argument);
    if (!tn_memory_is_pointer(&tensor->memory) || tensor->memory.u.svm == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: has no memory", caller, argument);
    if (tensor->memory.kind == TENON_MEMORY_USM)
        return tn_usm_check(caller, argument, context, tensor->memory.u.usm,
                            tn_tensor_extent(tensor).end);
    if (!context->device.svm)
        return tn_fail(TENON_ERROR_UNSUPPORTED_DEVICE,
                       "%s: %s: device %s has no shared virtual memory", caller, argument,
                       context->device.info.name);
    return TENON_OK;
}

/* Returns the buffer that a sub-buffer belongs to, and its offset there. Any other buffer is its
 * own root. */
static tenon_status find_root(const char *caller, cl_mem buffer, cl_mem *root, int64_t *origin)
{
    cl_mem parent = NULL;
    size_t offset = 0;
    TN_CL_TRY(
        caller, "clGetMemObjectInfo(CL_MEM_ASSOCIATED_MEMOBJECT)",
        clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
    if (parent != NULL)
        TN_CL_TRY(caller, "clGetMemObjectInfo(CL_MEM_OFFSET)",
                  clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof offset, &offset, NULL));
    *root = parent != NULL ? parent : buffer;
    *origin = (int64_t)offset;
    return TENON_OK;
}

/* Sets `*overlap` to true if two views may share a byte. */
static tenon_status find_overlap(const char *caller, const tenon_tensor *a, const tenon_tensor *b,
                                 bool *overlap)
{
    cl_mem root_a = NULL, root_b = NULL;
    int64_t origin_a = 0, origin_b = 0;
    *overlap = false;
    const bool points = tn_memory_is_pointer(&a->memory);
    const bool is_sequence = a->memory.kind == TENON_MEMORY_SEQUENCE;
    /* The memory of an empty view may be anything. */
    if (tn_tensor_empty(a) || tn_tensor_empty(b) || points != tn_memory_is_pointer(&b->memory) ||
        a->memory.kind == TENON_MEMORY_NONE || b->memory.kind == TENON_MEMORY_NONE ||
        is_sequence != (b->memory.kind == TENON_MEMORY_SEQUENCE))
        return TENON_OK;
    if (is_sequence) {
        *overlap = a->memory.u.svm == b->memory.u.svm && tn_tensor_overlaps(a, b, 0);
        return TENON_OK;
    }
    if (points) {
        *overlap = tn_tensor_overlaps(
            a, b, (int64_t)((intptr_t)b->memory.u.svm - (intptr_t)a->memory.u.svm));
        return TENON_OK;
    }
    if (a->memory.u.buffer == b->memory.u.buffer) {
        *overlap = tn_tensor_overlaps(a, b, 0);
        return TENON_OK;
    }
    TN_TRY(find_root(caller, a->memory.u.buffer, &root_a, &origin_a));
    TN_TRY(find_root(caller, b->memory.u.buffer, &root_b, &origin_b));
    *overlap = root_a == root_b && tn_tensor_overlaps(a, b, origin_b - origin_a);
    return TENON_OK;
}

bool tn_memory_is_same(const tenon_memory *a, const tenon_memory *b)
{
    if (a->kind != b->kind)
        return false;
    return tn_memory_is_pointer(a) ? a->u.svm == b->u.svm : a->u.buffer == b->u.buffer;
}

bool tn_memory_same_view(const tenon_tensor *a, const tenon_tensor *b)
{
    return a == b || (a->memory.kind != TENON_MEMORY_NONE &&
                      tn_memory_is_same(&a->memory, &b->memory) && tn_tensor_same_view(a, b));
}

tenon_status tn_memory_check_apart(const char *caller, const char *input_name,
                                   const tenon_tensor *input, const char *output_name,
                                   const tenon_tensor *output, bool same_allowed)
{
    bool same =
        tn_memory_is_same(&input->memory, &output->memory) && tn_tensor_same_view(input, output);
    bool overlap;
    if (same && same_allowed)
        return TENON_OK;
    TN_TRY(find_overlap(caller, input, output, &overlap));
    if (!overlap)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s overlaps the output %s", caller,
                   input_name, output_name);
}
