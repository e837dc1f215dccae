/* Arguments of the kernels in select/. */
#ifndef TENON_SELECT_ARGS_H
#define TENON_SELECT_ARGS_H

#include "common/walk_args.h"

typedef struct select_args {
    walk_args walk;
    tenon_i32 kind;
    tenon_i32 reserved;
} select_args;

#endif
