/* Tests many threads with a shared context and with separate contexts: every result is correct, and
 * ThreadSanitizer (docs/testing.md) reports no data race. */
#include "quick.h"
#include "random_calls.h"

#include "common/temporary.h"
#include "dispatch/call.h"
#include "runtime/opencl/gate.h"

#include <tenon/statistics.h>

enum { THREADS = 16, CALLS = 24 };
/* Number of shapes to draw from, and smaller numbers for the quick set: most of the time is spent
 * compiling, in each context. */
enum { SHAPES = 48, QUICK_SHAPES = 3, QUICK_CONTEXTS = 2 };

typedef struct worker {
    pthread_t thread;
    tenon_context *context; /* NULL: the thread creates one */
    tenon_store store;
    tn_case cases[CALLS];
    char why[512]; /* the first error */
} worker;

static bool fails(worker *w, tenon_status status)
{
    if (status == TENON_OK)
        return false;
    snprintf(w->why, sizeof w->why, "%s", tenon_last_error());
    return true;
}

/* Runs the cases, and queries statistics that other threads change. */
static void run_cases(worker *w, tenon_context *context)
{
    tenon_stream *stream;
    tenon_statistics seen = TENON_STATISTICS_INIT;
    if (fails(w, tenon_stream_create(context, NULL, &stream)))
        return;
    for (int i = 0; i < CALLS && w->why[0] == '\0'; i++) {
        random_call_run(stream, &w->cases[i], w->why);
        if (w->why[0] == '\0')
            fails(w, tenon_context_statistics(context, &seen));
    }
    tenon_stream_destroy(stream);
}

static void *work(void *data)
{
    worker *w = data;
    tenon_context *context = w->context;
    tenon_context_params params = tenon_context_params(.store = w->store);
    if (context == NULL && fails(w, tenon_context_create(&params, &context)))
        return NULL;
    run_cases(w, context);
    if (w->context == NULL)
        tenon_context_release(context);
    return NULL;
}

static void run_all(tenon_context *context, const tenon_store *store, uint64_t stream)
{
    const int threads = quick_is_on() && context == NULL ? QUICK_CONTEXTS : THREADS,
              shape_count = quick_is_on() ? QUICK_SHAPES : SHAPES;
    static worker workers[THREADS];
    static tn_case shapes[SHAPES];
    test_random random = test_random_for(stream);
    for (int i = 0; i < shape_count; i++)
        random_call(&random, RANDOM_CALLS, &shapes[i]);
    for (int t = 0; t < threads; t++) {
        workers[t] = (worker){.context = context, .store = *store};
        for (int i = 0; i < CALLS; i++) {
            workers[t].cases[i] = shapes[test_between(&random, 0, shape_count - 1)];
            workers[t].cases[i].seed = test_next(&random);
        }
    }
    for (int t = 0; t < threads; t++)
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    for (int t = 0; t < threads; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < threads; t++)
        assert_string_equal(workers[t].why, "");
}

TEST(threads_share_a_context)
{
    char *folder = temporary_make();
    const tenon_store store = {.kind = TENON_STORE_FOLDER, .folder = folder};
    tenon_context *context = test_context_with(.store = store);
    run_all(context, &store, 72);
    assert_ok(tenon_context_keep(context));
    tenon_context_release(context);
    temporary_remove(folder);
}

/* The contexts share a store. */
TEST(threads_have_a_context_each)
{
    char *folder = temporary_make();
    const tenon_store store = {.kind = TENON_STORE_FOLDER, .folder = folder};
    for (int run = 0; run < 2; run++)
        run_all(NULL, &store, 73);
    temporary_remove(folder);
}

static void *settle(void *returned)
{
    tenon_settle();
    atomic_store((atomic_bool *)returned, true);
    return NULL;
}

/* The gate is closed while a program is read from the driver, since a kernel that starts meanwhile
 * would end the process (docs/drivers.md). tenon_settle waits for its owner. */
TEST(settling_leaves_a_closed_gate_closed)
{
    pthread_t thread;
    atomic_bool returned = false;
    assert_true(tn_gate_close(UINT64_MAX));
    assert_int_equal(pthread_create(&thread, NULL, settle, &returned), 0);
    for (int i = 0; i < 100; i++) {
        tn_sleep(2000000);
        assert_int_equal(atomic_load(&tn_gate_now), TN_GATE_CLOSED);
        assert_false(atomic_load(&returned));
    }
    tn_gate_open();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&returned));
    assert_int_equal(atomic_load(&tn_gate_now), TN_GATE_OPEN);
}

int main(void)
{
    return test_main_alone();
}
