#include "device/host_speed.h"

#include "base/platform.h"

#include <math.h>

#define MAX_THREADS 64
/* Pause between repeats in nanoseconds. Another process that preempts a core keeps it for a while.
 */
#define PAUSE 15000000
#define LINE  ((uint64_t)64) /* cache line size in bytes */
/* Work is timed in pieces, so that pieces during which a thread was interrupted can be dropped. A
 * piece of a read has PIECE_BYTES (small sets are read repeatedly), of a product PIECE_RUNS runs of
 * the inner loop. */
#define PIECE_BYTES ((uint64_t)512 << 10)
#define MIN_PIECES  4
#define PIECE_RUNS  64
#define MAX_PIECES  512
/* Time limits in nanoseconds after which no larger set is begun, no repeat beyond MIN_REPEATS,
 * and no repeat at all. */
#define LONG_SWEEP  200000000
#define LONG_IN_ALL 300000000
#define TOO_LONG    600000000
#define MIN_REPEATS 3

/* The inner loop of a product: ROWS rows of a times a panel of b that is as wide as the registers
 * allow. */
#define ROWS      6
#define DEPTH     384
#define MAX_WIDTH 64 /* columns of the panel */
/* Number of panels if b is not packed, and of row tiles that use each panel in turn. */
#define PANELS    8
#define TILES     16
#define LOOP_RUNS 512
/* Row strides of unpacked b in floats: two pages; and just below one page, so that rows begin
 * inside cache lines. */
#define PAGES_STRIDE     2048
#define UNALIGNED_STRIDE 1013
#define LARGEST_B        ((uint64_t)DEPTH * PAGES_STRIDE * sizeof(float))

typedef void inner_loop(const float *a, const float *b, size_t stride, int depth, float *sums);

/* GCC contracts a product and a sum to an FMA only with this option. */
#if defined(__clang__)
#define FAST_SUMS
#elif defined(__GNUC__)
#define FAST_SUMS __attribute__((optimize("O2,fp-contract=fast,unroll-loops")))
#else
#define FAST_SUMS
#endif

#define DEFINE_LOOP(name, lanes, vectors, target)                                                  \
    typedef float name##_vector __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));  \
    target FAST_SUMS static void name(const float *a, const float *b, size_t stride, int depth,    \
                                      float *sums)                                                 \
    {                                                                                              \
        name##_vector sum[ROWS][vectors] = {{{0}}};                                                \
        for (int k = 0; k < depth; k++)                                                            \
            for (int v = 0; v < (vectors); v++) {                                                  \
                const name##_vector right =                                                        \
                    *(const name##_vector *)(b + (size_t)k * stride + v * (lanes));                \
                for (int r = 0; r < ROWS; r++)                                                     \
                    sum[r][v] += a[k * ROWS + r] * right;                                          \
            }                                                                                      \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int v = 0; v < (vectors); v++)                                                    \
                *(name##_vector *)(sums + (r * (vectors) + v) * (lanes)) += sum[r][v];             \
    }

#if defined(__x86_64__) && defined(__GNUC__)
DEFINE_LOOP(loop_16, 16, 4, __attribute__((target("avx512f"))))
DEFINE_LOOP(loop_8, 8, 2, __attribute__((target("avx2,fma"))))
#endif
DEFINE_LOOP(loop_4, 4, 2, )

/* Returns the loop for this many lanes, or for the most that the processor supports, and the width
 * of its panel. */
static inner_loop *loop_of(uint32_t lanes, int *width)
{
#if defined(__x86_64__) && defined(__GNUC__)
    *width = 64;
    if (lanes >= 16 && __builtin_cpu_supports("avx512f"))
        return loop_16;
    *width = 16;
    if (lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return loop_8;
#endif
    (void)lanes;
    *width = 8;
    return loop_4;
}

/* A reusable barrier for `count` threads. */
typedef struct barrier {
    tn_mutex lock;
    tn_condition all_arrived;
    uint32_t missing, count, generation;
} barrier;

static bool barrier_init(barrier *b)
{
    *b = (barrier){.count = 0};
    if (!tn_mutex_init(&b->lock))
        return false;
    if (tn_condition_init(&b->all_arrived))
        return true;
    tn_mutex_destroy(&b->lock);
    return false;
}

static void barrier_destroy(barrier *b)
{
    tn_condition_destroy(&b->all_arrived);
    tn_mutex_destroy(&b->lock);
}

static void barrier_wait(barrier *b)
{
    tn_mutex_lock(&b->lock);
    const uint32_t own_generation = b->generation;
    if (--b->missing == 0) {
        b->missing = b->count;
        b->generation++;
        tn_condition_broadcast(&b->all_arrived);
    }
    while (b->generation == own_generation)
        tn_condition_wait(&b->all_arrived, &b->lock);
    tn_mutex_unlock(&b->lock);
}

/* State shared by all threads. While other threads run, only the first one writes to it, before a
 * barrier. */
typedef struct team {
    tn_mutex gate; /* held until all threads are created */
    barrier barrier;
    inner_loop *loop;
    int width;
    unsigned char *memory;
    uint64_t share; /* bytes of memory per thread */
    uint32_t threads, sets, repeats;
    uint64_t began;
} team;

typedef struct member {
    team *team;
    uint32_t number;
    tn_thread thread;
    float a[DEPTH * ROWS], b[DEPTH * MAX_WIDTH], sums[ROWS * MAX_WIDTH];
    double reads[TN_HOST_SETS][TN_HOST_REPEATS], panels[TN_HOST_PANELS][TN_HOST_REPEATS];
    double pieces[MAX_PIECES];
    uint64_t seen; /* sum of what was read, so that reads are not optimized away */
} member;

static double now(void)
{
    return (double)tn_now();
}

/* Returns a thread's share of a working set in bytes. */
static uint64_t part_of(const team *t, uint32_t set)
{
    return (TN_HOST_MIN_SET << set) / t->threads / LINE * LINE;
}

static void read_all(member *m, uint64_t begin, uint64_t bytes)
{
    const uint64_t *memory =
        (const uint64_t *)(const void *)(m->team->memory + m->number * m->team->share + begin);
    uint64_t sum[8] = {0};
    for (uint64_t i = 0; i < bytes / sizeof *memory; i += 8)
        for (uint64_t j = 0; j < 8; j++)
            sum[j] += memory[i + j];
    for (int j = 0; j < 8; j++)
        m->seen += sum[j];
}

/* Returns the nanoseconds to read a set of a few pieces or less once. */
static double time_small(member *m, uint64_t bytes)
{
    const uint64_t rounds = PIECE_BYTES / bytes + 1;
    for (int i = 0; i < MIN_PIECES; i++) {
        const double began = now();
        for (uint64_t r = 0; r < rounds; r++)
            read_all(m, 0, bytes);
        m->pieces[i] = now() - began;
    }
    return tn_host_uninterrupted_mean(m->pieces, MIN_PIECES) / (double)rounds;
}

static double time_large(member *m, uint64_t bytes)
{
    const uint32_t pieces = (uint32_t)(bytes / PIECE_BYTES);
    for (uint32_t i = 0; i < pieces; i++) {
        const double began = now();
        read_all(m, i * PIECE_BYTES, PIECE_BYTES);
        m->pieces[i] = now() - began;
    }
    return tn_host_uninterrupted_mean(m->pieces, pieces) * (double)bytes / (double)PIECE_BYTES;
}

/* Reads the set once to warm up the caches, then times it with all threads starting together. */
static void time_reads(member *m, uint32_t set, uint32_t repeat)
{
    const uint64_t bytes = part_of(m->team, set);
    read_all(m, 0, bytes);
    barrier_wait(&m->team->barrier);
    m->reads[set][repeat] =
        bytes < MIN_PIECES * PIECE_BYTES ? time_small(m, bytes) : time_large(m, bytes);
    barrier_wait(&m->team->barrier);
}

static void run_packed(member *m, int count)
{
    for (int i = 0; i < count; i++)
        m->team->loop(m->a, m->b, (size_t)m->team->width, DEPTH, m->sums);
}

/* Multiplies by panels of a matrix that all threads share. Each thread starts at a different
 * column. */
static void run_strided(member *m, size_t stride, int first, int count)
{
    const team *t = m->team;
    const size_t panels = stride / (size_t)t->width;
    const float *b = (const float *)(const void *)t->memory;
    for (int i = first; i < first + count; i++) {
        const size_t panel = (m->number * (size_t)PANELS + (size_t)(i / TILES % PANELS)) % panels;
        t->loop(m->a, b + panel * (size_t)t->width, stride, DEPTH, m->sums);
    }
}

static void run_loops(member *m, tn_host_panel panel, int first, int count)
{
    if (panel == TN_HOST_PACKED)
        run_packed(m, count);
    else
        run_strided(m, panel == TN_HOST_PAGES ? PAGES_STRIDE : UNALIGNED_STRIDE, first, count);
}

/* Runs all panels once to warm up the caches. Uses the fastest piece, since other processes can
 * only slow a core down. */
static void time_panels(member *m, uint32_t repeat)
{
    for (int panel = 0; panel < TN_HOST_PANELS; panel++) {
        run_loops(m, (tn_host_panel)panel, 0, PANELS * TILES);
        barrier_wait(&m->team->barrier);
        double least = INFINITY;
        for (int i = 0; i < LOOP_RUNS; i += PIECE_RUNS) {
            const double began = now();
            run_loops(m, (tn_host_panel)panel, i, PIECE_RUNS);
            least = fmin(least, now() - began);
        }
        m->panels[panel][repeat] = least;
        barrier_wait(&m->team->barrier);
    }
}

/* The first thread stops larger sets, or further repeats, when reads are slow. The barrier makes
 * its decision visible to all. */
static void limit_sets(member *m, uint32_t set)
{
    team *t = m->team;
    if (m->number == 0 && tn_now() - t->began > LONG_SWEEP)
        t->sets = set + 1;
    barrier_wait(&t->barrier);
}

static void limit_repeats(member *m, uint32_t repeat)
{
    team *t = m->team;
    barrier_wait(&t->barrier);
    if (m->number == 0 && tn_now() - t->began > (repeat + 1 < MIN_REPEATS ? TOO_LONG : LONG_IN_ALL))
        t->repeats = repeat + 1;
    barrier_wait(&t->barrier);
}

static void measure(member *m)
{
    team *t = m->team;
    memset(t->memory + m->number * t->share, 1, t->share);
    barrier_wait(&t->barrier);
    if (m->number == 0)
        t->began = tn_now();
    for (uint32_t repeat = 0; repeat < t->repeats; repeat++) {
        if (repeat > 0)
            tn_sleep(PAUSE);
        time_panels(m, repeat);
        for (uint32_t set = 0; set < t->sets; set++) {
            time_reads(m, set, repeat);
            if (repeat == 0)
                limit_sets(m, set);
        }
        limit_repeats(m, repeat);
    }
}

static void *work(void *data)
{
    member *m = data;
    tn_mutex_lock(&m->team->gate);
    tn_mutex_unlock(&m->team->gate);
    measure(m);
    return NULL;
}

/* Returns the time of the slowest thread. */
static double slowest(const member *members, uint32_t count, size_t offset)
{
    double most = 1;
    for (uint32_t m = 0; m < count; m++) {
        const double time = *(const double *)(const void *)((const char *)&members[m] + offset);
        most = time > most ? time : most;
    }
    return most;
}

static void collect_times(const team *t, const member *members, tn_host_times *out)
{
    *out = (tn_host_times){.threads = t->threads, .sets = t->sets, .repeats = t->repeats};
    out->multiply_adds = (double)PIECE_RUNS * DEPTH * ROWS * t->width;
    for (uint32_t r = 0; r < t->repeats; r++) {
        for (uint32_t i = 0; i < t->sets; i++) {
            out->reads[i].bytes = part_of(t, i) * t->threads;
            out->reads[i].nanoseconds[r] =
                slowest(members, t->threads,
                        offsetof(member, reads[0][0]) + (i * TN_HOST_REPEATS + r) * sizeof(double));
        }
        for (size_t i = 0; i < TN_HOST_PANELS; i++)
            out->panels[i][r] = slowest(members, t->threads,
                                        offsetof(member, panels[0][0]) +
                                            (i * TN_HOST_REPEATS + r) * sizeof(double));
    }
}

/* Runs the measurement on the caller and on as many other threads as can be created. */
static void host_speed_run(team *t, member *members, uint32_t count, uint64_t bytes)
{
    tn_mutex_lock(&t->gate);
    t->threads = 1;
    while (t->threads < count &&
           tn_thread_create(&members[t->threads].thread, work, &members[t->threads]))
        t->threads++;
    t->barrier.missing = t->barrier.count = t->threads;
    t->share = bytes / t->threads / LINE * LINE;
    tn_mutex_unlock(&t->gate);
    measure(&members[0]);
    for (uint32_t i = 1; i < t->threads; i++)
        tn_thread_join(members[i].thread);
}

/* Allocates memory for the largest set possible; NULL if that fails. */
static unsigned char *allocate(uint64_t most_bytes, uint32_t *sets)
{
    unsigned char *memory = NULL;
    *sets = TN_HOST_SETS;
    while (*sets > 0 && memory == NULL) {
        const uint64_t bytes = TN_HOST_MIN_SET << --*sets;
        if (bytes >= LARGEST_B && bytes <= most_bytes && bytes <= SIZE_MAX)
            memory = malloc((size_t)bytes);
    }
    ++*sets;
    return memory;
}

bool tn_host_times_take(uint32_t threads, uint32_t lanes, uint64_t most_bytes, tn_host_times *out)
{
    const uint32_t count = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    team t = {.gate = TN_MUTEX_INIT, .repeats = TN_HOST_REPEATS};
    if (!barrier_init(&t.barrier))
        return false;
    member *members = calloc(count, sizeof *members);
    t.memory = allocate(most_bytes, &t.sets);
    t.loop = loop_of(lanes, &t.width);
    const bool well = members != NULL && t.memory != NULL;
    for (uint32_t i = 0; well && i < count; i++) {
        members[i].team = &t;
        members[i].number = i;
    }
    if (well) {
        host_speed_run(&t, members, count, TN_HOST_MIN_SET << (t.sets - 1));
        collect_times(&t, members, out);
    }
    free(t.memory);
    free(members);
    barrier_destroy(&t.barrier);
    return well;
}
