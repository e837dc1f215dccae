/* Tests of collectives: every one, type and combination, on members of one and of several contexts
 * and on parts of the device; any strides; in place. Results are compared bit by bit with the same
 * operations on the host in the order of the ranks. */
#include "support.h"

#include "base/dtype.h"

#include <math.h>

#define MOST 7 /* members */

/* The contexts of the members: rank m uses context m % count. */
typedef struct world {
    tenon_context *contexts[4];
    uint32_t context_count, count;
    tenon_stream *streams[MOST];
    tenon_group *group;
} world;

static tenon_context *context_of(const char *selector)
{
    tenon_context *context = NULL;
    tenon_context_params params = tenon_context_params(.device = selector);
    assert_ok(tenon_context_create(&params, &context));
    return context;
}

/* One OpenCL context twice, another one on the same device, and a part of the device. */
static void world_open(world *w, uint32_t count)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT, part = TENON_DEVICE_INFO_INIT;
    char selector[64];
    memset(w, 0, sizeof *w);
    assert_ok(tenon_context_device(test_context, &info));
    tenon_context_retain(test_context);
    w->contexts[w->context_count++] = test_context;
    w->contexts[w->context_count++] = context_of(info.selector);
    tenon_context_retain(test_context);
    w->contexts[w->context_count++] = test_context;
    snprintf(selector, sizeof selector, "%s/%d", info.selector, info.compute_units > 1 ? 2 : 1);
    if (tenon_device_select(selector, &part) == TENON_OK)
        w->contexts[w->context_count++] = context_of(selector);
    w->count = count;
    for (uint32_t m = 0; m < count; m++)
        assert_ok(tenon_stream_create(w->contexts[m % w->context_count], NULL, &w->streams[m]));
    assert_ok(tenon_group_create(w->streams, count, NULL, &w->group));
    assert_int_equal(tenon_group_size(w->group), count);
}

static void world_close(world *w)
{
    tenon_group_destroy(w->group);
    for (uint32_t m = 0; m < w->count; m++)
        tenon_stream_destroy(w->streams[m]);
    for (uint32_t i = 0; i < w->context_count; i++)
        tenon_context_release(w->contexts[i]);
}

/* Tensors of one argument, one per member, in the members' contexts. */
typedef struct tensors {
    test_tensor image[MOST];
    tenon_tensor view[MOST];
    uint32_t count;
} tensors;

/* The whole memory of a tensor as bytes. */
static tenon_tensor bytes_of(const tensors *t, uint32_t m)
{
    const int64_t bytes = (int64_t)t->image[m].bytes;
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_U8, 1, &bytes);
    view.memory = t->view[m].memory;
    return view;
}

static void upload(const world *w, const tensors *t)
{
    for (uint32_t m = 0; m < t->count; m++) {
        const tenon_tensor bytes = bytes_of(t, m);
        assert_ok(tenon_tensor_upload(w->streams[m], t->image[m].image, (size_t)t->image[m].bytes,
                                      &bytes, NULL));
    }
}

static void fill(test_tensor *t, test_random *random, uint32_t member)
{
    const int64_t count = tenon_tensor_elements(&t->view);
    const bool is_float = tn_dtype_is_float(t->view.dtype);
    for (int64_t i = 0; i < count; i++) {
        if (is_float)
            test_set(t, i, test_one_in(random, 400) ? NAN : test_real(random, -2, 2));
        else
            test_set_whole(t, i, (int64_t)test_next(random) >> (member % 3 * 20));
    }
}

/* Creates the tensors of `shape`; outputs (no `random`) are poison. */
static void make(const world *w, tensors *t, tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                 test_layout layout, test_random *random)
{
    int64_t stride[TENON_MAX_RANK];
    test_strides(layout, layout == TEST_STRIDED, rank, shape, stride);
    t->count = w->count;
    for (uint32_t m = 0; m < w->count; m++) {
        test_tensor_create(&t->image[m], dtype, rank, shape, stride, m % 3);
        if (random != NULL)
            fill(&t->image[m], random, m);
        t->view[m] = t->image[m].view;
        assert_ok(tenon_memory_create(tenon_stream_context(w->streams[m]), t->image[m].bytes,
                                      &t->view[m].memory));
    }
    upload(w, t);
}

static void destroy(tensors *t)
{
    for (uint32_t m = 0; m < t->count; m++) {
        test_tensor_destroy(&t->image[m]);
        tenon_memory_destroy(&t->view[m].memory);
    }
}

/* Returns the address of an element, by its row-major number, in the image. */
static void *at(const test_tensor *t, int64_t number)
{
    int64_t place = 0;
    for (uint32_t d = t->view.rank; d-- > 0; number /= t->view.shape[d])
        place += number % t->view.shape[d] * t->view.stride[d];
    return t->image + t->view.offset + (size_t)place * tenon_dtype_size(t->view.dtype);
}

/* Returns true if two elements are equal; NaN equals NaN. `ulps` is the largest
 * allowed difference, in units in the last place. */
static bool same_element(const void *a, const void *b, tenon_dtype dtype, int ulps)
{
    if (memcmp(a, b, tenon_dtype_size(dtype)) == 0)
        return true;
    if (!tn_dtype_is_float(dtype))
        return false;
    const double u = tn_dtype_load(dtype, a), v = tn_dtype_load(dtype, b);
    const double unit = dtype == TENON_DTYPE_F64   ? 0x1p-52
                        : dtype == TENON_DTYPE_F32 ? 0x1p-23
                        : dtype == TENON_DTYPE_F16 ? 0x1p-10
                                                   : 0x1p-7;
    return u == v || (isnan(u) && isnan(v)) || fabs(u - v) <= ulps * unit * fabs(v);
}

/* Compares the memory of every member with its image, gaps and guard zones included. */
static void assert_as_image(const world *w, const tensors *t, int ulps)
{
    for (uint32_t m = 0; m < t->count; m++) {
        const test_tensor *image = &t->image[m];
        const size_t size = (size_t)image->bytes, width = tenon_dtype_size(image->view.dtype);
        const tenon_tensor bytes = bytes_of(t, m);
        test_tensor got = *image;
        got.image = malloc(size);
        assert_non_null(got.image);
        assert_ok(tenon_tensor_download(w->streams[m], &bytes, got.image, size, NULL));
        for (int64_t i = 0; i < tenon_tensor_elements(&image->view); i++) {
            if (!same_element(at(&got, i), at(image, i), image->view.dtype, ulps))
                fail_msg("element %lld of the member of rank %u is %.9g, expected %.9g",
                         (long long)i, (unsigned)m, test_get(&got, i), test_get(image, i));
            memcpy(at(&got, i), at(image, i), width);
        }
        if (memcmp(got.image, image->image, size) != 0)
            fail_msg("memory outside the tensor of the member of rank %u was written", (unsigned)m);
        free(got.image);
    }
}

/* The arithmetic of one step, in the type in which members combine. */
static double combine_floats(tenon_group_kind kind, double a, double b, bool is_double)
{
    double r = kind == TENON_GROUP_PRODUCT ? a * b : a + b;
    if (kind == TENON_GROUP_MAX || kind == TENON_GROUP_MIN) {
        if (isnan(a) || isnan(b))
            return NAN;
        r = kind == TENON_GROUP_MAX ? fmax(a, b) : fmin(a, b);
    }
    /* A sum or product of two f32 numbers, rounded from f64, is rounded correctly. */
    return is_double ? r : (double)(float)r;
}

static uint64_t combine_whole(tenon_group_kind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case TENON_GROUP_PRODUCT:
        return (uint64_t)a * (uint64_t)b;
    case TENON_GROUP_MAX:
        return (uint64_t)(a > b ? a : b);
    case TENON_GROUP_MIN:
        return (uint64_t)(a < b ? a : b);
    default:
        return (uint64_t)a + (uint64_t)b;
    }
}

/* Sets an element of an output to the combination of an element of every input. */
static void expect_combination(tenon_group_kind kind, const tensors *x, int64_t from,
                               test_tensor *y, int64_t to)
{
    const tenon_dtype dtype = y->view.dtype;
    const bool is_double = dtype == TENON_DTYPE_F64;
    if (!tn_dtype_is_float(dtype)) {
        int64_t whole = tn_dtype_load_whole(dtype, at(&x->image[0], from));
        for (uint32_t m = 1; m < x->count; m++)
            whole = (int64_t)combine_whole(kind, whole,
                                           tn_dtype_load_whole(dtype, at(&x->image[m], from)));
        memcpy(at(y, to), &whole, tenon_dtype_size(dtype)); /* the lowest bytes: wraps around */
        return;
    }
    double value = test_get(&x->image[0], from);
    for (uint32_t m = 1; m < x->count; m++)
        value = combine_floats(kind, value, test_get(&x->image[m], from), is_double);
    if (kind == TENON_GROUP_MEAN)
        value = is_double ? value / x->count : (double)(float)(value / x->count);
    test_set(y, to, value);
}

static const tenon_dtype combined_types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                             TENON_DTYPE_F64, TENON_DTYPE_I32, TENON_DTYPE_I64};
enum { COMBINED_TYPES = sizeof combined_types / sizeof *combined_types };

typedef struct problem {
    tenon_dtype dtype;
    tenon_group_kind kind;
    uint32_t members, root, rank;
    int64_t shape[3]; /* of an input */
    test_layout x_layout, y_layout;
    bool in_place;
} problem;

static problem random_problem(test_random *random, uint32_t members, bool divides)
{
    static const int64_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 129, 1000, 4097};
    problem p = {.members = members, .rank = 2};
    do
        p.dtype = combined_types[test_between(random, 0, COMBINED_TYPES - 1)];
    while (p.dtype == TENON_DTYPE_F64 && !test_has(TENON_CAPABILITY_F64));
    do
        p.kind = (tenon_group_kind)test_between(random, 0, TENON_GROUP_MIN);
    while (p.kind == TENON_GROUP_MEAN && !tn_dtype_is_float(p.dtype));
    p.root = (uint32_t)test_between(random, 0, members - 1);
    p.shape[0] = test_between(random, 1, 3) * (divides ? members : 1);
    p.shape[1] = sizes[test_between(random, 0, 9)];
    p.in_place = test_one_in(random, 3);
    p.x_layout = (test_layout)(test_one_in(random, 2) ? 0 : test_between(random, 0, 4));
    p.y_layout = (test_layout)(test_one_in(random, 2) ? 0 : test_between(random, 0, 4));
    return p;
}

/* An f32 quotient may differ from the correctly rounded one by 2.5 units; a 16-bit result by one
 * rounding. */
static int ulps_of(const problem *p)
{
    const bool is_power_of_two = (p->members & (p->members - 1)) == 0;
    return p->kind != TENON_GROUP_MEAN || is_power_of_two ? 0
           : tenon_dtype_size(p->dtype) == 2              ? 1
                                                          : 3;
}

/* Runs a collective twice, on outputs that are poison or, in place, the inputs, and compares. */
typedef tenon_status (*collective)(const world *w, const problem *p, const tenon_tensor *x,
                                   const tenon_tensor *y);

static void run_and_compare(const world *w, const problem *p, collective call, tensors *x,
                            tensors *y, int ulps)
{
    for (int i = 0; i < 2; i++) {
        if (p->in_place)
            upload(w, x);
        assert_ok(call(w, p, x->view, p->in_place ? x->view : y->view));
        assert_ok(tenon_group_wait(w->group));
        if (p->in_place) { /* the results are in the memory of x */
            tensors found = *y;
            memcpy(found.view, x->view, sizeof found.view);
            assert_as_image(w, &found, ulps);
        } else {
            assert_as_image(w, y, ulps);
            assert_as_image(w, x, 0);
        }
    }
}

static tenon_status all_reduce(const world *w, const problem *p, const tenon_tensor *x,
                               const tenon_tensor *y)
{
    return tenon_group_all_reduce(w->group, p->kind, x, y, NULL);
}

static tenon_status reduce_scatter(const world *w, const problem *p, const tenon_tensor *x,
                                   const tenon_tensor *y)
{
    return tenon_group_reduce_scatter(w->group, p->kind, x, y, NULL);
}

static tenon_status all_gather(const world *w, const problem *p, const tenon_tensor *x,
                               const tenon_tensor *y)
{
    (void)p;
    return tenon_group_all_gather(w->group, x, y, NULL);
}

static tenon_status all_to_all(const world *w, const problem *p, const tenon_tensor *x,
                               const tenon_tensor *y)
{
    (void)p;
    return tenon_group_all_to_all(w->group, x, y, NULL);
}

static tenon_status broadcast(const world *w, const problem *p, const tenon_tensor *x,
                              const tenon_tensor *y)
{
    return tenon_group_broadcast(w->group, p->root, &x[p->root], y, NULL);
}

/* Copies an element of an input to an element of an output. */
static void expect_copy(const test_tensor *x, int64_t from, test_tensor *y, int64_t to)
{
    memcpy(at(y, to), at(x, from), tenon_dtype_size(x->view.dtype));
}

/* Sets the expected outputs. `part` is the number of elements of a part. */
static void expect(collective call, const problem *p, const tensors *x, tensors *y, int64_t part)
{
    for (uint32_t m = 0; m < x->count; m++)
        for (int64_t i = 0; i < tenon_tensor_elements(&y->view[m]); i++) {
            const uint32_t other = part > 0 ? (uint32_t)(i / part) : 0;
            if (call == all_reduce)
                expect_combination(p->kind, x, i, &y->image[m], i);
            else if (call == reduce_scatter)
                expect_combination(p->kind, x, m * part + i, &y->image[m], i);
            else if (call == broadcast)
                expect_copy(&x->image[p->root], i, &y->image[m], i);
            else if (call == all_gather)
                expect_copy(&x->image[other], i % part, &y->image[m], i);
            else
                expect_copy(&x->image[other], m * part + i % part, &y->image[m], i);
        }
}

static void check(const world *w, collective call, problem p, test_random *random)
{
    tensors x, y;
    int64_t shape[3] = {p.shape[0], p.shape[1]};
    int64_t part = shape[0] * shape[1];
    if (call == reduce_scatter)
        shape[0] /= p.members;
    if (call == all_gather)
        shape[0] *= p.members;
    else
        part /= p.members;
    p.in_place &= call == all_reduce;
    make(w, &x, p.dtype, p.rank, p.shape, p.x_layout, random);
    make(w, &y, p.dtype, p.rank, shape, p.in_place ? p.x_layout : p.y_layout, NULL);
    expect(call, &p, &x, &y, part);
    run_and_compare(w, &p, call, &x, &y,
                    call == all_reduce || call == reduce_scatter ? ulps_of(&p) : 0);
    destroy(&x);
    destroy(&y);
}

/* Random problems of a collective, in groups of every size. */
static void check_all_sizes(collective call, uint64_t stream)
{
    test_random random = test_random_for(stream);
    for (uint32_t members = 1; members <= MOST; members++) {
        world w;
        world_open(&w, members);
        for (int i = 0; i < test_problems(3); i++)
            check(&w, call, random_problem(&random, members, call != all_gather), &random);
        world_close(&w);
    }
}

/* Outputs are new, and are downloaded while the group's thread works on them. */
TEST(results_are_read_at_once)
{
    const int64_t length = 60;
    world w;
    world_open(&w, 3);
    for (int round = 0; round < 50; round++) {
        tenon_tensor x[3], y[3];
        float ones[60], sums[60];
        for (int64_t i = 0; i < length; i++)
            ones[i] = (float)(i + round);
        for (uint32_t m = 0; m < 3; m++) {
            tenon_context *context = tenon_stream_context(w.streams[m]);
            assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &x[m]));
            assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &y[m]));
            assert_ok(tenon_tensor_upload(w.streams[m], ones, sizeof ones, &x[m], NULL));
        }
        assert_ok(tenon_group_all_reduce(w.group, TENON_GROUP_SUM, x, y, NULL));
        for (uint32_t m = 0; m < 3; m++) {
            assert_ok(tenon_tensor_download(w.streams[m], &y[m], sums, sizeof sums, NULL));
            for (int64_t i = 0; i < length; i++)
                assert_float_equal(sums[i], 3 * ones[i], 0);
        }
        assert_ok(tenon_group_wait(w.group));
        for (uint32_t m = 0; m < 3; m++) {
            tenon_tensor_destroy(&x[m]);
            tenon_tensor_destroy(&y[m]);
        }
    }
    world_close(&w);
}

TEST(all_reduces)
{
    check_all_sizes(all_reduce, 3101);
}

TEST(reduce_scatters)
{
    check_all_sizes(reduce_scatter, 3102);
}

TEST(all_gathers)
{
    check_all_sizes(all_gather, 3103);
}

TEST(all_to_alls)
{
    check_all_sizes(all_to_all, 3104);
}

TEST(broadcasts)
{
    check_all_sizes(broadcast, 3105);
}

static tenon_status reduce(const world *w, const problem *p, const tenon_tensor *x,
                           const tenon_tensor *y)
{
    return tenon_group_reduce(w->group, p->kind, p->root, x, &y[p->root], NULL);
}

static tenon_status send_and_receive(const world *w, const problem *p, const tenon_tensor *x,
                                     const tenon_tensor *y)
{
    const uint32_t from = p->members - 1;
    const tenon_status status = tenon_group_send(w->group, from, p->root, &x[from], NULL);
    return status != TENON_OK
               ? status
               : tenon_group_receive(w->group, from, p->root, &y[p->root], NULL);
}

/* Only one member receives a result; the outputs of the others stay as they were. */
static void check_one_output(const world *w, collective call, problem p, test_random *random)
{
    tensors x, y;
    p.in_place = false;
    make(w, &x, p.dtype, p.rank, p.shape, p.x_layout, random);
    make(w, &y, p.dtype, p.rank, p.shape, p.y_layout, NULL);
    for (int64_t i = 0; i < p.shape[0] * p.shape[1]; i++)
        if (call == reduce)
            expect_combination(p.kind, &x, i, &y.image[p.root], i);
        else
            expect_copy(&x.image[p.members - 1], i, &y.image[p.root], i);
    run_and_compare(w, &p, call, &x, &y, call == reduce ? ulps_of(&p) : 0);
    destroy(&x);
    destroy(&y);
}

TEST(reduces_and_sends)
{
    test_random random = test_random_for(3106);
    for (uint32_t members = 1; members <= MOST; members++) {
        world w;
        world_open(&w, members);
        for (int i = 0; i < test_problems(4); i++)
            check_one_output(&w, i % 2 == 0 ? reduce : send_and_receive,
                             random_problem(&random, members, false), &random);
        world_close(&w);
    }
}

/* Every type can be moved. */
TEST(moved_types)
{
    test_random random = test_random_for(3107);
    world w;
    world_open(&w, 3);
    for (tenon_dtype dtype = TENON_DTYPE_F64; dtype != TENON_DTYPE_INVALID;
         dtype = test_next_moved_type(dtype)) {
        problem p = random_problem(&random, 3, true);
        if (dtype == TENON_DTYPE_F64 && !test_has(TENON_CAPABILITY_F64))
            continue;
        p.dtype = dtype;
        check(&w, dtype % 2 == 0 ? all_to_all : all_gather, p, &random);
    }
    world_close(&w);
}

/* Calls are ordered with the work before and after them in the members' streams, without waiting
 * on the host: in each round every member adds its rank + 1 to the sum of the round before. */
TEST(order)
{
    enum { ROUNDS = 8, MEMBERS = 3 };
    const int64_t count = 5000;
    world w;
    tenon_tensor x[MEMBERS], one[MEMBERS];
    world_open(&w, MEMBERS);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        tenon_context *context = tenon_stream_context(w.streams[m]);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F64, 1, &count, &x[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F64, 1, &count, &one[m]));
        assert_ok(tenon_tensor_fill(w.streams[m], &x[m], 0, NULL));
        assert_ok(tenon_tensor_fill(w.streams[m], &one[m], m + 1, NULL));
    }
    double expected = 0;
    cl_event events[MEMBERS];
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t m = 0; m < MEMBERS; m++)
            assert_ok(tenon_elementwise(w.streams[m], NULL, &x[m], &one[m], &x[m], NULL));
        const bool is_last = round == ROUNDS - 1;
        assert_ok(tenon_group_all_reduce(w.group, TENON_GROUP_SUM, x, x, is_last ? events : NULL));
        assert_ok(tenon_group_barrier(w.group, NULL));
        expected = MEMBERS * expected + 1 + 2 + 3;
    }
    for (uint32_t m = 0; m < MEMBERS; m++) {
        double *got = malloc((size_t)count * sizeof *got);
        assert_non_null(got);
        assert_int_equal(clWaitForEvents(1, &events[m]), CL_SUCCESS);
        clReleaseEvent(events[m]);
        assert_ok(
            tenon_tensor_download(w.streams[m], &x[m], got, (size_t)count * sizeof *got, NULL));
        for (int64_t i = 0; i < count; i++)
            assert_true(got[i] == expected);
        free(got);
    }
    assert_ok(tenon_group_wait(w.group));
    for (uint32_t m = 0; m < MEMBERS; m++) {
        tenon_tensor_destroy(&x[m]);
        tenon_tensor_destroy(&one[m]);
    }
    world_close(&w);
}
