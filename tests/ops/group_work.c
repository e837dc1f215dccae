#include "group_work.h"

#include <string.h>

const group_division group_work_base = {
    .processes = 3, .is_plain = true, .chunk_bytes = 4096, .deadline_s = GROUP_PATIENCE_S};

tenon_status group_do_work(group_world *w, uint32_t process, void *data)
{
    group_work *k = data;
    tenon_group *group = w->groups[process];
    const uint32_t first = w->first[process], last = w->count - 1;
    tenon_status status = TENON_OK;
    for (int round = 0; round < GROUP_WORK_ROUNDS && status == TENON_OK; round++) {
        status = tenon_group_all_reduce(group, TENON_GROUP_SUM, &k->x[first], &k->y[first], NULL);
        if (status == TENON_OK && first == 0)
            status = tenon_group_send(group, 0, last, &k->x[0], NULL);
        if (status == TENON_OK && w->first[process + 1] == w->count)
            status = tenon_group_receive(group, 0, last, &k->y[last], NULL);
        if (status == TENON_OK)
            status = tenon_group_all_gather(group, &k->x[first], &k->all[first], NULL);
    }
    return status != TENON_OK ? status : tenon_group_wait(group);
}

void group_open_work(const group_world *w, group_work *k)
{
    const int64_t one[] = {GROUP_WORK_COUNT}, all[] = {GROUP_WORK_COUNT * (int64_t)w->count};
    for (uint32_t m = 0; m < w->count; m++) {
        tenon_context *context = tenon_stream_context(w->streams[m]);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, one, &k->x[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, one, &k->y[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, all, &k->all[m]));
        assert_ok(tenon_tensor_fill(w->streams[m], &k->x[m], m + 1, NULL));
    }
}

void group_close_work(const group_world *w, group_work *k)
{
    for (uint32_t m = 0; m < w->count; m++) {
        assert_ok(tenon_stream_finish(w->streams[m])); /* every event is complete */
        tenon_tensor_destroy(&k->x[m]);
        tenon_tensor_destroy(&k->y[m]);
        tenon_tensor_destroy(&k->all[m]);
    }
}

/* A process that succeeded has the right results. */
static void assert_work(const group_world *w, const group_work *k, uint32_t process)
{
    float *got = malloc(GROUP_WORK_COUNT * w->count * sizeof *got);
    assert_non_null(got);
    for (uint32_t m = w->first[process]; m < w->first[process + 1]; m++) {
        const uint32_t sum = w->count * (w->count + 1) / 2;
        assert_ok(tenon_tensor_download(w->streams[m], &k->y[m], got,
                                        GROUP_WORK_COUNT * sizeof *got, NULL));
        for (int i = 0; i < GROUP_WORK_COUNT; i++)
            assert_true(got[i] == (float)(m + 1 == w->count ? 1 : sum));
        assert_ok(tenon_tensor_download(w->streams[m], &k->all[m], got,
                                        GROUP_WORK_COUNT * w->count * sizeof *got, NULL));
        for (uint32_t i = 0; i < GROUP_WORK_COUNT * w->count; i++) {
            const uint32_t from = i / GROUP_WORK_COUNT;
            assert_true(got[i] == (float)(from + 1));
        }
    }
    free(got);
}

uint32_t group_assert_ends(const group_world *w, const group_work *k, const group_result *results,
                           tenon_status expected, uint32_t killed, double deadline_s)
{
    uint32_t failures = 0;
    for (uint32_t p = 0; p < w->processes; p++) {
        const group_result *r = &results[p];
        if (r->seconds > deadline_s + GROUP_PATIENCE_S)
            fail_msg("process %u took %g s", (unsigned)p, r->seconds);
        failures += r->status != TENON_OK;
        if (r->status == TENON_OK)
            assert_work(w, k, p);
        else if (p != killed && r->status != expected)
            fail_msg("process %u: %s, expected %s", (unsigned)p, r->message,
                     tenon_status_string(expected));
        if (p != killed && r->status != TENON_OK && strstr(r->message, "rank") == NULL)
            fail_msg("the message does not name a rank: %s", r->message);
    }
    return failures;
}
