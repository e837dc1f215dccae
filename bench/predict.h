/* tenon-bench predict: the device model's estimates for a device that need not be installed. */
#ifndef BENCH_PREDICT_H
#define BENCH_PREDICT_H

#include "command_line.h"

extern const command bench_predict_command;

#endif
