/* tenon-bench run: measures the cases of suites on one or several devices. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

/* Runs the command with the program's arguments. Returns its exit status. */
int bench_run_command(int argc, char **argv);

#endif
