/* The regret of the choice: the time of Tenon's choice over that of the best candidate. */
#ifndef BENCH_REGRET_H
#define BENCH_REGRET_H

/* Runs tenon-bench regret. Returns the exit status. */
int bench_regret(int argc, char **argv);

#endif
