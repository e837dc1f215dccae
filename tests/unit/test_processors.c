/* Tests measuring processors, and choosing by the measurements, on simulated ones: 1 to 256 compute
 * units of every vector width, caches of 2 MiB to 1 GiB that drivers may or may not report and that
 * other guests share, and speeds a factor of ten apart. Prints each processor's choices. */
#include "common/processor.h"

#include "check/case.h"
#include "dispatch/plan.h"
#include "dispatch/select.h"
#include "dispatch/solver.h"
#include "dispatch/state.h"
#include "ops/registry.h"
#include "runtime/probe/constants.h"
#include "runtime/context/target.h"

#include <math.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MIB         ((uint64_t)1 << 20)

static const uint64_t caches[] = {2 * MIB, 8 * MIB, 24 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB};
static const uint32_t units[] = {1, 2, 6, 16, 64, 256}, lanes[] = {4, 8, 16};
/* Divisor of the cache: other guests leave one part in this many. */
static const uint32_t guests[] = {1, 8};
static const double speeds[] = {0.3, 1, 3};
#define PROCESSORS (COUNT(caches) * COUNT(units) * COUNT(lanes) * COUNT(guests) * COUNT(speeds))

/* Returns processor `number` of all combinations. */
static processor processor_of(size_t number)
{
    const uint64_t cache = caches[number % COUNT(caches)];
    number /= COUNT(caches);
    const uint32_t count = units[number % COUNT(units)];
    number /= COUNT(units);
    const uint32_t width = lanes[number % COUNT(lanes)];
    number /= COUNT(lanes);
    const uint32_t share = guests[number % COUNT(guests)];
    const double speed = speeds[number / COUNT(guests)];
    return (processor){.units = count,
                       .lanes = width,
                       .driver_cache = cache,
                       .cache = cache / share,
                       .rate = speed * 5 * width,
                       .memory = speed * 12 * sqrt(count),
                       .cache_speed = speed * 50,
                       .pages = number % 2 == 0 ? 1 : 0.55,
                       .unaligned = number % 2 == 0 ? 0.95 : 0.75,
                       .noise = 0.05,
                       .interrupted = 2};
}

static void describe(const processor *p)
{
    print_message(
        "%3u units of %2u lanes, cache %4.0f of %4.0f MiB, rate %6.1f, memory %6.1f: ", p->units,
        p->lanes, (double)p->cache / MIB, (double)p->driver_cache / MIB, p->rate, p->memory);
}

static tn_host_speed measured(const processor *p, uint64_t stream, uint64_t most_bytes)
{
    tn_host_times times;
    tn_host_speed speed;
    processor_put(p, test_random_for(stream));
    assert_true(processor_take(p->units, p->lanes, most_bytes, &times));
    if (!tn_host_speed_of(&times, &speed)) {
        describe(p);
        fail_msg("nothing is measured");
    }
    return speed;
}

static void assert_between(const processor *p, const char *what, double low, double value,
                           double high)
{
    if (value >= low && value <= high)
        return;
    describe(p);
    fail_msg("%s is %g, expected from %g to %g", what, value, low, high);
}

/* Returns true if all cores together read from the caches at least twice as fast as from memory. */
static bool drops(const processor *p)
{
    return p->cache_speed * (p->units < 64 ? p->units : 64) >= 2 * p->memory;
}

static void check_cache_size(const processor *p, const tn_host_speed *speed, uint64_t most)
{
    const double found = (double)speed->cache_size, cache = (double)p->cache;
    if (cache >= (double)most)
        assert_between(p, "cache_size", (double)most, found, (double)most);
    else if (drops(p) && 1.5 * cache <= (double)most && cache > (double)MIB)
        assert_between(p, "cache_size", cache / 2, found, 1.5 * cache);
    if (drops(p) && 1.5 * cache <= (double)most)
        assert_between(p, "memory", 0.8 * p->memory, speed->memory, 1.05 * p->memory);
    if (drops(p) && cache >= 4.0 * MIB)
        assert_between(p, "cache", 0.9 * p->cache_speed, speed->cache, 1.01 * p->cache_speed);
}

TEST(every_processor_is_measured)
{
    static const uint64_t bounds[] = {256 * MIB, 64 * MIB};
    for (size_t i = 0; i < PROCESSORS; i++)
        for (size_t b = 0; b < COUNT(bounds); b++) {
            const processor p = processor_of(i);
            const tn_host_speed speed = measured(&p, i, bounds[b]);
            assert_between(&p, "rate", 0.9 * p.rate, speed.rate, 1.01 * p.rate);
            assert_between(&p, "pages", p.pages - 0.1, speed.pages, fmin(p.pages + 0.1, 1));
            assert_between(&p, "unaligned", p.unaligned - 0.1, speed.unaligned,
                           fmin(p.unaligned + 0.1, 1));
            assert_between(&p, "memory", 0.5 * p.memory, speed.memory,
                           1.01 * fmax(p.memory, p.cache_speed * p.units));
            check_cache_size(&p, &speed, bounds[b]);
        }
}

/* Creates a context of the processor, whose constants are measured at the first choice. */
static tenon_context *context_of(const processor *p, tenon_measurements measurements)
{
    const tn_device_kind *kind = tn_device_kind_of_cpu(p->lanes, p->driver_cache);
    tenon_context *context;
    assert_int_equal(tn_target_context(kind, NULL, NULL, &context), TENON_OK);
    context->device.info.compute_units = p->units;
    context->device.info.vector_width_f32 = p->lanes;
    context->device.model.units = p->units;
    context->device.model.cache_size = context->device.driver_cache = p->driver_cache;
    context->constants.take = processor_take;
    context->policy.measurements = measurements;
    return context;
}

static const char *const calls[] = {
    "gemm a=T:64x64 b=T:64x64 d=T:64x64",
    "gemm a=T:256x256 b=T:256x256 d=T:256x256",
    "gemm a=T:1009x1019 b=T:1019x1013 d=T:1009x1013",
    "gemm a=T:2048x2048 b=T:2048x2048 d=T:2048x2048",
    "gemm a=T:32x4096 b=T:4096x4096 d=T:32x4096",
    "gemm a=T:4x4096 b=T:4096x4096 d=T:4x4096",
    "gemm a=T:4096x4096 b=T:4096x1 d=T:4096x1",
    "gemm a=T:4096x4096/1,4096 b=T:4096x1 d=T:4096x1",
    "gemm a=T:512x512 b=T:512x512/1,512 d=T:512x512",
    "conv x=T:1x64x56x56 w=T:64x64x3x3 y=T:1x64x56x56 pad_begin=1,1 pad_end=1,1",
    "conv x=T:8x64x56x56 w=T:256x64x1x1 y=T:8x256x56x56",
    "conv x=T:8x144x56x56 w=T:144x1x3x3 y=T:8x144x56x56 pad_begin=1,1 pad_end=1,1 groups=144",
    "conv_backward_data dy=T:8x64x56x56 w=T:64x64x3x3 dx=T:8x64x56x56 pad_begin=1,1 pad_end=1,1",
    "softmax x=T:8192x1024 y=T:8192x1024",
    "reduce x=T:1x67108864 y=T: axis_count=2 axes=0,1",
    "activation x=T:1048576 y=T:1048576 activation=relu",
};
#define SQUARE 3 /* the product of `calls` in which the rows of b are whole pages apart */
/* Largest number of compute units for which each has enough rows of the square product to make
 * packing b cheap. */
#define FEW_UNITS 16

/* The choice for a call, and its time by the context's model. */
typedef struct choice {
    const tn_solver *solver;
    double time, least; /* time of the choice; smallest time of all candidates */
    const char *family;
} choice;

typedef struct listener {
    tenon_context *context;
    const tn_solver *asked; /* the solver whose time is wanted; NULL: the chosen one */
    choice found;
} listener;

static void hear(void *user, const tn_request *request, const tn_choice *chosen)
{
    listener *l = user;
    tn_candidate list[TN_MAX_SOLVERS];
    assert_non_null(chosen);
    if (l->found.family != NULL)
        return;
    const uint32_t count = tn_candidates(l->context, request->family, request->problem, list);
    assert_true(count > 0);
    l->found = (choice){.solver = l->asked != NULL ? l->asked : chosen->solver,
                        .time = INFINITY,
                        .least = list[0].time,
                        .family = request->family->name};
    for (uint32_t i = 0; i < count; i++)
        if (list[i].solver == l->found.solver)
            l->found.time = list[i].time;
}

static choice choose(tenon_context *context, const char *line, const tn_solver *asked)
{
    listener l = {.context = context, .asked = asked};
    tn_dispatch *dispatch = tn_dispatch_of(context);
    tenon_plan *plan = NULL;
    tn_case c;
    assert_non_null(dispatch);
    dispatch->listener = hear;
    dispatch->listener_user = &l;
    memset(&c, 0, sizeof c);
    if (tn_case_parse_line(line, TENON_DTYPE_F32, &c) != TENON_OK ||
        tn_case_plan(context, &c, NULL, &plan) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    tenon_plan_release(plan);
    assert_non_null(l.found.solver);
    return l.found;
}

static void choose_all(const processor *p, uint64_t stream, choice found[COUNT(calls)])
{
    processor_put(p, test_random_for(stream));
    tenon_context *context = context_of(p, TENON_MEASUREMENTS_USUAL);
    for (size_t i = 0; i < COUNT(calls); i++)
        found[i] = choose(context, calls[i], NULL);
    if (processor_at_hand.taken != 1) {
        describe(p);
        fail_msg("measured %u times", processor_at_hand.taken);
    }
    tenon_context_release(context);
}

/* Creates a context with the processor's own numbers, without noise or rounding. */
static tenon_context *context_of_truth(const processor *p, tn_device_kind *own)
{
    tenon_context *context = context_of(p, TENON_MEASUREMENTS_NONE);
    const tn_device_kind *kind = context->device.model.kind;
    const double rate = kind->reached.rate * p->rate / kind->rates.f32;
    *own = *kind;
    own->rates.f32 *= rate;
    own->rates.f64 *= rate;
    own->rates.scalar *= rate;
    own->steps.vector_element /= rate;
    own->steps.single_element /= rate;
    own->steps.row /= rate;
    own->memory.bandwidth = kind->reached.memory * p->memory;
    own->memory.cache = kind->reached.cache * p->cache_speed;
    own->in_place = (tn_kind_in_place){p->pages, p->unaligned};
    context->device.model.kind = own;
    context->device.model.cache_size = p->cache;
    return context;
}

/* Largest accepted ratio of the time of a choice by measured constants to that of the best
 * candidate, both estimated with the true constants. */
#define NEARLY 2

TEST(choices_are_nearly_optimal)
{
    double worst = 1;
    for (size_t i = 0; i < PROCESSORS; i++) {
        const processor p = processor_of(i);
        choice found[COUNT(calls)];
        tn_device_kind own;
        choose_all(&p, i, found);
        tenon_context *truth = context_of_truth(&p, &own);
        describe(&p);
        for (size_t c = 0; c < COUNT(calls); c++) {
            const choice by_truth = choose(truth, calls[c], found[c].solver);
            print_message(" %s", found[c].solver->name);
            worst = fmax(worst, by_truth.time / by_truth.least);
            if (!(by_truth.time <= NEARLY * by_truth.least))
                fail_msg("\n%s: %s takes %.2f times as long as the best", calls[c],
                         found[c].solver->name, by_truth.time / by_truth.least);
        }
        print_message("\n");
        tenon_context_release(truth);
    }
    print_message("the worst choice takes %.2f times as long as the best\n", worst);
}

/* Other guests occupy part of the cache, so the size that the driver reports must not affect
 * choices. */
TEST(reported_cache_size_does_not_affect_choices)
{
    static const uint64_t said[] = {0, 2 * MIB, 32 * MIB, 480 * MIB, 1024 * MIB};
    for (size_t i = 0; i < PROCESSORS; i += 7) {
        processor p = processor_of(i);
        choice first[COUNT(calls)], found[COUNT(calls)];
        for (size_t s = 0; s < COUNT(said); s++) {
            p.driver_cache = said[s];
            choose_all(&p, i, s == 0 ? first : found);
            for (size_t c = 0; s > 0 && c < COUNT(calls); c++)
                if (found[c].solver != first[c].solver || found[c].time != first[c].time) {
                    describe(&p);
                    fail_msg("%s: %s, expected %s", calls[c], found[c].solver->name,
                             first[c].solver->name);
                }
        }
    }
}

/* Multiplying all of a processor's speeds by ten makes no call slower. */
TEST(faster_processors_take_no_longer)
{
    for (size_t i = 0; i < PROCESSORS; i += 5) {
        processor p = processor_of(i);
        choice slow[COUNT(calls)], fast[COUNT(calls)];
        choose_all(&p, i, slow);
        p.rate *= 10;
        p.memory *= 10;
        p.cache_speed *= 10;
        choose_all(&p, i, fast);
        for (size_t c = 0; c < COUNT(calls); c++)
            assert_between(&p, calls[c], 0, fast[c].time, slow[c].time);
    }
}

static const char *solver_of_square(const processor *p)
{
    processor_put(p, test_random_for(2));
    tenon_context *context = context_of(p, TENON_MEASUREMENTS_USUAL);
    const tn_solver *solver = choose(context, calls[SQUARE], NULL).solver;
    tenon_context_release(context);
    return solver != NULL ? solver->name : "none";
}

/* A b whose rows are whole pages apart is packed if reading it in place halves the rate, and not if
 * it costs nothing. Choices were wrong here on a server with a large cache. */
TEST(page_strided_rows_are_packed_only_if_faster)
{
    for (size_t i = 0; i < PROCESSORS; i++) {
        processor p = processor_of(i);
        p.pages = 1;
        assert_string_not_equal(solver_of_square(&p), "cpu_packed");
        p.pages = 0.5;
        if (p.units <= FEW_UNITS && strcmp(solver_of_square(&p), "cpu_packed") != 0) {
            describe(&p);
            fail_msg("%s: %s", calls[SQUARE], solver_of_square(&p));
        }
    }
}

/* Checks that every parameter value that a solver of a call's family selects can also be forced by
 * name. */
static void hear_values(void *user, const tn_request *request, const tn_choice *chosen)
{
    const tn_family *family = request->family;
    (void)chosen;
    for (uint32_t s = 0; s < family->solver_count; s++) {
        tn_choice set = {.solver = family->solvers[s]};
        if (tn_configure(user, request->problem, &set) != NULL || set.misfit != NULL)
            continue;
        for (uint32_t i = 0; i < set.solver->parameter_count; i++) {
            const tn_parameter *x = &set.solver->parameters[i];
            if (set.values[i] < x->low || set.values[i] > x->high)
                fail_msg("%s/%s: %s is %d, expected from %d to %d", family->name, set.solver->name,
                         x->name, set.values[i], x->low, x->high);
        }
    }
}

TEST(parameter_values_are_in_range)
{
    for (size_t l = 0; l < COUNT(lanes); l++)
        for (uint64_t local = 4096; local <= MIB; local *= 2)
            for (size_t c = 0; c < COUNT(calls); c++) {
                processor p = processor_usual();
                tenon_plan *plan = NULL;
                tn_case parsed;
                p.lanes = lanes[l];
                tenon_context *context = context_of(&p, TENON_MEASUREMENTS_NONE);
                context->device.info.local_memory = local;
                tn_dispatch_of(context)->listener = hear_values;
                tn_dispatch_of(context)->listener_user = context;
                memset(&parsed, 0, sizeof parsed);
                assert_int_equal(tn_case_parse_line(calls[c], TENON_DTYPE_F32, &parsed), TENON_OK);
                (void)tn_case_plan(context, &parsed, NULL, &plan); /* no solver may fit */
                tenon_plan_release(plan);
                tenon_context_release(context);
            }
}

TEST(choices_without_measurements_use_the_table)
{
    const processor p = processor_usual();
    processor_put(&p, test_random_for(1));
    tenon_context *context = context_of(&p, TENON_MEASUREMENTS_NONE);
    const tn_device_kind *table = context->device.model.kind;
    choose(context, calls[SQUARE], NULL);
    assert_int_equal(processor_at_hand.taken, 0);
    assert_ptr_equal(context->device.model.kind, table);
    assert_int_equal(context->device.model.cache_size, p.driver_cache);
    tenon_context_release(context);
}
