#include "tally.h"

#include "ops/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The worst error of each operation and type, relative to its bound. */
#define MAX_WORST 1024
static struct worst {
    const char *operation; /* NULL terminates the list */
    tenon_dtype dtype;
    double ratio;
    long results;
    uint64_t *shapes; /* hashes of the different sizes of the operands of random problems */
    size_t shape_count, shape_capacity;
} worst[MAX_WORST + 1];
static const char *running = "others"; /* the operation of the current results */

/* The operations by the names in the list, which are unique. */
static const struct {
    const char *name;
    const tn_operation *operation;
} names[] = {
#define X(name) {#name, &tn_operation_##name},
#include "ops/operation_list.h"
#undef X
};

static const char *name_of(const tn_operation *operation)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].operation == operation)
            return names[i].name;
    return "others";
}

static struct worst *worst_of(const char *operation, tenon_dtype dtype)
{
    struct worst *w = worst;
    while (w->operation != NULL && (strcmp(w->operation, operation) != 0 || w->dtype != dtype))
        w++;
    assert_true(w < worst + MAX_WORST);
    w->operation = operation;
    w->dtype = dtype;
    return w;
}

void tally_errors(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype)
{
    struct worst *w = worst_of(running, dtype);
    w->results++;
    for (int64_t i = 0; i < count; i++) {
        double ratio = fabs(got[i] - expected[i].value) / expected[i].bound;
        if (isfinite(ratio) && ratio > w->ratio)
            w->ratio = ratio;
    }
}

static uint64_t shape_of(const tn_case *problem)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < problem->operation->operand_count; i++) {
        const tenon_tensor *view = &problem->views[i];
        if (view->dtype != TENON_DTYPE_INVALID)
            hash = XXH3_64bits_withSeed(view->shape, view->rank * sizeof *view->shape, hash + i);
    }
    return hash;
}

static void add_shape(struct worst *w, uint64_t shape)
{
    for (size_t i = 0; i < w->shape_count; i++)
        if (w->shapes[i] == shape)
            return;
    if (w->shape_count == w->shape_capacity) {
        w->shape_capacity = 2 * w->shape_capacity + 64;
        w->shapes = realloc(w->shapes, w->shape_capacity * sizeof *w->shapes);
        assert_non_null(w->shapes);
    }
    w->shapes[w->shape_count++] = shape;
}

void tally_problem(const tn_case *problem, tenon_dtype dtype, double ratio)
{
    struct worst *w = worst_of(name_of(problem->operation), dtype);
    w->results++;
    w->ratio = ratio > w->ratio ? ratio : w->ratio;
    add_shape(w, shape_of(problem));
}

long tally_results(const tn_operation *operation, tenon_dtype dtype)
{
    return worst_of(name_of(operation), dtype)->results;
}

static void print_of(const struct worst *w)
{
    if (w->results == 0)
        return;
    printf("%s %s: worst error %.3g of its bound in %ld results", w->operation,
           tenon_dtype_string(w->dtype), w->ratio, w->results);
    if (w->shape_count > 0)
        printf(" with %zu shapes", w->shape_count);
    printf("\n");
}

static void print_worst(void)
{
    for (struct worst *w = worst; w->operation != NULL; w++) {
        print_of(w);
        free(w->shapes);
    }
}

/* Number of runs of each solver, for the output of a test run. */
#define MAX_TALLIES 32
static struct tally {
    char name[TN_SOLVER_NAME_SIZE];
    int served, refused;
} tallies[MAX_TALLIES];

void tally_run(const char *solver, bool served)
{
    struct tally *t = tallies;
    while (t < tallies + MAX_TALLIES - 1 && t->name[0] != '\0' && strcmp(t->name, solver) != 0)
        t++;
    snprintf(t->name, sizeof t->name, "%s", solver);
    t->served += served;
    t->refused += !served;
}

static void print_tallies(void)
{
    for (const struct tally *t = tallies; t->name[0] != '\0'; t++)
        printf("%s: served %d times, could not serve %d times\n", t->name, t->served, t->refused);
}

void tally_begin(const tn_operation *operation)
{
    running = operation != NULL ? name_of(operation) : "others";
}

void tally_print(void)
{
    print_tallies();
    print_worst();
}
