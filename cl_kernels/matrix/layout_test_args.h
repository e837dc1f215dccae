/* Arguments of matrix/layout_test.cl. */
#ifndef TENON_MATRIX_LAYOUT_TEST_ARGS_H
#define TENON_MATRIX_LAYOUT_TEST_ARGS_H

#include "common/args.h"

typedef struct layout_test_args {
    tenon_i32 steps;      /* of UNIT_K */
    tenon_i32 transposed; /* 1: tiles lie across, and products are made one by one */
} layout_test_args;

#endif
