/* tenon-bench predict: the device model's estimates for a device that need not be installed. */
#ifndef BENCH_PREDICT_H
#define BENCH_PREDICT_H

/* Runs the command with the program's arguments. Returns its exit status. */
int bench_predict(int argc, char **argv);

#endif
