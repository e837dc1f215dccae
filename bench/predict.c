#include "predict.h"

#include "device.h"
#include "options.h"
#include "report.h"
#include "session.h"

#include "device/kind.h"
#include "dispatch/plan.h"
#include "dispatch/state.h"
#include "runtime/context/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct prediction {
    bench_session *session;
    double time; /* of the case whose plan is made, in nanoseconds; negative: none yet */
    json_t *list;
    uint32_t left_out;
} prediction;

/* Records the model's estimate for the call itself, which includes nested operations. */
static void hear_choice(void *user, const tn_request *request, const tn_choice *choice)
{
    prediction *p = user;
    if (request->call != NULL && choice != NULL && p->time < 0 && choice->time < TN_NO_ESTIMATE)
        p->time = choice->time;
}

static void print_prediction(const bench_case *bench, double time)
{
    printf("%-34.34s %-5s %10.1f", bench->name, tenon_dtype_string(bench->dtype), time * 1e-3);
    if (bench->operations > 0)
        printf(" %9.1f GF", bench->operations / time);
    else
        printf(" %9.1f GB", bench->bytes / time);
    printf("  %.35s\n", bench->solver);
}

/* Makes the plan of a case, and records its estimate. Cases that need memory on a device, such as
 * packed weights and networks, are left out. */
static void predict(prediction *p, const bench_entry *e)
{
    bench_case bench = {.suite = e->suite->name, .dtype = e->dtype};
    e->suite->kind->name_of(e->suite, e->number, bench.name);
    p->time = -1;
    bench_forget_complaint();
    const bool made = e->suite->kind->make(p->session, e->suite, e->number, e->dtype, &bench);
    if (made && p->time > 0) {
        print_prediction(&bench, p->time);
        json_array_append_new(p->list,
                              json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:f, s:f, s:f}", "device",
                                        0, "suite", bench.suite, "case", bench.name, "dtype",
                                        tenon_dtype_string(e->dtype), "solver", bench.solver,
                                        "predicted", 1, "median_ns", p->time, "gflops",
                                        bench.operations / p->time, "gbps", bench.bytes / p->time));
    } else {
        if (made)
            fprintf(stderr, "tenon-bench: %s: the model has no estimate\n", bench.name);
        p->left_out++;
    }
    if (bench.destroy != NULL)
        bench.destroy(&bench);
}

/* Opens a context of the kind. The session has no streams. */
static bool open_target(bench_session *session, const tn_device_kind *kind, prediction *p)
{
    session->device.struct_size = sizeof session->device;
    if (!BENCH_WELL(tn_target_context(kind, NULL, NULL, &session->context)) ||
        !BENCH_WELL(tenon_context_device(session->context, &session->device)))
        return false;
    tn_dispatch *dispatch = tn_dispatch_of(session->context);
    if (dispatch == NULL)
        return false;
    dispatch->listener = hear_choice;
    dispatch->listener_user = p;
    return true;
}

static void predict_all(prediction *p, const bench_entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const bench_suite *suite = entries[i].suite;
        if (i == 0 || suite != entries[i - 1].suite)
            printf("\n%s: %s\n%-34s %-5s %10s %12s  %s\n", suite->name, suite->about, "case",
                   "type", "predicted us", "rate", "solver");
        predict(p, &entries[i]);
    }
    if (p->left_out > 0)
        fprintf(stderr,
                "tenon-bench: %u cases are left out, because they need a device or have no "
                "estimate\n",
                p->left_out);
}

/* Predicts the cases, and writes the file. Returns false if there is no prediction. */
static bool write_all(bench_session *session, const bench_options *o, const bench_entry *entries,
                      uint32_t count, int argc, char **argv, prediction *p)
{
    bench_file file = bench_file_begin(o, argc, argv);
    bool well = true;
    file.predicted = true;
    printf("predictions of the device model for a typical %s; nothing is measured\n", o->target);
    predict_all(p, entries, count);
    json_array_append_new(file.devices, bench_json_device(session));
    if (o->json != NULL && json_array_size(p->list) > 0)
        well = bench_json_write(
            o->json, bench_json_document(&file, true, json_incref(p->list),
                                         json_pack("{s:[], s:[]}", "ratios", "slowest")));
    well &= json_array_size(p->list) > 0;
    bench_file_end(&file);
    return well;
}

/* Returns the kind of device of --target. If there is none, prints the valid names to stderr and
 * returns NULL. */
static const tn_device_kind *target_of(const bench_options *o)
{
    const tn_device_kind *kind = o->target != NULL ? tn_device_kind_named(o->target) : NULL;
    char names[512] = "";
    size_t used = 0;
    if (kind != NULL)
        return kind;
    for (size_t i = 0; i < tn_device_kind_count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", tn_device_kinds[i].name);
    if (o->target == NULL)
        (void)command_line_wrong(&bench_predict_command, "--target NAME is missing, allowed:%s",
                                 names);
    else
        (void)command_line_wrong(&bench_predict_command,
                                 "--target: unknown target \"%s\", allowed:%s", o->target, names);
    return NULL;
}

static int run(int argc, char **argv)
{
    bench_options o;
    uint32_t count;
    int status;
    if (!bench_parse(&bench_predict_command, BENCH_OF_PREDICT, argc, argv, &o, &status))
        return status;
    const tn_device_kind *kind = target_of(&o);
    if (kind == NULL)
        return BENCH_WRONG_USE;
    if (o.suites == NULL && o.shapes == NULL)
        o.suites = tn_device_kind_is_cpu(kind) ? "gemm-cpu,conv-cpu,bandwidth-cpu" : "gpu";
    o.peers = "none";
    bench_session session = {.options = &o};
    prediction p = {.session = &session, .list = json_array()};
    bench_entry *entries = bench_entries_of(&o, &count);
    if (count == 0)
        bench_complain_no_case(&o);
    const bool well = count > 0 && entries != NULL && open_target(&session, kind, &p) &&
                      write_all(&session, &o, entries, count, argc, argv, &p);
    json_decref(p.list);
    bench_close_session(&session);
    free(entries);
    return well ? 0 : count == 0 ? BENCH_WRONG_USE : 1;
}

const command bench_predict_command = {
    .name = "predict",
    .summary = "print the device model's estimates for a kind of device; nothing is measured",
    .run = run,
    .arguments = "",
    .details = "The default suites are those that suit the kind.\n",
};
