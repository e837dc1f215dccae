#include "tally.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The worst error of each operation and type, relative to its bound. */
#define MAX_WORST 128
static struct worst {
    const char *operation; /* NULL terminates the list */
    tenon_dtype dtype;
    double ratio;
    long results;
} worst[MAX_WORST + 1];
static const char *running = "others"; /* the family of the current results */

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

static void print_worst(void)
{
    for (const struct worst *w = worst; w->operation != NULL; w++)
        printf("%s %s: worst error %.3f of its bound in %ld results\n", w->operation,
               tenon_dtype_string(w->dtype), w->ratio, w->results);
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

void tally_begin(const char *family)
{
    running = family;
}

void tally_print(void)
{
    print_tallies();
    print_worst();
}
