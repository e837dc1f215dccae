/* What a programmer gets without a library: the loop in plain C, by threads, as the compiler
 * optimises it for this machine. */
#include "peers.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_THREADS 64

typedef struct loop {
    bench_map map;
    int threads;
} loop;

typedef struct part {
    const loop *loop;
    const float *x;
    float *y;
    int64_t begin, end;
} part;

static void *run_part(void *data)
{
    const part *p = data;
    const float *restrict x = p->x;
    float *restrict y = p->y;
    switch (p->loop->map.kind) {
    case TENON_ACTIVATION_RELU:
        for (int64_t i = p->begin; i < p->end; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        break;
    case TENON_ACTIVATION_TANH:
        for (int64_t i = p->begin; i < p->end; i++)
            y[i] = tanhf(x[i]);
        break;
    default:
        for (int64_t i = p->begin; i < p->end; i++)
            y[i] = 1 / (1 + expf(-x[i]));
        break;
    }
    return NULL;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const loop *l = data;
    const bench_operand *o = l->map.operands->operand;
    const int copy = turn % l->map.operands->copies;
    pthread_t threads[MOST_THREADS];
    part parts[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    (void)stream;
    for (int t = 0; t < l->threads; t++)
        parts[t] = (part){l, o[l->map.x].values[copy], o[l->map.y].values[copy],
                          l->map.elements * t / l->threads, l->map.elements * (t + 1) / l->threads};
    for (int t = 1; t < l->threads; t++)
        started[t] = pthread_create(&threads[t], NULL, run_part, &parts[t]) == 0;
    for (int t = 0; t < l->threads; t++)
        if (!started[t])
            run_part(&parts[t]);
    for (int t = 1; t < l->threads; t++)
        if (started[t])
            pthread_join(threads[t], NULL);
    return true;
}

bool bench_loop_map(const bench_map *map, bench_way *way)
{
    if (map->dtype != TENON_DTYPE_F32 ||
        (map->kind != TENON_ACTIVATION_RELU && map->kind != TENON_ACTIVATION_TANH &&
         map->kind != TENON_ACTIVATION_SIGMOID))
        return false;
    loop *l = malloc(sizeof *l);
    if (l == NULL)
        return false;
    l->map = *map;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    l->threads = processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : (int)processors;
    *way = (bench_way){"loop", call, true, l, free};
    return true;
}
