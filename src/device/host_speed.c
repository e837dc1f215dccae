#include "device/host_speed.h"

#include "base/platform.h"

#define MOST_THREADS 64
#define REPEATS      6
/* Nanoseconds between them: who takes a core away has it for a while. */
#define GAP  15000000
#define LINE ((uint64_t)64) /* bytes of a line of a cache */
/* Bytes that are read: from memory twice the last cache, by all threads together; from the cache,
 * by each. */
#define MOST_MEMORY ((uint64_t)256 << 20)
#define MOST_CACHED ((uint64_t)4 << 20)

/* A product's inner loop: rows of a times a panel of b, as wide as there are registers for. */
#define ROWS       6
#define DEPTH      384
#define MOST_WIDTH 64 /* columns of the panel */
#define LOOP_RUNS  520

typedef void inner_loop(const float *a, const float *b, int depth, float *sums);

/* The compiler may not make fma of a product and a sum unless it is told so. */
#if defined(__clang__)
#define FAST_SUMS
#elif defined(__GNUC__)
#define FAST_SUMS __attribute__((optimize("O2,fp-contract=fast,unroll-loops")))
#else
#define FAST_SUMS
#endif

#define DEFINE_LOOP(name, lanes, vectors, target)                                                  \
    typedef float name##_vector __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));  \
    target FAST_SUMS static void name(const float *a, const float *b, int depth, float *sums)      \
    {                                                                                              \
        name##_vector sum[ROWS][vectors] = {{{0}}};                                                \
        for (int k = 0; k < depth; k++)                                                            \
            for (int v = 0; v < (vectors); v++) {                                                  \
                const name##_vector right =                                                        \
                    *(const name##_vector *)(b + (k * (vectors) + v) * (lanes));                   \
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

/* The loop, and the columns of its panel; NULL where the processor has no such vectors. */
static inner_loop *loop_of(uint32_t lanes, int *width)
{
    *width = (int)lanes * (lanes == 16 ? 4 : 2);
#if defined(__x86_64__) && defined(__GNUC__)
    if (lanes == 16)
        return __builtin_cpu_supports("avx512f") ? loop_16 : NULL;
    if (lanes == 8)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? loop_8 : NULL;
#endif
    return lanes == 4 ? loop_4 : NULL;
}

/* Where threads wait until all are there. */
typedef struct barrier {
    tn_mutex lock;
    tn_condition all_there;
    uint32_t missing, count, meetings;
} barrier;

static bool barrier_init(barrier *b, uint32_t count)
{
    *b = (barrier){.missing = count, .count = count};
    if (!tn_mutex_init(&b->lock))
        return false;
    if (tn_condition_init(&b->all_there))
        return true;
    tn_mutex_destroy(&b->lock);
    return false;
}

static void barrier_destroy(barrier *b)
{
    tn_condition_destroy(&b->all_there);
    tn_mutex_destroy(&b->lock);
}

static void barrier_wait(barrier *b)
{
    tn_mutex_lock(&b->lock);
    const uint32_t meeting = b->meetings;
    if (--b->missing == 0) {
        b->missing = b->count;
        b->meetings++;
        tn_condition_broadcast(&b->all_there);
    }
    while (b->meetings == meeting)
        tn_condition_wait(&b->all_there, &b->lock);
    tn_mutex_unlock(&b->lock);
}

/* What all threads work on. */
typedef struct team {
    tn_mutex gate; /* until all threads are there, or one could not be made */
    barrier barrier;
    bool is_short;
    inner_loop *loop;
    int width;
    uint64_t memory_bytes, cached_bytes; /* of a thread */
} team;

/* Nanoseconds of each repeat. */
typedef struct times {
    double memory[REPEATS], cache[REPEATS], sums[REPEATS];
} times;

typedef struct member {
    team *team;
    tn_thread thread;
    uint64_t *memory;
    float a[DEPTH * ROWS], b[DEPTH * MOST_WIDTH], sums[ROWS * MOST_WIDTH];
    times times;
    uint64_t seen; /* so that nothing is left out as unused */
} member;

static double now(void)
{
    return (double)tn_now();
}

static void read_all(member *m, uint64_t bytes, uint64_t rounds)
{
    uint64_t sum[8] = {0};
    for (uint64_t t = 0; t < rounds; t++)
        for (uint64_t i = 0; i < bytes / sizeof *m->memory; i += 8)
            for (uint64_t j = 0; j < 8; j++)
                sum[j] += m->memory[i + j];
    for (int j = 0; j < 8; j++)
        m->seen += sum[j];
}

static uint64_t cached_rounds(const team *t)
{
    return MOST_CACHED / t->cached_bytes + 1;
}

/* Every thread begins each part of a repeat together with the others. */
static void measure(member *m, int repeat)
{
    team *t = m->team;
    barrier_wait(&t->barrier);
    double begins = now();
    read_all(m, t->memory_bytes, 1);
    m->times.memory[repeat] = now() - begins;
    read_all(m, t->cached_bytes, 1);
    barrier_wait(&t->barrier);
    begins = now();
    read_all(m, t->cached_bytes, cached_rounds(t));
    m->times.cache[repeat] = now() - begins;
    barrier_wait(&t->barrier);
    begins = now();
    for (int i = 0; i < LOOP_RUNS; i++)
        t->loop(m->a, m->b, DEPTH, m->sums);
    m->times.sums[repeat] = now() - begins;
}

static void *work(void *data)
{
    member *m = data;
    tn_mutex_lock(&m->team->gate);
    tn_mutex_unlock(&m->team->gate);
    if (m->team->is_short)
        return NULL;
    memset(m->memory, 1, m->team->memory_bytes);
    for (int i = 0; i < REPEATS; i++) {
        if (i > 0)
            tn_sleep(GAP);
        measure(m, i);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The times of the slowest threads of each repeat, the fastest repeat first. `offset` is that of a
 * list in times. */
static void sort_times(const member *members, uint32_t count, size_t offset, double sorted[REPEATS])
{
    for (int i = 0; i < REPEATS; i++) {
        sorted[i] = 1;
        for (uint32_t m = 0; m < count; m++) {
            const double *list = (const double *)((const char *)&members[m].times + offset);
            sorted[i] = list[i] > sorted[i] ? list[i] : sorted[i];
        }
    }
    qsort(sorted, REPEATS, sizeof *sorted, compare);
}

/* Others take a core away, and do not make it faster: the fastest counts. Memory they share: its
 * usual speed counts. */
static void add_up(const team *t, const member *members, uint32_t count, tn_host_speed *out)
{
    double memory[REPEATS], cache[REPEATS], sums[REPEATS];
    sort_times(members, count, offsetof(times, memory), memory);
    sort_times(members, count, offsetof(times, cache), cache);
    sort_times(members, count, offsetof(times, sums), sums);
    out->memory = (double)t->memory_bytes * count / memory[REPEATS / 2];
    out->cache = (double)(t->cached_bytes * cached_rounds(t)) / cache[0];
    out->rate = (double)LOOP_RUNS * DEPTH * ROWS * t->width / sums[0];
}

static bool run(team *t, member *members, uint32_t count)
{
    uint32_t made = 0;
    tn_mutex_lock(&t->gate);
    while (made < count && tn_thread_create(&members[made].thread, work, &members[made]))
        made++;
    t->is_short = made < count;
    tn_mutex_unlock(&t->gate);
    for (uint32_t i = 0; i < made; i++)
        tn_thread_join(members[i].thread);
    return !t->is_short;
}

static bool run_with_memory(team *t, uint32_t count, tn_host_speed *out)
{
    member *members = calloc(count, sizeof *members);
    unsigned char *memory = malloc(t->memory_bytes * count);
    bool well = members != NULL && memory != NULL;
    for (uint32_t i = 0; well && i < count; i++) {
        members[i].team = t;
        members[i].memory = (uint64_t *)(void *)(memory + i * t->memory_bytes);
    }
    well = well && run(t, members, count);
    if (well)
        add_up(t, members, count, out);
    free(memory);
    free(members);
    return well;
}

static uint64_t between(uint64_t low, uint64_t value, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

bool tn_host_speed_measure(uint32_t threads, uint32_t lanes, uint64_t cache_size,
                           uint64_t most_bytes, tn_host_speed *out)
{
    const uint32_t count = (uint32_t)between(1, threads, MOST_THREADS);
    const uint64_t bytes = 2 * cache_size;
    team t = {.gate = TN_MUTEX_INIT};
    t.loop = loop_of(lanes, &t.width);
    t.memory_bytes = bytes / count / LINE * LINE;
    t.cached_bytes = between(LINE, cache_size / count / 4, MOST_CACHED) / LINE * LINE;
    /* What fits the last cache would tell nothing of memory. */
    if (t.loop == NULL || t.memory_bytes < t.cached_bytes || bytes > MOST_MEMORY ||
        bytes > most_bytes || !barrier_init(&t.barrier, count))
        return false;
    const bool well = run_with_memory(&t, count, out);
    barrier_destroy(&t.barrier);
    return well;
}
