/* Internal interface of the scan family. */
#ifndef TN_OPS_SCAN_INTERNAL_H
#define TN_OPS_SCAN_INTERNAL_H

#include "ops/common/axis.h"
#include "scan/args.h"

#include <tenon/scan.h>

typedef struct scan_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t kind, flags;
    uint32_t reserved;
    tn_axis_space space; /* x, y */
} scan_problem;

extern const tn_family tn_scan_family;
extern const tn_solver tn_scan_rows, tn_scan_pieces, tn_scan_columns;

/* Names indexed by tenon_scan_kind; terminated by NULL. */
extern const char *const tn_scan_words[];

tn_prepare_function tn_scan_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_scan_reference;
tn_awkward_function tn_scan_awkward;
tn_fill_function tn_scan_fill_valid;

#endif
