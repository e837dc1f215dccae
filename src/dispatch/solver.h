/*
 * Families, solvers and problems. A family is the set of solvers of an operation; a problem
 * describes what is to be computed.
 *
 * Dispatch hashes and compares problems as bytes; only their family reads beyond the head. A
 * problem is therefore zeroed before it is filled in, and contains exactly what the launches
 * depend on. Offsets and scalars are not part of it; they are passed at each run.
 */
#ifndef TN_DISPATCH_SOLVER_H
#define TN_DISPATCH_SOLVER_H

#include "base/platform.h"
#include "runtime/probe/capability.h"
#include "runtime/context/context.h"
#include "runtime/queue/frame.h"
#include "runtime/queue/launch.h"

#define TN_MAX_PARAMETERS   10
#define TN_SOLVER_NAME_SIZE 128
#define TN_OPTIONS_SIZE     512

/* A tuning parameter and the range of its values. */
typedef struct tn_parameter {
    const char *name;
    int32_t low, high;
} tn_parameter;

/* The first members of every problem. */
typedef struct tn_problem {
    uint64_t size;                            /* size of the whole problem in bytes, a multiple of
                                               * 8 */
    uint64_t workspace_limit;                 /* bytes */
    int32_t forced;                           /* index in the family's table of a forced solver, or
                                               * -1 */
    int32_t forced_values[TN_MAX_PARAMETERS]; /* 0: the default */
    int32_t reserved;
} tn_problem;

/* Clears a problem of `size` bytes and sets its head. */
void tn_problem_begin(tn_problem *head, size_t size);

typedef struct tn_solver tn_solver;

/* The time of a solver that is never selected by estimate, only by measurement. */
#define TN_NO_ESTIMATE 1e30

/* Basis of a choice: an estimate or the caller's request, a measurement of the call, or
 * one of a similar call. */
typedef enum tn_basis { TN_BY_ESTIMATE, TN_BY_MEASUREMENT, TN_BY_NEAREST } tn_basis;

/* A solver configured for a problem. */
#define TN_LAYOUT_WORDS 240
typedef struct tn_choice {
    const tn_solver *solver;
    /* Only the time and the ability to serve are needed; the options may be left out. */
    bool is_estimate;
    /* No other solver serves, so it is checked even though processes have ended during its check;
     * they may have been killed. */
    bool is_last_resort;
    int32_t values[TN_MAX_PARAMETERS]; /* of the solver's parameters */
    uint64_t workspace;                /* bytes */
    /* Estimated nanoseconds; only comparable among the solvers of a family. */
    double time;
    /* The part of the time that was added as work (tn_choice_add). The rest is the time of
     * children. */
    tn_work_parts parts;
    /* Why it is never selected although it can serve when forced; NULL if it may be selected. */
    const char *never_chosen;
    /* Why the values are incompatible with each other; NULL if they are compatible. */
    const char *misfit;
    tn_basis basis;
    /* Build options, which define the kernel variant that is checked once per device. */
    char options[TN_OPTIONS_SIZE];
    /* The solver's own data, kept from configuration to recording. */
    uint64_t layout[TN_LAYOUT_WORDS];
} tn_choice;

/* The layout of a choice, cast to the solver's struct. */
#define TN_LAYOUT(type, choice)                                                                    \
    ((void)sizeof(char[sizeof(type) <= TN_LAYOUT_WORDS * 8 ? 1 : -1]), (type *)(choice)->layout)

struct tn_solver {
    const char *name;
    /* The problems and devices that it supports; printed by `tenon solvers` and in
     * docs/solvers.md. */
    const char *serves;
    /* Memory that it needs beyond its operands; NULL: none. */
    const char *needs;
    /* Sizes of its awkward cases in terms of its parameters (check/awkward.h); NULL for the
     * family's usual ones. */
    const char *awkward;
    /* True if it divides on the way, so that sums of small integers are not exact as with other
     * solvers. */
    bool inexact;
    const tn_parameter *parameters;
    uint32_t parameter_count;
    /* Distinguishes solvers that share the functions below. */
    int32_t variant;
    /* Fills in a choice, which is zeroed except for the solver and the forced values. Returns why
     * it cannot serve the problem on this device, or NULL. */
    const char *(*configure)(tenon_context *context, const tn_problem *problem, tn_choice *choice);
    /* Records the launches of a choice that was configured for the problem. */
    tenon_status (*launch)(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice);
    /* The solver of which a test has made this copy; otherwise NULL. */
    const tn_solver *copy_of;
};

/* Configures a choice from its solver and forced values; zeroes everything else first. Returns why
 * the solver cannot serve, or NULL. */
const char *tn_configure(tenon_context *context, const tn_problem *problem, tn_choice *choice);

/* Sets the build options of a choice: those of every kernel, and those of `format`. */
void tn_choice_options(tenon_context *context, tn_choice *choice, const char *format, ...)
    TN_PRINTF(3, 4);

/* Adds the time of `work` to a choice. */
static inline void tn_choice_add(const tenon_context *context, tn_choice *choice,
                                 const tn_work *work)
{
    const tn_work_parts parts = tn_work_parts_of(&context->device.model, work);
    choice->time += parts.total;
    tn_work_parts_add(&choice->parts, &parts);
}

/* Returns true if a choice takes less time than another one of the same solver. If memory makes
 * both equally long, the one with less computation wins. */
static inline bool tn_choice_beats(const tn_choice *choice, const tn_choice *other)
{
    return choice->time < other->time ||
           (choice->time <= other->time && choice->parts.computing < other->parts.computing);
}

/* Resets the time to zero. */
static inline void tn_choice_reset_time(tn_choice *choice)
{
    choice->time = 0;
    choice->parts = (tn_work_parts){0};
}

/* Records a choice and the workspace that it needs. */
tenon_status tn_choice_record(const char *caller, tn_recording *recording,
                              const tn_problem *problem, const tn_choice *choice);

/* Returns true for the solver itself or a copy of it. The names do not decide: solvers of different
 * families may share one. */
static inline bool tn_is_solver(const tn_solver *solver, const tn_solver *which)
{
    return solver == which || solver->copy_of == which;
}

struct tn_case;

typedef bool tn_awkward_function(const tn_problem *problem, const tn_choice *choice,
                                 uint32_t number, struct tn_case *c);

/* Functions of higher layers that dispatch calls: dispatch/operation.h. */
typedef struct tn_registry tn_registry;

typedef struct tn_family {
    const char *name;
    const tn_registry *registry; /* set by TN_SOLVERS; NULL if self_check is set */
    const tn_solver *const *solvers;
    uint32_t solver_count;
    /* Writes the awkward case with this number, derived from the problem, to `c`, which is zeroed.
     * A choice is checked on these cases. Returns false past the last one. */
    tn_awkward_function *awkward;
    /* Replaces the registry's check, in the validation context of `stream`. Only for tests, whose
     * families have no operation; otherwise NULL. */
    tenon_status (*self_check)(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256]);
    /* Returns the run-time branches of a build that a problem uses, other than sizes and strides:
     * one bit for each value of each argument, so bias and no bias are two bits. A verdict on a
     * variant holds for the bits that its self-check has run, which include those of the problem.
     * NULL if a build has only one path. */
    uint64_t (*paths)(const tn_problem *problem);
} tn_family;

/* The library's registry, defined in ops/registry.c. Dispatch and lower layers reach it only
 * through a family. */
extern const tn_registry tn_library_registry;

/* Initializers: a family's solvers with their registry, and a solver's parameters with their
 * count. */
#define TN_SOLVERS(list)                                                                           \
    .registry = &tn_library_registry, .solvers = list, .solver_count = sizeof(list) / sizeof *(list)
#define TN_PARAMETERS(list, count) .parameters = list, .parameter_count = count

/* Returns path bits for flags: one for each set flag of `mask` and one for each clear flag. `mask`
 * uses bits below 32. */
static inline uint64_t tn_paths_of_flags(uint64_t flags, uint64_t mask)
{
    return (flags & mask) | (~flags & mask) << 32;
}

/* Writes "family/solver:name1value1,...". Returns `text`. */
char *tn_solver_name(const tn_family *family, const tn_choice *choice,
                     char text[TN_SOLVER_NAME_SIZE]);

/* Parses such a name into the problem's head. NULL forces no solver. */
tenon_status tn_solver_force(const char *caller, const tn_family *family, const char *name,
                             tn_problem *problem);

/* Returns the solver of such a name, with or without parameters; NULL if the family has none. */
const tn_solver *tn_solver_named(const tn_family *family, const char *name);

/* Returns the time in nanoseconds that a child's problem is estimated to take, within the limit of
 * workspace that the problem states; infinite if no solver may be selected. */
double tn_problem_time(tenon_context *context, const tn_family *family, const tn_problem *problem);
/* Records a child of a compound operation: selects a solver for its problem, within the limit of
 * workspace that the problem states, and records its launches in `frame`. */
tenon_status tn_child_record(const char *caller, tn_recording *recording, tn_frame *frame,
                             const tn_family *family, const tn_problem *problem);

#endif
