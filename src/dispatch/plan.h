/* Plans: recordings with the name of their solver, made for a call and run on any memory. */
#ifndef TN_DISPATCH_PLAN_H
#define TN_DISPATCH_PLAN_H

#include "dispatch/request.h"

#include <stdatomic.h>

/* The arguments of every call that makes a plan; sets *plan to NULL. */
tenon_status tn_plan_check(const char *caller, const tenon_context *context, tenon_plan **plan);

/* The immediate call: checks memory, finds or makes the plan, runs it. A NULL problem is an empty
 * output. The problem's workspace limit is set to the stream's. */
tenon_status tn_call_run(tenon_stream *stream, const tn_family *family, tn_problem *problem,
                         const tn_call *call, const tenon_sync *sync);

/* The planned call: checks the memory there is and makes a plan of the caller's own. */
tenon_status tn_call_plan(tenon_context *context, const tn_family *family, tn_problem *problem,
                          const tn_call *call, tenon_plan **out);

/* Gives a plan of the caller's own the memory of one of its operands, which runs are then not
 * given, and with it a reference to the object that it belongs to. Once for a plan. */
void tn_plan_keep(tenon_plan *plan, uint32_t operand, tenon_memory memory, void *object,
                  void (*release)(void *object));

/* A planned operand: its view without memory; rank and shape of nothing where absent. */
typedef struct tn_planned {
    const char *name;
    bool present, output;
    bool given; /* present, or given to a call that does not read it */
    bool kept;  /* its memory stays with the plan, and runs are not given it */
    tn_role role;
    tenon_tensor view;
    uint64_t end; /* the byte of its memory that the view ends at */
} tn_planned;

struct tenon_plan {
    atomic_uint references;
    /* Of one that is made later (prepare.h): whether that is still to come, and how it failed. */
    atomic_bool is_pending;
    tenon_status failure;
    cl_int failure_cl;
    char *message;
    bool keeps_context; /* a plan in the context's own table must not keep the context alive */
    const char *caller;
    char name[TN_SOLVER_NAME_SIZE];
    tn_recording recording;
    /* Of a plan of the caller's own: */
    tn_planned operands[TN_MAX_OPERANDS];
    uint32_t operand_count, kept_count;
    double scalars[TN_MAX_SCALARS];
    void *kept; /* what the memory of kept operands belongs to */
    void (*release_kept)(void *object);
    const struct tn_operation *operation;
    void *params; /* a copy of the call's, without a solver */
    /* Of either; NULL where the output is empty. */
    tn_problem *problem;
    /* Of a plan in the table: */
    const tn_family *family;
    uint64_t hash;
    tenon_plan *next_in_bucket, *newer, *older;
};

/* Selects and records. The result has one reference. Without a problem the plan does nothing. */
tenon_status tn_plan_create(const tn_request *request, tenon_plan **out);

/* The second half of it, for a plan that is there. */
tenon_status tn_plan_record(tenon_plan *plan, const tn_request *request);

#endif
