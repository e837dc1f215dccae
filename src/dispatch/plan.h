/* Calls and plans: what an operation's entry hands to dispatch. */
#ifndef TN_DISPATCH_PLAN_H
#define TN_DISPATCH_PLAN_H

#include "dispatch/solver.h"
#include "runtime/memory.h"

#include <tenon/plan.h>

#include <stdatomic.h>

#define TN_MAX_OPERANDS 16
#define TN_MAX_SCALARS  16

typedef enum tn_role {
    TN_INPUT,           /* must not overlap an output */
    TN_INPUT_OR_SAME,   /* may be an output, element by element */
    TN_OUTPUT,          /* there may be several, which must not overlap one another */
    TN_OPTIONAL_OUTPUT, /* the same, but may be absent */
    TN_OWN_OUTPUT       /* the same, but not even a TN_INPUT_OR_SAME may be it */
} tn_role;

/* An operand by its name in the public header. */
typedef struct tn_argument {
    const char *name;
    const tenon_tensor *view; /* NULL where absent */
    tn_role role;
} tn_argument;

struct tn_operation;

/* A call of an operation. */
typedef struct tn_call {
    const char *operation; /* "tenon_gemm" */
    const struct tn_operation *described;
    tenon_context *context;
    const void *params; /* the parameters, or the defaults */
    tn_argument operands[TN_MAX_OPERANDS];
    uint32_t operand_count;
    double scalars[TN_MAX_SCALARS];
    /* The views as given; preparing a call drops those that it does not read from `operands`. */
    const tenon_tensor *given[TN_MAX_OPERANDS];
} tn_call;

/* Whether `size` is that of the parameter struct, and no flag is set beyond those known. */
tenon_status tn_params_check(const char *operation, uint32_t size, size_t known_size,
                             uint32_t flags, uint32_t known_flags);

/* Refuses a reserved parameter that is set, and a value beyond the last one of an enumeration. */
tenon_status tn_reserved_check(const char *operation, uint32_t reserved);
tenon_status tn_kind_check(const char *operation, const char *parameter, uint32_t kind,
                           uint32_t last, const char *type);

/* The arguments of every call that makes a plan; sets *plan to NULL. */
tenon_status tn_plan_check(const char *operation, const tenon_context *context, tenon_plan **plan);

/* Refuses malformed views, an output that is absent, and one that overlaps itself. */
tenon_status tn_call_check_views(const tn_call *call);

/* Each operand's memory must hold its view, and the outputs must be apart from all else. Operands
 * without a view are passed over. tn_call_run and tn_call_plan do this, too. */
tenon_status tn_call_check_memory(const tn_call *call, tenon_context *context);

bool tn_is_output(tn_role role);

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
    const char *operation;
    char name[TN_SOLVER_NAME_SIZE];
    tn_recording recording;
    /* Of a plan of the caller's own: */
    tn_planned operands[TN_MAX_OPERANDS];
    uint32_t operand_count, kept_count;
    double scalars[TN_MAX_SCALARS];
    void *kept; /* what the memory of kept operands belongs to */
    void (*release_kept)(void *object);
    const struct tn_operation *described;
    void *params; /* a copy of the call's, without a solver */
    /* Of either; NULL where the output is empty. */
    tn_problem *problem;
    /* Of a plan in the table: */
    const tn_family *family;
    uint64_t hash;
    tenon_plan *next_in_bucket, *newer, *older;
};

/* Selects and records. The result has one reference. A NULL problem gives a plan that does nothing.
 * The call is what measuring needs, where it is asked for; NULL: nothing is measured. */
tenon_status tn_plan_create(const char *operation, tenon_context *context, const tn_family *family,
                            const tn_problem *problem, const tn_call *call, tenon_plan **out);

/* The second half of it, for a plan that is there. */
tenon_status tn_plan_record(tenon_plan *plan, const tn_family *family, const tn_problem *problem,
                            const tn_call *call);

/* The table of the plans of immediate calls: bounded, the least recently used one goes first. */
#define TN_PLAN_TABLE_CAPACITY 4096
#define TN_PLAN_TABLE_BUCKETS  8192
typedef struct tn_plan_table {
    tn_mutex lock;
    uint32_t count;
    tenon_plan *newest, *oldest;
    tenon_plan *buckets[TN_PLAN_TABLE_BUCKETS];
} tn_plan_table;

void tn_plan_table_init(tn_plan_table *table);
void tn_plan_table_destroy(tn_plan_table *table);

/* Finds the plan of a problem or makes it; the caller drops the reference that it gets. */
tenon_status tn_plan_table_get(const char *operation, tenon_context *context,
                               const tn_family *family, const tn_problem *problem,
                               const tn_call *call, tenon_plan **out);

/* Of the line that repeats a failure. */
#define TN_REPEAT_SIZE 2048

/* Is told of each choice before it is recorded, the outermost operation's first; NULL where none
 * serves. The call is NULL where an operation asks for another. */
typedef void (*tn_choice_listener)(void *user, const tn_family *family, const tn_problem *problem,
                                   const tn_call *call, const tn_choice *choice);

/* What dispatch keeps in a context. */
typedef struct tn_checked_variant {
    char *key;
    uint64_t paths; /* that were found right; see tn_family */
    bool right;     /* a variant that is wrong on one path is barred on all */
    char why[256];
} tn_checked_variant;

typedef struct tn_preparer tn_preparer; /* prepare.h */

typedef struct tn_searched {
    struct tn_tuned *outcomes;
    uint32_t count;
} tn_searched;

typedef struct tn_dispatch {
    tn_plan_table plans;
    tn_preparer *preparer;       /* NULL until something is made later; under the lock below */
    tn_choice_listener listener; /* NULL: none; set before plans are made */
    void *listener_user;
    tn_mutex checked_lock;
    tn_checked_variant *checked;
    uint32_t checked_count, checked_capacity;
    /* Under the same lock: the names of stored measurements, by their first 64 bits, where they can
     * be listed. */
    uint64_t *tuned;
    uint32_t tuned_count, tuned_capacity;
    bool knows_tuned, lists_tuned;
    /* And what `tenon tune` has found, where a call without an outcome has asked for a like one. */
    tn_searched searched;
    bool knows_searched;
    /* Of a validation context: whose problems the self-check at hand runs, and which paths they
     * have taken. */
    const tn_family *checking;
    const tn_choice *choice; /* of that family, in the place of what would be chosen */
    uint64_t paths;
    /* Of a validation context: how to repeat the self-check that failed last; "" where its family
     * does not say. */
    char repeat[TN_REPEAT_SIZE];
} tn_dispatch;

/* Writes the call in the words of `tenon check` (check/case.h), by its family's registry. */
void tn_call_text(const tn_call *call, char text[TN_REPEAT_SIZE]);

/* tn_select, which may measure for the call (NULL: it does not). */
tenon_status tn_select_for(const char *operation, tenon_context *context, const tn_family *family,
                           const tn_problem *problem, const tn_call *call, tn_choice *choice);

/* NULL without memory. */
tn_dispatch *tn_dispatch_of(tenon_context *context);

#endif
