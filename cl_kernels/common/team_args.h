/* Iteration of a team of work-items (common/team.clh) over lines of vectors. */
#ifndef TENON_COMMON_TEAM_ARGS_H
#define TENON_COMMON_TEAM_ARGS_H

#include "common/args.h"

typedef struct team_way {
    tenon_i32 team;      /* work-items of the team */
    tenon_i32 units;     /* vectors per line */
    tenon_i32 line_step; /* lines from one vector of a work-item to its next, */
    tenon_i32 unit_step; /* and vectors within the line */
} team_way;

#endif
