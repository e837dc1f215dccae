#include "conv_case.h"

#include "emulation.h"

#include "check/host.h"
#include "ops/conv/forward/winograd.h"
#include "ops/registry.h"

#include <math.h>

const tenon_conv_geometry no_geometry = TENON_CONV_GEOMETRY_INIT;

const conv_direction conv_gradients[GRADIENTS] = {OF_IMAGE, OF_FILTER, OF_BIAS, TRANSPOSED_OF_IMAGE,
                                                  TRANSPOSED_OF_FILTER};

const conv_case simple_conv = {SIMPLE_CONV};

conv_case conv_of_sizes(const int64_t sizes[7])
{
    conv_case p = conv_like(.n = sizes[0], .c = sizes[1], .size[0] = sizes[2], .size[1] = sizes[3],
                            .k = sizes[4], .filter[0] = sizes[5], .filter[1] = sizes[6]);
    return p;
}

void conv_pad(conv_case *p, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
    p->geometry.pad_begin[0] = top;
    p->geometry.pad_end[0] = bottom;
    p->geometry.pad_begin[1] = left;
    p->geometry.pad_end[1] = right;
}

/* Operation and operands of each direction, in the operation's order, with the tensors of the
 * convolution (CONV_X …); the output is last. */
static const struct call {
    const tn_operation *operation;
    uint8_t tensor[CONV_OPERANDS];
} calls[DIRECTIONS] = {
    [FORWARD] = {&tn_operation_conv, {CONV_X, CONV_W, CONV_C, CONV_BIAS, CONV_Y}},
    [OF_IMAGE] = {&tn_operation_conv_backward_data, {CONV_Y, CONV_W, CONV_X}},
    [OF_FILTER] = {&tn_operation_conv_backward_filter, {CONV_X, CONV_Y, CONV_W}},
    [OF_BIAS] = {&tn_operation_conv_backward_bias, {CONV_Y, CONV_BIAS}},
    [TRANSPOSED] = {&tn_operation_conv_transpose, {CONV_Y, CONV_W, CONV_C, CONV_BIAS, CONV_X}},
    [TRANSPOSED_OF_IMAGE] = {&tn_operation_conv_transpose_backward_data, {CONV_X, CONV_W, CONV_Y}},
    [TRANSPOSED_OF_FILTER] = {&tn_operation_conv_transpose_backward_filter,
                              {CONV_Y, CONV_X, CONV_W}},
};

static bool has_epilogue(conv_direction direction)
{
    return direction == FORWARD || direction == TRANSPOSED;
}

/* Stores the order of the dimensions, innermost first. */
static void image_order(image_layout layout, uint32_t rank, uint32_t *order)
{
    static const uint32_t first[IMAGE_LAYOUTS] = {[HWCN] = 2, [NHWC] = 1};
    uint32_t i = first[layout];
    for (uint32_t d = rank - 1; d > 0 && layout != ODD; d--)
        if (d > 1 || layout == NCHW)
            order[i++] = d;
    for (uint32_t d = 2; d < rank && layout == ODD; d++)
        order[d] = d;
    order[layout == NHWC || layout == NCHW ? rank - 1 : layout == ODD] = 0;
    if (layout != NCHW)
        order[layout == HWCN] = 1;
}

tenon_tensor image_view(tenon_dtype dtype, image_layout layout, uint32_t spatial, int64_t n,
                        int64_t c, const int64_t *size, int64_t offset)
{
    uint32_t order[CONV_RANK] = {0}, rank = spatial + 2;
    int64_t shape[CONV_RANK] = {n, c}, step = layout == ODD ? 2 : 1;
    memcpy(shape + 2, size, spatial * sizeof *size);
    tenon_tensor view = test_view(dtype, TEST_ROW, false, rank, shape, offset);
    image_order(layout, rank, order);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t length = shape[order[i]];
        view.stride[order[i]] = step;
        step = step * (length > 0 ? length : 1) + (layout == ODD ? 3 : 0);
    }
    return view;
}

static void output_size(const conv_case *p, int64_t out[3])
{
    for (uint32_t d = 0; d < p->spatial; d++)
        out[d] = tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]) - p->beyond[d];
}

bool conv_takes(conv_direction direction, const conv_case *p)
{
    int64_t out[3];
    output_size(p, out);
    for (uint32_t d = 0; d < p->spatial && direction == TRANSPOSED; d++)
        if (out[d] == 0 || p->size[d] == 0)
            return false;
    return true;
}

/* Returns the view of a tensor, of type 0 if the case has none. */
static tenon_tensor view_of(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                            int tensor)
{
    const bool transposed = direction == TRANSPOSED;
    const int64_t channels[] = {transposed ? p->c : p->k, 1, 1, 1};
    tenon_tensor bias = test_view(dtype, TEST_ROW, false, 1, channels, 1);
    int64_t out[3];
    output_size(p, out);
    bias.stride[0] = 2;
    if (tensor == CONV_C && p->residual == FULL_RESIDUAL)
        return image_view(dtype, NHWC, p->spatial, p->n, channels[0], transposed ? p->size : out,
                          p->offset);
    if (tensor == CONV_C && p->residual == CHANNEL_RESIDUAL)
        return test_view(dtype, TEST_ROW, false, p->spatial + 1, channels, 1);
    if (tensor == CONV_X)
        return image_view(dtype, p->x, p->spatial, p->n, p->c, p->size, p->offset);
    if (tensor == CONV_W)
        return image_view(dtype, p->w, p->spatial, p->k, p->c / p->groups, p->filter, p->offset);
    if (tensor == CONV_Y)
        return image_view(dtype, p->y, p->spatial, p->n, p->k, out, p->offset);
    if (tensor == CONV_BIAS && (p->bias || direction == OF_BIAS))
        return bias;
    return (tenon_tensor){.dtype = TENON_DTYPE_INVALID};
}

/* Sets the output padding to the pixels of the image that the stride leaves over. */
static void set_output_padding(tenon_conv_transpose_params *params, const conv_case *p)
{
    const tenon_conv_geometry *g = &p->geometry;
    int64_t out[3];
    output_size(p, out);
    for (uint32_t d = 0; d < p->spatial; d++) {
        int64_t reach = (p->filter[d] - 1) * g->dilation[d] + 1;
        params->output_padding[d] =
            p->size[d] + g->pad_begin[d] + g->pad_end[d] - reach - (out[d] - 1) * g->stride[d];
    }
}

static void set_params(test_fixture *f, conv_direction direction, const conv_case *p)
{
    tenon_conv_params *forward = test_params(f, tenon_conv_params);
    tenon_conv_backward_params *backward = test_params(f, tenon_conv_backward_params);
    tenon_conv_transpose_params *transposed = test_params(f, tenon_conv_transpose_params);
    tenon_epilogue *epilogue = direction == FORWARD ? &forward->epilogue : &transposed->epilogue;
    *(direction == FORWARD      ? &forward->groups
      : direction == TRANSPOSED ? &transposed->groups
                                : &backward->groups) = p->groups;
    *(direction == FORWARD      ? &forward->geometry
      : direction == TRANSPOSED ? &transposed->geometry
                                : &backward->geometry) = p->geometry;
    if (direction == TRANSPOSED)
        set_output_padding(transposed, p);
    if (has_epilogue(direction)) {
        epilogue->alpha = p->alpha;
        epilogue->beta = p->beta;
        epilogue->activation = p->activation;
    } else
        backward->beta = p->beta;
}

/* Returns true if every sum of Winograd's algorithm fits the accumulator exactly. The sums are
 * multiples of 1/4 for tiles of 2 (a half in each dimension), and of 1/64 for tiles of 4 with
 * filters that are multiples of 9. */
static bool sums_are_exact(const test_fixture *f, int64_t tile)
{
    const tenon_tensor *x = &f->operands[CONV_X].host, *w = &f->operands[CONV_W].host,
                       *y = &f->operands[CONV_Y].host;
    tenon_conv_params params = *test_params(f, const tenon_conv_params);
    const int64_t count = tenon_tensor_elements(y);
    double largest = 0, *dense_x = tn_host_read(x, x->rank, x->shape),
           *dense_w = tn_host_read(w, w->rank, w->shape);
    tn_bounded *sums = malloc(((size_t)count + 1) * sizeof *sums);
    conv_problem problem;
    params.epilogue =
        (tenon_epilogue)TENON_EPILOGUE_INIT; /* the sums do not depend on the epilogue */
    assert_ok(tn_conv_canonicalize("test", &params, x, w, NULL, NULL, y, &problem));
    assert_true(sums != NULL && tn_winograd_sums(&problem, tile, dense_x, dense_w, sums));
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, sums[i].bound);
    free(sums);
    free(dense_x);
    free(dense_w);
    return largest * (tile == 2 ? 4 : 64) * tn_roundoff(y->dtype) < 1;
}

/* Returns true for Winograd's solvers, whose sums differ from those of other solvers. They may also
 * serve the gradient of a transposed convolution's image, which is a convolution. */
static bool is_transformed(const test_fixture *f, const tn_solver *solver, test_judge *judge)
{
    const int64_t tile = tn_winograd_tile(solver);
    if (tile == 0 || tn_tensor_empty(&f->operands[f->c.operation->operand_count - 1].host))
        return false; /* for an empty output no solver runs, whatever the sizes */
    if (*judge == TEST_EXACT &&
        !(f->c.operation == &tn_operation_conv ? sums_are_exact(f, tile) : !solver->inexact))
        *judge = TEST_BOUND;
    return true;
}

static void emulate_conv(const test_subject *subject)
{
    const test_fixture *f = subject->data;
    const tn_operation *operation = f->c.operation;
    const uint32_t output = operation->operand_count - 1;
    const tenon_epilogue *epilogue =
        operation == &tn_operation_conv ? &test_params(f, const tenon_conv_params)->epilogue
        : operation == &tn_operation_conv_transpose
            ? &test_params(f, const tenon_conv_transpose_params)->epilogue
            : NULL;
    const tenon_dtype dtype = f->operands[output].host.dtype;
    const bool is_empty = tn_tensor_empty(&f->operands[0].host) ||
                          tn_tensor_empty(&f->operands[1].host) ||
                          tn_tensor_empty(&f->operands[output].host);
    const emulation e = {.type = dtype == TENON_DTYPE_F32 ? 0 : emulated_type(dtype),
                         .no_type = "made for f16 and bf16",
                         .refusal = is_empty ? "there is nothing to multiply" : NULL,
                         .is_build =
                             epilogue != NULL && tn_activation_is_build(epilogue->activation.kind)};
    emulate(subject, &e);
}

void conv_begin(test_fixture *f, conv_direction direction, const conv_case *p, tenon_dtype dtype)
{
    const struct call *call = &calls[direction];
    test_begin(f, call->operation);
    set_params(f, direction, p);
    for (uint32_t i = 0; i < call->operation->operand_count; i++) {
        f->c.views[i] = view_of(direction, p, dtype, call->tensor[i]);
        if (call->tensor[i] == CONV_C && p->residual == IN_PLACE)
            f->c.same[i] = call->operation->operand_count;
    }
    f->emulate = emulate_conv;
    if (call->operation->family == &tn_conv_family)
        f->has_own_bounds = is_transformed;
}

/* Makes filters multiples of 9: conv/winograd4 divides them by 3 in each dimension, and its sums
 * stay exact. */
static void make_divisible(test_fixture *f, const conv_case *p)
{
    test_tensor *w = &f->operands[CONV_W];
    const uint32_t last = p->spatial - 1;
    if (last < 1 || p->filter[last] != 3 || p->filter[last - 1] != 3)
        return;
    for (int64_t i = tenon_tensor_elements(&w->view) - 1; i >= 0; i--)
        test_set(w, i, 9 * test_get(w, i));
}

void conv_fill(test_fixture *f, conv_direction direction, const conv_case *p, test_judge judge,
               test_random *random)
{
    test_make(f);
    test_fill_inputs(f, judge, random);
    if (direction == FORWARD && judge == TEST_EXACT)
        make_divisible(f, p);
    test_tensor *added = test_operand(
        f, has_epilogue(direction) ? (uint32_t)CONV_C : f->c.operation->operand_count - 1);
    if (p->beta == 0 && added != NULL)
        test_fill_poison(added);
    for (uint32_t i = 0; i < 2 && has_epilogue(direction) && p->alpha == 0; i++)
        test_fill_poison(&f->operands[i]);
}

void conv_make(test_fixture *f, conv_direction direction, const conv_case *p, tenon_dtype dtype,
               test_judge judge, test_random *random)
{
    conv_begin(f, direction, p, dtype);
    conv_fill(f, direction, p, judge, random);
}

void conv_spoil(test_fixture *f, uint32_t operand, int number, test_random *random)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_tensor *tensor = &f->operands[operand];
    test_set(tensor, test_between(random, 0, tenon_tensor_elements(&tensor->view) - 1),
             specials[number % 3]);
}

/* Checks reals and, if the result can be exact, integers. */
static void check_type(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                       test_extent extent, test_random *random)
{
    bool exact = !has_epilogue(direction) || !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        conv_make(&f, direction, p, dtype, (test_judge)judge, random);
        test_finish(&f, extent);
    }
}

void conv_check_typed(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                      test_random *random)
{
    const tenon_dtype other = direction != OF_BIAS ? emulated_other(dtype) : TENON_DTYPE_INVALID;
    test_random own = *random;
    check_type(direction, p, dtype, TEST_ALL, random);
    if (other != TENON_DTYPE_INVALID)
        check_type(direction, p, other, TEST_EMULATED, &own);
}

void conv_check(conv_direction direction, const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_type(direction, p, *type, TEST_ALL, random);
}

void conv_check_once(conv_direction direction, const conv_case *p, test_random *random)
{
    conv_check_typed(direction, p, test_float_type((uint32_t)test_between(random, 0, 255)), random);
}

void conv_check_by(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                   const char *const *solvers, test_random *random)
{
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        test_fixture f;
        conv_make(&f, direction, p, dtype, (test_judge)judge, random);
        test_finish_by(&f, solvers);
    }
}

void conv_run_once(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                   test_random *random)
{
    test_fixture f;
    conv_make(&f, direction, p, dtype, TEST_BOUND, random);
    test_finish(&f, TEST_ONCE);
}

/* Draws sizes whose product is about a hundred in any number of dimensions. */
static void random_geometry(conv_case *p, test_random *random)
{
    static const int64_t most[] = {90, 14, 6}, most_filter[] = {9, 5, 3};
    for (uint32_t d = 0; d < p->spatial; d++) {
        p->size[d] = test_between(random, 1, most[p->spatial - 1]);
        p->filter[d] =
            test_one_in(random, 3) ? 1 : test_between(random, 1, most_filter[p->spatial - 1]);
        p->geometry.stride[d] = test_one_in(random, 2) ? 1 : test_between(random, 2, 3);
        p->geometry.dilation[d] = test_one_in(random, 2) ? 1 : test_between(random, 2, 3);
        p->geometry.pad_begin[d] = test_between(random, 0, 3);
        p->geometry.pad_end[d] = test_between(random, 0, 3);
    }
}

conv_case random_conv(test_random *random)
{
    conv_case p = simple_conv;
    p.spatial = (uint32_t)test_between(random, 1, 3);
    p.groups = test_one_in(random, 2) ? 1 : test_between(random, 2, 4);
    p.n = test_between(random, 1, 3);
    p.c = p.groups * test_between(random, 1, 5);
    p.k = p.groups * test_between(random, 1, 9);
    random_geometry(&p, random);
    p.x = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.y = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.w = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.offset = test_between(random, 0, 5);
    p.bias = test_one_in(random, 2);
    p.residual = (conv_residual)test_between(random, NO_RESIDUAL, IN_PLACE);
    p.beta = p.residual == NO_RESIDUAL ? 0 : 0.5;
    p.activation.kind = test_one_in(random, 2) ? TENON_ACTIVATION_RELU : 0;
    return p;
}
