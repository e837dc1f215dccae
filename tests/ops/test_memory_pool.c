/* Tests the pool of tenon_memory_create: released memory is reused, but never while commands use
 * it. */
#include "runtime.h"

#include "runtime/memory/pool.h"

#include <tenon/statistics.h>

#include <math.h>
#include <pthread.h>

enum { MIB = 1 << 20 };

/* An event that commands wait for. */
typedef struct gate {
    cl_event event;
    tenon_sync sync;
} gate;

static void gate_close(gate *g, tenon_context *context)
{
    g->event = test_gate(context);
    g->sync = (tenon_sync){.wait_list = &g->event, .wait_count = 1};
}

static void gate_open(gate *g)
{
    assert_int_equal(clSetUserEventStatus(g->event, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(g->event);
}

TEST(sizes_have_classes)
{
    test_random random = test_random_for(811);
    for (int i = 0; i < 20000; i++) {
        const uint64_t bytes = 1 + (test_next(&random) >> test_between(&random, 14, 62));
        uint64_t rounded, again;
        const uint32_t number = tn_pool_class(bytes, &rounded);
        assert_true(number < TN_POOL_CLASSES);
        assert_true(rounded >= bytes && rounded <= bytes + bytes / 8 + TN_POOL_MIN);
        assert_int_equal(tn_pool_class(rounded, &again), number);
        assert_true(again == rounded);
        assert_true(tn_pool_class(rounded + 1, &again) == number + 1 && again > rounded);
    }
}

/* The stream with the waiting command, and whether it is destroyed. */
typedef enum place { ON_THE_STREAM, ON_ANOTHER, ON_A_DESTROYED_ONE, PLACES } place;

TEST(memory_in_use_is_not_handed_out)
{
    for (place p = 0; p < PLACES; p++) {
        tenon_context *context = test_context_with(.pool_limit = 64 * MIB);
        gate g;
        tenon_stream *stream = test_new_stream(context);
        tenon_stream *other = test_new_stream(context);
        tenon_tensor x = make_tensor(context, 5000), y = make_tensor(context, 5000);
        assert_ok(tenon_tensor_fill(stream, &x, 1, NULL));
        assert_ok(relu(stream, &x, &y, NULL)); /* built before it has to wait */
        assert_ok(tenon_stream_finish(stream));
        const cl_mem used = y.memory.u.buffer;
        gate_close(&g, context);
        assert_ok(relu(p == ON_THE_STREAM ? stream : other, &x, &y, &g.sync));
        if (p == ON_A_DESTROYED_ONE)
            tenon_stream_destroy(other);
        tenon_tensor_destroy(&y);
        assert_true(test_statistics(context).pool_bytes >= 20000);
        for (int i = 0; i < 3; i++) {
            tenon_tensor z = make_tensor(context, 5000);
            assert_ptr_not_equal(z.memory.u.buffer, used);
            tenon_tensor_destroy(&z);
        }
        assert_int_equal(test_statistics(context).pool_served, 0);
        gate_open(&g);
        assert_ok(tenon_stream_finish(stream));
        if (p != ON_A_DESTROYED_ONE)
            assert_ok(tenon_stream_finish(other));
        /* The command of a destroyed stream completes at some later time. */
        bool is_back = false;
        for (int tries = 0; tries < TEST_LOOKS && !is_back; tries++) {
            tenon_tensor z[5];
            for (int i = 0; i < 5; i++) {
                z[i] = make_tensor(context, 5000);
                is_back |= z[i].memory.u.buffer == used;
            }
            for (int i = 0; i < 5; i++)
                tenon_tensor_destroy(&z[i]);
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        assert_true(is_back);
        assert_true(test_statistics(context).pool_served > 0);
        tenon_tensor_destroy(&x);
        tenon_stream_destroy(stream);
        if (p != ON_A_DESTROYED_ONE)
            tenon_stream_destroy(other);
        tenon_context_release(context);
    }
}

TEST(no_more_is_kept_than_the_limit)
{
    tenon_context *context = test_context_with(.pool_limit = 1 * MIB);
    tenon_memory memory[8], large;
    for (int i = 0; i < 8; i++)
        assert_ok(tenon_memory_create(context, MIB / 4, &memory[i]));
    assert_ok(tenon_memory_create(context, 2 * MIB, &large));
    tenon_memory_destroy(&large);
    assert_int_equal(test_statistics(context).pool_bytes, 0);
    for (int i = 0; i < 8; i++) {
        tenon_memory_destroy(&memory[i]);
        assert_int_equal(memory[i].kind, TENON_MEMORY_NONE);
        assert_int_equal(test_statistics(context).pool_bytes, (i < 4 ? i + 1 : 4) * (MIB / 4));
    }
    /* A new size class displaces kept memory. */
    assert_ok(tenon_memory_create(context, MIB, &large));
    tenon_memory_destroy(&large);
    assert_int_equal(test_statistics(context).pool_bytes, MIB);
    assert_ok(tenon_context_trim(context, MIB));
    assert_int_equal(test_statistics(context).pool_bytes, MIB);
    assert_ok(tenon_context_trim(context, MIB - 1));
    assert_int_equal(test_statistics(context).pool_bytes, 0);
    assert_invalid(tenon_context_trim(NULL, 0), "context");
    tenon_context_release(context);
    /* By default there is no pool. */
    assert_ok(tenon_memory_create(test_context, MIB, &large));
    tenon_memory_destroy(&large);
    assert_int_equal(test_statistics(test_context).pool_bytes, 0);
    assert_ok(tenon_context_trim(test_context, 0));
}

/* Memory of many size classes is reused only for sizes of its own class. */
TEST(buffers_are_large_enough)
{
    tenon_context *context = test_context_with(.pool_limit = TENON_POOL_DEFAULT);
    test_random random = test_random_for(812);
    for (int round = 0; round < 40; round++) {
        tenon_memory memory[16];
        for (int i = 0; i < 16; i++) {
            const uint64_t bytes = (uint64_t)test_between(&random, 1, 40000);
            size_t size = 0;
            assert_ok(tenon_memory_create(context, bytes, &memory[i]));
            assert_int_equal(
                clGetMemObjectInfo(memory[i].u.buffer, CL_MEM_SIZE, sizeof size, &size, NULL),
                CL_SUCCESS);
            assert_true(size >= bytes && size <= bytes + bytes / 8 + TN_POOL_MIN);
            for (int j = 0; j < i; j++)
                assert_ptr_not_equal(memory[i].u.buffer, memory[j].u.buffer);
        }
        for (int i = 0; i < 16; i++)
            tenon_memory_destroy(&memory[i]);
    }
    assert_true(test_statistics(context).pool_served > 200);
    tenon_context_release(context);
}

TEST(memory_outlives_its_context)
{
    tenon_context *context = test_context_with(.pool_limit = TENON_POOL_DEFAULT);
    tenon_stream *stream = test_new_stream(context);
    assert_ok(tenon_stream_reserve_workspace(stream, 4096));
    assert_ok(tenon_stream_reserve_workspace(stream, 40960));
    tenon_tensor x = make_tensor(context, 1000), copy = x, y = make_tensor(context, 1000);
    tenon_tensor_destroy(&y);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    tenon_tensor_destroy(&copy); /* any copy of the tensor releases the memory */
    /* A buffer may also be retained and released by OpenCL calls. */
    context = test_context_with(.pool_limit = TENON_POOL_DEFAULT);
    x = make_tensor(context, 1000);
    clRetainMemObject(x.memory.u.buffer);
    clReleaseMemObject(x.memory.u.buffer);
    tenon_tensor_destroy(&x);
    tenon_context_release(context);
}

enum { THREADS = 6, STEPS = 60, SIZES = 4, AHEAD = 4 };

typedef struct worker {
    pthread_t thread;
    tenon_context *context;
    uint64_t number;
    char why[256];
} worker;

static bool fails(worker *w, tenon_status status)
{
    if (status != TENON_OK && w->why[0] == '\0')
        snprintf(w->why, sizeof w->why, "%s", tenon_last_error());
    return status != TENON_OK;
}

/* Computes y = relu(x) on recently released memory, and releases x before the device has read it.
 */
static bool begin(worker *w, tenon_stream *stream, int64_t size, int step, tenon_tensor *y)
{
    tenon_tensor x = {0};
    float *data = malloc((size_t)size * sizeof *data);
    bool well = data != NULL &&
                !fails(w, tenon_tensor_create(w->context, TENON_DTYPE_F32, 1, &size, &x)) &&
                !fails(w, tenon_tensor_create(w->context, TENON_DTYPE_F32, 1, &size, y));
    for (int64_t i = 0; well && i < size; i++)
        data[i] = (float)((int64_t)(w->number * 1000) + step + i % 7);
    well = well &&
           !fails(w, tenon_tensor_upload(stream, data, (size_t)size * sizeof *data, &x, NULL)) &&
           !fails(w, tenon_tensor_fill(stream, y, NAN, NULL)) &&
           !fails(w, relu(stream, &x, y, NULL));
    tenon_tensor_destroy(&x);
    free(data);
    return well;
}

static bool end(worker *w, tenon_stream *stream, int64_t size, int step, tenon_tensor *y)
{
    float *data = calloc((size_t)size, sizeof *data);
    bool well = data != NULL && !fails(w, tenon_tensor_download(stream, y, data,
                                                                (size_t)size * sizeof *data, NULL));
    for (int64_t i = 0; well && i < size; i++) {
        const float expected = (float)((int64_t)(w->number * 1000) + step + i % 7);
        if (data[i] != expected && w->why[0] == '\0')
            snprintf(w->why, sizeof w->why, "step %d of %d elements: [%d] is %g, must be %g", step,
                     (int)size, (int)i, (double)data[i], (double)expected);
        well = data[i] == expected;
    }
    tenon_tensor_destroy(y);
    free(data);
    return well;
}

static void *work(void *data)
{
    worker *w = data;
    static const int64_t sizes[SIZES] = {17, 900, 4096, 33000};
    test_random random = test_random_for(820 + w->number);
    tenon_stream *stream = NULL;
    tenon_tensor y[AHEAD] = {0};
    int64_t size[AHEAD] = {0};
    bool well = !fails(w, tenon_stream_create(w->context, NULL, &stream));
    for (int step = 0; well && step < STEPS + AHEAD; step++) {
        const int slot = step % AHEAD;
        if (step >= AHEAD)
            well = end(w, stream, size[slot], step - AHEAD, &y[slot]);
        size[slot] = sizes[test_between(&random, 0, SIZES - 1)];
        if (well && step < STEPS)
            well = begin(w, stream, size[slot], step, &y[slot]);
        /* Destroys and creates streams. */
        if (well && step % 16 == 15) {
            well = !fails(w, tenon_stream_finish(stream)); /* the next stream reads its results */
            tenon_stream_destroy(stream);
            stream = NULL;
            well = well && !fails(w, tenon_stream_create(w->context, NULL, &stream));
        }
        if (well && step % 24 == 23)
            well = !fails(w, tenon_context_trim(w->context, MIB / 2));
    }
    tenon_stream_destroy(stream);
    for (int i = 0; i < AHEAD; i++)
        tenon_tensor_destroy(&y[i]);
    return NULL;
}

TEST(many_streams_share_a_pool)
{
    tenon_context *context = test_context_with(.pool_limit = 4 * MIB);
    worker workers[THREADS];
    for (uint64_t t = 0; t < THREADS; t++) {
        workers[t] = (worker){.context = context, .number = t + 1};
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < THREADS; t++)
        if (workers[t].why[0] != '\0')
            fail_msg("thread %d: %s", t, workers[t].why);
    const tenon_statistics s = test_statistics(context);
    assert_true(s.pool_served > 0);
    assert_true(s.pool_bytes <= 4 * MIB);
    tenon_context_release(context);
}

static size_t size_of(tenon_context *context, uint64_t bytes)
{
    tenon_memory memory;
    size_t size;
    assert_ok(tenon_memory_create(context, bytes, &memory));
    assert_int_equal(clGetMemObjectInfo(memory.u.buffer, CL_MEM_SIZE, sizeof size, &size, NULL),
                     CL_SUCCESS);
    tenon_memory_destroy(&memory);
    return size;
}

/* Sizes above the limit are not rounded up, since the pool would not keep them. */
TEST(what_is_not_kept_has_its_own_size)
{
    tenon_context *context = test_context_with(.pool_limit = MIB);
    assert_true(size_of(context, MIB / 2 + 1) > MIB / 2 + 1);
    assert_int_equal(size_of(context, 2 * MIB + 1), 2 * MIB + 1);
    tenon_context_release(context);
}
