/*
 * Process that uses Tenon and ends in one of many ways, for check_endings.py.
 *
 *   ending WAY STATE
 *
 * STATE is "idle": one call has completed; "building": plans are being built in the background;
 * "rested": like idle, and the built program has been written to the store; "count": like idle, and
 * prints how many programs were built and how many were loaded; "waiting": two programs have been
 * used, and the file LATE_FILE exists, which late_driver.c creates; "calling": like idle, with
 * calls until that file exists. The environment variable TENON_TEST_DELAY is the number of
 * microseconds to wait before ending.
 */
#define _GNU_SOURCE
#include <tenon/tenon.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1000, PLANS = 3 };

static tenon_context *context;
static tenon_stream *stream;
static tenon_plan *plans[PLANS];
static char **arguments;
static const char *way, *state;

static bool is(const char *name)
{
    return strcmp(way, name) == 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, tenon_last_error());
    _exit(9);
}

static void sleep_for(long microseconds)
{
    struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static void delay(void)
{
    const char *text = getenv("TENON_TEST_DELAY");
    if (text != NULL)
        sleep_for(atol(text));
}

/* Makes a call and checks its result. */
static tenon_status use(void)
{
    const int64_t shape[] = {SIZE};
    float values[SIZE];
    tenon_tensor x;
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    params.activation.kind = TENON_ACTIVATION_RELU;
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)(i % 3 - 1);
    tenon_status status = tenon_tensor_create(context, TENON_DTYPE_F32, 1, shape, &x);
    if (status != TENON_OK)
        return status;
    status = tenon_tensor_upload(stream, values, sizeof values, &x, NULL);
    if (status == TENON_OK)
        status = tenon_activation_forward(stream, &params, &x, &x, NULL);
    if (status == TENON_OK)
        status = tenon_tensor_download(stream, &x, values, sizeof values, NULL);
    for (int i = 0; i < SIZE && status == TENON_OK; i++)
        if (values[i] != (i % 3 == 2 ? 1 : 0))
            fail("a wrong result");
    params.activation.kind = TENON_ACTIVATION_TANH;
    if (status == TENON_OK && strcmp(state, "waiting") == 0)
        status = tenon_activation_forward(stream, &params, &x, &x, NULL);
    tenon_memory_destroy(&x.memory);
    return status;
}

static void begin(void)
{
    if (tenon_context_create(NULL, &context) != TENON_OK ||
        tenon_stream_create(context, NULL, &stream) != TENON_OK)
        fail("begin");
}

static void build_in_background(void)
{
    if (tenon_prepare_begin(context) != TENON_OK)
        fail("tenon_prepare_begin");
    for (int i = 0; i < PLANS; i++) {
        const int64_t shape[] = {64 + 16 * i, 64 + 16 * i};
        const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
        if (tenon_gemm_plan(context, NULL, &x, &x, NULL, NULL, &x, &plans[i]) != TENON_OK)
            fail("tenon_gemm_plan");
    }
    if (tenon_prepare_end(context) != TENON_OK)
        fail("tenon_prepare_end");
}

static tenon_statistics see(void)
{
    tenon_statistics seen = TENON_STATISTICS_INIT;
    if (tenon_context_statistics(context, &seen) != TENON_OK)
        fail("tenon_context_statistics");
    return seen;
}

/* Waits until a program has been written to the store. The first is that of the call above. */
static void rest(void)
{
    if (see().programs_built > 0)
        while (see().programs_kept == 0)
            sleep_for(10000);
}

/* Returns true if the preloaded driver has created its file. */
static bool has_file(void)
{
    const char *path = getenv("LATE_FILE");
    return path == NULL || access(path, F_OK) == 0;
}

static void get_busy(void)
{
    begin();
    if (strcmp(state, "building") == 0)
        build_in_background();
    else if (use() != TENON_OK)
        fail("use");
    if (strcmp(state, "rested") == 0)
        rest();
    if (strcmp(state, "count") == 0) {
        const tenon_statistics seen = see();
        printf("built %" PRIu64 " loaded %" PRIu64 "\n", seen.programs_built, seen.programs_loaded);
        fflush(stdout);
    }
    while (strcmp(state, "waiting") == 0 && !has_file())
        sleep_for(10000);
    while (strcmp(state, "calling") == 0 && !has_file())
        if (use() != TENON_OK)
            fail("use");
    delay();
}

static void *exit_here(void *nothing)
{
    (void)nothing;
    sleep_for(20000);
    exit(0);
}

static void start_thread(void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        _exit(8);
}

/* NOLINTNEXTLINE(bugprone-signal-handler): programs do this, and must still end */
static void handle(int signal)
{
    (void)signal;
    exit(3); /* NOLINT(bugprone-signal-handler) */
}

static void sleep_at_exit(void)
{
    sleep_for(1500000);
}

static void exit_again(void)
{
    exit(0);
}

/* Uses and releases everything in an exit handler. In any order of handlers, the call must succeed
 * or return TENON_ERROR_PROCESS, and must not hang. */
static void use_at_exit(void)
{
    const tenon_status status = use();
    if (status != TENON_OK && status != TENON_ERROR_PROCESS)
        fail("use at exit");
    tenon_stream_destroy(stream);
    for (int i = 0; i < PLANS; i++)
        tenon_plan_release(plans[i]);
    tenon_context_release(context);
}

static void *call_again_and_again(void *nothing)
{
    while (use() == TENON_OK)
        ;
    return nothing;
}

static pthread_t caller;

/* Joins a working thread in an exit handler, like the destructor of an application's thread pool.
 */
static void join_caller(void)
{
    pthread_join(caller, NULL);
}

static void expect_refusal(tenon_status status, const char *operation)
{
    if (status != TENON_ERROR_PROCESS || strstr(tenon_last_error(), "forked") == NULL ||
        strncmp(tenon_last_error(), operation, strlen(operation)) != 0) {
        fprintf(stderr, "%s gave %s: %s\n", operation, tenon_status_string(status),
                tenon_last_error());
        _exit(7);
    }
}

/* Checks in a forked child that every kind of call that uses the driver is refused, and that every
 * release is harmless. */
static void try_all_in_child(void)
{
    tenon_context *other;
    tenon_stream *another;
    tenon_plan *plan;
    tenon_memory memory = {0};
    tenon_pinned *pinned;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    uint32_t count;
    uint64_t made, asked;
    const int64_t shape[] = {64, 64};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    tenon_tensor tensor;
    expect_refusal(tenon_device_list(NULL, 0, &count), "tenon_device_list");
    expect_refusal(tenon_device_select(NULL, &info), "tenon_device_select");
    expect_refusal(tenon_context_create(NULL, &other), "tenon_context_create");
    expect_refusal(tenon_context_keep(context), "tenon_context_keep");
    expect_refusal(tenon_context_trim(context, 0), "tenon_context_trim");
    expect_refusal(tenon_context_capability(context, TENON_CAPABILITY_F64, &count, NULL, 0),
                   "tenon_context_capability");
    expect_refusal(tenon_stream_create(context, NULL, &another), "tenon_stream_create");
    expect_refusal(tenon_stream_flush(stream), "tenon_stream_flush");
    expect_refusal(tenon_stream_finish(stream), "tenon_stream_finish");
    expect_refusal(tenon_stream_wait(stream, stream), "tenon_stream_wait");
    expect_refusal(tenon_memory_create(context, 64, &memory), "tenon_memory_create");
    expect_refusal(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &tensor),
                   "tenon_tensor_create");
    expect_refusal(tenon_pinned_create(context, 64, &pinned), "tenon_pinned_create");
    expect_refusal(tenon_prepare_begin(context), "tenon_prepare_begin");
    expect_refusal(tenon_prepare_progress(context, &made, &asked), "tenon_prepare_progress");
    expect_refusal(tenon_gemm_plan(context, NULL, &x, &x, NULL, NULL, &x, &plan),
                   "tenon_gemm_plan");
    expect_refusal(tenon_gemm(stream, NULL, &x, &x, NULL, NULL, &x, NULL), "tenon_gemm");
    expect_refusal(use(), "tenon_tensor_create");
    if (plans[PLANS - 1] != NULL && tenon_plan_wait(plans[PLANS - 1]) != TENON_OK)
        expect_refusal(tenon_plan_wait(plans[PLANS - 1]), "tenon_gemm_plan");
    tenon_settle();
    for (int i = 0; i < PLANS; i++)
        tenon_plan_release(plans[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

/* Waits for the child. Ends this process with an error if the child has failed. */
static void await_child(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the child ended with status %#x\n", (unsigned)status);
        _exit(6);
    }
}

static void fork_after(void)
{
    const pid_t child = fork();
    if (child != 0) {
        await_child(child);
        return;
    }
    try_all_in_child();
    if (is("fork-after-quick"))
        _exit(0);
    exit(0);
}

static void fork_before(void)
{
    const pid_t child = fork();
    if (child == 0) {
        get_busy();
        exit(0);
    }
    get_busy();
    await_child(child);
}

static void exec_again(void)
{
    char *const again[] = {arguments[0], "return", "idle", NULL};
    execv("/proc/self/exe", again);
    _exit(5);
}

static void release_all(void)
{
    for (int i = 0; i < PLANS; i++)
        tenon_plan_release(plans[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

/* Registers the handlers that must be registered before Tenon's first use. */
static void set_up(void)
{
    if (is("slow-handler-before"))
        atexit(sleep_at_exit);
    if (is("handler-before-exits"))
        atexit(exit_again);
    if (is("handler-before-uses"))
        atexit(use_at_exit);
    if (is("handler-joins-caller"))
        atexit(join_caller);
    if (is("handled-signal"))
        signal(SIGTERM, handle);
}

static void raise_signal(void)
{
    const struct {
        const char *name;
        int number;
    } signals[] = {{"SIGINT", SIGINT},
                   {"SIGTERM", SIGTERM},
                   {"SIGKILL", SIGKILL},
                   {"SIGHUP", SIGHUP},
                   {"handled-signal", SIGTERM}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (is(signals[i].name))
            kill(getpid(), signals[i].number);
}

static void end(void)
{
    raise_signal();
    if (is("exit"))
        exit(0);
    if (is("quick_exit"))
        quick_exit(0);
    if (is("settle")) {
        tenon_settle();
        quick_exit(0);
    }
    if (is("_exit"))
        _exit(0);
    if (is("abort"))
        abort();
    if (is("exec"))
        exec_again();
    if (is("exit-elsewhere") || is("main-ends-first"))
        start_thread(exit_here);
    if (is("main-ends-first"))
        pthread_exit(NULL);
    if (is("exit-elsewhere"))
        sleep_for(600000000);
    if (is("release"))
        release_all();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    arguments = argv;
    way = argv[1];
    state = argv[2];
    set_up();
    if (is("fork-before"))
        fork_before();
    else
        get_busy();
    if (is("fork-after") || is("fork-after-quick"))
        fork_after();
    if (is("handler-joins-caller") &&
        pthread_create(&caller, NULL, call_again_and_again, NULL) != 0)
        return 8;
    if (is("slow-handler-after"))
        atexit(sleep_at_exit);
    if (is("handler-after-exits"))
        atexit(exit_again);
    if (is("handler-after-uses"))
        atexit(use_at_exit);
    end();
    return 0;
}
