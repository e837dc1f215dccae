/* Tests of the functions for parallel training with invalid input, and after failures. */
#include "parallel_case.h"

#include <tenon/parallel.h>

#include <math.h>

/* A group of two members of one context, and views of parameters. */
typedef struct pair {
    tenon_stream *streams[2];
    tenon_group *group;
    tenon_tensor views[3];
} pair;

static void open_pair(pair *p)
{
    const int64_t shape[] = {4, 5};
    p->streams[0] = test_stream;
    assert_ok(tenon_stream_create(test_context, NULL, &p->streams[1]));
    assert_ok(tenon_group_create(p->streams, 2, NULL, &p->group));
    p->views[0] = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    p->views[1] = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    p->views[2] = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL);
}

static void close_pair(pair *p)
{
    tenon_group_destroy(p->group);
    tenon_stream_destroy(p->streams[1]);
}

static tenon_status create_buckets(tenon_group *group, uint32_t count, const tenon_tensor *views)
{
    tenon_buckets *buckets = (tenon_buckets *)1;
    const tenon_status status = tenon_buckets_create(group, NULL, count, views, &buckets);
    assert_null(buckets);
    return status;
}

static tenon_status create_adam(tenon_group *group, uint32_t count, const tenon_tensor *views)
{
    tenon_sharded_adam *adam = (tenon_sharded_adam *)1;
    const tenon_status status = tenon_sharded_adam_create(group, count, views, &adam);
    assert_null(adam);
    return status;
}

static tenon_status create_layers(tenon_group *group, uint32_t count, const tenon_tensor *views)
{
    const uint32_t counts[] = {count};
    tenon_sharded_layers *layers = (tenon_sharded_layers *)1;
    const tenon_status status = tenon_sharded_layers_create(group, 1, counts, views, &layers);
    assert_null(layers);
    return status;
}

/* What all objects refuse. */
TEST(refused_parameters)
{
    static tenon_status (*const creates[])(tenon_group *, uint32_t, const tenon_tensor *) = {
        create_buckets, create_adam, create_layers};
    static const char *const names[] = {"tenon_buckets_create", "tenon_sharded_adam_create",
                                        "tenon_sharded_layers_create"};
    const int64_t three = 3, huge[] = {INT64_C(1) << 32, INT64_C(1) << 28};
    pair p;
    open_pair(&p);
    for (int i = 0; i < 3; i++) {
        const tenon_tensor types[] = {p.views[0], tenon_tensor_view(TENON_DTYPE_F16, 1, &three)};
        const tenon_tensor wholes[] = {tenon_tensor_view(TENON_DTYPE_I32, 1, &three)};
        const tenon_tensor none[] = {p.views[0], tenon_tensor_view(TENON_DTYPE_INVALID, 0, NULL)};
        const tenon_tensor large[] = {p.views[0], tenon_tensor_view(TENON_DTYPE_F16, 2, huge)};
        const tenon_tensor larges[] = {large[1], large[1]};
        const tenon_status bad = TENON_ERROR_INVALID_ARGUMENT;
        assert_refused(creates[i](NULL, 3, p.views), bad, names[i], "group is NULL");
        assert_refused(creates[i](p.group, 0, p.views), bad, names[i], "count");
        assert_refused(creates[i](p.group, 3, NULL), bad, names[i], "parameters is NULL");
        assert_refused(creates[i](p.group, 2, types), bad, names[i],
                       "parameters[1] is of type f16");
        assert_refused(creates[i](p.group, 2, none), bad, names[i], "parameters[1]");
        assert_refused(creates[i](p.group, 1, wholes), TENON_ERROR_UNSUPPORTED, names[i],
                       "parameters[0] is of type i32");
        assert_refused(creates[i](p.group, 2, larges), TENON_ERROR_OUT_OF_MEMORY, names[i],
                       "elements");
    }
    close_pair(&p);
}

TEST(refused_calls_of_buckets)
{
    pair p;
    tenon_buckets *b;
    open_pair(&p);
    tenon_buckets_params params = TENON_BUCKETS_PARAMS_INIT;
    assert_invalid(tenon_buckets_create(p.group, NULL, 3, p.views, NULL), "out is NULL");
    params.flags = 1;
    assert_invalid(tenon_buckets_create(p.group, &params, 3, p.views, &b), "flags is 1");
    params.flags = 0;
    params.kind = (tenon_group_kind)5;
    assert_invalid(tenon_buckets_create(p.group, &params, 3, p.views, &b), "kind is 5");
    params.struct_size = 8;
    assert_invalid(tenon_buckets_create(p.group, &params, 3, p.views, &b), "struct_size is 8");
    assert_null(b);
    assert_ok(tenon_buckets_create(p.group, NULL, 3, p.views, &b));
    tenon_stream *nothing[] = {test_stream, NULL};
    assert_invalid(tenon_buckets_ready(NULL, 0, 0, NULL), "buckets is NULL");
    assert_invalid(tenon_buckets_ready(b, 2, 0, NULL), "member is 2");
    assert_invalid(tenon_buckets_ready(b, 0, 3, NULL), "index is 3");
    assert_ok(tenon_buckets_ready(b, 0, 0, NULL));
    assert_invalid(tenon_buckets_ready(b, 0, 0, NULL), "gradient 0 of member 0 is ready already");
    assert_invalid(tenon_buckets_finish(NULL, NULL), "buckets is NULL");
    assert_invalid(tenon_buckets_finish(b, nothing), "streams[1] is NULL");
    assert_invalid(tenon_buckets_finish(b, NULL), "gradient 1 of member 0 is not ready");
    assert_ok(tenon_buckets_ready(b, 0, 1, NULL));
    assert_ok(tenon_buckets_ready(b, 0, 2, NULL));
    assert_invalid(tenon_buckets_finish(b, NULL), "gradient 0 of member 1 is not ready");
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(tenon_buckets_ready(b, 1, i, p.streams[1]));
    assert_ok(tenon_buckets_finish(b, p.streams));
    assert_invalid(tenon_buckets_finish(b, NULL), "gradient 0 of member 0 is not ready");
    assert_int_equal(tenon_buckets_count(b), 1);
    assert_int_equal(tenon_buckets_count(NULL), 0);
    assert_non_null(tenon_buckets_gradients(b, 1));
    assert_null(tenon_buckets_gradients(b, 2));
    assert_null(tenon_buckets_gradients(NULL, 0));
    tenon_buckets_destroy(b);
    tenon_buckets_destroy(NULL);
    close_pair(&p);
}

/* A stream of another OpenCL context is refused, and the gradient is not ready. */
TEST(stream_of_another_context)
{
    pair p;
    tenon_buckets *b;
    tenon_context *context;
    tenon_stream *stream;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    open_pair(&p);
    assert_ok(tenon_context_device(test_context, &info));
    assert_ok(tenon_context_create(&tenon_context_params(.device = info.selector), &context));
    assert_ok(tenon_stream_create(context, NULL, &stream));
    assert_ok(tenon_buckets_create(p.group, NULL, 1, p.views, &b));
    tenon_stream *const streams[] = {p.streams[0], stream};
    assert_refused(tenon_buckets_ready(b, 1, 0, stream), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_buckets_ready", "the member of rank 1");
    assert_ok(tenon_buckets_ready(b, 1, 0, NULL));
    assert_ok(tenon_buckets_ready(b, 0, 0, NULL));
    assert_refused(tenon_buckets_finish(b, streams), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_buckets_finish", "the member of rank 1");
    assert_ok(tenon_buckets_finish(b, NULL)); /* once more */
    tenon_buckets_destroy(b);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    close_pair(&p);
}

/* A collective that fails between two calls is reported by the next one, which does nothing; then
 * the bucket is combined. */
TEST(failure_of_an_earlier_collective)
{
    pair p;
    tenon_buckets *b;
    float sum = 0;
    open_pair(&p);
    assert_ok(tenon_buckets_create(p.group, NULL, 1, &p.views[2], &b));
    for (uint32_t m = 0; m < 2; m++)
        assert_ok(tenon_tensor_fill(p.streams[m], tenon_buckets_gradients(b, m), m + 1, NULL));
    assert_ok(tenon_buckets_ready(b, 0, 0, NULL));
    assert_ok(tenon_group_receive(p.group, 0, 1, tenon_buckets_gradients(b, 1), NULL));
    assert_int_equal(tenon_group_wait(p.group), TENON_ERROR_MISMATCH);
    assert_ok(tenon_buckets_ready(b, 1, 0, NULL));
    assert_ok(tenon_buckets_finish(b, NULL));
    assert_ok(
        tenon_tensor_download(p.streams[0], tenon_buckets_gradients(b, 0), &sum, sizeof sum, NULL));
    assert_float_equal(sum, 3, 0);
    tenon_buckets_destroy(b);
    close_pair(&p);
}

TEST(refused_calls_of_sharded_adam)
{
    pair p;
    tenon_sharded_adam *a;
    open_pair(&p);
    assert_invalid(tenon_sharded_adam_create(p.group, 3, p.views, NULL), "out is NULL");
    assert_ok(tenon_sharded_adam_create(p.group, 3, p.views, &a));
    assert_invalid(tenon_sharded_adam_step(NULL, NULL), "adam is NULL");
    assert_refused(tenon_sharded_adam_step(a, &tenon_adam_params(.beta1 = 2)),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sharded_adam_step", "beta1");
    assert_null(tenon_sharded_adam_parameters(NULL, 0));
    assert_null(tenon_sharded_adam_parameters(a, 2));
    assert_null(tenon_sharded_adam_gradients(NULL, 0));
    assert_null(tenon_sharded_adam_gradients(a, 2));
    assert_null(tenon_sharded_adam_moments(NULL, 0));
    assert_null(tenon_sharded_adam_moments(a, 2));
    tenon_sharded_adam_destroy(a);
    tenon_sharded_adam_destroy(NULL);
    close_pair(&p);
}

TEST(refused_calls_of_sharded_layers)
{
    const uint32_t counts[] = {1, 1, 1}, zero[] = {1, 0}, many[] = {UINT32_MAX, 1};
    const tenon_tensor *parameters;
    pair p;
    tenon_sharded_layers *l;
    open_pair(&p);
    assert_invalid(tenon_sharded_layers_create(p.group, 3, counts, p.views, NULL), "out is NULL");
    assert_invalid(tenon_sharded_layers_create(p.group, 0, counts, p.views, &l), "layers is 0");
    assert_invalid(tenon_sharded_layers_create(p.group, 3, NULL, p.views, &l), "counts is NULL");
    assert_invalid(tenon_sharded_layers_create(p.group, 2, zero, p.views, &l), "counts[1] is 0");
    assert_invalid(tenon_sharded_layers_create(p.group, 2, many, p.views, &l), "counts");
    assert_null(l);
    assert_ok(tenon_sharded_layers_create(p.group, 3, counts, p.views, &l));
    assert_invalid(tenon_sharded_layers_gather(NULL, 0, &parameters), "layers is NULL");
    assert_invalid(tenon_sharded_layers_gather(l, 3, &parameters), "layer is 3");
    assert_null(parameters);
    assert_invalid(tenon_sharded_layers_gather(l, 0, NULL), "parameters is NULL");
    assert_invalid(tenon_sharded_layers_keep(NULL, 0), "layers is NULL");
    assert_invalid(tenon_sharded_layers_keep(l, 0), "layer 0 is not one of the last two");
    assert_invalid(tenon_sharded_layers_reduce(NULL, 0), "layers is NULL");
    assert_invalid(tenon_sharded_layers_reduce(l, 3), "layer is 3");
    assert_invalid(tenon_sharded_layers_step(NULL, NULL), "layers is NULL");
    assert_ok(tenon_sharded_layers_step(l, NULL));
    assert_ok(tenon_sharded_layers_reduce(l, 1));
    assert_refused(tenon_sharded_layers_step(l, &tenon_adam_params(.beta1 = 2)),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sharded_layers_step", "beta1");
    assert_null(tenon_sharded_layers_gradients(NULL, 0));
    assert_null(tenon_sharded_layers_gradients(l, 3));
    assert_null(tenon_sharded_layers_moments(NULL, 0, 0));
    assert_null(tenon_sharded_layers_moments(l, 3, 0));
    assert_null(tenon_sharded_layers_moments(l, 0, 2));
    assert_int_equal(tenon_sharded_layers_moments(l, 0, 1)[1].shape[0], 64);
    tenon_sharded_layers_destroy(l);
    tenon_sharded_layers_destroy(NULL);
    close_pair(&p);
}

/* The last two layers remain gathered, until the next step. */
TEST(gathered_layers)
{
    const uint32_t counts[] = {1, 1, 1};
    const tenon_tensor *first, *second, *again;
    pair p;
    tenon_sharded_layers *l;
    open_pair(&p);
    assert_ok(tenon_sharded_layers_create(p.group, 3, counts, p.views, &l));
    assert_ok(tenon_sharded_layers_gather(l, 0, &first));
    assert_ok(tenon_sharded_layers_gather(l, 1, &second));
    assert_ptr_not_equal(first, second);
    assert_ok(tenon_sharded_layers_gather(l, 0, &again));
    assert_ptr_equal(first, again);
    assert_ok(tenon_sharded_layers_gather(l, 2, &again)); /* replaces layer 1 */
    assert_ptr_equal(second, again);
    assert_ok(tenon_sharded_layers_keep(l, 0));
    assert_invalid(tenon_sharded_layers_keep(l, 1), "layer 1 is not");
    assert_ok(tenon_sharded_layers_step(l, NULL));
    assert_invalid(tenon_sharded_layers_keep(l, 0), "layer 0 is not");
    tenon_sharded_layers_destroy(l);
    close_pair(&p);
}

/* The longest time of all divisions of a batch among three members. */
static double shortest_time(int64_t batch, const double speeds[3])
{
    double shortest = INFINITY;
    for (int64_t a = 0; a <= batch; a++)
        for (int64_t b = 0; a + b <= batch; b++) {
            const int64_t counts[] = {a, b, batch - a - b};
            double longest = 0;
            for (int m = 0; m < 3; m++)
                if (counts[m] > 0)
                    longest = fmax(longest, (double)counts[m] / speeds[m]);
            shortest = fmin(shortest, longest);
        }
    return shortest;
}

TEST(divided_batches)
{
    test_random random = test_random_for(3630);
    int64_t counts[3];
    assert_ok(tenon_divide_batch(96, 2, (const double[]){1, 3}, counts));
    assert_true(counts[0] == 24 && counts[1] == 72);
    assert_ok(tenon_divide_batch(40, 2, (const double[]){1, 50}, counts));
    assert_true(counts[0] == 0 && counts[1] == 40);
    assert_ok(tenon_divide_batch(5, 3, (const double[]){0, 1e-300, 1e300}, counts));
    assert_true(counts[0] == 0 && counts[1] == 0 && counts[2] == 5);
    assert_ok(tenon_divide_batch(5, 3, (const double[]){7, 7, 7}, counts));
    assert_true(counts[0] == 2 && counts[1] == 2 && counts[2] == 1);
    assert_ok(tenon_divide_batch(INT32_MAX, 3, (const double[]){1e308, 1e308, 1e308}, counts));
    assert_true(counts[0] + counts[1] + counts[2] == INT32_MAX && counts[0] - counts[2] == 1);
    for (int i = 0; i < 200; i++) {
        const int64_t batch = test_between(&random, 0, 40);
        double speeds[3], longest = 0;
        for (int m = 0; m < 3; m++) /* 0 in one of ten cases, but not all */
            speeds[m] = m > 0 && test_between(&random, 0, 9) == 0
                            ? 0
                            : pow(2, 0.01 * (double)test_between(&random, -300, 300));
        assert_ok(tenon_divide_batch(batch, 3, speeds, counts));
        assert_true(counts[0] + counts[1] + counts[2] == batch);
        for (int m = 0; m < 3; m++)
            if (counts[m] > 0)
                longest = fmax(longest, (double)counts[m] / speeds[m]);
        if (longest > shortest_time(batch, speeds) * (1 + 1e-12))
            fail_msg("batch %d, speeds %g %g %g: %d %d %d", (int)batch, speeds[0], speeds[1],
                     speeds[2], (int)counts[0], (int)counts[1], (int)counts[2]);
    }
}

TEST(refused_divisions)
{
    const double speeds[] = {1, NAN, -1, INFINITY, 0};
    int64_t counts[] = {-7, -7};
    assert_invalid(tenon_divide_batch(-1, 1, speeds, counts), "batch is -1");
    assert_invalid(tenon_divide_batch((int64_t)INT32_MAX + 1, 1, speeds, counts),
                   "batch is 2147483648");
    assert_invalid(tenon_divide_batch(1, 0, speeds, counts), "members is 0");
    assert_invalid(tenon_divide_batch(1, TENON_GROUP_MAX_MEMBERS + 1, speeds, counts),
                   "members is");
    assert_invalid(tenon_divide_batch(1, 1, NULL, counts), "speeds is NULL");
    assert_invalid(tenon_divide_batch(1, 1, speeds, NULL), "counts is NULL");
    assert_invalid(tenon_divide_batch(1, 2, speeds, counts), "speeds[1] is");
    assert_invalid(tenon_divide_batch(1, 1, speeds + 2, counts), "speeds[0] is -1");
    assert_invalid(tenon_divide_batch(1, 1, speeds + 3, counts), "speeds[0] is inf");
    assert_invalid(tenon_divide_batch(1, 1, speeds + 4, counts), "none of 1 members");
    assert_true(counts[0] == -7 && counts[1] == -7);
}

TEST(refused_pipelines)
{
    tenon_pipeline_step steps[4];
    assert_invalid(tenon_one_forward_one_backward(0, 1, 0, steps), "stages is 0");
    assert_invalid(tenon_one_forward_one_backward(TENON_GROUP_MAX_MEMBERS + 1, 1, 130, steps),
                   "stages is 65");
    assert_invalid(tenon_one_forward_one_backward(1, 2, 3, steps), "count is 3");
    assert_invalid(tenon_one_forward_one_backward(1, 2, 4, NULL), "steps is NULL");
    assert_ok(tenon_one_forward_one_backward(1, 0, 0, NULL));
}
