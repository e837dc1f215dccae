/* Views of host memory, for references and self-checks: tenon_tensors with memory of kind SVM. */
#ifndef TN_CHECK_HOST_H
#define TN_CHECK_HOST_H

#include "check/bounds.h"
#include "dispatch/call.h"

/* Returns the elements of a view broadcast to `rank` and `shape` as doubles in row-major order,
 * which the caller frees; NULL if memory is short. The view must broadcast. */
double *tn_host_read(const tenon_tensor *view, uint32_t rank, const int64_t *shape);

/* Returns the address of an element of a view of host memory. */
void *tn_host_element(const tenon_tensor *view, const int64_t *index);

/* Elements along the last dimension of a view of host memory. */
typedef struct tn_host_row {
    char *first;
    int64_t count, step; /* in bytes */
} tn_host_row;

/* Returns the number of such rows of a view. */
int64_t tn_host_rows(const tenon_tensor *view);

/* Returns the row at `index`, which has all dimensions and advances to the next row. */
tn_host_row tn_host_next_row(const tenon_tensor *view, int64_t *index);

/* Returns a view for self-checks: N C H W or N H W C, with an offset and with gaps between rows,
 * channels or pixels, and images. */
tenon_tensor tn_image_view(tenon_dtype dtype, bool channels_last, int64_t n, int64_t c,
                           const int64_t size[2]);

/* A tensor with copies on host and device, for a self-check. */
typedef struct tn_mirror {
    tenon_tensor host;   /* memory of kind SVM, owned by the mirror */
    tenon_tensor device; /* the same view of a buffer, owned by the mirror */
} tn_mirror;

/* Creates both from a view without memory, filled with random values in [-1, 1], or of the full
 * range for integer types other than i32 (from *seed, which advances). Those of i64 have 64, 48, 32
 * or 16 bits. The bytes between and after the elements hold
 * NaN, which reveals kernels that read them. */
tenon_status tn_mirror_create(tenon_stream *stream, const tenon_tensor *view, uint64_t *seed,
                              tn_mirror *mirror);

/* Returns the size of a view's mirror in bytes: up to its last element, plus a guard zone. */
uint64_t tn_mirror_bytes(const tenon_tensor *view);

/* Copies the host's bytes to the device. */
tenon_status tn_mirror_upload(tenon_stream *stream, const tn_mirror *mirror);

/* Copies the device's bytes to the host. */
tenon_status tn_mirror_fetch(tenon_stream *stream, tn_mirror *mirror);

void tn_mirror_destroy(tn_mirror *mirror);

/* Returns true if a device's value is within the bound of the reference, which is not TN_WHOLE. */
bool tn_within(double got, tn_bounded expected);

/* Returns an element of an output as a double. A bool is its byte, which must be 0 or 1. */
double tn_result_load(tenon_dtype dtype, const void *element);

/* Returns the lowest bits of an integer, as an element of the type has them, as an exact result. */
tn_bounded tn_whole_stored(tenon_dtype dtype, int64_t value);

/* Returns true if such an element is the integer `expected`, whose bound is TN_WHOLE. */
bool tn_is_whole(tenon_dtype dtype, const void *element, tn_bounded expected);

/* Writes an element of a type with which outputs are filled before a call: NaN, or for integers and
 * bool bytes that are seldom results. */
void tn_put_unwritten(tenon_dtype dtype, void *element);

/* Returns the next value in [-1, 1] of a 64-bit linear congruential generator (Knuth's MMIX
 * constants). */
double tn_random(uint64_t *seed);

#endif
