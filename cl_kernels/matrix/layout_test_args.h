#ifndef TENON_MATRIX_LAYOUT_TEST_ARGS_H
#define TENON_MATRIX_LAYOUT_TEST_ARGS_H

#include "common/args.h"

typedef struct layout_test_args {
    tenon_i32 steps;      /* in units of UNIT_K */
    tenon_i32 transposed; /* 1: tiles are stored transposed, and unit_multiply is called for each
                             product */
} layout_test_args;

#endif
