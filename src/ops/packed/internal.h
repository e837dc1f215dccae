/* Packed weights: the object, packing and unpacking, and the products that take it. */
#ifndef TN_OPS_PACKED_INTERNAL_H
#define TN_OPS_PACKED_INTERNAL_H

#include "ops/gemm/internal.h"
#include "packed/args.h"

#include <tenon/packed.h>

/* Who can multiply it. */
typedef enum packed_kind { PACKED_GEMM, PACKED_FILTER } packed_kind;

/* How it lies. A layout is added here, in packed.c's table, and where its products choose. */
typedef enum packed_layout { PACKED_ROWS, PACKED_PANELS, PACKED_FILTERS } packed_layout;

struct tenon_packed {
    atomic_uint references;
    tenon_context *context;
    packed_kind kind;
    packed_layout layout;
    int64_t panel;       /* columns of a panel; those of the matrix, where that is all of it */
    tenon_tensor view;   /* what was packed, row-major, without memory */
    tenon_tensor memory; /* the elements as they lie, of rank 1; owns its memory */
};

/* Refuses NULL, one of another context, and one that was packed for something else. */
tenon_status tn_packed_check(const char *caller, const tenon_context *context,
                             const tenon_packed *packed, packed_kind kind);

/* Whether elements are i8 or u8, whose products are gemm_int8's: only "rows" has them. */
bool tn_packed_is_bytes(tenon_dtype dtype);

/* Makes the object of a view that has been checked, with memory but nothing in it yet. `name`
 * forces a layout. */
tenon_status tn_packed_create(const char *caller, tenon_context *context, packed_kind kind,
                              const char *name, const tenon_tensor *view, tenon_packed **out);

/* The view with the object's memory, for layouts that are dense and row-major. */
tenon_tensor tn_packed_dense(const tenon_packed *packed);

/* Hands the plan of a call, whose operand number `operand` is the packed one, its memory, and a
 * reference to it. */
void tn_packed_keep(tenon_plan *plan, uint32_t operand, const tenon_packed *packed);

/* The width of a panel where there is one. */
int64_t tn_packed_panel(tenon_context *context, tenon_dtype dtype);

/* Columns with those that fill the last panel up. */
int64_t tn_packed_padded(int64_t columns, int64_t panel);

/* A product by panels: GEMM's problem, whose b has the strides of a dense matrix of whole panels.
 */
typedef struct packed_problem {
    gemm_problem gemm;
    int64_t panel;
} packed_problem;

extern const tn_family tn_gemm_packed_family;
extern const tn_solver tn_gemm_packed_cpu, tn_gemm_packed_plain;

/* Completes a launch, as tn_gemm_record_launch does. */
tenon_status tn_gemm_packed_record(const char *caller, tn_recording *recording,
                                   const packed_problem *problem, int64_t tile_rows,
                                   int64_t tile_cols, tn_launch *launch);

/* As tn_family has it. */
tn_awkward_function tn_gemm_packed_awkward;

#endif
