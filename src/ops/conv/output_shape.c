/* The shapes of the outputs of convolutions and of im2col (tn_operand_info.shape). */
#include "base/checked.h"
#include "ops/common/output_shape.h"
#include "ops/conv/problem/problem.h"
#include "ops/gemm/int8.h"

#include <tenon/conv_transpose.h>

/* Sets the shape of images with N of x and K channels, whose spatial sizes are still those of x. */
static bool begin_images(const tenon_tensor *x, const tenon_tensor *w, int64_t channels,
                         tenon_tensor *output)
{
    if (x->rank < 3 || x->rank > 2 + TENON_MAX_SPATIAL || w->rank != x->rank)
        return false;
    tn_shape_set(output, x->dtype, x->rank, x->shape);
    output->shape[1] = channels;
    return true;
}

bool tn_conv_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_conv_params *params = given;
    const tenon_tensor *x = views[CONV_X], *w = views[CONV_W];
    if (!begin_images(x, w, w->shape[0], output))
        return false;
    if (tn_gemm_is_int8(x))
        output->dtype = TENON_DTYPE_I32;
    else if (x->dtype != w->dtype)
        output->dtype = TENON_DTYPE_F32;
    bool fits = true;
    for (uint32_t d = 2; fits && d < x->rank; d++) {
        output->shape[d] =
            tenon_conv_output_size(&params->geometry, d - 2, x->shape[d], w->shape[d]);
        fits = output->shape[d] >= 0;
    }
    return fits;
}

bool tn_conv_transpose_shape(const void *given, const tenon_tensor *const *views,
                             tenon_tensor *output)
{
    const tenon_conv_transpose_params *params = given;
    const tenon_tensor *x = views[CONV_X], *w = views[CONV_W];
    int64_t channels;
    bool fits = w->rank >= 2 && tn_mul_i64(w->shape[1], params->groups, &channels) &&
                begin_images(x, w, channels, output);
    for (uint32_t d = 2; fits && d < x->rank; d++) {
        output->shape[d] = tenon_conv_transpose_output_size(
            &params->geometry, d - 2, x->shape[d], w->shape[d], params->output_padding[d - 2]);
        fits = output->shape[d] >= 0;
    }
    return fits;
}

bool tn_im2col_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_im2col_params *params = given;
    const tenon_tensor *x = views[0];
    int64_t rows, columns = 1;
    if (x->rank < 3 || x->rank > 2 + TENON_MAX_SPATIAL)
        return false;
    rows = x->shape[1];
    bool fits = true;
    for (uint32_t d = 0; fits && d < x->rank - 2; d++) {
        const int64_t size =
            tenon_conv_output_size(&params->geometry, d, x->shape[2 + d], params->filter[d]);
        fits = size >= 0 && tn_mul_i64(rows, params->filter[d], &rows) &&
               tn_mul_i64(columns, size, &columns);
    }
    const int64_t shape[] = {x->shape[0], rows, columns};
    return fits && tn_shape_set(output, x->dtype, 3, shape);
}

bool tn_conv_bias_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_tensor *dy = views[0];
    (void)params;
    return dy->rank >= 2 && tn_shape_set(output, dy->dtype, 1, dy->shape + 1);
}
