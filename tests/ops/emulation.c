#include "emulation.h"

#include "dispatch/solver.h"
#include "runtime/context/context.h"

/* Each emulated form of each solver, and the matrix unit that it emulates. */
static const struct unit {
    const char *solver;
    int form, number;
} units[] = {
    {"mma", 1, MATRIX_NVIDIA},
    {"mfma", 1, MATRIX_MFMA},
    {"wmma", 1, MATRIX_WMMA_11},
    {"wmma", 2, MATRIX_WMMA_12},
    {"xmx", 1, MATRIX_XMX_16},
    {"xmx", 2, MATRIX_XMX_8},
    {"implicit_matrix", 1, MATRIX_NVIDIA},
    {"implicit_matrix", 2, MATRIX_MFMA},
};
#define UNITS (sizeof units / sizeof *units)

static const char *const type_names[] = {"no type", "f16", "bf16", "tf32", "i8", "f32"};
#define TYPES (sizeof type_names / sizeof *type_names)

/* For each family, unit and type, the number of problems by outcome. */
#define MAX_FAMILIES 8
static struct count {
    const char *family; /* NULL terminates the list */
    struct {
        long served, refused, left;
    } of[UNITS][TYPES];
} counts[MAX_FAMILIES + 1];

static struct count *count_of(const char *family)
{
    struct count *c = counts;
    while (c->family != NULL && strcmp(c->family, family) != 0)
        c++;
    assert_true(c < counts + MAX_FAMILIES);
    c->family = family;
    return c;
}

int emulated_type(tenon_dtype dtype)
{
    switch (dtype) {
    case TENON_DTYPE_F16:
        return MATRIX_F16;
    case TENON_DTYPE_BF16:
        return MATRIX_BF16;
    case TENON_DTYPE_F32:
        return MATRIX_F32;
    case TENON_DTYPE_I8:
    case TENON_DTYPE_U8:
        return MATRIX_I8;
    default:
        return 0;
    }
}

static bool every_unit(void)
{
    return getenv("TENON_TEST_EMULATED") != NULL;
}

/* Returns the index of the unit that this run tries, of `count` in a family. */
static size_t turn_of(size_t count)
{
    test_random random = test_random_for(count);
    return (size_t)test_between(&random, 0, (int64_t)count - 1);
}

tenon_dtype emulated_other(tenon_dtype tried)
{
    static unsigned turn;
    if (!test_context->device.is_cpu || getenv("TENON_TEST_PROBLEMS") != NULL ||
        tenon_dtype_size(tried) == 2)
        return TENON_DTYPE_INVALID;
    return turn++ % 2 == 0 ? TENON_DTYPE_F16 : TENON_DTYPE_BF16;
}

/* Excludes gemm/wgmma, which test_gemm_matrix.c tests, and implicit_wgmma, which test_conv_tiled.c
 * tests. Their smallest block has 64 x 128 sums, all of which are computed even for tiny problems,
 * and their emulation takes about twice as long as others. */
static bool can_be_emulated(const tn_solver *solver)
{
    if (strstr(solver->name, "wgmma") != NULL)
        return false;
    for (uint32_t i = 0; i < solver->parameter_count; i++)
        if (strcmp(solver->parameters[i].name, "em") == 0)
            return true;
    return false;
}

static bool has(const struct unit *unit, int type)
{
    return type != 0 && MATRIX_HAS(unit->number, type);
}

/* Returns true for the one unit that tests builds for epilogues, whose code is the same for all
 * units. */
static bool runs_builds(const struct unit *unit, int type)
{
    return unit->number == MATRIX_NVIDIA && (type == MATRIX_F16 || type == MATRIX_I8);
}

/* Tries a unit, which must serve the problem unless there is a reason to refuse it. */
static void try_unit(const test_subject *subject, const emulation *e, size_t u)
{
    char name[TN_SOLVER_NAME_SIZE];
    struct count *count = count_of(subject->family->name);
    const char *refusal = has(&units[u], e->type) ? e->refusal : e->no_type;
    snprintf(name, sizeof name, "%s/%s:em%d", subject->family->name, units[u].solver,
             units[u].form);
    if (e->is_build && refusal == NULL && !runs_builds(&units[u], e->type)) {
        count->of[u][e->type].left++;
        return;
    }
    if (test_run(subject, name)) {
        if (refusal != NULL)
            fail_msg("%s should have refused (%s): %s", name, refusal,
                     subject->describe(subject->data));
        count->of[u][e->type].served++;
        return;
    }
    if (refusal == NULL || strstr(tenon_last_error(), refusal) == NULL)
        fail_msg("%s %s: %s\n  %s", name,
                 refusal == NULL ? "should serve" : "refused for another reason",
                 tenon_last_error(), subject->describe(subject->data));
    count->of[u][e->type].refused++;
}

/* Stores the numbers of a family's units; returns how many it has. */
static size_t units_of(const tn_family *family, size_t of[UNITS])
{
    size_t count = 0;
    for (uint32_t s = 0; s < family->solver_count; s++) {
        bool is_known = !can_be_emulated(family->solvers[s]);
        for (size_t u = 0; u < UNITS; u++)
            if (strcmp(units[u].solver, family->solvers[s]->name) == 0) {
                is_known = true;
                of[count++] = u;
            }
        if (!is_known)
            fail_msg("tests/ops/emulation.c does not know the units of %s",
                     family->solvers[s]->name);
    }
    return count;
}

bool emulated_in_tf32(const tn_family *family)
{
    size_t of[UNITS];
    const size_t count = units_of(family, of);
    return test_context->device.is_cpu &&
           (every_unit() || (count > 0 && has(&units[of[turn_of(count)]], MATRIX_TF32)));
}

void emulate(const test_subject *subject, const emulation *e)
{
    size_t of[UNITS];
    const size_t count = units_of(subject->family, of);
    if (!test_context->device.is_cpu || count == 0 ||
        tn_tensor_empty(
            &subject->operands[test_first_output(subject->operation)].host)) /* no solver runs */
        return;
    const size_t turn = turn_of(count);
    for (size_t i = 0; i < count; i++)
        if ((every_unit() || i == turn) &&
            (e->type != MATRIX_TF32 || has(&units[of[i]], MATRIX_TF32)))
            try_unit(subject, e, of[i]);
}

void assert_emulated(const char *family, const int *types)
{
    if (!test_context->device.is_cpu || getenv("TENON_TEST_FILTER") != NULL)
        skip();
    const struct count *count = count_of(family);
    bool any = false;
    for (size_t u = 0; u < UNITS; u++) {
        long tried = 0;
        for (size_t t = 0; t < TYPES; t++)
            tried += count->of[u][t].served + count->of[u][t].refused;
        for (const int *t = types; *t != 0 && tried > 0; t++) {
            const long served = count->of[u][*t].served;
            if ((served > 0) != has(&units[u], *t))
                fail_msg("%s/%s:em%d has served %ld problems of %s", family, units[u].solver,
                         units[u].form, served, type_names[*t]);
            any |= served > 0;
        }
    }
    if (!any)
        fail_msg("%s: no unit has served", family);
}

void emulation_print(void)
{
    for (const struct count *c = counts; c->family != NULL; c++)
        for (size_t u = 0; u < UNITS; u++)
            for (size_t t = 0; t < TYPES; t++)
                if (c->of[u][t].served + c->of[u][t].refused + c->of[u][t].left > 0)
                    printf("%s/%s:em%d %s: served %ld, refused %ld, left to another unit %ld\n",
                           c->family, units[u].solver, units[u].form, type_names[t],
                           c->of[u][t].served, c->of[u][t].refused, c->of[u][t].left);
}
