/* Views of host memory, for references and self-checks: tenon_tensors whose memory is of kind SVM.
 */
#ifndef TN_CHECK_HOST_H
#define TN_CHECK_HOST_H

#include "check/bounds.h"
#include "dispatch/call.h"

/* The elements of a view read as one of `rank` and `shape` (aligned at the right, repeated where it
 * broadcasts), as doubles in row-major order, which the caller frees. NULL without memory. The view
 * must broadcast. */
double *tn_host_read(const tenon_tensor *view, uint32_t rank, const int64_t *shape);

/* Where an element of a view of host memory lies. */
void *tn_host_element(const tenon_tensor *view, const int64_t *index);

/* Elements along the last dimension of a view of host memory. */
typedef struct tn_host_row {
    char *first;
    int64_t count, step; /* in bytes */
} tn_host_row;

/* How many such rows a view has. */
int64_t tn_host_rows(const tenon_tensor *view);

/* The row at `index`, which is of all dimensions and moves on to the next row. */
tn_host_row tn_host_next_row(const tenon_tensor *view, int64_t *index);

/* A view for self-checks: N C H W, or N H W C, with an offset and gaps between rows, channels or
 * pixels, and images. */
tenon_tensor tn_image_view(tenon_dtype dtype, bool channels_last, int64_t n, int64_t c,
                           const int64_t size[2]);

/* A tensor with its mirrors on host and device, for a self-check. */
typedef struct tn_mirror {
    tenon_tensor host;   /* memory of kind SVM, which the mirror owns */
    tenon_tensor device; /* the same view of a buffer, which the mirror owns */
} tn_mirror;

/* Makes both from a view without memory, filled with random values in [-1, 1], or for i8 and u8
 * from all of their range (from *seed, which moves on); the bytes between and behind elements hold
 * NaN, so that a kernel that reads them shows it. */
tenon_status tn_mirror_create(tenon_stream *stream, const tenon_tensor *view, uint64_t *seed,
                              tn_mirror *mirror);

/* The bytes of a view's mirror: up to its last element, and a guard. */
uint64_t tn_mirror_bytes(const tenon_tensor *view);

/* Brings the host's bytes to the device. */
tenon_status tn_mirror_upload(tenon_stream *stream, const tn_mirror *mirror);

/* Brings the device's bytes to the host. */
tenon_status tn_mirror_fetch(tenon_stream *stream, tn_mirror *mirror);

void tn_mirror_destroy(tn_mirror *mirror);

/* Whether one device value may stand for a reference's. */
bool tn_within(double got, tn_bounded expected);

/* The next value in [-1, 1] of a 64-bit linear congruential generator (Knuth's MMIX constants). */
double tn_random(uint64_t *seed);

#endif
