/* Views of host memory, for references and self-checks: tenon_tensors whose memory is of kind SVM.
 */
#ifndef TN_CHECK_HOST_H
#define TN_CHECK_HOST_H

#include "check/bounds.h"
#include "dispatch/plan.h"

/* The elements of a view read as one of `rank` and `shape` (aligned at the right, repeated where it
 * broadcasts), as doubles in row-major order, which the caller frees. NULL without memory. The view
 * must broadcast. */
double *tn_host_read(const tenon_tensor *view, uint32_t rank, const int64_t *shape);

/* Where an element of a view of host memory lies. */
void *tn_host_element(const tenon_tensor *view, const int64_t *index);

/* A view for self-checks: N C H W, or N H W C, with an offset and gaps between rows, channels or
 * pixels, and images. */
tenon_tensor tn_image_view(tenon_dtype dtype, bool channels_last, int64_t n, int64_t c,
                           const int64_t size[2]);

/* A tensor with its twins on host and device, for a self-check. */
typedef struct tn_twin {
    tenon_tensor host;   /* memory of kind SVM, which the twin owns */
    tenon_tensor device; /* the same view of a buffer, which the twin owns */
    uint64_t seed;       /* that its values came from */
} tn_twin;

/* Makes both from a view without memory, filled with random values in [-1, 1], or for i8 and u8
 * from all of their range (from *seed, which moves on); the bytes between and behind elements hold
 * NaN, so that a kernel that reads them shows it. */
tenon_status tn_twin_create(tenon_stream *stream, const tenon_tensor *view, uint64_t *seed,
                            tn_twin *twin);

/* Fills a twin anew: an output that is written once more, so that what was right before does not
 * pass for what a later run wrote. */
tenon_status tn_twin_fill(tenon_stream *stream, tn_twin *twin, uint64_t *seed);

/* Its views; NULL of one that was not made. */
static inline const tenon_tensor *tn_twin_host(const tn_twin *twin)
{
    return twin->host.memory.kind != TENON_MEMORY_NONE ? &twin->host : NULL;
}
static inline const tenon_tensor *tn_twin_device(const tn_twin *twin)
{
    return twin->host.memory.kind != TENON_MEMORY_NONE ? &twin->device : NULL;
}

/* The bytes of a view's twin: up to its last element, and a guard. */
uint64_t tn_twin_bytes(const tenon_tensor *view);

/* Brings the host's bytes to the device. */
tenon_status tn_twin_upload(tenon_stream *stream, const tn_twin *twin);

/* Brings the device's bytes to the host. */
tenon_status tn_twin_fetch(tenon_stream *stream, tn_twin *twin);

/* Runs a choice on a problem whose operands are the twins. */
tenon_status tn_twin_launch(tenon_stream *stream, const char *operation, const tn_choice *choice,
                            const tn_problem *problem, const double *scalars, const tn_twin *twins,
                            uint32_t count);

/* The same, and fetches the output, which is the last of the twins. */
tenon_status tn_twin_run(tenon_stream *stream, const char *operation, const tn_choice *choice,
                         const tn_problem *problem, const double *scalars, tn_twin *twins,
                         uint32_t count);

void tn_twin_destroy(tn_twin *twin);

/* Compares the host's elements of a view with `expected`, in row-major order; false, and where and
 * by how much in `why`, for the first that is out of its bound. A NaN is expected where the
 * reference has one. */
bool tn_host_within(const tenon_tensor *view, const tn_bounded *expected, char why[256]);

/* Whether one device value may stand for a reference's. */
bool tn_within(double got, tn_bounded expected);

/* The next value in [-1, 1] of a 64-bit linear congruential generator (Knuth's MMIX constants). */
double tn_random(uint64_t *seed);

#endif
