/* Reference of the ragged product: GEMM's reference for each run of rows of one group. Also its
 * awkward cases. */
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/gemm/ragged.h"
#include "ops/registry.h"

/* Sizes that exceed whole blocks by one. */
#define AWKWARD_ROWS   47
#define AWKWARD_GROUPS 6

static const unsigned char *element(const tenon_tensor *view, int64_t row, int64_t col)
{
    int64_t at = row * view->stride[0] + (view->rank > 1 ? col * view->stride[1] : 0);
    return (const unsigned char *)view->memory.u.svm + view->offset +
           at * (int64_t)tenon_dtype_size(view->dtype);
}

/* Returns the group of a row, or -1, by the definition in the public header. Sets *end to the next
 * row whose group may differ. */
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

/* Returns entries [start, start + size) of the first dimension of a matrix, or the view itself if
 * that dimension is broadcast. */
static tenon_tensor rows_of(const tenon_tensor *view, int64_t start, int64_t size)
{
    return view->rank == 2 && view->shape[0] != 1 ? tenon_tensor_slice(*view, 0, start, size)
                                                  : *view;
}

static bool group_results(const tenon_gemm_ragged_params *params, const tenon_tensor *const *views,
                          int64_t group, int64_t row, int64_t size, tn_bounded *results)
{
    tenon_gemm_params gemm = TENON_GEMM_PARAMS_INIT;
    const tenon_tensor *c = views[RAGGED_C], *bias = views[RAGGED_BIAS];
    tenon_tensor part_c = {0}, part_bias = {0};
    tenon_tensor a = tenon_tensor_slice(*views[RAGGED_A], 0, row, size),
                 d = tenon_tensor_slice(*views[RAGGED_D], 0, row, size),
                 b = tenon_tensor_squeeze(tenon_tensor_slice(*views[RAGGED_B], 0, group, 1), 0);
    gemm.epilogue = params->epilogue;
    if (c != NULL)
        part_c = rows_of(c, row, size);
    if (bias != NULL)
        part_bias = rows_of(bias, group, 1);
    const tenon_tensor *const parts[] = {&a, &b, c != NULL ? &part_c : NULL,
                                         bias != NULL ? &part_bias : NULL, &d};
    return tn_gemm_reference(&gemm, parts, results);
}

bool tn_gemm_ragged_reference(const void *params, const tenon_tensor *const *views,
                              tn_bounded *results)
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

static void set_offset(const tenon_tensor *offsets, int64_t group, int64_t row)
{
    tenon_tensor entry = tenon_tensor_slice(*offsets, 0, group, 1);
    uint64_t seed = 0;
    tn_case_integers(&entry, row, row, &seed);
}

/* Fills in offsets that rise from 0 to the rows of a, with some groups empty. If the number of
 * groups is that of the awkward cases, the groups have zero, one and many rows, there are rows
 * before and after all groups, and one offset decreases. */
void tn_ragged_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *offsets = v[RAGGED_OFFSETS];
    const int64_t rows = v[RAGGED_A]->shape[0], groups = offsets->shape[0] - 1;
    const int64_t awkward[] = {1, 1, 2, 30, 20, rows - 1, 0};
    (void)params;
    for (int64_t g = 0, row = 0; g <= groups; g++) {
        set_offset(offsets, g, groups == AWKWARD_GROUPS ? awkward[g] : row);
        const double part = (tn_random(seed) + 1) / 2 * 2 * (double)(rows - row);
        row = g + 1 >= groups ? rows : row + (int64_t)(part / (double)(groups - g));
    }
}

bool tn_ragged_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const gemm_problem *like = &((const ragged_problem *)problem)->gemm;
    const uint32_t type = like->dtype, types[] = {type, type, type, type, type};
    const int64_t offsets[] = {AWKWARD_GROUPS + 1};
    tenon_gemm_ragged_params *params = (tenon_gemm_ragged_params *)c->params.bytes;
    tenon_tensor rows[GEMM_MATRICES] = {{.rank = 0}}, groups[GEMM_MATRICES] = {{.rank = 0}};
    if (number == tn_awkward_count(choice))
        return false;
    tn_awkward_begin(c, &tn_operation_gemm_ragged);
    params->epilogue = tn_check_epilogue(like->flags, like->activation);
    tn_gemm_awkward_views(like, choice, number, 0, AWKWARD_ROWS, types, rows);
    tn_gemm_awkward_views(like, choice, number, AWKWARD_GROUPS, AWKWARD_ROWS, types, groups);
    c->views[RAGGED_A] = rows[GEMM_A];
    c->views[RAGGED_B] = groups[GEMM_B];
    c->views[RAGGED_OFFSETS] = tenon_tensor_view(TENON_DTYPE_I32, 1, offsets);
    c->views[RAGGED_C] = rows[GEMM_C];
    c->views[RAGGED_BIAS] = tenon_tensor_squeeze(groups[GEMM_BIAS], 1);
    c->views[RAGGED_D] = rows[GEMM_D];
    return true;
}
