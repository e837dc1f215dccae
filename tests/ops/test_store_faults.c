/* Tests damaged entries of the store, and solvers that it reports as wrong. */
#include "dispatch/state.h"
#include "fake_solvers.h"
#include "kept.h"

#include "runtime/queue/launch.h"
#include "runtime/queue/stream.h"

typedef enum damage { CUT, EMPTIED, ALTERED, EXTENDED, RENAMED, SENSELESS, DAMAGES } damage;

static void do_damage(const char *folder, tn_store_kind kind, damage how)
{
    const char *path = kept_entry(folder, kind);
    size_t size;
    tn_entry entry;
    unsigned char *bytes = temporary_read(path, &size);
    assert_true(tn_entry_read(bytes, size, &entry));
    bytes = realloc(bytes, size + 1);
    assert_true(tn_entry_read(bytes, size, &entry));
    if (how == RENAMED) {
        char key[8192];
        snprintf(key, sizeof key, "%sx", entry.key);
        kept_write(path, kind, key, "right 1 paths ffff\n");
    } else if (how == SENSELESS) {
        kept_write(path, kind, entry.key, "nothing of sense\n");
    } else {
        bytes[size / 2] ^= how == ALTERED ? 16 : 0;
        temporary_write(path, bytes,
                        how == CUT        ? size - 7
                        : how == EMPTIED  ? 0
                        : how == EXTENDED ? size + 1
                                          : size);
    }
    free(bytes);
}

/* A damaged entry causes one log line, results stay correct, and the entry is recomputed and
 * stored. */
TEST(entries_that_were_damaged_are_rebuilt)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    const uint64_t bits = kept_run(&s, &store);
    for (int kind = 0; kind < TN_STORE_RUNNING; kind++)
        for (int how = 0; how < DAMAGES; how++) {
            const int before = kept_count(folder, (tn_store_kind)kind);
            do_damage(folder, (tn_store_kind)kind, (damage)how);
            assert_true(kept_run(&s, &store) == bits);
            /* An intact entry with a meaningless text is no damage and is ignored silently; a
             * meaningless binary is refused by the driver. */
            const bool is_told = how != SENSELESS || kind == TN_STORE_PROGRAM;
            if (s.log.warnings != is_told)
                fail_msg("kind %d, damage %d: %d lines: %s", kind, how, s.log.warnings, s.log.all);
            if (is_told)
                assert_contains(s.log.warning, "again");
            assert_int_equal(s.seen.programs_built > 0,
                             kind == TN_STORE_PROGRAM || s.seen.trials > 0);
            assert_int_equal(s.seen.trials > 0, kind == TN_STORE_TRIAL);
            /* A repeated trial may have another result and lead to another kernel. */
            if (kind != TN_STORE_TRIAL)
                assert_int_equal(s.seen.checks > 0, kind == TN_STORE_CHECK);
            assert_int_equal(kept_count(folder, (tn_store_kind)kind), before);
            kept_run(&s, &store);
            assert_nothing_new(&s);
            assert_int_equal(s.log.warnings, 0);
        }
    temporary_remove(folder);
}

TEST(wrong_solvers_are_barred_at_once_in_the_next_context)
{
    char *folder = temporary_make();
    kept_session s;
    fake_behavior = FAKE_WRONG;
    fake_assert_chosen(&s, folder, "good", 2);
    assert_int_equal(s.seen.checks, 2);
    assert_int_equal(s.seen.checks_wrong, 1);
    assert_int_equal(s.log.warnings, 1);
    fake_assert_chosen(&s, folder, "good", 0);
    assert_int_equal(s.seen.checks_recalled, 2);
    assert_int_equal(s.log.warnings, 1);
    assert_contains(s.log.warning, "solver fake/bad is barred");
    assert_contains(s.log.warning, "element 3 is 7, must be 8");
    temporary_remove(folder);
}

/* A solver in the family of relu that does nothing and has the best estimate. */
static tn_solver spoilt;
static const char *(*configure_original)(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice);

static const char *configure_as_the_best(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const char *why = configure_original(context, problem, choice);
    choice->time = choice->time > 0 ? choice->time / 1000 : -1;
    return why;
}

#define ELEMENTS 1000

/* Runs a plan of relu on numbers of both signs and checks the result. */
static void assert_relu(kept_session *s, const tenon_plan *plan)
{
    static float x[ELEMENTS], y[ELEMENTS];
    const int64_t shape[] = {ELEMENTS};
    tenon_tensor from, to;
    const double scalars[TN_MAX_SCALARS] = {0};
    for (int i = 0; i < ELEMENTS; i++)
        x[i] = (float)(i % 17 - 8);
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &from));
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &to));
    assert_ok(tenon_tensor_upload(s->stream, x, sizeof x, &from, NULL));
    const tn_operand operands[TN_MAX_OPERANDS] = {{from.memory, 0}, {to.memory, 0}};
    assert_ok(tn_recording_run("tenon_test", plan->name, s->stream, &plan->recording, operands,
                               scalars, NULL));
    assert_ok(tenon_tensor_download(s->stream, &to, y, sizeof y, NULL));
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    test_destroy(&from, &to);
}

/* Runs an immediate relu; returns the plan that it created. */
static const tenon_plan *plan_relu(kept_session *s)
{
    const int64_t shape[] = {ELEMENTS};
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x, y;
    params.activation.kind = TENON_ACTIVATION_RELU;
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &x));
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &y));
    assert_ok(tenon_activation_forward(s->stream, &params, &x, &y, NULL));
    assert_ok(tenon_stream_finish(s->stream));
    test_destroy(&x, &y);
    return tn_dispatch_of(s->context)->plans.newest;
}

TEST(a_solver_that_does_nothing_is_found_out_once)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    const tn_solver *solvers[32] = {&spoilt};
    for (int run = 0; run < 2; run++) {
        kept_session s;
        tenon_plan *plan;
        kept_open(&s, &store);
        s.context->device.miscompiles_at_random = false;
        const tenon_plan *usual = plan_relu(&s);
        tn_family with_spoilt = *usual->family;
        const char *name = strchr(usual->name, '/') + 1;
        spoilt = *usual->family->solvers[0];
        for (uint32_t i = 0; i < usual->family->solver_count; i++) {
            const tn_solver *solver = solvers[i + 1] = usual->family->solvers[i];
            if (strncmp(name, solver->name, strlen(solver->name)) == 0)
                spoilt = *solver;
        }
        spoilt.name = "spoilt";
        spoilt.launch = test_launch_nothing;
        configure_original = spoilt.configure;
        spoilt.configure = configure_as_the_best;
        with_spoilt.solvers = solvers;
        with_spoilt.solver_count++;
        assert_ok(tn_plan_create(
            &(tn_request){"tenon_test", s.context, &with_spoilt, usual->problem, NULL}, &plan));
        assert_string_equal(plan->name, usual->name);
        assert_relu(&s, plan);
        tenon_plan_release(plan);
        kept_see(&s);
        assert_int_equal(s.log.warnings,
                         run == 0 ? 2 : 1); /* the second one is the line to repeat it */
        assert_contains(s.log.all, "/spoilt");
        assert_contains(s.log.all, "is barred");
        assert_int_equal(s.seen.checks_wrong, run == 0);
        if (run == 1)
            assert_nothing_new(&s);
        kept_close(&s);
    }
    temporary_remove(folder);
}

int main(void)
{
    return test_main_alone();
}
