/* Tests of the memory of collectives: in place, inputs and outputs in one memory, empty tensors,
 * groups of one member, a member that sends to itself, and two groups of the same members. */
#include "group_case.h"

#include <string.h>

static const struct {
    const char *name;
    group_collective call;
    bool has_root;
} collectives[] = {{"all-reduce", group_all_reduce, false},
                   {"reduce-scatter", group_reduce_scatter, false},
                   {"all-gather", group_all_gather, false},
                   {"all-to-all", group_all_to_all, false},
                   {"broadcast", group_broadcast, true},
                   {"reduce", group_reduce, true},
                   {"send", group_send, true}};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* In one process, in fewer processes than members, and in one process for each member. */
static group_division division_of(uint32_t number, uint32_t members)
{
    static const uint64_t chunks[] = {0, 1024, 0};
    return (group_division){.processes = number == 0   ? 1
                                         : number == 1 ? (members + 1) / 2
                                                       : members,
                            .has_threads = members % 2 == number % 2,
                            .chunk_bytes = chunks[number],
                            .deadline_s = 100};
}

/* Every collective, place and root. */
TEST(places_and_roots)
{
    test_random random = test_random_for(3501);
    for (uint32_t members = 1; members <= 4; members++)
        for (uint32_t d = 0; d < 3; d++) {
            group_world w;
            const group_division division = division_of(d, members);
            group_world_open(&w, members, &division);
            for (uint32_t i = 0; i < COLLECTIVES; i++)
                for (uint32_t root = 0; root < (collectives[i].has_root ? members : 1); root++)
                    for (int places = 0; places < GROUP_PLACES; places++) {
                        group_problem p = random_problem_of(collectives[i].call, members, &random);
                        p.root = root;
                        p.places = (group_places)places;
                        p.shape[1] = test_between(&random, 1, 700);
                        group_check(&w, collectives[i].call, p, &random);
                    }
            group_world_close(&w);
        }
}

/* Tensors without elements: nothing is written, and later calls work. */
TEST(empty_tensors)
{
    test_random random = test_random_for(3502);
    for (uint32_t members = 1; members <= 3; members++)
        for (uint32_t d = 0; d < 3; d++) {
            group_world w;
            const group_division division = division_of(d, members);
            group_world_open(&w, members, &division);
            for (uint32_t i = 0; i < COLLECTIVES; i++)
                for (int dimension = 0; dimension < 3; dimension++) {
                    group_problem p = random_problem_of(collectives[i].call, members, &random);
                    p.shape[1] = 5;
                    if (dimension < 2) /* otherwise a problem with elements */
                        p.shape[dimension] = 0;
                    group_check(&w, collectives[i].call, p, &random);
                }
            group_world_close(&w);
        }
}

/* Two members in one context: the input of member 1 is at `place` of its memory, the output in the
 * middle. */
enum { PART = 6, ROOT = 1, MEMBERS = 2 };

typedef struct overlap {
    int64_t x_count, y_count, x_start, y_start;
} overlap;

static overlap overlap_of(group_collective call)
{
    const int64_t whole = MEMBERS * PART;
    overlap o = {.x_count = whole, .y_count = whole, .y_start = whole};
    if (call == group_all_gather)
        o.x_count = PART;
    if (call == group_reduce_scatter)
        o.y_count = PART;
    return o;
}

static bool is_allowed(group_collective call, const overlap *o)
{
    const int64_t distance = o->x_start - o->y_start;
    const bool is_apart = distance >= o->y_count || -distance >= o->x_count,
               is_same =
                   call == group_all_reduce || call == group_reduce || call == group_broadcast;
    return is_apart || (is_same && distance == 0) ||
           (call == group_all_gather && distance == ROOT * PART);
}

/* The element of an output if all elements of the inputs are the member's rank + 1. */
static float expected_element(group_collective call, int64_t i)
{
    const int64_t from = i / PART;
    if (call == group_all_gather || call == group_all_to_all)
        return (float)(from + 1);
    return call == group_broadcast ? ROOT + 1 : 3;
}

static void check_overlap(group_world *w, group_collective call, const char *name, const overlap *o,
                          const tenon_tensor *memory)
{
    const group_problem p = {.members = MEMBERS, .root = ROOT, .kind = TENON_GROUP_SUM};
    tenon_tensor x[MEMBERS], y[MEMBERS];
    float got[MEMBERS * PART];
    for (uint32_t m = 0; m < MEMBERS; m++) { /* those of member 0 are apart */
        y[m] = tenon_tensor_slice(memory[m], 0, o->y_start, o->y_count);
        x[m] =
            tenon_tensor_slice(memory[m], 0, m == 0 ? 3 * MEMBERS * PART : o->x_start, o->x_count);
        assert_ok(tenon_tensor_fill(w->streams[m], &memory[m], 77, NULL));
        assert_ok(tenon_tensor_fill(w->streams[m], &x[m], m + 1, NULL));
    }
    const tenon_status status = call(w, 0, &p, x, y);
    if (!is_allowed(call, o)) {
        if (status != TENON_ERROR_INVALID_ARGUMENT || strstr(tenon_last_error(), "overlap") == NULL)
            fail_msg("%s with x at %d and y at %d: %s", name, (int)o->x_start, (int)o->y_start,
                     status == TENON_OK ? "not refused" : tenon_last_error());
        return;
    }
    assert_ok(status);
    assert_ok(tenon_tensor_download(w->streams[ROOT], &y[ROOT], got,
                                    (size_t)o->y_count * sizeof *got, NULL));
    for (int64_t i = 0; i < o->y_count; i++)
        if (got[i] != expected_element(call, i))
            fail_msg("%s with x at %d and y at %d: element %d is %g", name, (int)o->x_start,
                     (int)o->y_start, (int)i, (double)got[i]);
    assert_ok(tenon_group_wait(w->groups[0]));
}

/* Inputs at every offset before, in and behind the output. */
TEST(overlaps)
{
    const int64_t room = 4 * MEMBERS * PART;
    group_world w;
    tenon_tensor memory[MEMBERS];
    group_world_open(&w, MEMBERS, &(group_division){.is_plain = true});
    for (uint32_t m = 0; m < MEMBERS; m++)
        assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, &room, &memory[m]));
    for (uint32_t i = 0; i < COLLECTIVES - 1; i++) { /* a send may overlap its own receive */
        overlap o = overlap_of(collectives[i].call);
        for (o.x_start = 0; o.x_start <= 2 * MEMBERS * PART; o.x_start++)
            check_overlap(&w, collectives[i].call, collectives[i].name, &o, memory);
    }
    for (uint32_t m = 0; m < MEMBERS; m++)
        tenon_tensor_destroy(&memory[m]);
    group_world_close(&w);
}

/* An output must not overlap the tensors of another member of the same context either. */
TEST(overlaps_of_members)
{
    const int64_t room = 4 * PART;
    group_world w;
    tenon_tensor memory[MEMBERS];
    group_world_open(&w, MEMBERS, &(group_division){.is_plain = true});
    for (uint32_t m = 0; m < MEMBERS; m++)
        assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, &room, &memory[m]));
    tenon_tensor x[MEMBERS] = {tenon_tensor_slice(memory[0], 0, 0, PART),
                               tenon_tensor_slice(memory[1], 0, 0, PART)};
    tenon_tensor y[MEMBERS] = {tenon_tensor_slice(memory[1], 0, PART - 1, PART),
                               tenon_tensor_slice(memory[0], 0, PART, PART)};
    assert_invalid(tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, x, y, NULL),
                   "y[0] overlaps x[1]");
    y[0] = tenon_tensor_slice(memory[0], 0, 2 * PART - 1, PART);
    assert_invalid(tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, x, y, NULL),
                   "y[0] overlaps y[1]");
    y[0] = tenon_tensor_slice(memory[1], 0, PART, PART);
    assert_ok(tenon_tensor_fill(w.streams[0], &x[0], 1, NULL));
    assert_ok(tenon_tensor_fill(w.streams[1], &x[1], 2, NULL));
    assert_ok(tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, x, y, NULL));
    for (uint32_t m = 0; m < MEMBERS; m++) {
        float got[PART];
        assert_ok(tenon_tensor_download(w.streams[m], &y[m], got, sizeof got, NULL));
        for (int i = 0; i < PART; i++)
            assert_true(got[i] == 3);
    }
    assert_ok(tenon_group_wait(w.groups[0]));
    for (uint32_t m = 0; m < MEMBERS; m++)
        tenon_tensor_destroy(&memory[m]);
    group_world_close(&w);
}

/* Two groups of the same streams: their calls are executed in the order of the streams. */
typedef struct second_groups {
    test_net *net;
    tenon_group *groups[GROUP_MOST];
    tenon_tensor x[GROUP_MOST], y[GROUP_MOST];
} second_groups;

enum { TWO_ROUNDS = 6 };

static tenon_status call_both(group_world *w, uint32_t process, void *data)
{
    second_groups *s = data;
    const uint32_t first = w->first[process], count = w->first[process + 1] - first;
    tenon_transport transport;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    if (s->net != NULL) {
        test_net_transport(s->net, process, TENON_TRANSPORT_THREADS, &transport);
        params.transport = &transport;
    }
    tenon_status status =
        tenon_group_create(&w->streams[first], count, &params, &s->groups[process]);
    for (int round = 0; round < TWO_ROUNDS && status == TENON_OK; round++) {
        status = tenon_group_all_reduce(w->groups[process], TENON_GROUP_SUM, &s->x[first],
                                        &s->y[first], NULL);
        if (status == TENON_OK)
            status = tenon_group_all_reduce(s->groups[process], TENON_GROUP_SUM, &s->y[first],
                                            &s->x[first], NULL);
    }
    if (status == TENON_OK)
        status = tenon_group_wait(w->groups[process]);
    if (status == TENON_OK)
        status = tenon_group_wait(s->groups[process]);
    return status;
}

static void check_two_groups(const group_division *division, int64_t count)
{
    group_world w;
    second_groups s = {.net = NULL};
    group_result results[GROUP_MOST];
    float expected = 1, *got = malloc((size_t)count * sizeof *got);
    assert_non_null(got);
    group_world_open(&w, 3, division);
    if (w.net != NULL)
        s.net = test_net_create(w.processes, &(test_net_faults){.delay = 2});
    for (uint32_t m = 0; m < w.count; m++) {
        tenon_context *context = tenon_stream_context(w.streams[m]);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &count, &s.x[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &count, &s.y[m]));
        assert_ok(tenon_tensor_fill(w.streams[m], &s.x[m], 1, NULL));
    }
    group_in_processes(&w, call_both, &s, results);
    for (int i = 0; i < 2 * TWO_ROUNDS; i++)
        expected *= 3;
    for (uint32_t p = 0; p < w.processes; p++) {
        if (results[p].status != TENON_OK)
            fail_msg("process %u: %s", (unsigned)p, results[p].message);
        tenon_group_destroy(s.groups[p]);
    }
    for (uint32_t m = 0; m < w.count; m++) {
        assert_ok(
            tenon_tensor_download(w.streams[m], &s.x[m], got, (size_t)count * sizeof *got, NULL));
        for (int64_t i = 0; i < count; i++)
            assert_true(got[i] == expected);
        tenon_tensor_destroy(&s.x[m]);
        tenon_tensor_destroy(&s.y[m]);
    }
    group_world_close(&w);
    if (s.net != NULL)
        assert_int_equal(test_net_errors(s.net), 0);
    test_net_destroy(s.net);
    free(got);
}

TEST(two_groups)
{
    for (uint32_t processes = 1; processes <= 3; processes++) {
        const group_division division = {
            .processes = processes, .has_threads = true, .deadline_s = 100};
        check_two_groups(&division, 700);
        check_two_groups(&division, 20001);
    }
}
