#include "runtime/memory/dlpack.h"

#include "runtime/context/context.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/buffer_registry.h"

#include <tenon/dlpack.h>

#include <stdlib.h>
#include <string.h>

/* DLPack's type of each Tenon type. */
static const struct {
    tenon_dtype dtype;
    uint8_t code, bits;
} types[] = {
    {TENON_DTYPE_F64, TN_DL_FLOAT, 64}, {TENON_DTYPE_F32, TN_DL_FLOAT, 32},
    {TENON_DTYPE_F16, TN_DL_FLOAT, 16}, {TENON_DTYPE_BF16, TN_DL_BFLOAT, 16},
    {TENON_DTYPE_I8, TN_DL_INT, 8},     {TENON_DTYPE_U8, TN_DL_UINT, 8},
    {TENON_DTYPE_I32, TN_DL_INT, 32},   {TENON_DTYPE_I64, TN_DL_INT, 64},
    {TENON_DTYPE_I16, TN_DL_INT, 16},   {TENON_DTYPE_U16, TN_DL_UINT, 16},
    {TENON_DTYPE_U32, TN_DL_UINT, 32},  {TENON_DTYPE_BOOL, TN_DL_BOOL, 8},
};
enum { TYPES = sizeof types / sizeof *types };

/* An exported tensor, with the arrays that its pointers refer to. */
typedef struct exported {
    union {
        tn_dl_versioned versioned;
        tn_dl_unversioned unversioned;
    } as;
    cl_mem buffer; /* NULL for an empty tensor */
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK];
} exported;

static void end(exported *h)
{
    if (h->buffer != NULL)
        tn_buffer_registry_drop(h->buffer);
    free(h);
}

static void end_versioned(tn_dl_versioned *self)
{
    end(self->manager);
}

static void end_unversioned(tn_dl_unversioned *self)
{
    end(self->manager);
}

static tenon_status check_exported(const char *caller, tenon_context *context,
                                   const tenon_tensor *tensor)
{
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", caller);
    TN_TRY(tn_tensor_check(caller, "tensor", tensor));
    if (tn_memory_is_pointer(&tensor->memory))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: tensor: DLPack's OpenCL tensors are buffers, not pointers", caller);
    return tn_memory_check(caller, "tensor", context, tensor);
}

static tenon_status describe(const char *caller, const tenon_context *context,
                             const tenon_tensor *tensor, exported *h, tn_dl_tensor *dl)
{
    uint32_t type = 0;
    while (type < TYPES && types[type].dtype != tensor->dtype)
        type++;
    if (type == TYPES)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: tensor: DLPack has no type for %s", caller,
                       tenon_dtype_string(tensor->dtype));
    memcpy(h->shape, tensor->shape, sizeof h->shape);
    memcpy(h->stride, tensor->stride, sizeof h->stride);
    *dl = (tn_dl_tensor){.data = h->buffer,
                         .device = {TN_DL_OPENCL, tn_device_number(&context->device)},
                         .ndim = (int32_t)tensor->rank,
                         .dtype = {types[type].code, types[type].bits, 1},
                         .shape = h->shape,
                         .strides = h->stride,
                         .byte_offset = h->buffer != NULL ? tensor->offset : 0};
    return TENON_OK;
}

static tenon_status export_tensor(const char *caller, tenon_context *context,
                                  const tenon_tensor *tensor, bool is_versioned, exported **out)
{
    TN_TRY(tn_gate_check(caller));
    exported *h = calloc(1, sizeof *h);
    if (h == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    h->buffer = tn_tensor_empty(tensor) ? NULL : tensor->memory.u.buffer;
    tenon_status status =
        describe(caller, context, tensor, h,
                 is_versioned ? &h->as.versioned.tensor : &h->as.unversioned.tensor);
    if (status == TENON_OK && h->buffer != NULL)
        status = tn_buffer_registry_retain(caller, h->buffer);
    if (status != TENON_OK) {
        free(h);
        return status;
    }
    *out = h;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_to_dlpack(tenon_context *context, const tenon_tensor *tensor,
                                              uint32_t flags, struct DLManagedTensorVersioned **out)
{
    static const char caller[] = "tenon_tensor_to_dlpack";
    exported *h = NULL;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(check_exported(caller, context, tensor));
    if ((flags & ~(uint32_t)TENON_DLPACK_READ_ONLY) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: flags is %u, must be 0 or TENON_DLPACK_READ_ONLY", caller, flags);
    tenon_status status = export_tensor(caller, context, tensor, true, &h);
    if (h == NULL)
        return status;
    tn_dl_versioned *managed = &h->as.versioned;
    managed->version.major = 1;
    managed->manager = h;
    managed->deleter = end_versioned;
    managed->flags = flags != 0 ? TN_DL_READ_ONLY : 0;
    *out = (struct DLManagedTensorVersioned *)(void *)managed;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_to_dlpack_unversioned(tenon_context *context,
                                                          const tenon_tensor *tensor,
                                                          struct DLManagedTensor **out)
{
    static const char caller[] = "tenon_tensor_to_dlpack_unversioned";
    exported *h = NULL;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(check_exported(caller, context, tensor));
    tenon_status status = export_tensor(caller, context, tensor, false, &h);
    if (h == NULL)
        return status;
    tn_dl_unversioned *managed = &h->as.unversioned;
    managed->manager = h;
    managed->deleter = end_unversioned;
    *out = (struct DLManagedTensor *)(void *)managed;
    return TENON_OK;
}

static void delete_versioned(void *what)
{
    tn_dl_versioned *managed = what;
    if (managed->deleter != NULL)
        managed->deleter(managed);
}

static void delete_unversioned(void *what)
{
    tn_dl_unversioned *managed = what;
    if (managed->deleter != NULL)
        managed->deleter(managed);
}

static tenon_dtype dtype_of(const tn_dl_tensor *dl)
{
    for (uint32_t i = 0; i < TYPES; i++)
        if (dl->dtype.lanes == 1 && dl->dtype.code == types[i].code &&
            dl->dtype.bits == types[i].bits)
            return types[i].dtype;
    return TENON_DTYPE_INVALID;
}

static tenon_status check_kind(const char *caller, const tn_dl_tensor *dl)
{
    if (dl->device.type == TN_DL_CPU)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: managed: it is in host memory: tenon_tensor_upload copies it, "
                       "tenon_memory_wrap wraps it in place",
                       caller);
    if (dl->device.type != TN_DL_OPENCL)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: managed: device_type is %d, must be kDLOpenCL (%d)", caller,
                       dl->device.type, TN_DL_OPENCL);
    if (dtype_of(dl) == TENON_DTYPE_INVALID)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: managed: a type of code %u with %u bits and %u lanes is none of Tenon's", caller,
            dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
    if (dl->ndim < 0 || dl->ndim > TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: managed: ndim is %d, must be 0 to %d", caller,
                       dl->ndim, TENON_MAX_RANK);
    if (dl->ndim > 0 && dl->shape == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: managed: shape is NULL", caller);
    return TENON_OK;
}

/* Makes a view with its memory from a DLPack tensor. */
static tenon_status read_view(const char *caller, tenon_context *context, const tn_dl_tensor *dl,
                              tenon_tensor *view)
{
    TN_TRY(tn_gate_check(caller));
    TN_TRY(check_kind(caller, dl));
    *view = tenon_tensor_view(dtype_of(dl), (uint32_t)dl->ndim, dl->shape);
    TN_TRY(tn_tensor_check(caller, "managed", view));
    for (int32_t d = 0; dl->strides != NULL && d < dl->ndim; d++) {
        if (dl->strides[d] < 0)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: managed: stride %d is %lld, must not be negative", caller, d,
                           (long long)dl->strides[d]);
        view->stride[d] = dl->strides[d];
    }
    if (tn_tensor_empty(view))
        return TENON_OK;
    view->offset = dl->byte_offset;
    view->memory = (tenon_memory){.kind = TENON_MEMORY_BUFFER, .u.buffer = dl->data};
    TN_TRY(tn_tensor_check(caller, "managed", view));
    return tn_memory_check(caller, "managed", context, view);
}

/* Imports `what`, whose tensor is `dl`. On failure the caller still owns it. */
static tenon_status import_tensor(const char *caller, tenon_context *context,
                                  const tn_dl_tensor *dl, tn_release_callback give_back, void *what,
                                  tenon_tensor *tensor)
{
    tenon_tensor view;
    if (context == NULL || tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context" : "tensor");
    TN_TRY(read_view(caller, context, dl, &view));
    if (tn_tensor_empty(&view))
        give_back(what);
    else
        TN_TRY(tn_buffer_registry_import(caller, view.memory.u.buffer, give_back, what));
    *tensor = view;
    return TENON_OK;
}

/* Gives back the import of a failed call. Its deleter may call the library, so the error message
 * is preserved. */
static tenon_status end_failed(tenon_status status, tn_release_callback give_back, void *what)
{
    tn_kept_message kept;
    const bool is_kept = tn_message_keep(&kept);
    give_back(what);
    if (is_kept)
        tn_message_restore(&kept);
    return status;
}

static tenon_status take_versioned(const char *caller, tenon_context *context,
                                   tn_dl_versioned *managed, uint32_t *flags, tenon_tensor *tensor)
{
    /* In another major version only the members up to the deleter are known. */
    if (managed->version.major != 1)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: managed: version %u.%u of DLPack, must be 1 (any minor version)",
                       caller, managed->version.major, managed->version.minor);
    const bool is_read_only = (managed->flags & TN_DL_READ_ONLY) != 0;
    if (is_read_only && flags == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: managed: the tensor is read-only, which only a call with flags accepts",
                       caller);
    TN_TRY(import_tensor(caller, context, &managed->tensor, delete_versioned, managed, tensor));
    if (flags != NULL)
        *flags = is_read_only ? TENON_DLPACK_READ_ONLY : 0;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_from_dlpack(tenon_context *context,
                                                struct DLManagedTensorVersioned *managed,
                                                uint32_t *flags, tenon_tensor *tensor)
{
    static const char caller[] = "tenon_tensor_from_dlpack";
    void *what = managed;
    if (managed == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: managed is NULL", caller);
    tenon_status status = take_versioned(caller, context, what, flags, tensor);
    return status == TENON_OK ? TENON_OK : end_failed(status, delete_versioned, what);
}

TENON_API tenon_status tenon_tensor_from_dlpack_unversioned(tenon_context *context,
                                                            struct DLManagedTensor *managed,
                                                            tenon_tensor *tensor)
{
    static const char caller[] = "tenon_tensor_from_dlpack_unversioned";
    tn_dl_unversioned *what = (void *)managed;
    if (managed == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: managed is NULL", caller);
    tenon_status status =
        import_tensor(caller, context, &what->tensor, delete_unversioned, what, tensor);
    return status == TENON_OK ? TENON_OK : end_failed(status, delete_unversioned, what);
}
