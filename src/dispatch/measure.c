#include "dispatch/measure.h"

#include "dispatch/operation.h"
#include "runtime/memory/fill.h"
#include "runtime/queue/launch.h"
#include "runtime/program/program.h"
#include "runtime/queue/stream.h"
#include "runtime/context/validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURNS          7
#define LEAST_TURN     1e6 /* minimum nanoseconds of one turn of a choice */
#define MOST_RUNS      200 /* per turn */
#define HOPELESS       2.0 /* a choice this many times slower than the best is excluded */
#define TURNS_TO_JUDGE 2
/* Fill pattern: ordinary numbers in every type, none of them subnormal (1 or 0.0078). */
#define PATTERN 0x3c003c00u

/* Operands to measure on. Operands that share memory in the call share it here. */
typedef struct bench {
    tenon_stream *stream;
    tn_operand operands[TN_MAX_OPERANDS];
    tenon_memory made[TN_MAX_OPERANDS];
    uint32_t made_count;
    const tn_call *call;
} bench;

bool tn_can_measure(const tn_call *call)
{
    return call != NULL && call->operation != NULL &&
           (call->operation->fill_valid == NULL || call->operation->is_measurable);
}

static tenon_status make_operand(bench *b, const tenon_tensor *view, tn_operand *operand)
{
    const uint64_t needed = (tn_tensor_extent(view).end + 3) / 4 * 4,
                   bytes = needed > 0 ? needed : 4;
    tenon_memory memory;
    TN_TRY(tenon_memory_create(b->stream->context, bytes, &memory));
    b->made[b->made_count++] = memory;
    TN_TRY(tn_buffer_fill("measuring", b->stream, &memory, PATTERN, bytes));
    *operand = (tn_operand){memory, view->offset};
    return TENON_OK;
}

/* Returns the index of the first operand with the same memory. */
static uint32_t same_memory(const tn_call *call, uint32_t number)
{
    const tenon_memory *memory = &call->operands[number].view->memory;
    for (uint32_t i = 0; i < number && memory->kind != TENON_MEMORY_NONE; i++)
        if (call->operands[i].view != NULL && call->operands[i].view->memory.kind == memory->kind &&
            call->operands[i].view->memory.u.raw[0] == memory->u.raw[0] &&
            tn_tensor_extent(call->operands[i].view).end >=
                tn_tensor_extent(call->operands[number].view).end)
            return i;
    return number;
}

static tenon_status make_operands(bench *b)
{
    for (uint32_t i = 0; i < b->call->operand_count; i++) {
        const tenon_tensor *view = b->call->operands[i].view;
        if (view == NULL)
            continue;
        const uint32_t same = same_memory(b->call, i);
        if (same == i)
            TN_TRY(make_operand(b, view, &b->operands[i]));
        else
            b->operands[i] = (tn_operand){b->operands[same].memory, view->offset};
    }
    return tenon_stream_finish(b->stream);
}

static void release(bench *b)
{
    for (uint32_t i = 0; i < b->made_count; i++)
        tenon_memory_destroy(&b->made[i]);
}

static tenon_status measure_run(const bench *b, const tn_recording *recording, unsigned runs,
                                double *nanoseconds)
{
    const uint64_t began = tn_now();
    for (unsigned i = 0; i < runs; i++)
        TN_TRY(tn_recording_run("measuring", "measured", b->stream, recording, b->operands,
                                b->call->scalars, NULL));
    TN_TRY(tenon_stream_finish(b->stream));
    *nanoseconds = (double)(tn_now() - began) / runs;
    return TENON_OK;
}

/* A choice being measured. */
typedef struct runner {
    tn_recording recording;
    double times[TURNS];
    unsigned turns, runs;
    bool is_out;
} runner;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const runner *r)
{
    double sorted[TURNS];
    if (r->turns == 0)
        return (double)INFINITY;
    memcpy(sorted, r->times, sizeof sorted);
    qsort(sorted, r->turns, sizeof *sorted, compare);
    return sorted[r->turns / 2];
}

/* Records a choice and runs it until everything is compiled and cached. A choice that fails is
 * excluded. */
static void prepare(const bench *b, const tn_problem *problem, const tn_choice *given, runner *r)
{
    tn_choice choice = *given;
    double once;
    *r = (runner){.recording = {.context = b->stream->context}, .is_out = true};
    if (tn_configure(b->stream->context, problem, &choice) != NULL || choice.misfit != NULL ||
        tn_choice_record("measuring", &r->recording, problem, &choice) != TENON_OK ||
        measure_run(b, &r->recording, 1, &once) != TENON_OK ||
        measure_run(b, &r->recording, 1, &once) != TENON_OK)
        return;
    r->is_out = false;
    r->runs = once * MOST_RUNS < LEAST_TURN ? MOST_RUNS
              : once < LEAST_TURN           ? (unsigned)(LEAST_TURN / once) + 1
                                            : 1;
}

static void take_turns(const bench *b, runner *runners, uint32_t count)
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        double best = (double)INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            runner *r = &runners[i];
            if (r->is_out)
                continue;
            if (measure_run(b, &r->recording, r->runs, &r->times[r->turns]) != TENON_OK) {
                r->is_out = true;
                r->turns = 0;
                continue;
            }
            r->turns++;
            best = fmin(best, median(r));
        }
        for (uint32_t i = 0; i < count && turn + 1 >= TURNS_TO_JUDGE; i++)
            runners[i].is_out |= median(&runners[i]) > HOPELESS * best;
    }
}

static tenon_status measure_all(bench *b, const tn_problem *problem, tn_choice *const *choices,
                                uint32_t count, double *nanoseconds)
{
    TN_TRY(make_operands(b));
    runner *runners = calloc(count, sizeof *runners);
    if (runners == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "measuring: no memory");
    for (uint32_t i = 0; i < count; i++)
        prepare(b, problem, choices[i], &runners[i]);
    take_turns(b, runners, count);
    for (uint32_t i = 0; i < count; i++) {
        nanoseconds[i] = median(&runners[i]);
        tn_recording_destroy(&runners[i].recording);
    }
    free(runners);
    return TENON_OK;
}

tenon_status tn_measure(tenon_context *context, const tn_problem *problem, const tn_call *call,
                        tn_choice *const *choices, uint32_t count, double *nanoseconds)
{
    bench b = {.call = call};
    TN_TRY(tn_validation_enter(context, &b.stream));
    const uint64_t limit = b.stream->arena.limit;
    b.stream->arena.limit = problem->workspace_limit;
    tenon_status status = measure_all(&b, problem, choices, count, nanoseconds);
    const tenon_status finished = tenon_stream_finish(b.stream);
    if (status == TENON_OK)
        status = finished;
    release(&b);
    tn_arena_release(b.stream);
    b.stream->arena = (tn_arena){.limit = limit};
    tn_programs_judge(b.stream->context, true);
    for (uint32_t i = 0; status == TENON_OK && i < count; i++)
        if (!(nanoseconds[i] < (double)INFINITY) && tn_validation_renewed(context, &b.stream))
            break; /* one that makes its context unusable must not affect others */
    tn_validation_leave(context);
    return status;
}
