/* tenon explain: lists the candidate solvers for a call, the chosen one, and the reason. */
#include "command.h"

#include "call_words.h"
#include "targets.h"
#include "check/case.h"
#include "dispatch/alternatives.h"
#include "dispatch/select.h"
#include "dispatch/state.h"
#include "runtime/probe/constants.h"
#include "runtime/context/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct explanation {
    tenon_context *context;
    bool is_done; /* true once a choice has been explained; nested choices of its launches are not
                     explained */
} explanation;

/* Returns the name of the largest part of the estimate. */
static const char *bound_by(const tn_choice *choice)
{
    const tn_work_parts *parts = &choice->parts;
    const double others = choice->time - parts->total;
    if (choice->time >= TN_NO_ESTIMATE)
        return "unknown";
    const double most = fmax(fmax(parts->launching, others), fmax(parts->computing, parts->memory));
    return most == others             ? "others"
           : most == parts->launching ? "launch"
           : most == parts->computing ? "compute"
                                      : "memory";
}

static void print_heading(void)
{
    printf("  %11s %8s %9s %9s %9s %8s %7s %7s  %s\n", "estimate us", "launches", "launch us",
           "comp. us", "memory us", "groups", "rounds", "most", "candidate");
}

static void print_count(const char *format, int width, double count)
{
    if (count > 0)
        printf(format, width, count);
    else
        printf(" %*s", width, "-");
}

static void print_choice(const tn_choice *choice, const char *name, bool is_chosen)
{
    const tn_work_parts *parts = &choice->parts;
    const double time = choice->time < TN_NO_ESTIMATE ? choice->time / 1e3 : 0;
    printf("%c", is_chosen ? '*' : ' ');
    print_count(" %*.1f", 11, time);
    print_count(" %*.0f", 8, parts->launches);
    printf(" %9.1f %9.1f %9.1f", parts->launching / 1e3, parts->computing / 1e3,
           parts->memory / 1e3);
    print_count(" %*.0f", 8, parts->groups);
    print_count(" %*.2f", 7, parts->rounds);
    printf(" %7s  %s\n", bound_by(choice), name);
}

static void print_candidate(const explanation *e, const tn_family *family,
                            const tn_problem *problem, const tn_solver *solver, const char *chosen)
{
    char name[TN_SOLVER_NAME_SIZE];
    tn_choice choice = {.solver = solver};
    tn_configure(e->context, problem, &choice);
    tn_solver_name(family, &choice, name);
    print_choice(&choice, name, strcmp(name, chosen) == 0);
}

/* Returns true if the solver of a choice gets the same parameters when it is chosen automatically.
 */
static bool is_usual(const explanation *e, const tn_family *family, const tn_problem *problem,
                     const tn_choice *chosen, const char *wanted)
{
    char name[TN_SOLVER_NAME_SIZE];
    tn_choice choice = {.solver = chosen->solver};
    return tn_configure(e->context, problem, &choice) == NULL && choice.never_chosen == NULL &&
           strcmp(tn_solver_name(family, &choice, name), wanted) == 0;
}

static void print_conclusion(const tn_problem *problem, const tn_candidate *first,
                             const tn_choice *choice, const char *chosen)
{
    if (choice == NULL)
        printf("chosen: none\n");
    else
        printf("chosen: %s: %s\n", chosen,
               problem->forced >= 0                 ? "requested"
               : choice->basis == TN_BY_MEASUREMENT ? "measured as the fastest"
               : choice->basis == TN_BY_NEAREST     ? "measured as the fastest for a similar call"
               : choice->solver == first->solver    ? "lowest estimate"
                                                    : "lowest estimate of those not barred");
}

static void explain(void *user, const tn_request *request, const tn_choice *choice)
{
    explanation *e = user;
    const tn_family *family = request->family;
    const tn_problem *problem = request->problem;
    tn_candidate list[TN_MAX_SOLVERS];
    char chosen[TN_SOLVER_NAME_SIZE] = "", advice[TN_ADVICE_SIZE];
    if (e->is_done)
        return;
    e->is_done = true;
    if (choice != NULL)
        tn_solver_name(family, choice, chosen);
    const uint32_t count = tn_candidates(e->context, family, problem, list);
    print_heading();
    if (choice != NULL && !is_usual(e, family, problem, choice, chosen))
        print_choice(choice, chosen, true);
    for (uint32_t i = 0; i < count; i++)
        print_candidate(e, family, problem, list[i].solver, chosen);
    if (count > 0 && list[count - 1].time >= TN_NO_ESTIMATE)
        printf("unknown: no estimate; such a solver is only chosen if it was measured as the "
               "fastest, is\nrequested, or no other solver supports the call\n");
    if (count < family->solver_count)
        printf("not chosen here:\n");
    for (uint32_t i = count; i < family->solver_count; i++)
        printf("  %s/%s: %s\n", family->name, list[i].solver->name, list[i].why_not);
    print_conclusion(problem, &list[0], choice, chosen);
    if (tn_layout_advice(request, advice))
        printf("%s\n", advice);
}

/* Prints the solvers barred during the call, with the reasons. */
static void print_log(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    (void)level;
    printf("%s\n", message);
}

static tenon_status open_context(const tn_device_kind *target, const char *device,
                                 tenon_context **context)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    params.device = device;
    params.log = print_log;
    return target != NULL ? tn_target_context(target, NULL, NULL, context)
                          : tenon_context_create(&params, context);
}

/* Prints the device, and the device kind whose numbers the estimates use. */
static void print_device(const tn_case *c, const tn_device *device)
{
    const tn_device_kind *kind = device->model.kind;
    printf("%s on %s, %.0f compute units, treated as %s: ", c->operation->name, device->info.name,
           device->model.units, kind->name);
    if (tn_device_kind_is_cpu(kind))
        printf("the device model's CPUs with vectors of %u f32\n", kind->lanes);
    else
        printf("a kind of the device model\n");
}

/* Prints the numbers of the device model: for a CPU those of its kind or measured ones, for a GPU
 * the bandwidth, if it was measured. */
static void print_constants(tenon_context *context)
{
    tn_constants_need(context);
    const tn_device_kind *kind = context->device.model.kind;
    if (kind == &context->constants.kind && !tn_device_kind_is_cpu(kind))
        printf("measured here: memory bandwidth %.0f bytes/ns\n", kind->memory.bandwidth);
    if (tn_device_kind_is_cpu(kind))
        printf(
            "%s: %.1f multiply-adds/ns per core (times %.2f with b in place if its rows are pages "
            "apart, times %.2f if they are not aligned); bandwidth in bytes/ns: memory %.1f, "
            "caches %.1f per core, of %.0f MiB\n",
            kind == &context->constants.kind ? "measured here" : "from the table of its kind",
            kind->rates.f32, kind->in_place.pages, kind->in_place.unaligned, kind->memory.bandwidth,
            kind->memory.cache, (double)context->device.model.cache_size / (1 << 20));
}

static int explain_case(const tn_device_kind *target, const char *device, const tn_case *c)
{
    explanation e = {NULL};
    tenon_plan *plan = NULL;
    const char *solver = strchr(c->solver, '/') != NULL ? c->solver : NULL;
    tenon_status status = open_context(target, device, &e.context);
    tn_dispatch *dispatch = status == TENON_OK ? tn_dispatch_of(e.context) : NULL;
    if (dispatch != NULL) {
        dispatch->listener = explain;
        dispatch->listener_user = &e;
        print_device(c, &e.context->device);
        print_constants(e.context);
        status = tn_case_plan(e.context, c, solver, &plan);
    }
    if (status == TENON_OK && !e.is_done)
        printf("chosen: %s\n", plan != NULL ? plan->name : "none");
    tenon_plan_release(plan);
    tenon_context_release(e.context);
    return status == TENON_OK ? EXIT_OK : report_failure("explain");
}

static int run(int argc, char **argv)
{
    const char *device = NULL, *target = NULL, *type = "f32";
    call_options call = {.seed = 1};
    command_line line;
    const tn_device_kind *kind;
    const command_option known[] = {
        {"dtype", OPTION_TEXT, &type, "TYPE", "type of MxNxK, and of T in views; default f32"},
        {"target", OPTION_TEXT, &target, "NAME",
         "a typical device of a kind that need not be installed: sm_90, gfx942, cpu_16 ...; "
         "nothing is built or checked"},
        {"device", OPTION_TEXT, &device, "SELECTOR", DEVICE_HELP},
        CALL_OPTIONS(&call, false),
        {NULL},
    };
    if (!command_line_read(&explain_command, argc, argv, known, UINT32_MAX, &line))
        return line.status;
    if (!target_named(&explain_command, target, &kind))
        return EXIT_USAGE;
    if (type_named(type) == TENON_DTYPE_INVALID)
        return command_line_wrong(&explain_command, "--dtype: unknown type \"%s\"", type);
    tn_case *c = malloc(sizeof *c);
    int code = EXIT_USAGE;
    if (c == NULL)
        fprintf(stderr, "tenon explain: out of memory\n");
    else if (read_call("tenon explain", &line, type, c) == TENON_OK)
        code = explain_case(kind, device, c);
    else
        fprintf(stderr, "%s\n", tenon_last_error());
    free(c);
    return code;
}

const command explain_command = {
    .name = "explain",
    .summary = "list the candidate solvers for a call with their estimates, and the choice",
    .run = run,
    .arguments = "OPERATION CALL ...",
    .details =
        "Prints a line for each solver that may be chosen, the lowest estimate first, with its\n"
        "parameters: the number of launches; the times of launching, computing and memory access\n"
        "(the longer of the last two counts); its work-groups, and the rounds they take with one\n"
        "per core (per core that shares local memory); the largest part of the estimate (others:\n"
        "nested operations; unknown: no estimate). Then come the solvers that are not chosen,\n"
        "with the reason. * marks the choice, which has passed its self-check; a solver that\n"
        "fails it is named. The last line names a layout of the operands in which the same call\n"
        "would take at most half of the time, if there is one.\n\n"
        "  CALL               in the syntax of \"tenon check\", for example\n"
        "                     conv x=f32:8x64x56x56 w=f32:64x64x3x3 y=f32:8x64x54x54;\n"
        "                     for gemm also MxNxK, for example gemm 512x49x4608; gemm/tiled\n"
        "                     requests a solver\n",
};
