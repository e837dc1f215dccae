/* The difficult cases of resizing. */
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/resize/internal.h"

#define AWKWARD_N   2
#define AWKWARD_C   19
#define AWKWARD_FEW 3

/* Sizes of x and y: rows longer than a chunk of resize/rows are enlarged, others reduced. The last
 * ones are those of images with few channels, which are adjacent. */
static const int64_t sizes[][4] = {{5, 37, 11, 83}, {13, 111, 4, 41}, {5, 37, 7, 187}};

/* The parameters of the problem at hand, with different scales in the two dimensions. */
static void set_params(const resize_problem *like, uint32_t number, tenon_resize_params *params)
{
    bool normalized = false;
    for (int d = 0; d < 3; d++)
        normalized = normalized || like->map[d].is_normalized != 0;
    params->mode = like->mode;
    params->rounding = like->rounding;
    params->coordinates = (like->flags & RESIZE_EXTRAPOLATES) != 0 ? TENON_RESIZE_TF_CROP_AND_RESIZE
                          : number == 0                            ? TENON_RESIZE_HALF_PIXEL
                                                                   : TENON_RESIZE_ALIGN_CORNERS;
    params->flags = ((like->flags & RESIZE_EXCLUDES) != 0 ? TENON_RESIZE_EXCLUDE_OUTSIDE : 0) |
                    (normalized && like->mode != TENON_RESIZE_NEAREST ? TENON_RESIZE_ANTIALIAS : 0);
    params->region_begin[0] = -0.1;
    params->region_end[1] = 1.2;
    params->extrapolation = 3;
}

bool tn_resize_awkward_views(const resize_problem *like, uint32_t number, tn_case *c,
                             tenon_tensor *x, tenon_tensor *y)
{
    const bool channels_last = like->x[1] == 1 && like->x[4] != 1, few = number == 2;
    if (number > 2 || (few && !channels_last))
        return false;
    const int64_t *size = sizes[number], channels = few ? AWKWARD_FEW : AWKWARD_C;
    set_params(like, number, (tenon_resize_params *)c->params.bytes);
    *x = tn_image_view((tenon_dtype)like->dtype, channels_last, AWKWARD_N, channels, size);
    *y = tn_image_view((tenon_dtype)like->dtype, channels_last, AWKWARD_N, channels, size + 2);
    return true;
}

bool tn_resize_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    (void)choice;
    tn_awkward_begin(c, &tn_operation_resize);
    return tn_resize_awkward_views((const resize_problem *)problem, number, c, &c->views[RESIZE_X],
                                   &c->views[RESIZE_Y]);
}

bool tn_resize_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                                tn_case *c)
{
    (void)choice;
    tn_awkward_begin(c, &tn_operation_resize_backward);
    return tn_resize_awkward_views((const resize_problem *)problem, number, c,
                                   &c->views[RESIZE_BACKWARD_DX], &c->views[RESIZE_BACKWARD_DY]);
}
