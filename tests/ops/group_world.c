/* Worlds of groups: members, processes that are threads, and a network between them. */
#include "group_case.h"

#include "base/platform.h"
#include "group/group.h"

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
    return tenon_group_create(&w->streams[w->first[process]],
                              w->first[process + 1] - w->first[process], &params,
                              &w->groups[process]);
}

/* Sets the deadlines of the groups of processes. */
static void set_deadlines(group_world *w, const group_division *division)
{
    for (uint32_t p = 0; p < w->processes && division->deadline_s > 0; p++)
        w->groups[p]->deadline_s = division->deadline_s;
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
    set_deadlines(w, &room);
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
