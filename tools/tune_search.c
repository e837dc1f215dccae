#include "tune_search.h"

#include "dispatch/measure.h"
#include "dispatch/self_check.h"
#include "dispatch/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH    8
#define HOPELESS 3.0 /* times the estimate of the fastest so far */
/* The largest number of searches for neighbors. */
#define ROUNDS 6

/* The search for the solver of one call. */
typedef struct hunt {
    const tune_search *search;
    const tn_case *c;
    tune_result *result;
    bool is_heard;
    const tn_family *family;
    const tn_problem *problem;
    const tn_call *call;
    char key[TN_TUNING_KEY_SIZE];
    bool was_searched;               /* state of the stored result */
    char found[TN_SOLVER_NAME_SIZE]; /* result of a search that was cut */
    /* The first one is the fastest so far. */
    tn_choice *batch[BATCH];
    uint32_t count;
} hunt;

typedef struct candidate {
    const char *name;
    double estimate;
} candidate;

static bool is_over(const hunt *h)
{
    return h->search->is_over(h->search->user);
}

static void tell(const hunt *h)
{
    h->search->progress(h->search->user, h->result);
}

/* Returns the choice with a name, or NULL if its parameters are inconsistent or may not be chosen.
 */
static tn_choice *choice_of(const hunt *h, const char *name)
{
    tn_problem forced = {.forced = -1};
    if (tn_solver_force("tenon tune", h->family, name, &forced) != TENON_OK || forced.forced < 0)
        return NULL;
    tn_choice *choice = calloc(1, sizeof *choice);
    if (choice == NULL)
        return NULL;
    choice->solver = h->family->solvers[forced.forced];
    memcpy(choice->values, forced.forced_values, sizeof choice->values);
    if (tn_configure(h->search->context, h->problem, choice) == NULL && choice->misfit == NULL &&
        choice->never_chosen == NULL && choice->workspace <= h->problem->workspace_limit)
        return choice;
    free(choice);
    return NULL;
}

static bool is_right(const hunt *h, const tn_choice *choice)
{
    tn_verdict verdict;
    char why[256];
    const tn_request request = {"tenon tune", h->search->context, h->family, h->problem, h->call};
    return tn_self_check(&request, choice, &verdict, why) == TENON_OK &&
           verdict == TN_VERDICT_RIGHT;
}

static void swap(hunt *h, uint32_t i, uint32_t j)
{
    tn_choice *choice = h->batch[i];
    h->batch[i] = h->batch[j];
    h->batch[j] = choice;
}

/* Measures the batch and keeps only the fastest. Returns false on failure. */
static bool race(hunt *h)
{
    double times[BATCH];
    uint32_t best = 0;
    if (h->count < 2)
        return true;
    if (tn_measure(h->search->context, h->problem, h->call, h->batch, h->count, times) != TENON_OK)
        return false;
    for (uint32_t i = 1; i < h->count; i++)
        best = times[i] < times[best] ? i : best;
    if (!(times[best] < (double)INFINITY)) {
        tn_fail(TENON_ERROR_OPENCL, "tenon tune: no candidate can be run");
        return false;
    }
    h->result->measured += h->count - (h->result->measured > 0);
    h->result->fastest_time = times[best];
    swap(h, 0, best);
    while (h->count > 1)
        free(h->batch[--h->count]);
    tn_solver_name(h->family, h->batch[0], h->result->fastest);
    tell(h);
    return true;
}

static int by_estimate(const void *a, const void *b)
{
    const double x = ((const candidate *)a)->estimate, y = ((const candidate *)b)->estimate;
    return x < y ? -1 : x > y;
}

static bool is_hopeless(const hunt *h, const candidate *c)
{
    return c->estimate > HOPELESS * h->batch[0]->time;
}

/* Adds a candidate to the batch, unless its estimate is hopeless or its self-check fails. */
static bool enter(hunt *h, const candidate *c)
{
    if (is_hopeless(h, c)) {
        h->result->left_out++;
        return true;
    }
    tn_choice *choice = choice_of(h, c->name);
    if (choice == NULL)
        return true;
    if (!is_right(h, choice)) {
        h->result->barred++;
        free(choice);
        return true;
    }
    h->batch[h->count++] = choice;
    tell(h);
    return h->count < BATCH || race(h);
}

/* Lists the names of the space from `first` on, the lowest estimate first. Returns the number of
 * valid ones. */
static uint32_t sort(const hunt *h, uint32_t first, candidate list[TN_MAX_POINTS])
{
    uint32_t count = 0;
    for (uint32_t i = first; i < h->search->space->count; i++) {
        tn_choice *choice = choice_of(h, h->search->space->names[i]);
        if (choice != NULL)
            list[count++] = (candidate){h->search->space->names[i], choice->time};
        free(choice);
    }
    qsort(list, count, sizeof *list, by_estimate);
    return count;
}

/* Builds the candidates of the next race in advance. */
static void build_ahead(const hunt *h, const candidate *list, uint32_t count)
{
    const char *names[BATCH];
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < count && i < BATCH; i++)
        if (!is_hopeless(h, &list[i]))
            names[wanted++] = list[i].name;
    h->result->ahead += tune_ahead_build(&h->search->ahead, h->c, names, wanted);
}

/* Checks and measures the names of the space from `first` on. Returns false if measuring failed. */
static bool enter_all(hunt *h, uint32_t first)
{
    candidate list[TN_MAX_POINTS];
    const uint32_t count = sort(h, first, list);
    for (uint32_t i = 0; i < count && !is_over(h); i++) {
        if (i % BATCH == 0)
            build_ahead(h, &list[i], count - i);
        if (!enter(h, &list[i]))
            return false;
    }
    return race(h);
}

/* Runs the search. The first name of the space is the choice by estimate, which is already in the
 * batch. */
static bool hunt_all(hunt *h)
{
    char fastest[TN_SOLVER_NAME_SIZE] = "";
    tn_search_space *space = h->search->space;
    uint32_t first = 1;
    tn_search_space_add_shipped(space, h->c);
    bool goes_on = enter_all(h, first);
    for (int i = 0; goes_on && i < ROUNDS && !is_over(h); i++) {
        if (strcmp(fastest, h->result->fastest) == 0)
            break;
        snprintf(fastest, sizeof fastest, "%s", h->result->fastest);
        first = space->count;
        tn_search_space_add_neighbors(space, h->c, fastest);
        goes_on = enter_all(h, first);
    }
    return goes_on;
}

/* Measures the fastest once more against the choice by estimate, because the smallest of many
 * medians is low by chance. */
static bool decide(hunt *h)
{
    tune_result *r = h->result;
    double times[2];
    tn_choice *estimated = choice_of(h, r->estimated);
    if (estimated == NULL)
        return false;
    tn_choice *two[] = {h->batch[0], estimated};
    const uint32_t count = strcmp(r->fastest, r->estimated) == 0 ? 1 : 2;
    const bool measured =
        tn_measure(h->search->context, h->problem, h->call, two, count, times) == TENON_OK;
    free(estimated);
    if (!measured)
        return false;
    r->fastest_time = times[0];
    r->estimated_time = times[count - 1];
    if (r->estimated_time <= r->fastest_time) {
        r->fastest_time = r->estimated_time;
        snprintf(r->fastest, sizeof r->fastest, "%s", r->estimated);
    }
    return r->fastest_time < (double)INFINITY;
}

static void keep(const hunt *h)
{
    const tune_result *r = h->result;
    tn_tuned tuned = {.nanoseconds = r->fastest_time,
                      .candidates = r->measured,
                      .is_searched = r->end == TUNE_DONE};
    snprintf(tuned.solver, sizeof tuned.solver, "%s", r->fastest);
    tn_case_text(h->c, tuned.call);
    if (r->end == TUNE_DONE || !h->was_searched)
        tn_tuning_put(h->search->context, h->key, &tuned);
}

static bool begin(hunt *h, const tn_choice *choice)
{
    tn_choice *first = malloc(sizeof *first);
    if (first == NULL) {
        tn_fail(TENON_ERROR_OUT_OF_MEMORY, "tenon tune: out of memory");
        return false;
    }
    *first = *choice;
    h->batch[h->count++] = first;
    tn_solver_name(h->family, first, h->result->estimated);
    snprintf(h->result->fastest, sizeof h->result->fastest, "%s", h->result->estimated);
    h->search->space->count = 0;
    tn_search_space_add(h->search->space, h->result->estimated);
    if (h->found[0] != '\0')
        tn_search_space_add(h->search->space, h->found);
    return true;
}

/* Searches all candidates. Without other candidates, the choice by estimate is the fastest of one.
 */
static tune_end search_all(hunt *h, const tn_choice *choice)
{
    tune_end end = TUNE_FAILED;
    tune_result *r = h->result;
    if (begin(h, choice) && hunt_all(h)) {
        const bool is_cut = is_over(h);
        end = is_cut && r->measured == 0 ? TUNE_LEFT : is_cut ? TUNE_CUT : TUNE_DONE;
        r->measured += r->measured == 0;
        if (end != TUNE_LEFT && !decide(h))
            end = TUNE_FAILED;
    }
    while (h->count > 0)
        free(h->batch[--h->count]);
    return end;
}

/* Returns true if the call is already tuned. The result of a search that was cut is used as a
 * candidate. */
static bool was_tuned(hunt *h)
{
    tn_tuned tuned;
    if (!tn_tuning_get(h->search->context, h->key, &tuned))
        return false;
    h->was_searched = tuned.is_searched;
    if (!tuned.is_searched)
        snprintf(h->found, sizeof h->found, "%s", tuned.solver);
    if (!tuned.is_searched || h->search->is_forced)
        return false;
    snprintf(h->result->fastest, sizeof h->result->fastest, "%s", tuned.solver);
    h->result->fastest_time = tuned.nanoseconds;
    h->result->measured = tuned.candidates;
    return true;
}

static void say_why(tune_result *result)
{
    snprintf(result->why, sizeof result->why, "%s", tenon_last_error());
}

/* Called when the plan of the call is being made, which gives its problem. */
static void hear(void *user, const tn_request *r, const tn_choice *choice)
{
    hunt *h = user;
    if (h->is_heard || r->call == NULL || choice == NULL)
        return;
    h->is_heard = true;
    h->family = r->family;
    h->problem = r->problem;
    h->call = r->call;
    if (!tn_tuning_name(r->family, r->problem, h->key))
        return;
    h->result->end = was_tuned(h)               ? TUNE_BEFORE
                     : !tn_can_measure(r->call) ? TUNE_BY_VALUE
                     : is_over(h)               ? TUNE_LEFT
                                                : search_all(h, choice);
    if (h->result->end == TUNE_DONE || h->result->end == TUNE_CUT)
        keep(h);
    else if (h->result->end == TUNE_FAILED)
        say_why(h->result);
}

void tune_call(const tune_search *search, const tn_case *c, tune_result *result)
{
    hunt h = {.search = search, .c = c, .result = result};
    tn_dispatch *dispatch = tn_dispatch_of(search->context);
    tenon_plan *plan = NULL;
    *result = (tune_result){.end = TUNE_FAILED};
    snprintf(result->why, sizeof result->why, "%s", "no solver to choose");
    if (dispatch == NULL)
        return;
    dispatch->listener = hear;
    dispatch->listener_user = &h;
    const tenon_status status = tn_case_plan(search->context, c, NULL, &plan);
    dispatch->listener = NULL;
    if (status != TENON_OK) {
        result->end = TUNE_FAILED;
        say_why(result);
    }
    tenon_plan_release(plan);
}

static void build(void *user, const tn_request *r, const tn_choice *choice)
{
    tenon_context *context = user;
    double nanoseconds;
    if (r->call == NULL || choice == NULL)
        return;
    tn_choice copy = *choice, *const one = &copy;
    (void)tn_measure(context, r->problem, r->call, &one, 1, &nanoseconds);
}

tenon_status tune_build(tenon_context *context, const tn_case *c, const char *names)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    tenon_status status = TENON_OK;
    if (dispatch == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "tenon tune: out of memory");
    dispatch->listener = build;
    dispatch->listener_user = context;
    while (*(names += strspn(names, " ")) != '\0') {
        char name[TN_SOLVER_NAME_SIZE];
        tenon_plan *plan = NULL;
        const size_t length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        const tenon_status made = tn_case_plan(context, c, name, &plan);
        tenon_plan_release(plan);
        status = made != TENON_OK ? made : status;
        names += length;
    }
    dispatch->listener = NULL;
    return status;
}
