#include "check/host.h"

#include "base/checked.h"
#include "base/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Size of the guard zone after a view's last element, which reveals writes out of bounds. */
#define GUARD 64

uint64_t tn_mirror_bytes(const tenon_tensor *view)
{
    return tn_tensor_extent(view).end + GUARD * tenon_dtype_size(view->dtype);
}

void *tn_host_element(const tenon_tensor *view, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < view->rank; d++)
        at += index[d] * view->stride[d];
    return (char *)view->memory.u.svm + view->offset + at * (int64_t)tenon_dtype_size(view->dtype);
}

int64_t tn_host_rows(const tenon_tensor *view)
{
    const int64_t count = tenon_tensor_elements(view);
    return view->rank > 0 && count > 0 ? count / view->shape[view->rank - 1] : count;
}

tn_host_row tn_host_next_row(const tenon_tensor *view, int64_t *index)
{
    const int64_t size = (int64_t)tenon_dtype_size(view->dtype);
    tn_host_row row = {tn_host_element(view, index), 1, 0};
    if (view->rank > 0) {
        row.count = view->shape[view->rank - 1];
        row.step = view->stride[view->rank - 1] * size;
        tn_next_index(index, view->shape, view->rank - 1);
    }
    return row;
}

double *tn_host_read(const tenon_tensor *view, uint32_t rank, const int64_t *shape)
{
    tenon_tensor wide = *view;
    int64_t index[TENON_MAX_RANK] = {0};
    wide.rank = rank;
    memcpy(wide.shape, shape, rank * sizeof *shape);
    if (tn_broadcast("reference", "view", view, rank, shape, wide.stride) != TENON_OK)
        return NULL;
    int64_t count = tenon_tensor_elements(&wide);
    double *values = tn_array(count, sizeof *values);
    double *to = values;
    for (int64_t rows = tn_host_rows(&wide); values != NULL && rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(&wide, index);
        for (int64_t i = 0; i < row.count; i++)
            *to++ = tn_dtype_load(wide.dtype, row.first + i * row.step);
    }
    return values;
}

double tn_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)*seed / 9223372036854775808.0;
}

/* Returns all of the mirror's memory as a dense tensor of the view's type. */
static tenon_tensor whole_memory(const tenon_tensor *view, tenon_memory memory)
{
    const int64_t elements[] = {(int64_t)(tn_mirror_bytes(view) / tenon_dtype_size(view->dtype))};
    tenon_tensor all = tenon_tensor_view(view->dtype, 1, elements);
    all.memory = memory;
    return all;
}

/* Stores a value in [-1, 1], or one of the full range of an integer type other than i32. */
static void put_random(tenon_dtype dtype, void *element, uint64_t *seed)
{
    const double x = tn_random(seed);
    if (tn_dtype_is_float(dtype) || dtype == TENON_DTYPE_I32) {
        tn_dtype_store(dtype, element, x);
        return;
    }
    /* The generator's lowest bits have a short period. */
    const int64_t bits = (int64_t)(*seed ^ *seed >> 31);
    tn_dtype_store_whole(dtype, element,
                         dtype == TENON_DTYPE_BOOL  ? bits < 0
                         : dtype == TENON_DTYPE_I64 ? bits >> 16 * (*seed >> 62)
                                                    : bits);
}

void tn_put_unwritten(tenon_dtype dtype, void *element)
{
    if (tn_dtype_is_float(dtype))
        tn_dtype_store(dtype, element, (double)NAN);
    else
        memset(element, 0xa5, tenon_dtype_size(dtype));
}

/* Writes a NaN whose lowest bits identify the operand. A copy of one operand's gaps to another's is
 * thus detected. */
static void put_nan(tenon_dtype dtype, char *element, uint64_t seed)
{
    const uint64_t own = (seed >> 32 & 63) | 1;
    const size_t size = tenon_dtype_size(dtype);
    const uint64_t bits = (size == 8   ? UINT64_C(0x7ff8000000000000)
                           : size == 4 ? UINT64_C(0x7fc00000)
                                       : UINT64_C(0x7fc0)) |
                          own;
    for (size_t i = 0; i < size; i++) /* one byte: the lowest */
        element[i] = (char)(bits >> 8 * i & 255);
}

static void fill_host(tenon_tensor *host, uint64_t *seed)
{
    const tenon_tensor all = whole_memory(host, host->memory);
    const size_t size = tenon_dtype_size(host->dtype);
    char *first = host->memory.u.svm;
    int64_t index[TENON_MAX_RANK] = {0};
    put_nan(all.dtype, first, *seed);
    for (int64_t i = 1; i < all.shape[0]; i++)
        memcpy(first + (size_t)i * size, first, size);
    for (int64_t rows = tn_host_rows(host); rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(host, index);
        for (int64_t i = 0; i < row.count; i++)
            put_random(host->dtype, row.first + i * row.step, seed);
    }
}

tenon_status tn_mirror_create(tenon_stream *stream, const tenon_tensor *view, uint64_t *seed,
                              tn_mirror *mirror)
{
    uint64_t bytes = tn_mirror_bytes(view);
    memset(mirror, 0, sizeof *mirror);
    mirror->host = mirror->device = *view;
    size_t size;
    void *memory = tn_to_size(bytes, &size) ? malloc(size) : NULL;
    if (memory == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "self-check: no memory");
    mirror->host.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = memory};
    TN_TRY(tenon_memory_create(stream->context, bytes, &mirror->device.memory));
    fill_host(&mirror->host, seed);
    return tn_mirror_upload(stream, mirror);
}

tenon_status tn_mirror_upload(tenon_stream *stream, const tn_mirror *mirror)
{
    tenon_tensor all = whole_memory(&mirror->device, mirror->device.memory);
    return tenon_tensor_upload(stream, mirror->host.memory.u.svm,
                               (size_t)all.shape[0] * tenon_dtype_size(all.dtype), &all, NULL);
}

tenon_status tn_mirror_fetch(tenon_stream *stream, tn_mirror *mirror)
{
    tenon_tensor all = whole_memory(&mirror->device, mirror->device.memory);
    return tenon_tensor_download(stream, &all, mirror->host.memory.u.svm,
                                 (size_t)all.shape[0] * tenon_dtype_size(all.dtype), NULL);
}

void tn_mirror_destroy(tn_mirror *mirror)
{
    if (mirror->host.memory.kind == TENON_MEMORY_SVM)
        free(mirror->host.memory.u.svm);
    tenon_memory_destroy(&mirror->device.memory);
    memset(mirror, 0, sizeof *mirror);
}

bool tn_within(double got, tn_bounded expected)
{
    if (isnan(expected.value))
        return isnan(got);
    if (expected.bound == TN_ANYTHING)
        return true;
    /* An infinite bound means that the result may overflow in the device's type. Any value but NaN
     * is accepted then. */
    return got == expected.value || fabs(got - expected.value) <= expected.bound;
}

double tn_result_load(tenon_dtype dtype, const void *element)
{
    return tn_dtype_load(dtype == TENON_DTYPE_BOOL ? TENON_DTYPE_U8 : dtype, element);
}

tn_bounded tn_whole_stored(tenon_dtype dtype, int64_t value)
{
    unsigned char element[8];
    tn_dtype_store_whole(dtype, element, value);
    return tn_whole(tn_dtype_load_whole(dtype, element));
}

bool tn_is_whole(tenon_dtype dtype, const void *element, tn_bounded expected)
{
    return tn_dtype_load_whole(dtype == TENON_DTYPE_BOOL ? TENON_DTYPE_U8 : dtype, element) ==
           tn_whole_value(expected);
}

tenon_tensor tn_image_view(tenon_dtype dtype, bool channels_last, int64_t n, int64_t c,
                           const int64_t size[2])
{
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype),
                         .dtype = dtype,
                         .rank = 4,
                         .shape = {n, c, size[0], size[1]}};
    view.stride[3] = channels_last ? c + 2 : 1;
    view.stride[2] = size[1] * view.stride[3] + 3;
    view.stride[1] = channels_last ? 1 : size[0] * view.stride[2] + 1;
    view.stride[0] = (channels_last ? size[0] * view.stride[2] : c * view.stride[1]) + 5;
    return view;
}
