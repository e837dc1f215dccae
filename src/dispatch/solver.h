/*
 * What dispatch knows of operations: a family (an operation) has solvers (ways to do it); a problem
 * says what is wanted.
 *
 * Dispatch treats a problem as bytes to hash and compare; only its family reads beyond the header.
 * So problems are zeroed before they are filled, and hold what the launches depend on and nothing
 * else: offsets and scalars are given at each run.
 */
#ifndef TN_DISPATCH_SOLVER_H
#define TN_DISPATCH_SOLVER_H

#include "base/platform.h"
#include "runtime/probe/capability.h"
#include "runtime/context/context.h"
#include "runtime/queue/frame.h"
#include "runtime/queue/launch.h"

#include <string.h>

#define TN_MAX_PARAMETERS   10
#define TN_SOLVER_NAME_SIZE 128
#define TN_OPTIONS_SIZE     512

/* A tuning parameter, and the values that make sense at all. */
typedef struct tn_parameter {
    const char *name;
    int32_t low, high;
} tn_parameter;

/* The head of every family's problem. */
typedef struct tn_problem {
    uint64_t size;                            /* bytes of the whole problem, a multiple of 8 */
    uint64_t workspace_limit;                 /* bytes */
    int32_t forced;                           /* index in the family's table, or -1 */
    int32_t forced_values[TN_MAX_PARAMETERS]; /* 0: the default */
    int32_t reserved;
} tn_problem;

typedef struct tn_solver tn_solver;

/* The time of what is never chosen by estimate, though it may be by measurement. */
#define TN_NO_ESTIMATE 1e30

/* What a choice goes by: what was asked for or is estimated, what was measured for the call, or for
 * one like it. */
typedef enum tn_basis { TN_BY_ESTIMATE, TN_BY_MEASUREMENT, TN_BY_NEAREST } tn_basis;

/* What a solver would do for a problem: its configuration. */
#define TN_LAYOUT_WORDS 240
typedef struct tn_choice {
    const tn_solver *solver;
    /* Only the time counts, and whether it can serve: the options need not be written. */
    bool is_estimate;
    /* Nothing else serves: it is checked though processes have ended while it was, since they may
     * have been killed. */
    bool is_last_resort;
    int32_t values[TN_MAX_PARAMETERS]; /* of its parameters */
    uint64_t workspace;                /* bytes */
    /* Nanoseconds that it should take; compared among the solvers of one family only. */
    double time;
    /* What of it was added as work (tn_choice_add); the rest is the time of other operations that
     * it asks. */
    tn_work_parts parts;
    /* Why it is never chosen, though it can serve where it is forced; NULL where it may be. */
    const char *never_chosen;
    /* Why the values do not go together; NULL where they do. */
    const char *misfit;
    tn_basis basis;
    /* What the compiler is told, which is what makes a kernel variant; checked once for a device.
     */
    char options[TN_OPTIONS_SIZE];
    /* The solver's own, from configuring to recording. */
    uint64_t layout[TN_LAYOUT_WORDS];
} tn_choice;

/* The layout of a choice as a solver's struct. */
#define TN_LAYOUT(type, choice)                                                                    \
    ((void)sizeof(char[sizeof(type) <= TN_LAYOUT_WORDS * 8 ? 1 : -1]), (type *)(choice)->layout)

struct tn_solver {
    const char *name;
    /* Which problems it can do, on which devices; `tenon solvers` prints it and docs/solvers.md has
     * it. */
    const char *serves;
    /* The memory that it needs beyond its operands; NULL: none. */
    const char *needs;
    /* The sizes of its awkward cases, in terms of its parameters (check/awkward.h); NULL where the
     * family's usual ones do. */
    const char *awkward;
    /* Sums of small integers are not exact, as every other solver's are: it divides on the way. */
    bool inexact;
    const tn_parameter *parameters;
    uint32_t parameter_count;
    /* Tells solvers apart that share the functions below. */
    int32_t variant;
    /* Fills in a choice of this solver, which is zeroed but for the solver and the values that are
     * forced. Returns why it cannot serve the problem on this device; NULL where it can. */
    const char *(*configure)(tenon_context *context, const tn_problem *problem, tn_choice *choice);
    /* Records the launches of a choice that was configured for the problem. */
    tenon_status (*launch)(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice);
};

/* Configures a choice whose solver and forced values are given, all else is zeroed first. Returns
 * why the solver cannot serve, or NULL. */
const char *tn_configure(tenon_context *context, const tn_problem *problem, tn_choice *choice);

/* The compiler's options of a choice: those that every kernel gets, and those of `format`. */
void tn_choice_options(tenon_context *context, tn_choice *choice, const char *format, ...)
    TN_PRINTF(3, 4);

/* Adds the time of work to a choice's. */
static inline void tn_choice_add(const tenon_context *context, tn_choice *choice,
                                 const tn_work *work)
{
    const tn_work_parts parts = tn_work_parts_of(&context->device.model, work);
    choice->time += parts.total;
    tn_work_parts_add(&choice->parts, &parts);
}

/* Whether a choice takes less time than another of the solver; where memory makes both as long, it
 * has less to compute. */
static inline bool tn_choice_beats(const tn_choice *choice, const tn_choice *other)
{
    return choice->time < other->time ||
           (choice->time <= other->time && choice->parts.computing < other->parts.computing);
}

/* Forgets what was added. */
static inline void tn_choice_reset_time(tn_choice *choice)
{
    choice->time = 0;
    choice->parts = (tn_work_parts){0};
}

/* Records a choice, and the workspace that it needs. */
tenon_status tn_choice_record(const char *caller, tn_recording *recording,
                              const tn_problem *problem, const tn_choice *choice);

/* Whether it is that solver, or a copy of it, as tests make. */
static inline bool tn_is_solver(const tn_solver *solver, const tn_solver *which)
{
    return strcmp(solver->name, which->name) == 0;
}

struct tn_case;

typedef bool tn_awkward_function(const tn_problem *problem, const tn_choice *choice,
                                 uint32_t number, struct tn_case *c);

/* What dispatch calls in the layers above it: dispatch/operation.h. */
typedef struct tn_registry tn_registry;

typedef struct tn_family {
    const char *name;
    const tn_registry *registry; /* TN_SOLVERS has it; NULL where self_check is given */
    const tn_solver *const *solvers;
    uint32_t solver_count;
    /* The awkward cases that a choice is checked on, derived from the problem at hand: one by its
     * number, into `c`, which is zeroed; false past the last. */
    tn_awkward_function *awkward;
    /* Replaces the registry's check, in the validation context that `stream` belongs to: for
     * tests, whose families have no operation. NULL elsewhere. */
    tenon_status (*self_check)(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256]);
    /* What a problem asks of a build by run-time arguments other than sizes and strides: one bit
     * for each value of each of them, so that bias and no bias are two. A verdict on a variant
     * holds for the bits that its self-check ran, which are at least those of the problem at hand.
     * NULL where a build does one thing. */
    uint64_t (*paths)(const tn_problem *problem);
} tn_family;

/* The registry that the library's families name, defined in ops/registry.c. No function of dispatch
 * or below names it: they reach it through a family. */
extern const tn_registry tn_library_registry;

/* The solvers of a family with their registry, and the parameters of a solver, with their number.
 */
#define TN_SOLVERS(list)                                                                           \
    .registry = &tn_library_registry, .solvers = list, .solver_count = sizeof(list) / sizeof *(list)
#define TN_PARAMETERS(list, count) .parameters = list, .parameter_count = count

/* The bits of flags that are either set or not: `mask` has those that count, below bit 32. */
static inline uint64_t tn_paths_of_flags(uint64_t flags, uint64_t mask)
{
    return (flags & mask) | (~flags & mask) << 32;
}

/* Writes "family/solver:name1value1,…". Returns `text`. */
char *tn_solver_name(const tn_family *family, const tn_choice *choice,
                     char text[TN_SOLVER_NAME_SIZE]);

/* Reads such a name into the problem's head; NULL leaves the choice open. */
tenon_status tn_solver_force(const char *caller, const tn_family *family, const char *name,
                             tn_problem *problem);

/* The solver of such a name, with parameters or without; NULL where it is none of the family's. */
const tn_solver *tn_solver_named(const tn_family *family, const char *name);

/* Returns the time in nanoseconds that a child's problem is estimated to take, within the limit of
 * workspace that the problem states; infinite if no solver may be selected. */
double tn_problem_time(tenon_context *context, const tn_family *family, const tn_problem *problem);
/* Records a child of a compound operation: selects a solver for its problem, within the limit of
 * workspace that the problem states, and records its launches in `frame`. */
tenon_status tn_child_record(const char *caller, tn_recording *recording, tn_frame *frame,
                             const tn_family *family, const tn_problem *problem);

#endif
