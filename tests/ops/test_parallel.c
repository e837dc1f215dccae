/* Tests of parallel training: buckets, sharded optimizers and layers, in one and in several
 * processes, compared bit by bit with one device that adds the gradients in the order of the ranks;
 * the order of the steps of a pipeline. */
#include "parallel_case.h"

#include <tenon/parallel.h>

enum { STEPS = 2, MOST_MEMBERS = 4 };

/* A problem: the gradients of each step and member. */
typedef struct problem {
    parallel_shapes s;
    group_division division;
    uint32_t members;
    uint64_t bucket_bytes;
    uint32_t layers, counts[PARALLEL_MOST]; /* parameters of each layer */
    double initial[PARALLEL_ROOM];          /* bits of the type */
    double gradients[STEPS][MOST_MEMBERS][PARALLEL_ROOM];
    tenon_stream *streams[MOST_MEMBERS]; /* of the backward pass */
    double results[MOST_MEMBERS][PARALLEL_ROOM];
    double moments[2][MOST_MEMBERS][PARALLEL_ROOM]; /* the parts of the members */
    int64_t moment_sizes[MOST_MEMBERS];
} problem;

static void draw(problem *p, test_random *random)
{
    static const uint64_t bytes[] = {0, 1, 500, 4000, UINT64_C(1) << 40};
    memset(p, 0, sizeof *p);
    parallel_draw(&p->s, parallel_draw_type(random), random);
    p->members = (uint32_t)test_between(random, 1, MOST_MEMBERS);
    p->division.processes =
        test_one_in(random, 2) ? 1 : (uint32_t)test_between(random, 1, p->members);
    p->division.has_threads = test_one_in(random, 2);
    p->bucket_bytes = bytes[test_between(random, 0, 4)];
    for (uint32_t left = p->s.count; left > 0; left -= p->counts[p->layers++])
        p->counts[p->layers] = (uint32_t)test_between(random, 1, left);
    parallel_values(&p->s, random, p->initial);
    for (int step = 0; step < STEPS; step++)
        for (uint32_t m = 0; m < p->members; m++)
            parallel_values(&p->s, random, p->gradients[step][m]);
}

/* Returns the gradients of a step, by member. */
static void gradients_of(const problem *p, int step, const void *gradients[MOST_MEMBERS])
{
    for (uint32_t m = 0; m < p->members; m++)
        gradients[m] = p->gradients[step][m];
}

static size_t bytes_of(const problem *p)
{
    return (size_t)p->s.starts[p->s.count] * tenon_dtype_size(p->s.views[0].dtype);
}

/* Runs a part in all processes of a new world. */
static void run(problem *p, group_part part)
{
    group_world w;
    group_result results[GROUP_MOST];
    group_world_open(&w, p->members, &p->division);
    for (uint32_t m = 0; m < p->members; m++)
        assert_ok(tenon_stream_create(tenon_stream_context(w.streams[m]), NULL, &p->streams[m]));
    group_in_processes(&w, part, p, results);
    for (uint32_t i = 0; i < w.processes; i++)
        if (results[i].status != TENON_OK)
            fail_msg("process %u: %s", (unsigned)i, results[i].message);
    for (uint32_t m = 0; m < p->members; m++)
        tenon_stream_destroy(p->streams[m]);
    group_world_close(&w);
}

/* Fails unless every member has these values of all parameters. */
static void assert_results(const problem *p, const void *expected)
{
    for (uint32_t m = 0; m < p->members; m++)
        if (memcmp(p->results[m], expected, bytes_of(p)) != 0)
            fail_msg("member %u of %u in %u processes, type %s: wrong values", (unsigned)m,
                     (unsigned)p->members, (unsigned)p->division.processes,
                     tenon_dtype_string(p->s.views[0].dtype));
}

/* Enqueues the gradient of a parameter of a member in its stream of the backward pass, as a copy of
 * a tensor that is ready; the host does not wait. */
static tenon_status write_gradient(problem *p, int step, uint32_t rank, uint32_t index,
                                   const tenon_tensor *gradient)
{
    const size_t size = tenon_dtype_size(gradient->dtype);
    const int64_t start = p->s.starts[index];
    tenon_tensor ready;
    tenon_status status =
        tenon_tensor_create(tenon_stream_context(p->streams[rank]), gradient->dtype, gradient->rank,
                            gradient->shape, &ready);
    if (status == TENON_OK)
        status = tenon_tensor_upload(p->streams[rank],
                                     (char *)p->gradients[step][rank] + (size_t)start * size,
                                     (size_t)tenon_tensor_elements(gradient) * size, &ready, NULL);
    if (status == TENON_OK)
        status = tenon_copy(p->streams[rank], NULL, &ready, gradient, NULL);
    tenon_tensor_destroy(&ready); /* enqueued work keeps it */
    return status;
}

/* The backward passes of the members of a process: the members take turns in an order that differs
 * from parameter to parameter. */
static tenon_status backward(group_world *w, uint32_t process, problem *p, int step,
                             tenon_buckets *buckets)
{
    const uint32_t first = w->first[process], local = w->first[process + 1] - first;
    for (uint32_t i = p->s.count; i-- > 0;)
        for (uint32_t k = 0; k < local; k++) {
            const uint32_t m = (k + i) % local;
            tenon_status status =
                write_gradient(p, step, first + m, i, &tenon_buckets_gradients(buckets, m)[i]);
            if (status == TENON_OK)
                status = tenon_buckets_ready(buckets, m, i, p->streams[first + m]);
            if (status != TENON_OK)
                return status;
        }
    TN_TRY(tenon_buckets_finish(buckets, &p->streams[first]));
    /* Without a thread the group makes progress only in calls; uploads and downloads wait for it.
     */
    return w->processes > 1 && !p->division.has_threads ? tenon_group_wait(w->groups[process])
                                                        : TENON_OK;
}

/* Downloads the gradients in the streams of the backward pass. */
static tenon_status read_gradients(group_world *w, uint32_t process, problem *p,
                                   const tenon_buckets *buckets)
{
    const uint32_t first = w->first[process], local = w->first[process + 1] - first;
    tenon_status status = TENON_OK;
    for (uint32_t m = 0; m < local && status == TENON_OK; m++)
        status = parallel_download(p->streams[first + m], &p->s,
                                   tenon_buckets_gradients(buckets, m), p->results[first + m]);
    return status;
}

/* Uses buckets for two steps; the results are those of the second. */
static tenon_status train_buckets(group_world *w, uint32_t process, void *data)
{
    problem *p = data;
    tenon_buckets *buckets;
    const tenon_buckets_params params = tenon_buckets_params(.bytes = p->bucket_bytes);
    tenon_status status =
        tenon_buckets_create(w->groups[process], &params, p->s.count, p->s.views, &buckets);
    for (int step = 0; step < STEPS && status == TENON_OK; step++)
        status = backward(w, process, p, step, buckets);
    if (status == TENON_OK)
        status = read_gradients(w, process, p, buckets);
    tenon_buckets_destroy(buckets);
    return status;
}

TEST(buckets)
{
    static problem p;
    static double expected[PARALLEL_ROOM];
    test_random random = test_random_for(3601);
    for (int i = 0; i < test_problems(12); i++) {
        const void *gradients[MOST_MEMBERS];
        draw(&p, &random);
        run(&p, train_buckets);
        gradients_of(&p, STEPS - 1, gradients);
        parallel_add(&p.s, p.members, gradients, expected);
        assert_results(&p, expected);
    }
}

/* A bucket is closed when it has enough bytes, from the last parameter on. */
TEST(bucket_sizes)
{
    const int64_t sizes[] = {1000, 10, 20, 500, 30};
    const struct {
        uint64_t bytes;
        uint32_t buckets;
    } cases[] = {{0, 5}, {4, 5}, {120, 4}, {121, 2}, {2200, 2}, {1 << 20, 1}};
    tenon_tensor views[5];
    tenon_group *group;
    assert_ok(tenon_group_create(&test_stream, 1, NULL, &group));
    for (int i = 0; i < 5; i++)
        views[i] = tenon_tensor_view(TENON_DTYPE_F32, 1, &sizes[i]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_buckets *buckets;
        const tenon_buckets_params params = tenon_buckets_params(.bytes = cases[i].bytes);
        assert_ok(tenon_buckets_create(group, &params, 5, views, &buckets));
        assert_int_equal(tenon_buckets_count(buckets), cases[i].buckets);
        tenon_buckets_destroy(buckets);
    }
    tenon_group_destroy(group);
}

static tenon_adam_params params_of(int step)
{
    return tenon_adam_params(.learning_rate = 0.01, .weight_decay = 0.1,
                             .step = (uint64_t)step + 1);
}

/* Keeps a member's parts of the moments. */
static tenon_status keep_moments(problem *p, tenon_stream *stream, uint32_t rank,
                                 const tenon_tensor *moments)
{
    tenon_status status = TENON_OK;
    p->moment_sizes[rank] = moments[0].shape[0];
    for (int i = 0; i < 2 && status == TENON_OK; i++)
        status = tenon_tensor_download(
            stream, &moments[i], p->moments[i][rank],
            (size_t)moments[i].shape[0] * tenon_dtype_size(moments[i].dtype), NULL);
    return status;
}

static tenon_status train_sharded_adam(group_world *w, uint32_t process, void *data)
{
    problem *p = data;
    const uint32_t first = w->first[process], local = w->first[process + 1] - first;
    tenon_sharded_adam *adam;
    tenon_status status =
        tenon_sharded_adam_create(w->groups[process], p->s.count, p->s.views, &adam);
    for (uint32_t m = 0; m < local && status == TENON_OK; m++)
        status = parallel_upload(w->streams[first + m], &p->s,
                                 tenon_sharded_adam_parameters(adam, m), p->initial);
    for (int step = 0; step < STEPS && status == TENON_OK; step++) {
        const tenon_adam_params params = params_of(step);
        for (uint32_t m = 0; m < local && status == TENON_OK; m++)
            status =
                parallel_upload(w->streams[first + m], &p->s, tenon_sharded_adam_gradients(adam, m),
                                p->gradients[step][first + m]);
        if (status == TENON_OK)
            status = tenon_sharded_adam_step(adam, &params);
        if (status == TENON_OK)
            status = tenon_group_wait(w->groups[process]);
    }
    for (uint32_t m = 0; m < local && status == TENON_OK; m++) {
        status = parallel_download(w->streams[first + m], &p->s,
                                   tenon_sharded_adam_parameters(adam, m), p->results[first + m]);
        if (status == TENON_OK)
            status = keep_moments(p, w->streams[first + m], first + m,
                                  tenon_sharded_adam_moments(adam, m));
    }
    tenon_sharded_adam_destroy(adam);
    return status;
}

/* Copies the elements of all parameters from the moments of the members: each parameter begins at a
 * multiple of 64 elements of their parts, one after the other. */
static void join_moments(const problem *p, int which, size_t size, char *joined)
{
    int64_t place = 0;
    for (uint32_t i = 0; i < p->s.count; i++) {
        for (int64_t e = p->s.starts[i]; e < p->s.starts[i + 1]; e++, place++) {
            const int64_t part = p->moment_sizes[0];
            const char *from = (const char *)p->moments[which][place / part];
            memcpy(joined + (size_t)e * size, from + (size_t)(place % part) * size, size);
        }
        place = (place + 63) / 64 * 64;
    }
}

static void assert_moments(const problem *p, const parallel_alone *alone)
{
    static double expected[PARALLEL_ROOM], found[PARALLEL_ROOM];
    parallel_shapes s = p->s;
    for (uint32_t i = 0; i < s.count; i++)
        s.views[i].dtype = alone->firsts[0].dtype;
    const size_t size = tenon_dtype_size(alone->firsts[0].dtype);
    for (int i = 0; i < 2; i++) {
        assert_ok(parallel_download(alone->stream, &s, i == 0 ? alone->firsts : alone->seconds,
                                    expected));
        join_moments(p, i, size, (char *)found);
        assert_memory_equal(found, expected, (size_t)s.starts[s.count] * size);
    }
}

static void check_training(group_part part, uint64_t stream, bool has_moments)
{
    static problem p;
    static double expected[PARALLEL_ROOM];
    test_random random = test_random_for(stream);
    for (int i = 0; i < test_problems(8); i++) {
        parallel_alone alone;
        draw(&p, &random);
        parallel_alone_open(&alone, &p.s, p.initial);
        for (int step = 0; step < STEPS; step++) {
            const void *gradients[MOST_MEMBERS];
            const tenon_adam_params params = params_of(step);
            gradients_of(&p, step, gradients);
            parallel_alone_step(&alone, &params, p.members, gradients);
        }
        assert_ok(parallel_download(alone.stream, &p.s, alone.values, expected));
        run(&p, part);
        assert_results(&p, expected);
        if (has_moments)
            assert_moments(&p, &alone);
        parallel_alone_close(&alone);
    }
}

TEST(sharded_adam)
{
    check_training(train_sharded_adam, 3602, true);
}

/* The shapes of a layer, with the places of its parameters among all. */
static parallel_shapes layer_of(const problem *p, uint32_t layer)
{
    parallel_shapes s = {.count = p->counts[layer]};
    uint32_t first = 0;
    for (uint32_t i = 0; i < layer; i++)
        first += p->counts[i];
    memcpy(s.views, &p->s.views[first], s.count * sizeof *s.views);
    memcpy(s.starts, &p->s.starts[first], (s.count + 1) * sizeof *s.starts);
    return s;
}

typedef tenon_status copy_values(tenon_stream *stream, const parallel_shapes *s,
                                 const tenon_tensor *tensors, void *values);

static tenon_status upload(tenon_stream *stream, const parallel_shapes *s,
                           const tenon_tensor *tensors, void *values)
{
    return parallel_upload(stream, s, tensors, values);
}

/* Copies the values of a layer between the host and the tensors of the local members. */
static tenon_status copy_layer(group_world *w, uint32_t process, const problem *p, uint32_t layer,
                               const tenon_tensor *tensors, copy_values *copy,
                               double (*values)[PARALLEL_ROOM], bool is_one)
{
    const parallel_shapes s = layer_of(p, layer);
    tenon_status status = tenon_group_wait(w->groups[process]);
    for (uint32_t m = w->first[process]; m < w->first[process + 1] && status == TENON_OK; m++)
        status = copy(w->streams[m], &s, &tensors[(m - w->first[process]) * s.count],
                      values[is_one ? 0 : m]);
    return status;
}

static tenon_status initialize(group_world *w, uint32_t process, problem *p,
                               tenon_sharded_layers *layers)
{
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < p->layers && status == TENON_OK; i++) {
        const tenon_tensor *parameters;
        status = tenon_sharded_layers_gather(layers, i, &parameters);
        if (status == TENON_OK)
            status = copy_layer(w, process, p, i, parameters, upload, &p->initial, true);
        if (status == TENON_OK)
            status = tenon_sharded_layers_keep(layers, i);
    }
    return status;
}

/* Layers are gathered as by a forward and a backward pass. */
static tenon_status pass(group_world *w, uint32_t process, problem *p, int step,
                         tenon_sharded_layers *layers)
{
    const tenon_tensor *parameters;
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < p->layers && status == TENON_OK; i++)
        status = tenon_sharded_layers_gather(layers, i, &parameters);
    for (uint32_t i = p->layers; i-- > 0 && status == TENON_OK;) {
        status = tenon_sharded_layers_gather(layers, i, &parameters);
        if (status == TENON_OK)
            status = copy_layer(w, process, p, i, tenon_sharded_layers_gradients(layers, i), upload,
                                p->gradients[step], false);
        if (status == TENON_OK)
            status = tenon_sharded_layers_reduce(layers, i);
    }
    return status;
}

static tenon_status train_sharded_layers(group_world *w, uint32_t process, void *data)
{
    problem *p = data;
    const tenon_tensor *parameters;
    tenon_sharded_layers *layers;
    tenon_status status =
        tenon_sharded_layers_create(w->groups[process], p->layers, p->counts, p->s.views, &layers);
    if (status == TENON_OK)
        status = initialize(w, process, p, layers);
    for (int step = 0; step < STEPS && status == TENON_OK; step++) {
        const tenon_adam_params params = params_of(step);
        status = pass(w, process, p, step, layers);
        if (status == TENON_OK)
            status = tenon_sharded_layers_step(layers, &params);
        if (status == TENON_OK) /* no gradient was reduced since then: nothing changes */
            status = tenon_sharded_layers_step(layers, &params);
    }
    for (uint32_t i = 0; i < p->layers && status == TENON_OK; i++) {
        status = tenon_sharded_layers_gather(layers, i, &parameters);
        if (status == TENON_OK)
            status = copy_layer(w, process, p, i, parameters, parallel_download, p->results, false);
    }
    tenon_sharded_layers_destroy(layers);
    return status;
}

TEST(sharded_layers)
{
    check_training(train_sharded_layers, 3603, false);
}

/* The steps of a stage, from the description: warm-up, one forward and one backward pass in turn,
 * and the rest. */
static tenon_pipeline_step expected_step(uint32_t stages, uint32_t micro_batches, uint32_t stage,
                                         uint32_t number)
{
    const uint32_t after = stages - 1 - stage;
    const uint32_t warm = after < micro_batches ? after : micro_batches;
    const uint32_t pairs = micro_batches - warm;
    if (number < warm)
        return (tenon_pipeline_step){stage, 1, number};
    if (number < warm + 2 * pairs) {
        const uint32_t pair = (number - warm) / 2, is_forward = (number - warm) % 2 == 0;
        return (tenon_pipeline_step){stage, is_forward, is_forward ? warm + pair : pair};
    }
    return (tenon_pipeline_step){stage, 0, number - warm - pairs};
}

static void check_pipeline(uint32_t stages, uint32_t micro_batches)
{
    enum { STAGES = 6, MICRO_BATCHES = 9 };
    tenon_pipeline_step steps[2 * STAGES * MICRO_BATCHES];
    bool done[STAGES][2][MICRO_BATCHES] = {{{false}}};
    uint32_t numbers[STAGES] = {0};
    const uint32_t count = 2 * stages * micro_batches;
    assert_ok(tenon_one_forward_one_backward(stages, micro_batches, count, steps));
    for (uint32_t k = 0; k < count; k++) {
        const tenon_pipeline_step s = steps[k];
        assert_true(s.stage < stages);
        const tenon_pipeline_step expected =
            expected_step(stages, micro_batches, s.stage, numbers[s.stage]++);
        assert_memory_equal(&s, &expected, sizeof s);
        if (s.is_forward)
            assert_true(s.stage == 0 || done[s.stage - 1][1][s.micro_batch]);
        else
            assert_true(done[s.stage][1][s.micro_batch] &&
                        (s.stage + 1 == stages || done[s.stage + 1][0][s.micro_batch]));
        assert_false(done[s.stage][s.is_forward][s.micro_batch]);
        done[s.stage][s.is_forward][s.micro_batch] = true;
    }
    for (uint32_t s = 0; s < stages; s++)
        assert_int_equal(numbers[s], 2 * micro_batches);
}

TEST(pipeline_steps)
{
    for (uint32_t stages = 1; stages <= 6; stages++)
        for (uint32_t micro_batches = 0; micro_batches <= 9; micro_batches++)
            check_pipeline(stages, micro_batches);
}
