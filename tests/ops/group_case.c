#include "group_case.h"

#include "base/dtype.h"
#include "base/platform.h"

#include <math.h>

static tenon_context *context_of(const char *selector)
{
    tenon_context *context = NULL;
    tenon_context_params params = tenon_context_params(.device = selector);
    assert_ok(tenon_context_create(&params, &context));
    return context;
}

static void open_contexts(group_world *w, const group_division *division)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT, part = TENON_DEVICE_INFO_INIT;
    char selector[64];
    for (uint32_t i = 0; i < division->selector_count; i++)
        w->contexts[w->context_count++] = context_of(division->selectors[i]);
    if (w->context_count > 0)
        return;
    assert_ok(tenon_context_device(test_context, &info));
    tenon_context_retain(test_context);
    w->contexts[w->context_count++] = test_context;
    if (division->is_plain)
        return;
    w->contexts[w->context_count++] = context_of(info.selector);
    tenon_context_retain(test_context);
    w->contexts[w->context_count++] = test_context;
    snprintf(selector, sizeof selector, "%s/%d", info.selector, info.compute_units > 1 ? 2 : 1);
    if (tenon_device_select(selector, &part) == TENON_OK)
        w->contexts[w->context_count++] = context_of(selector);
}

/* Creates the group of a process. */
static tenon_status create(group_world *w, uint32_t process, void *data)
{
    const group_division *division = data;
    tenon_transport transport;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    if (w->net != NULL) {
        test_net_transport(w->net, process, division->has_threads ? TENON_TRANSPORT_THREADS : 0,
                           &transport);
        params.transport = &transport;
        params.chunk_bytes = division->chunk_bytes;
    }
    if (division != NULL && division->deadline_s > 0)
        params.deadline_s = division->deadline_s;
    if (division != NULL && division->first_deadline_s > 0 && process == 0)
        params.deadline_s = division->first_deadline_s;
    return tenon_group_create(&w->streams[w->first[process]],
                              w->first[process + 1] - w->first[process], &params,
                              &w->groups[process]);
}

void group_world_open(group_world *w, uint32_t count, const group_division *division)
{
    group_division room = division != NULL ? *division : (group_division){0};
    group_result results[GROUP_MOST];
    memset(w, 0, sizeof *w);
    open_contexts(w, &room);
    w->count = count;
    w->processes = room.processes > 1 ? room.processes : 1;
    for (uint32_t p = 0; p <= w->processes; p++) /* unequal parts */
        w->first[p] = (p * count + w->processes / 2) / w->processes;
    for (uint32_t m = 0; m < count; m++)
        assert_ok(tenon_stream_create(w->contexts[m % w->context_count], NULL, &w->streams[m]));
    if (w->processes > 1)
        w->net = test_net_create(w->processes, &room.faults);
    group_in_processes(w, create, &room, results);
    w->polls = room.polls;
    for (uint32_t p = 0; p < w->processes; p++) {
        if (results[p].status != TENON_OK)
            fail_msg("process %u: %s", (unsigned)p, results[p].message);
        assert_int_equal(tenon_group_size(w->groups[p]), count);
        assert_int_equal(tenon_group_first_rank(w->groups[p]), w->first[p]);
        assert_int_equal(tenon_group_local_count(w->groups[p]), w->first[p + 1] - w->first[p]);
    }
}

void group_world_close(group_world *w)
{
    for (uint32_t p = 0; p < w->processes; p++)
        tenon_group_destroy(w->groups[p]);
    for (uint32_t m = 0; m < w->count; m++)
        tenon_stream_destroy(w->streams[m]);
    for (uint32_t i = 0; i < w->context_count; i++)
        tenon_context_release(w->contexts[i]);
    if (w->net != NULL)
        assert_int_equal(test_net_errors(w->net), 0);
    test_net_destroy(w->net);
}

/* A process: a thread. */
typedef struct actor {
    group_world *w;
    uint32_t process;
    group_part part;
    void *data;
    group_result *result;
    tn_thread thread;
} actor;

static void *act(void *data)
{
    actor *a = data;
    const uint64_t began = tn_now();
    a->result->status = a->part(a->w, a->process, a->data);
    a->result->seconds = (double)(tn_now() - began) * 1e-9;
    snprintf(a->result->message, sizeof a->result->message, "%s",
             a->result->status != TENON_OK ? tenon_last_error() : "");
    return NULL;
}

void group_in_processes(group_world *w, group_part part, void *data, group_result *results)
{
    actor first = {.w = w, .part = part, .data = data, .result = results};
    actor others[GROUP_MOST] = {first};
    for (uint32_t p = 1; p < w->processes; p++) {
        others[p] = first;
        others[p].process = p;
        others[p].result = &results[p];
        assert_true(tn_thread_create(&others[p].thread, act, &others[p]));
    }
    act(&first); /* in this thread */
    for (uint32_t p = 1; p < w->processes; p++)
        tn_thread_join(others[p].thread);
}

/* The whole memory of a tensor as bytes. */
static tenon_tensor bytes_of(const group_tensors *t, uint32_t m)
{
    const int64_t bytes = (int64_t)t->image[m].bytes;
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_U8, 1, &bytes);
    view.memory = t->view[m].memory;
    return view;
}

void group_upload(const group_world *w, const group_tensors *t)
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

void group_make(const group_world *w, group_tensors *t, tenon_dtype dtype, uint32_t rank,
                const int64_t *shape, test_layout layout, test_random *random)
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
    group_upload(w, t);
}

void group_destroy(group_tensors *t)
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

void group_assert_image(const group_world *w, const group_tensors *t, int ulps)
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
static void expect_combination(tenon_group_kind kind, const group_tensors *x, int64_t from,
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

group_problem group_random_problem(test_random *random, uint32_t members, bool divides)
{
    static const int64_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 129, 1000, 4097};
    group_problem p = {.members = members, .rank = 2};
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
static int ulps_of(const group_problem *p)
{
    const bool is_power_of_two = (p->members & (p->members - 1)) == 0;
    return p->kind != TENON_GROUP_MEAN || is_power_of_two ? 0
           : tenon_dtype_size(p->dtype) == 2              ? 1
                                                          : 3;
}

tenon_status group_all_reduce(const group_world *w, uint32_t process, const group_problem *p,
                              const tenon_tensor *x, const tenon_tensor *y)
{
    const uint32_t first = w->first[process];
    return tenon_group_all_reduce(w->groups[process], p->kind, &x[first], &y[first], NULL);
}

tenon_status group_reduce_scatter(const group_world *w, uint32_t process, const group_problem *p,
                                  const tenon_tensor *x, const tenon_tensor *y)
{
    const uint32_t first = w->first[process];
    return tenon_group_reduce_scatter(w->groups[process], p->kind, &x[first], &y[first], NULL);
}

tenon_status group_all_gather(const group_world *w, uint32_t process, const group_problem *p,
                              const tenon_tensor *x, const tenon_tensor *y)
{
    const uint32_t first = w->first[process];
    (void)p;
    return tenon_group_all_gather(w->groups[process], &x[first], &y[first], NULL);
}

tenon_status group_all_to_all(const group_world *w, uint32_t process, const group_problem *p,
                              const tenon_tensor *x, const tenon_tensor *y)
{
    const uint32_t first = w->first[process];
    (void)p;
    return tenon_group_all_to_all(w->groups[process], &x[first], &y[first], NULL);
}

static bool has(const group_world *w, uint32_t process, uint32_t rank)
{
    return rank >= w->first[process] && rank < w->first[process + 1];
}

tenon_status group_broadcast(const group_world *w, uint32_t process, const group_problem *p,
                             const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_broadcast(w->groups[process], p->root,
                                 has(w, process, p->root) ? &x[p->root] : NULL,
                                 &y[w->first[process]], NULL);
}

tenon_status group_reduce(const group_world *w, uint32_t process, const group_problem *p,
                          const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_reduce(w->groups[process], p->kind, p->root, &x[w->first[process]],
                              has(w, process, p->root) ? &y[p->root] : NULL, NULL);
}

tenon_status group_send(const group_world *w, uint32_t process, const group_problem *p,
                        const tenon_tensor *x, const tenon_tensor *y)
{
    const uint32_t from = p->members - 1;
    tenon_group *group = w->groups[process];
    tenon_status status = TENON_OK;
    if (has(w, process, from))
        status = tenon_group_send(group, from, p->root, &x[from], NULL);
    if (status == TENON_OK && has(w, process, p->root))
        status = tenon_group_receive(group, from, p->root, &y[p->root], NULL);
    return status;
}

/* A call of all processes. */
typedef struct call_round {
    group_collective call;
    const group_problem *p;
    const tenon_tensor *x, *y;
} call_round;

static tenon_status call_and_wait(group_world *w, uint32_t process, void *data)
{
    const call_round *r = data;
    const tenon_status status = r->call(w, process, r->p, r->x, r->y);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

/* Calls in all processes, then polls all groups until none is busy, in one thread. */
static void call_and_poll(group_world *w, const call_round *r)
{
    int busy = 1;
    for (uint32_t p = 0; p < w->processes; p++)
        assert_ok(r->call(w, p, r->p, r->x, r->y));
    while (busy) {
        busy = 0;
        for (uint32_t p = 0; p < w->processes; p++) {
            int one = 0;
            assert_ok(tenon_group_poll(w->groups[p], &one));
            busy |= one;
        }
    }
}

static void run(group_world *w, call_round *r)
{
    group_result results[GROUP_MOST];
    if (w->polls) {
        call_and_poll(w, r);
        return;
    }
    group_in_processes(w, call_and_wait, r, results);
    for (uint32_t p = 0; p < w->processes; p++)
        if (results[p].status != TENON_OK)
            fail_msg("process %u: %s", (unsigned)p, results[p].message);
}

void group_call_all(group_world *w, group_collective call, const group_problem *p,
                    const tenon_tensor *x, const tenon_tensor *y)
{
    call_round r = {call, p, x, y};
    run(w, &r);
}

/* Copies an element of an input to an element of an output. */
static void expect_copy(const test_tensor *x, int64_t from, test_tensor *y, int64_t to)
{
    memcpy(at(y, to), at(x, from), tenon_dtype_size(x->view.dtype));
}

/* Sets the expected outputs of collectives with an output for each member. `part` is the number of
 * elements of a part. */
static void expect(group_collective call, const group_problem *p, const group_tensors *x,
                   group_tensors *y, int64_t part)
{
    for (uint32_t m = 0; m < x->count; m++)
        for (int64_t i = 0; i < tenon_tensor_elements(&y->view[m]); i++) {
            const uint32_t other = part > 0 ? (uint32_t)(i / part) : 0;
            if (call == group_reduce_scatter)
                expect_combination(p->kind, x, m * part + i, &y->image[m], i);
            else if (call == group_broadcast)
                expect_copy(&x->image[p->root], i, &y->image[m], i);
            else if (call == group_all_gather)
                expect_copy(&x->image[other], i % part, &y->image[m], i);
            else if (call == group_all_to_all)
                expect_copy(&x->image[other], m * part + i % part, &y->image[m], i);
            else if (call == group_send && m == p->root)
                expect_copy(&x->image[p->members - 1], i, &y->image[m], i);
            else if (call == group_all_reduce || (call == group_reduce && m == p->root))
                expect_combination(p->kind, x, i, &y->image[m], i);
        }
}

static void run_and_compare(group_world *w, call_round *r, const group_tensors *x,
                            const group_tensors *y, int ulps)
{
    for (int i = 0; i < 2; i++) {
        if (r->p->in_place)
            group_upload(w, x);
        run(w, r);
        if (r->p->in_place) { /* the results are in the memory of x */
            group_tensors found = *y;
            memcpy(found.view, x->view, sizeof found.view);
            group_assert_image(w, &found, ulps);
        } else {
            group_assert_image(w, y, ulps);
            group_assert_image(w, x, 0);
        }
    }
}

void group_check(group_world *w, group_collective call, group_problem p, test_random *random)
{
    const bool combines =
        call == group_all_reduce || call == group_reduce_scatter || call == group_reduce;
    group_tensors x, y;
    int64_t shape[3] = {p.shape[0], p.shape[1]};
    int64_t part = shape[0] * shape[1];
    if (call == group_reduce_scatter)
        shape[0] /= p.members;
    if (call == group_all_gather)
        shape[0] *= p.members;
    else
        part /= p.members;
    p.in_place &= call == group_all_reduce;
    group_make(w, &x, p.dtype, p.rank, p.shape, p.x_layout, random);
    group_make(w, &y, p.dtype, p.rank, shape, p.in_place ? p.x_layout : p.y_layout, NULL);
    expect(call, &p, &x, &y, part);
    call_round r = {call, &p, x.view, p.in_place ? x.view : y.view};
    run_and_compare(w, &r, &x, &y, combines ? ulps_of(&p) : 0);
    group_destroy(&x);
    group_destroy(&y);
}
