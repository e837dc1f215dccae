/* Tests of groups and collectives with invalid input. */
#include "support.h"

#include <math.h>

static tenon_tensor tensor_of(tenon_dtype dtype, int64_t rows, int64_t columns)
{
    tenon_tensor t;
    const int64_t shape[] = {rows, columns};
    assert_ok(tenon_tensor_create(test_context, dtype, 2, shape, &t));
    return t;
}

/* Members of one context; x[0], x[1] and y[0], y[1] are 4 x 6 of f32. */
static void refused_calls(tenon_group *g, tenon_tensor *x, tenon_tensor *y)
{
    const tenon_tensor other = tensor_of(TENON_DTYPE_F16, 4, 6),
                       small = tensor_of(TENON_DTYPE_F32, 4, 5),
                       odd = tensor_of(TENON_DTYPE_F32, 3, 6),
                       flags = tensor_of(TENON_DTYPE_BOOL, 4, 6);
    const tenon_tensor none = tenon_tensor_view(TENON_DTYPE_INVALID, 0, NULL);
    const tenon_tensor types[] = {x[0], other}, shapes[] = {x[0], small}, nothing[] = {x[0], none},
                       odds[] = {odd, odd}, bools[] = {flags, flags}, same[] = {x[0], x[0]};
    const tenon_group_kind sum = TENON_GROUP_SUM;
    assert_invalid(tenon_group_all_reduce(NULL, sum, x, y, NULL), "group");
    assert_invalid(tenon_group_all_reduce(g, sum, NULL, y, NULL), "x");
    assert_invalid(tenon_group_all_reduce(g, sum, x, NULL, NULL), "y");
    assert_invalid(tenon_group_all_reduce(g, sum, types, y, NULL), "x[1] is of type f16");
    assert_invalid(tenon_group_all_reduce(g, sum, x, shapes, NULL), "y[1]");
    assert_invalid(tenon_group_all_reduce(g, sum, nothing, y, NULL), "x[1]");
    assert_invalid(tenon_group_all_reduce(g, (tenon_group_kind)5, x, y, NULL), "kind is 5");
    assert_refused(tenon_group_all_reduce(g, sum, bools, bools, NULL), TENON_ERROR_UNSUPPORTED,
                   "tenon_group_all_reduce", "bool");
    assert_invalid(tenon_group_reduce(g, sum, 2, x, y, NULL), "root is 2");
    assert_invalid(tenon_group_reduce(g, sum, 0, x, &small, NULL), "y[0]");
    assert_invalid(tenon_group_reduce_scatter(g, sum, odds, y, NULL), "multiple");
    assert_invalid(tenon_group_reduce_scatter(g, sum, x, y, NULL), "y[0]");
    assert_invalid(tenon_group_broadcast(g, 2, x, y, NULL), "root is 2");
    assert_invalid(tenon_group_broadcast(g, 0, NULL, y, NULL), "x");
    assert_invalid(tenon_group_broadcast(g, 1, &small, y, NULL), "y[0]");
    assert_invalid(tenon_group_all_to_all(g, odds, odds, NULL), "multiple");
    assert_invalid(tenon_group_all_to_all(g, x, x, NULL), "overlap");
    assert_invalid(tenon_group_all_reduce(g, sum, x, same, NULL), "y[0] overlaps y[1]");
    assert_invalid(tenon_group_all_gather(g, x, y, NULL), "y[0]");
    assert_invalid(tenon_group_send(g, 2, 0, x, NULL), "from is 2");
    assert_invalid(tenon_group_send(g, 0, 2, x, NULL), "to is 2");
    assert_invalid(tenon_group_send(g, 0, 1, NULL, NULL), "x is NULL");
    assert_invalid(tenon_group_send(NULL, 0, 1, x, NULL), "group");
    assert_invalid(tenon_group_receive(g, 2, 0, y, NULL), "from is 2");
    assert_invalid(tenon_group_receive(g, 0, 2, y, NULL), "to is 2");
    assert_invalid(tenon_group_receive(g, 0, 1, NULL, NULL), "y is NULL");
    assert_invalid(tenon_group_all_reduce_many(g, sum, 0, x, y, NULL), "count is 0");
    assert_invalid(tenon_group_all_reduce_many(g, sum, 1, types, y, NULL), "x[1] is of type f16");
    assert_invalid(tenon_group_barrier(NULL, NULL), "group");
    tenon_tensor made[] = {other, small, odd, flags};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tenon_tensor_destroy(&made[i]);
}

static tenon_status start_nothing(void *state, uint32_t peer, uint32_t tag, void *bytes,
                                  uint64_t size, void **request)
{
    (void)state, (void)peer, (void)tag, (void)bytes, (void)size, (void)request;
    return TENON_ERROR_UNSUPPORTED;
}

static tenon_status send_nothing(void *state, uint32_t to, uint32_t tag, const void *bytes,
                                 uint64_t size, void **request)
{
    (void)bytes;
    return start_nothing(state, to, tag, NULL, size, request);
}

static tenon_status test_nothing(void *state, void *request, int *done)
{
    (void)state, (void)request, (void)done;
    return TENON_ERROR_UNSUPPORTED;
}

static tenon_status cancel_nothing(void *state, void *request)
{
    (void)state, (void)request;
    return TENON_ERROR_UNSUPPORTED;
}

static void refused_transports(tenon_stream *const *streams)
{
    tenon_group *group = NULL;
    tenon_transport t = TENON_TRANSPORT_INIT;
    const tenon_group_params params = tenon_group_params(.transport = &t);
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "size is 0");
    t.size = TENON_TRANSPORT_MAX_PROCESSES + 1;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "size is 65");
    t.size = t.rank = 2;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "rank is 2");
    t.rank = 0;
    t.flags = 2;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "flags is 2");
    t.flags = 0;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "send is NULL");
    t.send = send_nothing;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "receive is NULL");
    t.receive = start_nothing;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "test is NULL");
    t.test = test_nothing;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "cancel is NULL");
    t.cancel = cancel_nothing;
    assert_refused(tenon_group_create(streams, 1, &params, &group), TENON_ERROR_UNSUPPORTED,
                   "tenon_group_create", "rank 1");
    t.struct_size = 8;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "struct_size is 8");
}

TEST(invalid_input)
{
    tenon_stream *streams[2] = {test_stream, NULL}, *twice[2] = {test_stream, test_stream};
    tenon_group *group = NULL;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    assert_invalid(tenon_group_create(streams, 2, NULL, NULL), "out");
    assert_invalid(tenon_group_create(NULL, 1, NULL, &group), "streams");
    assert_invalid(tenon_group_create(streams, 0, NULL, &group), "count is 0");
    assert_invalid(tenon_group_create(streams, TENON_GROUP_MAX_MEMBERS + 1, NULL, &group), "count");
    assert_invalid(tenon_group_create(streams, 2, NULL, &group), "streams[1] is NULL");
    assert_invalid(tenon_group_create(twice, 2, NULL, &group), "same stream");
    params.flags = 1;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "flags");
    params.flags = 0;
    params.deadline_s = 0;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "deadline_s is 0");
    params.deadline_s = NAN;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "deadline_s");
    params.deadline_s = 1;
    params.chunk_bytes = 63;
    assert_invalid(tenon_group_create(streams, 1, &params, &group), "chunk_bytes is 63");
    refused_transports(streams);
    assert_null(group);
    assert_int_equal(tenon_group_size(NULL), 0);
    assert_int_equal(tenon_group_first_rank(NULL), 0);
    assert_int_equal(tenon_group_local_count(NULL), 0);
    assert_invalid(tenon_group_poll(NULL, NULL), "group");
    assert_invalid(tenon_group_shrink(NULL, &group), "group");
    assert_invalid(tenon_group_wait(NULL), "group");
    tenon_group_destroy(NULL);
    assert_ok(tenon_stream_create(test_context, NULL, &streams[1]));
    assert_ok(tenon_group_create(streams, 2, NULL, &group));
    tenon_tensor x[2] = {tensor_of(TENON_DTYPE_F32, 4, 6), tensor_of(TENON_DTYPE_F32, 4, 6)};
    tenon_tensor y[2] = {tensor_of(TENON_DTYPE_F32, 4, 6), tensor_of(TENON_DTYPE_F32, 4, 6)};
    refused_calls(group, x, y);
    assert_ok(tenon_group_wait(group));
    for (int i = 0; i < 2; i++) {
        tenon_tensor_destroy(&x[i]);
        tenon_tensor_destroy(&y[i]);
    }
    tenon_group_destroy(group);
    tenon_stream_destroy(streams[1]);
}
