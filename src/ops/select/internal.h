/* Internal interface of the families compare, classify, logic and where. */
#ifndef TN_OPS_SELECT_INTERNAL_H
#define TN_OPS_SELECT_INTERNAL_H

#include "ops/common/pointwise.h"
#include "select/args.h"

#include <tenon/select.h>

enum { COMPARE_A, COMPARE_B, COMPARE_D, COMPARE_OPERANDS };
enum { CLASSIFY_X, CLASSIFY_Y, CLASSIFY_OPERANDS };
enum { LOGIC_A, LOGIC_B, LOGIC_D, LOGIC_OPERANDS };
enum { WHERE_CONDITION, WHERE_A, WHERE_B, WHERE_D, WHERE_OPERANDS };

extern const tn_family tn_compare_family, tn_classify_family, tn_logic_family, tn_where_family;
extern const tn_solver tn_compare_rows, tn_classify_rows, tn_logic_rows, tn_where_rows;

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_compare_prepare, tn_classify_prepare, tn_logic_prepare, tn_where_prepare;
tn_reference_function tn_compare_reference, tn_classify_reference, tn_logic_reference,
    tn_where_reference;
tn_awkward_function tn_compare_awkward, tn_classify_awkward, tn_logic_awkward, tn_where_awkward;
tn_fill_function tn_compare_fill, tn_classify_fill, tn_logic_fill;

#endif
