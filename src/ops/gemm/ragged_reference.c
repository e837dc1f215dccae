/* The reference of the ragged product: GEMM's, for each run of rows of one group. */
#include "base/dtype.h"
#include "ops/gemm/ragged.h"

static const unsigned char *element(const tenon_tensor *view, int64_t row, int64_t col)
{
    int64_t at = row * view->stride[0] + (view->rank > 1 ? col * view->stride[1] : 0);
    return (const unsigned char *)view->memory.u.svm + view->offset +
           at * (int64_t)tenon_dtype_size(view->dtype);
}

/* The group of a row, or -1, by the words of the public header; *end becomes the row from which it
 * may be another. */
static int64_t group_of(const tenon_tensor *offsets, int64_t row, int64_t rows, int64_t *end)
{
    for (int64_t i = 0; i < offsets->shape[0]; i++) {
        int64_t offset = (int64_t)tn_dtype_load(TENON_DTYPE_I32, element(offsets, i, 0));
        if (offset > row) {
            *end = offset < rows ? offset : rows;
            return i - 1;
        }
    }
    *end = rows;
    return -1;
}

/* Entries [start, start + size) of a first dimension, where there is one that does not repeat. */
static tenon_tensor rows_of(const tenon_tensor *view, int64_t start, int64_t size)
{
    return view->rank == 2 && view->shape[0] != 1 ? tenon_tensor_slice(*view, 0, start, size)
                                                  : *view;
}

static tenon_tensor drop_first(tenon_tensor view, int64_t index)
{
    tenon_tensor x = tenon_tensor_slice(view, 0, index, 1);
    x.rank--;
    for (uint32_t i = 0; i < x.rank; i++) {
        x.shape[i] = x.shape[i + 1];
        x.stride[i] = x.stride[i + 1];
    }
    return x;
}

static bool group_results(const tenon_gemm_ragged_params *params, const tenon_tensor *const *views,
                          int64_t group, int64_t row, int64_t size, tn_bounded *results)
{
    tenon_gemm_params gemm = TENON_GEMM_PARAMS_INIT;
    const tenon_tensor *c = views[RAGGED_C], *bias = views[RAGGED_BIAS];
    tenon_tensor part_c = {0}, part_bias = {0};
    tenon_tensor a = tenon_tensor_slice(*views[RAGGED_A], 0, row, size),
                 d = tenon_tensor_slice(*views[RAGGED_D], 0, row, size),
                 b = drop_first(*views[RAGGED_B], group);
    gemm.epilogue = params->epilogue;
    if (c != NULL)
        part_c = rows_of(c, row, size);
    if (bias != NULL)
        part_bias = rows_of(bias, group, 1);
    return tn_gemm_reference(&gemm, &a, &b, c != NULL ? &part_c : NULL,
                             bias != NULL ? &part_bias : NULL, &d, results);
}

bool tn_gemm_ragged_reference(const tenon_gemm_ragged_params *params,
                              const tenon_tensor *const *views, tn_bounded *results)
{
    const tenon_tensor *d = views[RAGGED_D];
    int64_t rows = d->shape[0], cols = d->shape[1], end = 0;
    for (int64_t row = 0; row < rows; row = end) {
        int64_t group = group_of(views[RAGGED_OFFSETS], row, rows, &end);
        tn_bounded *part = results + row * cols;
        if (group >= 0 && !group_results(params, views, group, row, end - row, part))
            return false;
        for (int64_t i = 0; group < 0 && i < (end - row) * cols; i++)
            part[i] =
                (tn_bounded){tn_dtype_load(d->dtype, element(d, row + i / cols, i % cols)), 0};
    }
    return true;
}
