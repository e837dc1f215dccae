/* Arguments of function/rows.cl. */
#ifndef TENON_FUNCTION_ARGS_H
#define TENON_FUNCTION_ARGS_H

#include "common/walk_args.h"

typedef struct function_args {
    walk_args walk;
    tenon_i32 kind; /* a number of common/function_list.h; unused if the build has one function */
    tenon_i32 reserved;
} function_args;

#endif
