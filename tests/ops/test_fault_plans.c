/* Tests plans of every operation for every kind of device while each allocation fails once: a plan
 * is created completely or not at all. Nothing is compiled, since the devices are not present. */
#include "common/cl_faults.h"
#include "offer.h"

#include "dispatch/operation.h"
#include "dispatch/plan.h"
#include "ops/registry.h"
#include "runtime/context/target.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Hashes of the launch sequences that were already tested, each a solver with its kernels. */
static struct {
    uint64_t seen[1 << 14];
    uint32_t count;
} launches;

/* Hashes the names of a plan's solver and kernels, without parameters and sizes. */
static uint64_t hash_launches(const tenon_plan *plan)
{
    char text[4096], plain[4096];
    size_t used = 0;
    bool is_within = false;
    tenon_plan_describe(plan, text, sizeof text);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == ':' || *c == '(')
            is_within = true;
        else if (*c == ' ' || *c == ')')
            is_within = false;
        if (!is_within)
            plain[used++] = *c;
    }
    const char *workspace = strstr(text, "workspace 0 ");
    plain[used++] = workspace != NULL ? '0' : '1';
    const char *kernels = memchr(plain, ' ', used);
    assert_non_null(kernels);
    return XXH3_64bits(plain, used);
}

static bool is_new(const tenon_plan *plan)
{
    const uint64_t hash = hash_launches(plan);
    for (uint32_t i = 0; i < launches.count; i++)
        if (launches.seen[i] == hash)
            return false;
    assert_true(launches.count < sizeof launches.seen / sizeof *launches.seen);
    launches.seen[launches.count++] = hash;
    return true;
}

/* A call to plan with a solver, or the automatic choice if it is NULL. */
typedef struct planned {
    tenon_context *context;
    const tn_case *c;
    const char *solver;
} planned;

/* Fails each allocation of a plan once. Returns their number. */
static unsigned fail_each(const planned *p, const char *wanted)
{
    const faults_alive before = faults_count();
    for (unsigned nth = 1;; nth++) {
        char text[4096];
        tenon_plan *plan = (tenon_plan *)(uintptr_t)1;
        faults_fail_next(FAULTS_MEMORY, CL_OUT_OF_HOST_MEMORY, nth);
        const tenon_status status = tn_case_plan(p->context, p->c, p->solver, &plan);
        const bool struck = faults_end() > 0;
        if (status == TENON_OK) {
            tenon_plan_describe(plan, text, sizeof text);
            assert_string_equal(text, wanted);
            tenon_plan_release(plan);
        } else {
            if (!struck || status != TENON_ERROR_OUT_OF_MEMORY)
                fail_msg("%s: allocation %u: %s: %s", wanted, nth, tenon_status_string(status),
                         tenon_last_error());
            assert_contains(tenon_last_error(), "memory");
            assert_null(plan);
        }
        faults_assert_alive(&before, wanted);
        if (!struck)
            return nth - 1;
    }
}

/* Returns the number of allocations that failed, or 0 if the solver cannot serve. */
static unsigned try_solver(const planned *p)
{
    char wanted[4096];
    tenon_plan *plan;
    const tenon_status status = tn_case_plan(p->context, p->c, p->solver, &plan);
    if (status != TENON_OK)
        return 0;
    tenon_plan_describe(plan, wanted, sizeof wanted);
    const bool is_new_here = is_new(plan);
    tenon_plan_release(plan);
    return is_new_here ? fail_each(p, wanted) : 0;
}

static unsigned try_example(tenon_context *context, const char *line, tenon_dtype type)
{
    tn_case c;
    char name[TN_SOLVER_NAME_SIZE];
    unsigned failed = 0;
    assert_ok(tn_case_parse_line(line, type, &c));
    const tn_family *family = c.operation->family;
    failed += try_solver(&(planned){context, &c, NULL});
    for (uint32_t s = 0; s < family->solver_count; s++) {
        snprintf(name, sizeof name, "%s/%s", family->name, family->solvers[s]->name);
        failed += try_solver(&(planned){context, &c, name});
    }
    return failed;
}

TEST(each_allocation_fails_on_the_way_to_a_plan)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                        TENON_DTYPE_F64};
    unsigned failed = 0;
    for (size_t k = 0; k < tn_device_kind_count; k++) {
        tenon_context *context;
        assert_ok(tn_target_context(&tn_device_kinds[k], NULL, NULL, &context));
        context->policy.only_chosen = false;
        for (uint32_t o = 0; o < tn_operation_count; o++)
            for (const char *const *line = tn_operations[o]->examples; *line != NULL; line++)
                for (size_t t = 0; t < sizeof types / sizeof *types; t++)
                    failed += try_example(context, *line, types[t]);
        tenon_context_release(context);
    }
    printf("%u allocations failed in %u ways to launch\n", failed, launches.count);
    assert_true(failed > 1000);
}

int main(void)
{
    return test_main_alone();
}
