/*
 * Tests the table of plans: lookup, capacity, eviction of the least recently used plan, and use by
 * several threads. A context with an owner is a validation context, in which no self-check runs,
 * and the family launches nothing, so no device is needed.
 */
#include "common/testing.h"

#include "dispatch/plan.h"
#include "dispatch/state.h"

typedef struct fake_problem {
    tn_problem head;
    uint64_t number;
} fake_problem;

static atomic_int made;
static tenon_status next_status;

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    (void)context;
    (void)problem;
    (void)choice;
    return NULL;
}

static tenon_status launch(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const tn_choice *choice)
{
    (void)recording;
    (void)problem;
    (void)choice;
    atomic_fetch_add(&made, 1);
    return next_status == TENON_OK ? TENON_OK : tn_fail(next_status, "%s: as told", operation);
}

static const tn_solver solver = {.name = "only", .configure = configure, .launch = launch};
static const tn_solver *const solvers[] = {&solver};
static const tn_family family = {.name = "fake", .solvers = solvers, .solver_count = 1};
static const tn_family other_family = {.name = "other", .solvers = solvers, .solver_count = 1};

static tenon_context *context;

static void set_up(void)
{
    context = calloc(1, sizeof *context);
    assert_true(context != NULL && tn_mutex_init(&context->slot_lock));
    context->owner = context;
    atomic_store(&made, 0);
    next_status = TENON_OK;
}

static void tear_down(void)
{
    if (context->slots[TN_SLOT_DISPATCH].data != NULL)
        context->slots[TN_SLOT_DISPATCH].destroy(context->slots[TN_SLOT_DISPATCH].data);
    tn_mutex_destroy(&context->slot_lock);
    free(context);
}

static tenon_plan *get_from(const tn_family *of, uint64_t number)
{
    const fake_problem problem = {{.size = sizeof problem, .forced = -1}, number};
    tenon_plan *plan = NULL;
    assert_int_equal(
        tn_plan_table_get(&(tn_request){"tenon_fake", context, of, &problem.head, NULL}, &plan),
        TENON_OK);
    assert_non_null(plan);
    return plan;
}

static void use(uint64_t number)
{
    tenon_plan_release(get_from(&family, number));
}

static uint32_t count_of(void)
{
    return tn_dispatch_of(context)->plans.count;
}

TEST_WITH(plans_are_reused, set_up, tear_down)
{
    tenon_plan *first = get_from(&family, 1);
    tenon_plan *again = get_from(&family, 1);
    tenon_plan *next = get_from(&family, 2);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, next);
    assert_int_equal(atomic_load(&made), 2);
    assert_string_equal(first->name, "fake/only");
    tenon_plan_release(first);
    tenon_plan_release(again);
    tenon_plan_release(next);
}

TEST_WITH(families_do_not_share_plans, set_up, tear_down)
{
    tenon_plan *first = get_from(&family, 1);
    tenon_plan *other = get_from(&other_family, 1);
    assert_ptr_not_equal(first, other);
    assert_string_equal(other->name, "other/only");
    tenon_plan_release(first);
    tenon_plan_release(other);
}

TEST_WITH(the_least_recently_used_plan_is_evicted, set_up, tear_down)
{
    for (uint64_t i = 0; i < TN_PLAN_TABLE_CAPACITY; i++)
        use(i);
    use(0); /* makes 1 the oldest */
    assert_int_equal(atomic_load(&made), TN_PLAN_TABLE_CAPACITY);
    use(TN_PLAN_TABLE_CAPACITY);
    assert_int_equal(count_of(), TN_PLAN_TABLE_CAPACITY);
    int before = atomic_load(&made);
    use(0);
    use(2);
    assert_int_equal(atomic_load(&made), before);
    use(1);
    assert_int_equal(atomic_load(&made), before + 1);
}

/* Compares with a list of the time of each number's last use. */
TEST_WITH(random_use_agrees_with_a_simple_cache, set_up, tear_down)
{
    enum { CAPACITY = TN_PLAN_TABLE_CAPACITY, NUMBERS = CAPACITY + 200 };
    static uint64_t last_use[NUMBERS];
    test_random random = test_random_for(3);
    uint32_t held = 0;
    memset(last_use, 0, sizeof last_use);
    for (uint64_t now = 1; now <= 12000; now++) {
        uint64_t number =
            now <= NUMBERS ? now - 1 : (uint64_t)test_between(&random, 0, NUMBERS - 1);
        int before = atomic_load(&made);
        use(number);
        assert_int_equal(atomic_load(&made) - before, last_use[number] == 0);
        held += last_use[number] == 0;
        last_use[number] = now;
        if (held > CAPACITY) {
            uint64_t oldest = number;
            for (uint64_t i = 0; i < NUMBERS; i++)
                if (last_use[i] != 0 && last_use[i] < last_use[oldest])
                    oldest = i;
            last_use[oldest] = 0;
            held--;
        }
        assert_int_equal(count_of(), held);
    }
}

TEST_WITH(a_plan_in_use_outlives_its_eviction, set_up, tear_down)
{
    tenon_plan *plan = get_from(&family, 0);
    for (uint64_t i = 1; i <= TN_PLAN_TABLE_CAPACITY; i++)
        use(i);
    assert_string_equal(plan->name, "fake/only");
    assert_int_equal(atomic_load(&plan->references), 1);
    tenon_plan_release(plan);
}

TEST_WITH(failures_are_not_stored, set_up, tear_down)
{
    const fake_problem problem = {{.size = sizeof problem, .forced = -1}, 7};
    tenon_plan *plan = NULL;
    next_status = TENON_ERROR_BUILD_FAILED;
    assert_int_equal(tn_plan_table_get(
                         &(tn_request){"tenon_fake", context, &family, &problem.head, NULL}, &plan),
                     TENON_ERROR_BUILD_FAILED);
    assert_string_equal(tenon_last_error(), "tenon_fake: as told");
    assert_int_equal(count_of(), 0);
    next_status = TENON_OK;
    use(7);
    assert_int_equal(count_of(), 1);
}

static void *use_many(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 20000; i++)
        use(i * 7919 % 5000);
    return NULL;
}

TEST_WITH(threads_share_the_table, set_up, tear_down)
{
    tn_thread threads[4];
    for (int i = 0; i < 4; i++)
        assert_true(tn_thread_create(&threads[i], use_many, NULL));
    for (int i = 0; i < 4; i++)
        tn_thread_join(threads[i]);
    assert_int_equal(count_of(), TN_PLAN_TABLE_CAPACITY);
}
