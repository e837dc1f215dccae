/* What choosing costs: the time of what Tenon chooses over that of the best candidate. */
#ifndef BENCH_REGRET_H
#define BENCH_REGRET_H

/* tenon-bench regret; the exit status. */
int bench_regret(int argc, char **argv);

#endif
