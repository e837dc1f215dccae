#include "kept.h"

#include "common/processor.h"
#include "runtime/context/context.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

static void *try_lock(void *user)
{
    tenon_context *context = user;
    if (!tn_recursive_mutex_try(&context->validation.lock))
        return NULL;
    tn_recursive_mutex_unlock(&context->validation.lock);
    return user;
}

/* Checks that the context is not locked, since an application's callback may wait for another
 * thread that uses the library. */
static void assert_unlocked(tenon_context *context)
{
    pthread_t other;
    void *was_free;
    assert_int_equal(pthread_create(&other, NULL, try_lock, context), 0);
    assert_int_equal(pthread_join(other, &was_free), 0);
    assert_non_null(was_free);
}

/* Programs may be built in parallel. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

static void note(kept_log *log, tenon_log_level level, const char *message)
{
    static const char *const starts[] = {"build of kernel ", "trial of ", "self-check of "};
    if (level == TENON_LOG_INFO) {
        log->infos++;
        log->measured += strncmp(message, "measured constants of the processor: ", 37) == 0;
        for (int i = 0; i < 3; i++)
            log->info_lines[i] += strncmp(message, starts[i], strlen(starts[i])) == 0 &&
                                  strstr(message, " ms; ") != NULL;
        return;
    }
    log->warnings++;
    const size_t used = strlen(log->all);
    snprintf(log->all + used, sizeof log->all - used, "%s\n", message);
    snprintf(log->warning, sizeof log->warning, "%s", message);
}

static void hear(void *user, tenon_log_level level, const char *message)
{
    kept_log *log = user;
    if (log->context != NULL)
        assert_unlocked(log->context);
    pthread_mutex_lock(&telling);
    note(log, level, message);
    pthread_mutex_unlock(&telling);
}

static void follow(void *user, const tenon_progress *progress)
{
    kept_log *log = user;
    assert_true(progress->stage < 3);
    assert_true(progress->name[0] != '\0');
    assert_true(progress->is_done ? progress->milliseconds >= 0 : progress->milliseconds == 0);
    pthread_mutex_lock(&telling);
    *(progress->is_done ? &log->done[progress->stage] : &log->begun[progress->stage]) += 1;
    assert_true(log->done[progress->stage] <= log->begun[progress->stage]);
    pthread_mutex_unlock(&telling);
}

tenon_store kept_folder(const char *folder)
{
    return (tenon_store){.kind = TENON_STORE_FOLDER, .folder = folder};
}

void kept_open(kept_session *s, const tenon_store *store)
{
    memset(s, 0, sizeof *s);
    tenon_context_params params =
        tenon_context_params(.log = hear, .log_user = &s->log, .log_level = TENON_LOG_INFO,
                             .progress = follow, .progress_user = &s->log, .store = *store);
    assert_ok(tenon_context_create(&params, &s->context));
    s->log.context = s->context;
    /* Constants of a simulated processor: those of the real one vary, as does the time to measure
     * them. */
    const tn_model *model = &s->context->device.model;
    processor p = processor_usual();
    p.units = (uint32_t)model->units;
    p.lanes = model->kind->lanes;
    processor_put(&p, (test_random){75});
    s->context->constants.take = processor_take;
    assert_ok(tenon_stream_create(s->context, NULL, &s->stream));
}

void kept_see(kept_session *s)
{
    s->seen = (tenon_statistics)TENON_STATISTICS_INIT;
    assert_ok(tenon_context_statistics(s->context, &s->seen));
}

void kept_close(kept_session *s)
{
    tenon_stream_destroy(s->stream);
    assert_ok(tenon_context_keep(s->context));
    tenon_context_release(s->context);
}

#define M 33
#define N 65
#define K 70

static tenon_tensor make(kept_session *s, int64_t rows, int64_t columns, const float *values)
{
    const int64_t shape[] = {rows, columns};
    tenon_tensor tensor;
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 2, shape, &tensor));
    assert_ok(tenon_tensor_upload(s->stream, values, (size_t)(rows * columns) * sizeof *values,
                                  &tensor, NULL));
    return tensor;
}

uint64_t kept_product(kept_session *s)
{
    static float a[M * K], b[K * N], d[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i * 5 % 13 - 6);
    memset(d, 0xff, sizeof d);
    tenon_tensor x = make(s, M, K, a), y = make(s, K, N, b), z = make(s, M, N, d);
    assert_ok(tenon_gemm(s->stream, NULL, &x, &y, NULL, NULL, &z, NULL));
    assert_ok(tenon_tensor_download(s->stream, &z, d, sizeof d, NULL));
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += a[i / N * K + k] * b[k * N + i % N];
        if (d[i] != sum)
            fail_msg("element %d is %g, expected %g", i, (double)d[i], (double)sum);
        /* A timed trial may have another result on a busy machine and select another kernel, which
         * computes the same sums. A zero may then have the other sign. */
        d[i] += 0.0f;
    }
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&y.memory);
    tenon_memory_destroy(&z.memory);
    return XXH3_64bits(d, sizeof d);
}

uint64_t kept_run(kept_session *s, const tenon_store *store)
{
    kept_open(s, store);
    const uint64_t bits = kept_product(s);
    kept_see(s);
    kept_close(s);
    return bits;
}

int kept_count(const char *folder, tn_store_kind kind)
{
    char ending[32];
    snprintf(ending, sizeof ending, ".%s", tn_store_kind_name(kind));
    return temporary_count(folder, ending);
}

const char *kept_entry(const char *folder, tn_store_kind kind)
{
    char ending[32], name[256];
    snprintf(ending, sizeof ending, ".%s", tn_store_kind_name(kind));
    assert_true(temporary_find(folder, ending, name));
    return temporary_path(folder, name);
}

void kept_write(const char *path, tn_store_kind kind, const char *key, const char *data)
{
    size_t size;
    unsigned char *bytes = tn_entry_make(kind, key, data, strlen(data), &size);
    assert_non_null(bytes);
    temporary_write(path, bytes, size);
    free(bytes);
}

int kept_begin_again(const char *variables, const char *what, const char *folder, char line[256])
{
    char program[1024], command[8192];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        skip();
    program[length] = '\0';
    snprintf(command, sizeof command, "exec env %s '%s' %s '%s'", variables, program, what, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    line[0] = '\0';
    if (fgets(line, 256, pipe) == NULL)
        line[0] = '\0';
    return pclose(pipe);
}

int kept_run_and_print(const char *folder)
{
    kept_session s;
    const tenon_store store = kept_folder(folder);
    const uint64_t bits = kept_run(&s, &store);
    printf("built %" PRIu64 " trials %" PRIu64 " checks %" PRIu64 " warnings %d bits %016" PRIx64
           "\n",
           s.seen.programs_built, s.seen.trials, s.seen.checks, s.log.warnings, bits);
    return 0;
}
