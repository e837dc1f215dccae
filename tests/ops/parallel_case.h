/* Support for tests of parallel training: parameters of several shapes, and values of gradients. */
#ifndef TENON_TESTS_OPS_PARALLEL_CASE_H
#define TENON_TESTS_OPS_PARALLEL_CASE_H

#include "group_case.h"

enum { PARALLEL_MOST = 8, PARALLEL_ROOM = 8192 }; /* parameters; elements of all */

/* Parameters of one type. */
typedef struct parallel_shapes {
    uint32_t count;
    tenon_tensor views[PARALLEL_MOST]; /* without memory */
    int64_t starts[PARALLEL_MOST + 1]; /* of their elements, one after the other without gaps */
} parallel_shapes;

/* Draws shapes: among them empty ones, scalars and odd sizes. */
void parallel_draw(parallel_shapes *s, tenon_dtype dtype, test_random *random);

/* Draws a type of floats that the device supports. */
tenon_dtype parallel_draw_type(test_random *random);

/* Writes random elements of all parameters, rounded to the type, to `values`. */
void parallel_values(const parallel_shapes *s, test_random *random, void *values);

/* Uploads the elements to the tensors of a member, or downloads them. */
tenon_status parallel_upload(tenon_stream *stream, const parallel_shapes *s,
                             const tenon_tensor *tensors, const void *values);
tenon_status parallel_download(tenon_stream *stream, const parallel_shapes *s,
                               const tenon_tensor *tensors, void *values);

/* Adds the elements of `members` arrays in their order: in f32, or f64 for f64, rounded once. */
void parallel_add(const parallel_shapes *s, uint32_t members, const void *const *values, void *sum);

/* Training on one device, which adds the gradients of the members in the order of their ranks. */
typedef struct parallel_alone {
    const parallel_shapes *s;
    tenon_stream *stream;
    tenon_tensor values[PARALLEL_MOST], gradients[PARALLEL_MOST], firsts[PARALLEL_MOST],
        seconds[PARALLEL_MOST];
} parallel_alone;

void parallel_alone_open(parallel_alone *a, const parallel_shapes *s, const void *values);
void parallel_alone_step(parallel_alone *a, const tenon_adam_params *params, uint32_t members,
                         const void *const *gradients);
void parallel_alone_close(parallel_alone *a);

#endif
