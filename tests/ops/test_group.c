/* Tests of collectives in one process: every one, type and combination, on members of one and of
 * several contexts and on parts of the device; any strides; in place. Results are compared bit by
 * bit with the same operations on the host in the order of the ranks. */
#include "group_case.h"

/* Random problems of a collective, in groups of every size. */
static void check_all_sizes(group_collective call, uint64_t stream)
{
    test_random random = test_random_for(stream);
    for (uint32_t members = 1; members <= GROUP_MOST; members++) {
        group_world w;
        group_world_open(&w, members, NULL);
        for (int i = 0; i < test_problems(3); i++)
            group_check(&w, call, group_random_problem(&random, members, call != group_all_gather),
                        &random);
        group_world_close(&w);
    }
}

/* Outputs are new, and are downloaded while the group's thread works on them. */
TEST(results_are_read_at_once)
{
    const int64_t length = 60;
    group_world w;
    group_world_open(&w, 3, NULL);
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
        assert_ok(tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, x, y, NULL));
        for (uint32_t m = 0; m < 3; m++) {
            assert_ok(tenon_tensor_download(w.streams[m], &y[m], sums, sizeof sums, NULL));
            for (int64_t i = 0; i < length; i++)
                assert_float_equal(sums[i], 3 * ones[i], 0);
        }
        assert_ok(tenon_group_wait(w.groups[0]));
        for (uint32_t m = 0; m < 3; m++) {
            tenon_tensor_destroy(&x[m]);
            tenon_tensor_destroy(&y[m]);
        }
    }
    group_world_close(&w);
}

TEST(all_reduces)
{
    check_all_sizes(group_all_reduce, 3101);
}

TEST(reduce_scatters)
{
    check_all_sizes(group_reduce_scatter, 3102);
}

TEST(all_gathers)
{
    check_all_sizes(group_all_gather, 3103);
}

TEST(all_to_alls)
{
    check_all_sizes(group_all_to_all, 3104);
}

TEST(broadcasts)
{
    check_all_sizes(group_broadcast, 3105);
}

TEST(reduces)
{
    check_all_sizes(group_reduce, 3106);
}

TEST(sends)
{
    check_all_sizes(group_send, 3108);
}

/* Every type can be moved. */
TEST(moved_types)
{
    test_random random = test_random_for(3107);
    group_world w;
    group_world_open(&w, 3, NULL);
    for (tenon_dtype dtype = TENON_DTYPE_F64; dtype != TENON_DTYPE_INVALID;
         dtype = test_next_moved_type(dtype)) {
        group_problem p = group_random_problem(&random, 3, true);
        if (dtype == TENON_DTYPE_F64 && !test_has(TENON_CAPABILITY_F64))
            continue;
        p.dtype = dtype;
        group_check(&w, dtype % 2 == 0 ? group_all_to_all : group_all_gather, p, &random);
    }
    group_world_close(&w);
}

/* Calls are ordered with the work before and after them in the members' streams, without waiting
 * on the host: in each round every member adds its rank + 1 to the sum of the round before. */
TEST(order)
{
    enum { ROUNDS = 8, MEMBERS = 3 };
    const int64_t count = 5000;
    group_world w;
    tenon_tensor x[MEMBERS], one[MEMBERS];
    group_world_open(&w, MEMBERS, NULL);
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
        assert_ok(
            tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, x, x, is_last ? events : NULL));
        assert_ok(tenon_group_barrier(w.groups[0], NULL));
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
    assert_ok(tenon_group_wait(w.groups[0]));
    for (uint32_t m = 0; m < MEMBERS; m++) {
        tenon_tensor_destroy(&x[m]);
        tenon_tensor_destroy(&one[m]);
    }
    group_world_close(&w);
}
