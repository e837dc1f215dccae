/* Threads that wait for work, each pinned to a processor of its own. */
#ifndef BENCH_PEERS_POOL_H
#define BENCH_PEERS_POOL_H

/* The most threads that a run can have: one a processor. They start at the first call. */
int bench_pool_threads(void);

/* Calls work(data, 0) on the caller's thread and work(data, 1) to work(data, threads - 1) on
 * others, and returns when all have. */
void bench_pool_run(int threads, void (*work)(void *data, int thread), void *data);

#endif
