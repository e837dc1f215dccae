/* Internal interface of the dropout family. */
#ifndef TN_OPS_DROPOUT_INTERNAL_H
#define TN_OPS_DROPOUT_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/dropout.h>

enum { DROPOUT_X, DROPOUT_Y, DROPOUT_OPERANDS };

extern const tn_family tn_dropout_family;

tn_prepare_function tn_dropout_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_dropout_reference;
tn_awkward_function tn_dropout_awkward;

#endif
