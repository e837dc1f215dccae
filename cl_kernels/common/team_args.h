/* How a team of work-items (common/team.clh) goes through lines of vectors. */
#ifndef TENON_COMMON_TEAM_ARGS_H
#define TENON_COMMON_TEAM_ARGS_H

#include "common/args.h"

typedef struct team_way {
    tenon_i32 team;      /* its work-items */
    tenon_i32 units;     /* vectors of a line */
    tenon_i32 line_step; /* from one vector of a work-item to its next: so many lines, */
    tenon_i32 unit_step; /* and so many vectors */
} team_way;

#endif
