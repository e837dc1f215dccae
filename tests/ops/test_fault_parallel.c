/* Tests parallel training while each allocation and OpenCL call of the application's thread fails
 * once. A failure has a status and a message that names the function; results are right if all
 * calls succeed; nothing leaks. */
#include "common/cl_faults.h"
#include "parallel_case.h"
#include "quick.h"

#include <tenon/parallel.h>

enum { MEMBERS = 2 };

typedef struct world {
    tenon_stream *streams[MEMBERS];
    tenon_group *group;
    tenon_tensor views[2];
    float results[MEMBERS]; /* the first element of the first tensor */
} world;

static void open_world(world *w)
{
    const int64_t shapes[] = {3, 100};
    memset(w, 0, sizeof *w);
    for (int m = 0; m < MEMBERS; m++)
        assert_ok(tenon_stream_create(test_context, NULL, &w->streams[m]));
    assert_ok(tenon_group_create(w->streams, MEMBERS, NULL, &w->group));
    for (int i = 0; i < 2; i++)
        w->views[i] = tenon_tensor_view(TENON_DTYPE_F32, 1, &shapes[i]);
}

static void close_world(world *w)
{
    tenon_group_destroy(w->group);
    for (int m = 0; m < MEMBERS; m++)
        tenon_stream_destroy(w->streams[m]);
}

/* Reads the results when all collectives have ended. */
static tenon_status read(world *w, uint32_t m, const tenon_tensor *tensor)
{
    const tenon_tensor one = tenon_tensor_slice(*tensor, 0, 0, 1);
    tenon_status status = tenon_group_wait(w->group);
    if (status == TENON_OK)
        status = tenon_tensor_download(w->streams[m], &one, &w->results[m], sizeof(float), NULL);
    return status;
}

static tenon_status use_buckets(world *w)
{
    tenon_buckets *buckets;
    tenon_status status =
        tenon_buckets_create(w->group, &tenon_buckets_params(.bytes = 1), 2, w->views, &buckets);
    for (uint32_t i = 2; i-- > 0;)
        for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++) {
            status = tenon_tensor_fill(w->streams[m], &tenon_buckets_gradients(buckets, m)[i],
                                       m + 1, NULL);
            if (status == TENON_OK)
                status = tenon_buckets_ready(buckets, m, i, w->streams[1 - m]);
        }
    if (status == TENON_OK)
        status = tenon_buckets_finish(buckets, w->streams);
    for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++)
        status = read(w, m, tenon_buckets_gradients(buckets, m));
    tenon_buckets_destroy(buckets);
    return status;
}

/* The first step of Adam subtracts the learning rate, whatever the gradient's size. */
static const tenon_adam_params by_one = {TENON_ADAM_PARAMS_DEFAULTS};

static tenon_status use_adam(world *w)
{
    tenon_sharded_adam *adam;
    tenon_adam_params params = by_one;
    params.learning_rate = 1;
    params.epsilon = 0;
    tenon_status status = tenon_sharded_adam_create(w->group, 2, w->views, &adam);
    for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++)
        status = tenon_tensor_fill(w->streams[m], tenon_sharded_adam_gradients(adam, m), 1, NULL);
    if (status == TENON_OK)
        status = tenon_sharded_adam_step(adam, &params);
    for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++)
        status = read(w, m, tenon_sharded_adam_parameters(adam, m));
    tenon_sharded_adam_destroy(adam);
    return status;
}

static tenon_status step_layers(world *w, tenon_sharded_layers *layers)
{
    const tenon_tensor *parameters;
    tenon_adam_params params = by_one;
    params.learning_rate = 1;
    params.epsilon = 0;
    tenon_status status = tenon_sharded_layers_gather(layers, 0, &parameters);
    if (status == TENON_OK)
        status = tenon_sharded_layers_keep(layers, 0);
    for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++)
        status = tenon_tensor_fill(w->streams[m], &tenon_sharded_layers_gradients(layers, 0)[m], 1,
                                   NULL);
    if (status == TENON_OK)
        status = tenon_sharded_layers_reduce(layers, 0);
    if (status == TENON_OK)
        status = tenon_sharded_layers_step(layers, &params);
    if (status == TENON_OK)
        status = tenon_sharded_layers_gather(layers, 0, &parameters);
    for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++)
        status = read(w, m, &parameters[m]);
    return status;
}

static tenon_status use_layers(world *w)
{
    const uint32_t counts[] = {1, 1};
    tenon_sharded_layers *layers;
    tenon_status status = tenon_sharded_layers_create(w->group, 2, counts, w->views, &layers);
    if (status == TENON_OK)
        status = step_layers(w, layers);
    tenon_sharded_layers_destroy(layers);
    return status;
}

/* All rows go to the only expert of member 1, and return. */
static tenon_status move_rows(world *w, tenon_exchange *exchange, tenon_tensor *tensors)
{
    const tenon_tensor chosen[] = {tensors[0], tensors[0]}, x[] = {tensors[1], tensors[2]},
                       y[] = {tensors[3], tensors[4]}, z[] = {tensors[5], tensors[6]},
                       blocks[] = {tenon_tensor_unsqueeze(z[0], 0),
                                   tenon_tensor_unsqueeze(z[1], 0)};
    tenon_status status = tenon_exchange_route(exchange, chosen);
    if (status == TENON_OK)
        status = tenon_exchange_dispatch(exchange, x, y);
    if (status == TENON_OK)
        status = tenon_exchange_blocks(exchange, y, blocks);
    if (status == TENON_OK)
        status = tenon_exchange_collect(exchange, z, x); /* the only expert's rows */
    for (uint32_t m = 0; m < MEMBERS && status == TENON_OK; m++)
        status = read(w, m, &x[m]);
    return status;
}

static tenon_status use_exchange(world *w)
{
    enum { TENSORS = 7 };
    const int64_t rows = 20, all = MEMBERS * rows;
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 1, &rows);
    const double values[TENSORS] = {1, 7, 7};
    tenon_tensor tensors[TENSORS];
    tenon_exchange *exchange = NULL;
    tenon_status status = TENON_OK;
    memset(tensors, 0, sizeof tensors);
    for (int i = 0; i < TENSORS && status == TENON_OK; i++) {
        status = tenon_tensor_create(test_context, i == 0 ? TENON_DTYPE_I32 : TENON_DTYPE_F32, 1,
                                     i < 3 ? &rows : &all, &tensors[i]);
        if (status == TENON_OK)
            status = tenon_tensor_fill(w->streams[0], &tensors[i], values[i], NULL);
    }
    if (status == TENON_OK)
        status = tenon_stream_finish(w->streams[0]);
    if (status == TENON_OK)
        status = tenon_exchange_create(w->group, MEMBERS, &view, &exchange);
    if (status == TENON_OK)
        status = move_rows(w, exchange, tensors);
    tenon_exchange_destroy(exchange);
    for (int i = 0; i < TENSORS; i++)
        tenon_tensor_destroy(&tensors[i]);
    return status;
}

typedef struct part {
    const char *name;
    tenon_status (*run)(world *);
    float expected; /* result of each member */
} part;

static const part parts[] = {{"buckets", use_buckets, 3},
                             {"sharded_adam", use_adam, -1},
                             {"sharded_layers", use_layers, -1},
                             {"exchange", use_exchange, 7}};

/* Runs a part with a fault at its nth call. Returns false if there are fewer calls. */
static bool check(const part *p, const char *functions, cl_int error, unsigned nth)
{
    world w;
    char where[64];
    const faults_alive before = faults_count();
    snprintf(where, sizeof where, "%s, fault %u of %s", p->name, nth, functions);
    open_world(&w);
    if (nth > 0)
        faults_fail_next(functions, error, nth);
    const tenon_status status = p->run(&w);
    const bool had_fault = nth > 0 && faults_end() > 0;
    if (status == TENON_OK) {
        for (int m = 0; m < MEMBERS; m++)
            assert_true(w.results[m] == p->expected);
    } else if (!had_fault || strncmp(tenon_last_error(), "tenon_", 6) != 0) {
        fail_msg("%s: %s: %s", where, tenon_status_string(status), tenon_last_error());
    }
    close_world(&w);
    if (nth > 0)
        faults_assert_alive(&before, where);
    return had_fault;
}

static void check_all(const part *p, const char *functions, cl_int error, uint64_t stream)
{
    test_random random = test_random_for(stream);
    for (int i = 0; i < 3; i++) /* compiles kernels, and fills the caches */
        check(p, functions, error, 0);
    for (unsigned nth = 1; check(p, functions, error, nth);)
        nth += (unsigned)test_between(&random, 1, quick_is_on() ? 15 : 1);
}

TEST(allocations)
{
    for (uint64_t i = 0; i < sizeof parts / sizeof *parts; i++)
        check_all(&parts[i], FAULTS_MEMORY, CL_SUCCESS, 3611 + i);
}

TEST(opencl_calls)
{
    for (uint64_t i = 0; i < sizeof parts / sizeof *parts; i++)
        check_all(&parts[i], FAULTS_OPENCL, CL_OUT_OF_RESOURCES, 3616 + i);
}
