/*
 * Tests an application with a store, from its first call to its last, while an allocation or OpenCL
 * call fails: each step fails with a status and a message or succeeds completely, nothing leaks,
 * and stored data stays correct.
 */
#include "common/cl_faults.h"
#include "common/processor.h"
#include "kept.h"
#include "runtime.h"

#include "runtime/context/context.h"

/* Replaces the processor by a simulated one. */
static void replace_processor(tenon_context *context)
{
    const tn_model *model = &context->device.model;
    processor p = processor_usual();
    p.units = (uint32_t)model->units;
    p.lanes = model->kind->lanes;
    processor_put(&p, (test_random){75});
    context->constants.take = processor_take;
}

typedef struct failing {
    const char *name, *functions;
    cl_int error;
} failing;

static const failing ways[] = {
    {"allocation", FAULTS_MEMORY, CL_SUCCESS},
    {"OpenCL call", FAULTS_OPENCL, CL_OUT_OF_HOST_MEMORY},
    {"OpenCL call", FAULTS_OPENCL, CL_DEVICE_NOT_AVAILABLE},
};

enum { SIZE = 1000 };

/* State of a session. */
typedef struct session {
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor x, y;
    int warnings;
    char warning[512];
    const char *step; /* the current one */
} session;

static void hear(void *user, tenon_log_level level, const char *message)
{
    session *s = user;
    (void)level;
    s->warnings++;
    snprintf(s->warning, sizeof s->warning, "%s", message);
}

static void hear_failure(void *user, const tenon_failure *failure)
{
    (void)user;
    (void)failure;
}

/* True to give contexts a failure callback, with which every command has an event. */
static bool is_followed;

static tenon_status open_session(session *s, const char *folder)
{
    tenon_context_params params =
        tenon_context_params(.failure = is_followed ? hear_failure : NULL, .log = hear,
                             .log_user = s, .pool_limit = TENON_POOL_DEFAULT,
                             .store = kept_folder(folder));
    s->step = "context";
    TN_TRY(tenon_context_create(&params, &s->context));
    /* Measuring the real processor takes long. */
    replace_processor(s->context);
    s->step = "stream";
    return tenon_stream_create(s->context, NULL, &s->stream);
}

static float value_of(int i)
{
    return (float)(i % 17 - 8);
}

/* Creates two tensors, and runs a relu from one to the other. */
static tenon_status run_session(session *s, float results[SIZE])
{
    const int64_t shape[] = {SIZE};
    for (int i = 0; i < SIZE; i++)
        results[i] = value_of(i);
    s->step = "x";
    TN_TRY(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &s->x));
    s->step = "y";
    TN_TRY(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &s->y));
    s->step = "upload";
    TN_TRY(tenon_tensor_upload(s->stream, results, SIZE * sizeof *results, &s->x, NULL));
    s->step = "relu";
    TN_TRY(relu(s->stream, &s->x, &s->y, NULL));
    s->step = "download";
    TN_TRY(tenon_tensor_download(s->stream, &s->y, results, SIZE * sizeof *results, NULL));
    s->step = "keep";
    return tenon_context_keep(s->context);
}

static void close_session(session *s)
{
    s->step = "end";
    test_destroy(&s->x, &s->y);
    tenon_stream_destroy(s->stream);
    tenon_context_release(s->context);
}

/* Runs a session with one failing call. Returns false if no call failed. */
static bool session_with_a_fault(const char *folder, const failing *way, unsigned nth)
{
    static float results[SIZE];
    session s = {.context = NULL};
    char where[128];
    const faults_alive before = faults_count();
    snprintf(where, sizeof where, "%s %u", way->name, nth);
    faults_fail_next(way->functions, way->error, nth);
    tenon_status status = open_session(&s, folder);
    if (status == TENON_OK)
        status = run_session(&s, results);
    const char *step = s.step;
    close_session(&s);
    const bool struck = faults_end() > 0;
    for (int i = 0; status == TENON_OK && i < SIZE; i++)
        if (results[i] != (value_of(i) > 0 ? value_of(i) : 0))
            fail_msg("%s: element %d is %g", where, i, (double)results[i]);
    if (status != TENON_OK &&
        (!struck ||
         (status != TENON_ERROR_OUT_OF_MEMORY && status != TENON_ERROR_DEVICE_LOST &&
          status != TENON_ERROR_INCOMPLETE) ||
         tenon_last_cl_error() != way->error || strstr(tenon_last_error(), ": ") == NULL))
        fail_msg("%s: %s: %s, OpenCL's error %d: %s", where, step, tenon_status_string(status),
                 tenon_last_cl_error(), tenon_last_error());
    faults_assert_alive(&before, where);
    return struck;
}

/* Checks that a session without failures finds no errors in stored data. */
static void assert_sound(const char *folder)
{
    static float results[SIZE];
    session s = {.context = NULL};
    assert_ok(open_session(&s, folder));
    assert_ok(run_session(&s, results));
    close_session(&s);
    if (s.warnings > 0)
        fail_msg("what was stored: %s", s.warning);
}

/* Sessions with an empty store, where everything is tried, built and checked. A random selection of
 * calls fails. */
TEST(first_sessions)
{
    test_random random = test_random_for(72);
    for (size_t w = 0; w < 2; w++) {
        bool struck = true;
        unsigned tried = 0;
        for (unsigned nth = 16; struck; tried++) {
            char *folder = temporary_make();
            struck = session_with_a_fault(folder, &ways[w], nth);
            assert_sound(folder);
            temporary_remove(folder);
            nth += 1 + (unsigned)test_between(&random, 0, nth / 4);
        }
        assert_true(tried > 5);
    }
}

/* Sessions with a full store. Each call fails in turn. */
TEST(later_sessions)
{
    char *folder = temporary_make();
    assert_sound(folder);
    for (size_t w = 0; w < 2 * sizeof ways / sizeof *ways; w++) {
        bool struck = true;
        unsigned tried = 0;
        is_followed = w % 2 == 1;
        for (unsigned nth = 1; struck; nth++, tried++)
            struck = session_with_a_fault(folder, &ways[w / 2], nth);
        assert_true(tried > 50);
    }
    is_followed = false;
    assert_sound(folder);
    temporary_remove(folder);
}

int main(void)
{
    return test_main_alone();
}
