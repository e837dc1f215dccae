/* Worker threads, each pinned to a processor of its own. */
#ifndef BENCH_PEERS_POOL_H
#define BENCH_PEERS_POOL_H

/* Returns the largest number of threads of a run: one per processor. They start at the first call.
 */
int bench_pool_threads(void);

/* Calls work(data, 0) on the caller's thread and work(data, 1) to work(data, threads - 1) on the
 * others, and returns when all have returned. */
void bench_pool_run(int threads, void (*work)(void *data, int thread), void *data);

#endif
