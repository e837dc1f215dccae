/* Plans: a recording with the name of its solver, created for a call and run on any memory. */
#ifndef TN_DISPATCH_PLAN_H
#define TN_DISPATCH_PLAN_H

#include "dispatch/request.h"

#include <stdatomic.h>

/* Checks the arguments of every function that creates a plan; sets *plan to NULL. */
tenon_status tn_plan_check(const char *caller, const tenon_context *context, tenon_plan **plan);

/* The immediate call: checks memory, finds or creates the plan, and runs it. A NULL problem means
 * an empty output. Sets the problem's workspace limit to the stream's. */
tenon_status tn_call_run(tenon_stream *stream, const tn_family *family, tn_problem *problem,
                         const tn_call *call, const tenon_sync *sync);

/* The planned call: checks the memory that is given, and creates a plan that the caller owns. */
tenon_status tn_call_plan(tenon_context *context, const tn_family *family, tn_problem *problem,
                          const tn_call *call, tenon_plan **out);

/* Binds memory to an operand of a caller's plan, so that runs do not pass it, and takes a
 * reference to the object that owns the memory. At most once per plan. */
void tn_plan_bind(tenon_plan *plan, uint32_t operand, tenon_memory memory, void *object,
                  void (*release)(void *object));

/* An operand of a plan: its view without memory; rank 0 and an empty shape if absent. */
typedef struct tn_plan_operand {
    const char *name;
    bool present, output;
    bool unread;   /* an output that the operation may read, but this plan does not */
    bool given;    /* present, or passed to a call that does not read it */
    bool is_bound; /* its memory is bound to the plan, and runs do not pass it */
    uint8_t same;  /* the first operand that the call gave as the same view, or its own number */
    tn_role role;
    tenon_tensor view;
    uint64_t end; /* end of the view in its memory, in bytes */
} tn_plan_operand;

struct tenon_plan {
    atomic_uint references;
    /* For a plan created in the background (prepare.h): whether it is unfinished, and its failure.
     */
    atomic_bool is_pending;
    tenon_status failure;
    cl_int failure_cl;
    char *message;
    bool keeps_context; /* false for a plan in the context's own table, which must not keep the
                         * context alive */
    const char *caller;
    char name[TN_SOLVER_NAME_SIZE];
    double time; /* the choice's estimate in nanoseconds; 0 without one */
    tn_recording recording;
    /* For a caller's plan: */
    tn_plan_operand operands[TN_MAX_OPERANDS];
    uint32_t operand_count, kept_count;
    double scalars[TN_MAX_SCALARS];
    void *bound_owner; /* owner of the memory of bound operands */
    void (*release_bound_owner)(void *object);
    const struct tn_operation *operation;
    void *params; /* a copy of the call's parameters, without a solver */
    /* For both kinds; NULL if the output is empty. */
    tn_problem *problem;
    /* For a plan in the table: */
    const tn_family *family;
    uint64_t hash;
    tenon_plan *next_in_bucket, *newer, *older;
};

/* Selects a solver and records its launches. The result has one reference. Without a problem the
 * plan does nothing. */
tenon_status tn_plan_create(const tn_request *request, tenon_plan **out);

/* The second half of tn_plan_create, for an existing plan. */
tenon_status tn_plan_record(tenon_plan *plan, const tn_request *request);

#endif
