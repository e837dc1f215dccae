/* Data-parallel descent that is resumed from its last checkpoint: process 0 writes the step and the
 * parameters to a temporary file every fifth step, and renames it. The result has the same bits
 * whether the job was killed or not.
 *
 *     resume FILE STEPS VICTIM STEP MICROSECONDS
 *
 * Process VICTIM is killed MICROSECONDS (at most LATEST) after step STEP begins; if STEP is
 * negative, no process is killed. At least MARGIN steps follow, each of which waits for a
 * millisecond, so the process is killed before the job ends, however fast the machine is.
 */
#include "cluster.h"

enum { LENGTH = 5000, LATEST = 3000, MARGIN = 5 };

typedef struct checkpoint {
    int64_t step;
    float parameters[LENGTH];
} checkpoint;

static void save(const char *path, const checkpoint *c)
{
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "wb");
    CLUSTER_CHECK(file != NULL && fwrite(c, sizeof *c, 1, file) == 1 && fclose(file) == 0 &&
                      rename(temporary, path) == 0,
                  "cannot write %s", path);
}

/* Reads the checkpoint, or starts from one parameter vector. */
static void load(const char *path, checkpoint *c)
{
    FILE *file = fopen(path, "rb");
    memset(c, 0, sizeof *c);
    for (int i = 0; i < LENGTH; i++)
        c->parameters[i] = (float)(i % 97) * 0.01f;
    if (file == NULL)
        return;
    CLUSTER_CHECK(fread(c, sizeof *c, 1, file) == 1, "%s is truncated", path);
    fclose(file);
    printf("resumed at step %d\n", (int)c->step);
}

/* The gradient of this process's part of a loss, which depends on the parameters. */
static void gradient(const checkpoint *c, float *g)
{
    uint64_t state = (uint64_t)c->step * 1000 + (uint64_t)cluster_rank;
    for (int i = 0; i < LENGTH; i++)
        g[i] = c->parameters[i] * 0.1f + (float)(cluster_next(&state) >> 40) * 0x1p-24f - 0.5f;
}

static uint64_t hash(const checkpoint *c)
{
    uint64_t value = 0;
    for (size_t i = 0; i < LENGTH; i++) {
        uint32_t bits;
        memcpy(&bits, &c->parameters[i], sizeof bits);
        value = (value ^ bits) * 0x100000001b3u;
    }
    return value;
}

static void on_alarm(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static void plan_end(int microseconds)
{
    const struct itimerval timer = {{0, 0}, {0, microseconds + 1}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(int argc, char **argv)
{
    static checkpoint c;
    static float g[LENGTH];
    const int64_t length = LENGTH;
    tenon_context *context;
    tenon_stream *stream;
    tenon_transport transport;
    tenon_tensor x;
    tenon_group *group;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    cluster_open(&argc, &argv);
    CLUSTER_CHECK(argc == 6, "5 arguments are needed");
    const int steps = atoi(argv[2]), last = atoi(argv[4]), delay = atoi(argv[5]);
    const bool victim = cluster_rank == atoi(argv[3]);
    CLUSTER_CHECK(last + MARGIN <= steps && delay >= 0 && delay <= LATEST,
                  "the job might end before the victim");
    CLUSTER_OK(tenon_context_create(NULL, &context));
    CLUSTER_OK(tenon_stream_create(context, NULL, &stream));
    CLUSTER_OK(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &x));
    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    params.transport = &transport;
    CLUSTER_OK(tenon_group_create(&stream, 1, &params, &group));
    load(argv[1], &c);
    MPI_Barrier(MPI_COMM_WORLD);
    while (c.step < steps) {
        if (victim && c.step == last)
            plan_end(delay);
        gradient(&c, g);
        CLUSTER_OK(tenon_tensor_upload(stream, g, sizeof g, &x, NULL));
        CLUSTER_OK(tenon_group_all_reduce(group, TENON_GROUP_MEAN, &x, &x, NULL));
        CLUSTER_OK(tenon_group_wait(group));
        CLUSTER_OK(tenon_tensor_download(stream, &x, g, sizeof g, NULL));
        for (int i = 0; i < LENGTH; i++)
            c.parameters[i] -= 0.05f * g[i];
        if (++c.step % 5 == 0 && cluster_rank == 0)
            save(argv[1], &c);
        cluster_sleep(1e-3);
    }
    printf("result %016llx\n", (unsigned long long)hash(&c));
    tenon_group_destroy(group);
    tenon_tensor_destroy(&x);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    MPI_Finalize();
    return 0;
}
