/* Asynchronous uploads and downloads. OpenCL's copies do not support a tensor's strides, so those
 * of a strided view go through a dense tensor on the device and tenon_copy. */
#include "base/shape.h"
#include "dispatch/operation.h"
#include "ops/registry.h"
#include "runtime/memory/transfer.h"

#include <string.h>

typedef struct transfer {
    const char *caller;
    tenon_stream *stream;
    const tenon_tensor *tensor;
    void *data;
    const tenon_sync *sync;
} transfer;

/* Returns the tensor with an unsigned type, for elements whose type tenon_copy does not support. */
static tenon_tensor as_copied(const tenon_tensor *tensor)
{
    tenon_tensor bits = *tensor;
    if (bits.dtype == TENON_DTYPE_F8_E4M3 || bits.dtype == TENON_DTYPE_F8_E5M2)
        bits.dtype = TENON_DTYPE_U8;
    return bits;
}

static tenon_status copy(const transfer *t, const tenon_tensor *from, const tenon_tensor *to,
                         const tenon_sync *sync)
{
    const tenon_tensor x = as_copied(from), y = as_copied(to);
    const tenon_tensor *const views[] = {&x, &y};
    return tn_operation_run_as(t->caller, &tn_operation_copy, t->stream, NULL, views, sync);
}

/* Nothing may read the caller's data after a failed call, so a failure waits for the stream. */
static tenon_status write_staged(const transfer *t, const tenon_tensor *staged)
{
    const tenon_sync before = {.wait_list = tn_sync_wait_list(t->sync),
                               .wait_count = tn_sync_wait_count(t->sync)};
    const tenon_sync after = {.event = tn_sync_event(t->sync)};
    TN_TRY(tn_transfer_dense(t->caller, t->stream, staged, t->data, true, false, &before));
    const tenon_status status = copy(t, staged, t->tensor, &after);
    if (status != TENON_OK)
        tn_stream_settle(t->stream);
    return status;
}

static tenon_status read_staged(const transfer *t, const tenon_tensor *staged)
{
    const tenon_sync before = {.wait_list = tn_sync_wait_list(t->sync),
                               .wait_count = tn_sync_wait_count(t->sync)};
    const tenon_sync after = {.event = tn_sync_event(t->sync)};
    TN_TRY(copy(t, t->tensor, staged, &before));
    return tn_transfer_dense(t->caller, t->stream, staged, t->data, false, false, &after);
}

static tenon_status elementwise_async_run(const transfer *t, size_t bytes, bool to_tensor)
{
    tenon_tensor staged;
    TN_TRY(tn_transfer_check(t->caller, t->stream, t->tensor, t->sync));
    if (to_tensor)
        TN_TRY(tn_output_check(t->caller, "tensor", t->tensor));
    TN_TRY(tn_transfer_check_data(t->caller, t->tensor, t->data, bytes));
    if (bytes == 0)
        return tn_sync_marker(t->caller, t->stream, t->sync);
    if (tn_tensor_dense(t->tensor))
        return tn_transfer_dense(t->caller, t->stream, t->tensor, t->data, to_tensor, false,
                                 t->sync);
    tenon_status status = tenon_tensor_create(t->stream->context, t->tensor->dtype, t->tensor->rank,
                                              t->tensor->shape, &staged);
    if (status != TENON_OK)
        return tn_fail_because(status, "%s: no memory for the staging buffer of a strided tensor",
                               t->caller);
    status = (to_tensor ? write_staged : read_staged)(t, &staged);
    /* Enqueued commands retain its memory. */
    tenon_tensor_destroy(&staged);
    return status;
}

TENON_API tenon_status tenon_tensor_upload_async(tenon_stream *stream, const void *data,
                                                 size_t bytes, const tenon_tensor *tensor,
                                                 const tenon_sync *sync)
{
    return elementwise_async_run(
        &(transfer){"tenon_tensor_upload_async", stream, tensor, (void *)(uintptr_t)data, sync},
        bytes, true);
}

TENON_API tenon_status tenon_tensor_download_async(tenon_stream *stream, const tenon_tensor *tensor,
                                                   void *data, size_t bytes, const tenon_sync *sync)
{
    return elementwise_async_run(
        &(transfer){"tenon_tensor_download_async", stream, tensor, data, sync}, bytes, false);
}
