#include "dispatch/prepare.h"

#include "dispatch/operation.h"
#include "dispatch/state.h"
#include "runtime/opencl/gate.h"
#include "runtime/context/process_end.h"

#include <stdlib.h>
#include <string.h>

/* A plan to create, with copies of everything that is needed. */
typedef struct plan_job {
    struct plan_job *next;
    tenon_plan *plan;
    tn_request request;
    uint64_t problem[TN_PROBLEM_SIZE / sizeof(uint64_t)];
    tn_call call;
    tenon_tensor views[TN_MAX_OPERANDS];
    _Alignas(double) unsigned char params[]; /* any parameter struct */
} plan_job;

/* The background thread of a context. Both hold a reference, since the thread may outlive the
 * context: it may release the last plan, and with it the context. */
struct tn_preparer {
    tn_preparer *next; /* list of all in the process */
    atomic_uint references;
    tn_mutex lock; /* guards the members below */
    tn_condition asked, made;
    tn_thread thread;
    bool is_ending;
    plan_job *first, **last;
    uint64_t asked_count, made_count;
};

static _Thread_local tenon_context *preparing;

bool tn_prepares(const tenon_context *context)
{
    return preparing == context;
}

/* Guards the list of all preparers of the process. */
static tn_mutex all_lock = TN_MUTEX_INIT;
static tn_preparer *all;
static tn_once once = TN_ONCE_INIT;

static void leave_all(const tn_preparer *p)
{
    tn_mutex_lock(&all_lock);
    tn_preparer **link = &all;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    tn_mutex_unlock(&all_lock);
}

static void drop(tn_preparer *p)
{
    if (atomic_fetch_sub(&p->references, 1) != 1)
        return;
    leave_all(p);
    tn_condition_destroy(&p->asked);
    tn_condition_destroy(&p->made);
    tn_mutex_destroy(&p->lock);
    free(p);
}

/* Returns true if only the queue holds the plan, so it is no longer needed. */
static bool is_dropped(const plan_job *l)
{
    return atomic_load(&l->plan->references) == 1;
}

static tenon_status prepare_record(const plan_job *l)
{
    return is_dropped(l) ? TENON_OK : tn_plan_record(l->plan, &l->request);
}

static void make(tn_preparer *p, plan_job *l)
{
    tenon_plan *plan = l->plan;
    const tenon_status status = prepare_record(l);
    char *message = status != TENON_OK ? tn_text_copy(tenon_last_error()) : NULL;
    tn_mutex_lock(&p->lock);
    plan->failure = status;
    plan->failure_cl = status != TENON_OK ? tenon_last_cl_error() : CL_SUCCESS;
    plan->message = message;
    atomic_store(&plan->is_pending, false);
    p->made_count++;
    tn_condition_broadcast(&p->made);
    tn_mutex_unlock(&p->lock);
    free(l);
    tenon_plan_release(plan); /* may release the context as well */
}

static void *work(void *data)
{
    tn_preparer *p = data;
    tn_mutex_lock(&p->lock);
    while (!p->is_ending) {
        plan_job *l = p->first;
        if (l == NULL) {
            tn_condition_wait(&p->asked, &p->lock);
            continue;
        }
        p->first = l->next;
        if (p->first == NULL)
            p->last = &p->first;
        tn_mutex_unlock(&p->lock);
        make(p, l);
        tn_mutex_lock(&p->lock);
    }
    tn_mutex_unlock(&p->lock);
    drop(p);
    return NULL;
}

/* Fails all waiting jobs because the process is ending. The caller holds the preparer's lock. */
static void cancel(tn_preparer *p, plan_job **cancelled)
{
    while (p->first != NULL) {
        plan_job *l = p->first;
        p->first = l->next;
        l->plan->failure = TENON_ERROR_PROCESS;
        l->plan->failure_cl = CL_SUCCESS;
        l->plan->message = tn_text_copy("the plan was not created, because the process is ending");
        atomic_store(&l->plan->is_pending, false);
        p->made_count++;
        l->next = *cancelled;
        *cancelled = l;
    }
    p->last = &p->first;
    tn_condition_broadcast(&p->made);
}

/* Called when the process ends. A plan in progress continues until it next uses the driver. */
static void cancel_all(void)
{
    plan_job *cancelled = NULL;
    tn_mutex_lock(&all_lock);
    for (tn_preparer *p = all; p != NULL; p = p->next) {
        tn_mutex_lock(&p->lock);
        cancel(p, &cancelled);
        tn_mutex_unlock(&p->lock);
    }
    tn_mutex_unlock(&all_lock);
    while (cancelled != NULL) {
        plan_job *l = cancelled;
        cancelled = l->next;
        tenon_plan_release(l->plan);
        free(l);
    }
}

static void enter_all(tn_preparer *p)
{
    tn_mutex_lock(&all_lock);
    p->next = all;
    all = p;
    tn_mutex_unlock(&all_lock);
}

static void register_end(void)
{
    tn_process_on_end(cancel_all);
}

static tn_preparer *create(void)
{
    tn_preparer *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    atomic_init(&p->references, 2);
    p->last = &p->first;
    if (tn_mutex_init(&p->lock)) {
        if (tn_condition_init(&p->asked)) {
            if (tn_condition_init(&p->made)) {
                enter_all(p);
                if (tn_thread_create(&p->thread, work, p))
                    return p;
                leave_all(p);
                tn_condition_destroy(&p->made);
            }
            tn_condition_destroy(&p->asked);
        }
        tn_mutex_destroy(&p->lock);
    }
    free(p);
    return NULL;
}

void tn_preparer_end(tn_preparer *p)
{
    if (p == NULL)
        return;
    tn_mutex_lock(&p->lock);
    p->is_ending = true;
    tn_condition_signal(&p->asked);
    tn_mutex_unlock(&p->lock);
    if (tn_thread_is_this(p->thread))
        tn_thread_detach(p->thread);
    else
        tn_thread_join(p->thread);
    drop(p);
}

/* Returns the context's preparer, created at first use. */
static tn_preparer *preparer_of(tenon_context *context)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    if (dispatch == NULL)
        return NULL;
    tn_once_run(&once, register_end);
    tn_mutex_lock(&dispatch->checked_lock);
    if (dispatch->preparer == NULL)
        dispatch->preparer = create();
    tn_preparer *p = dispatch->preparer;
    tn_mutex_unlock(&dispatch->checked_lock);
    return p;
}

static plan_job *copy(tenon_plan *plan, const tn_request *request)
{
    const tn_call *call = request->call;
    const size_t size = call->operation->params_size;
    plan_job *l = malloc(sizeof *l + size);
    if (l == NULL)
        return NULL;
    *l = (plan_job){.plan = plan, .request = *request, .call = *call};
    l->request.call = &l->call;
    if (request->problem != NULL) {
        memcpy(l->problem, request->problem, request->problem->size);
        l->request.problem = (const tn_problem *)l->problem;
    }
    memcpy(l->params, call->params, size);
    ((tn_params_head *)l->params)->solver = NULL; /* the problem names it */
    l->call.params = l->params;
    for (uint32_t i = 0; i < call->operand_count; i++) {
        l->views[i] = plan->operands[i].view;
        l->call.operands[i].view = call->operands[i].view != NULL ? &l->views[i] : NULL;
    }
    return l;
}

tenon_status tn_prepare_later(tenon_plan *plan, const tn_request *request)
{
    tn_preparer *p = preparer_of(plan->recording.context);
    plan_job *l = p != NULL ? copy(plan, request) : NULL;
    if (l == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY,
                       "%s: no memory to create a plan in the background", request->caller);
    atomic_store(&plan->is_pending, true);
    tenon_plan_retain(plan);
    tn_mutex_lock(&p->lock);
    *p->last = l;
    p->last = &l->next;
    p->asked_count++;
    tn_condition_signal(&p->asked);
    tn_mutex_unlock(&p->lock);
    return TENON_OK;
}

tenon_status tn_plan_await(const tenon_plan *plan)
{
    if (atomic_load_explicit(&plan->is_pending, memory_order_acquire)) {
        TN_TRY(tn_gate_check(plan->caller));
        tn_preparer *p = preparer_of(plan->recording.context);
        tn_mutex_lock(&p->lock);
        while (atomic_load(&plan->is_pending))
            tn_condition_wait(&p->made, &p->lock);
        tn_mutex_unlock(&p->lock);
    }
    if (plan->failure == TENON_OK)
        return TENON_OK;
    return tn_fail_cl(plan->failure, plan->failure_cl, "%s",
                      plan->message != NULL ? plan->message : "a plan could not be created");
}

TENON_API tenon_status tenon_prepare_begin(tenon_context *context)
{
    static const char caller[] = "tenon_prepare_begin";
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", caller);
    if (preparing != NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: tenon_prepare_begin was already called on this thread, for context %p",
                       caller, (void *)preparing);
    TN_TRY(tn_gate_check(caller));
    if (preparer_of(context) == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create a thread", caller);
    tenon_context_retain(context);
    tn_process_register_thread();
    preparing = context;
    return TENON_OK;
}

TENON_API tenon_status tenon_prepare_end(tenon_context *context)
{
    if (context == NULL || preparing != context)
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "tenon_prepare_end: context is %p, but this thread called tenon_prepare_begin for %p",
            (void *)context, (void *)preparing);
    preparing = NULL;
    tenon_context_release(context);
    return TENON_OK;
}

TENON_API tenon_status tenon_prepare_progress(tenon_context *context, uint64_t *made,
                                              uint64_t *asked)
{
    static const char caller[] = "tenon_prepare_progress";
    if (context == NULL || made == NULL || asked == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context"
                       : made == NULL  ? "made"
                                       : "asked");
    TN_TRY(tn_gate_check(caller));
    tn_preparer *p = preparer_of(context);
    if (p == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create a thread", caller);
    tn_mutex_lock(&p->lock);
    *made = p->made_count;
    *asked = p->asked_count;
    tn_mutex_unlock(&p->lock);
    return TENON_OK;
}

TENON_API tenon_status tenon_plan_wait(const tenon_plan *plan)
{
    if (plan == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "tenon_plan_wait: plan is NULL");
    return tn_plan_await(plan);
}
