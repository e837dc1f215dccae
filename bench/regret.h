/* The regret of the choice: the time of Tenon's choice over that of the best candidate. */
#ifndef BENCH_REGRET_H
#define BENCH_REGRET_H

#include "command_line.h"

extern const command bench_regret_command;

#endif
