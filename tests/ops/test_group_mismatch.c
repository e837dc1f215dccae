/* Tests of groups whose processes make different calls: all of them report it, nothing is written,
 * and the group can be used again. */
#include "group_work.h"

#include <string.h>

/* A call of one process, and that of the others. */
typedef tenon_status one_call(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y);
typedef struct difference {
    const char *text; /* part of the message */
    one_call *call, *others;
} difference;

static tenon_status usual(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, x, y, NULL);
}

static tenon_status other_kind(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_reduce(group, TENON_GROUP_MAX, x, y, NULL);
}

static tenon_status other_call(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_to_all(group, x, y, NULL);
}

static tenon_status other_shape(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    const tenon_tensor a = tenon_tensor_slice(*x, 0, 0, GROUP_WORK_COUNT - 1),
                       b = tenon_tensor_slice(*y, 0, 0, GROUP_WORK_COUNT - 1);
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, &a, &b, NULL);
}

static tenon_status other_type(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    tenon_tensor a = *x, b = *y;
    a.dtype = b.dtype = TENON_DTYPE_I32;
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, &a, &b, NULL);
}

static tenon_status no_data(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    (void)x, (void)y;
    return tenon_group_barrier(group, NULL);
}

/* Calls with many tensors: parts of x and y, which begin at these elements. */
static tenon_status many(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y,
                         const int64_t *starts, uint32_t count)
{
    tenon_tensor in[4], out[4];
    for (uint32_t i = 0; i < count; i++) {
        in[i] = tenon_tensor_slice(*x, 0, starts[i], starts[i + 1] - starts[i]);
        out[i] = tenon_tensor_slice(*y, 0, starts[i], starts[i + 1] - starts[i]);
    }
    return tenon_group_all_reduce_many(group, TENON_GROUP_SUM, count, in, out, NULL);
}

static tenon_status two(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return many(group, x, y, (const int64_t[]){0, 1000, GROUP_WORK_COUNT}, 2);
}

static tenon_status two_others(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return many(group, x, y, (const int64_t[]){0, 2000, GROUP_WORK_COUNT}, 2);
}

static tenon_status two_shorter(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return many(group, x, y, (const int64_t[]){0, 1000, GROUP_WORK_COUNT - 7}, 2);
}

static tenon_status three(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return many(group, x, y, (const int64_t[]){0, 0, 1000, GROUP_WORK_COUNT}, 3);
}

static tenon_status two_of_i32(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    tenon_tensor a = *x, b = *y;
    a.dtype = b.dtype = TENON_DTYPE_I32;
    return two(group, &a, &b);
}

static tenon_status many_of_one(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return many(group, x, y, (const int64_t[]){0, GROUP_WORK_COUNT}, 1);
}

static tenon_status from_0(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_broadcast(group, 0, x, y, NULL);
}

static tenon_status from_1(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_broadcast(group, 1, x, y, NULL);
}

static const difference differences[] = {
    {"kind 3", other_kind, usual},
    {"tenon_group_all_to_all", other_call, usual},
    {"of f32 2999", other_shape, usual},
    {"of i32 3000", other_type, usual},
    {"tenon_group_barrier", no_data, usual},
    {"3 tensors of 3000 elements", three, two},
    {"2 tensors of 3000 elements, shapes", two_others, two},
    {"2 tensors of 2993 elements", two_shorter, two},
    {"of i32 2 tensors", two_of_i32, two},
    {"tenon_group_all_reduce_many of f32 3000", many_of_one, usual},
    {"tenon_group_all_reduce of f32 3000", usual, two},
    {"root 1", from_1, from_0}};

typedef struct different_work {
    group_work *k;
    const difference *difference;
    uint32_t process; /* which makes the other call */
} different_work;

static tenon_status call_differently(group_world *w, uint32_t process, void *data)
{
    const different_work *d = data;
    const uint32_t first = w->first[process];
    const tenon_status status =
        (process == d->process ? d->difference->call : d->difference->others)(
            w->groups[process], &d->k->x[first], &d->k->y[first]);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

static void assert_names(const group_result *r, const char *text)
{
    if (r->status != TENON_ERROR_MISMATCH || strstr(r->message, text) == NULL ||
        strstr(r->message, "call 1") == NULL || strstr(r->message, "rank") == NULL)
        fail_msg("%s: \"%s\" should be a mismatch and name \"%s\"", tenon_status_string(r->status),
                 r->message, text);
}

/* All processes report the same mismatch, nothing is written, and the group can be used again. */
TEST(mismatches)
{
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        group_world w;
        group_work k;
        group_result results[GROUP_MOST];
        group_division division = group_work_base;
        division.has_threads = i % 2 == 0;
        group_world_open(&w, 3, &division);
        group_open_work(&w, &k);
        for (uint32_t m = 0; m < w.count; m++)
            assert_ok(tenon_tensor_fill(w.streams[m], &k.y[m], 77, NULL));
        different_work d = {&k, &differences[i], (uint32_t)i % w.processes};
        group_in_processes(&w, call_differently, &d, results);
        for (uint32_t p = 0; p < w.processes; p++) {
            float got[GROUP_WORK_COUNT];
            assert_names(&results[p], differences[i].text);
            assert_ok(tenon_tensor_download(w.streams[p], &k.y[p], got, sizeof got, NULL));
            for (int e = 0; e < GROUP_WORK_COUNT; e++)
                assert_true(got[e] == 77);
        }
        group_in_processes(&w, group_do_work, &k, results);
        assert_int_equal(group_assert_ends(&w, &k, results, TENON_OK, GROUP_MOST, GROUP_PATIENCE_S),
                         0);
        group_close_work(&w, &k);
        group_world_close(&w);
    }
}

/* Process 0 sends f32, the last one receives another type. */
static tenon_status receive_other(group_world *w, uint32_t process, void *data)
{
    group_work *k = data;
    const uint32_t last = w->count - 1;
    tenon_tensor y = k->y[last];
    tenon_status status = TENON_OK;
    y.dtype = TENON_DTYPE_I32;
    if (process == 0)
        status = tenon_group_send(w->groups[process], 0, last, &k->x[0], NULL);
    if (status == TENON_OK && process == w->processes - 1)
        status = tenon_group_receive(w->groups[process], 0, last, &y, NULL);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

TEST(mismatched_sends)
{
    for (uint32_t processes = 1; processes <= 3; processes++) {
        group_world w;
        group_work k;
        group_result results[GROUP_MOST];
        group_division division = group_work_base;
        division.processes = processes;
        group_world_open(&w, 3, &division);
        group_open_work(&w, &k);
        group_in_processes(&w, receive_other, &k, results);
        for (uint32_t p = 0; p < processes; p++) {
            const bool takes_part = p == 0 || p + 1 == processes;
            assert_int_equal(results[p].status, takes_part ? TENON_ERROR_MISMATCH : TENON_OK);
            if (takes_part && strstr(results[p].message, "i32") == NULL)
                fail_msg("%s", results[p].message);
        }
        group_in_processes(&w, group_do_work, &k, results);
        assert_int_equal(group_assert_ends(&w, &k, results, TENON_OK, GROUP_MOST, GROUP_PATIENCE_S),
                         0);
        group_close_work(&w, &k);
        group_world_close(&w);
    }
}

/* In one process, tensors that differ between members are refused by the call itself. */
TEST(different_buckets)
{
    enum { MEMBERS = 2, TENSORS = 2 };
    static const struct {
        const char *argument; /* in the message */
        uint32_t place;       /* of the tensor that differs */
        bool is_output;
    } cases[] = {{"x[2]", 2, false}, {"x[3]", 3, false}, {"y[0]", 0, true}, {"y[3]", 3, true}};
    group_world w;
    group_work k;
    group_world_open(&w, MEMBERS, &(group_division){.is_plain = true});
    group_open_work(&w, &k);
    for (int i = 0; i < 2 * (int)(sizeof cases / sizeof *cases); i++) {
        tenon_tensor x[MEMBERS * TENSORS], y[MEMBERS * TENSORS];
        for (uint32_t t = 0; t < MEMBERS * TENSORS; t++) {
            x[t] = tenon_tensor_slice(k.x[t / TENSORS], 0, t % TENSORS * 1000, 900 + t % TENSORS);
            y[t] = tenon_tensor_slice(k.y[t / TENSORS], 0, t % TENSORS * 1000, 900 + t % TENSORS);
        }
        tenon_tensor *changed = &(cases[i / 2].is_output ? y : x)[cases[i / 2].place];
        if (i % 2 == 0)
            changed->shape[0]--;
        else
            changed->dtype = TENON_DTYPE_I32;
        assert_invalid(
            tenon_group_all_reduce_many(w.groups[0], TENON_GROUP_SUM, TENSORS, x, y, NULL),
            cases[i / 2].argument);
    }
    group_close_work(&w, &k);
    group_world_close(&w);
}
