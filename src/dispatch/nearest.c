#include "dispatch/nearest.h"

#include "dispatch/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smaller sizes must be equal: a 3x3 filter is not similar to a 5x5 filter. */
#define MIN_SIZE  8
#define MAX_RATIO 1.5 /* of a single size */
#define FARTHEST  1.0 /* maximum distance: twice the work, for example */

static size_t word_length(const char *text)
{
    return strcspn(text, " ");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static double size_distance(double a, double b)
{
    if (a == b)
        return 0;
    const double ratio = a > b ? a / b : b / a;
    return fmin(a, b) < MIN_SIZE || ratio > MAX_RATIO ? (double)INFINITY : log2(ratio);
}

/* Reads a size from both texts. Returns false if either has none there. */
static bool read_sizes(const char **a, const char **b, double *distance)
{
    char *a_end, *b_end;
    if (!is_digit(**a) || !is_digit(**b))
        return false;
    *distance += size_distance((double)strtoull(*a, &a_end, 10), (double)strtoull(*b, &b_end, 10));
    *a = a_end;
    *b = b_end;
    return true;
}

/* Returns the distance of two different views, TYPE:SHAPE[/STRIDES][+OFFSET]. Strides and offsets
 * must be equal. */
static double view_distance(const char *a, const char *b, const char *a_end, const char *b_end)
{
    double distance = 0;
    while (a < a_end && b < b_end && *a == *b && *a != ':') {
        a++;
        b++;
    }
    if (a == a_end || *a != ':' || *b != ':')
        return (double)INFINITY;
    do {
        a++;
        b++;
        if (!read_sizes(&a, &b, &distance))
            return (double)INFINITY;
    } while (*a == 'x' && *b == 'x');
    const size_t left = (size_t)(a_end - a);
    return left == (size_t)(b_end - b) && memcmp(a, b, left) == 0 ? distance : (double)INFINITY;
}

double tn_call_distance(const char *a, const char *b)
{
    double distance = 0;
    while (*a != '\0' && *b != '\0') {
        const size_t a_length = word_length(a), b_length = word_length(b);
        if (a_length != b_length || memcmp(a, b, a_length) != 0)
            distance += view_distance(a, b, a + a_length, b + b_length);
        if (!(distance < (double)INFINITY))
            return distance;
        a += a_length + strspn(a + a_length, " ");
        b += b_length + strspn(b + b_length, " ");
    }
    return *a == *b ? distance : (double)INFINITY;
}

/* Without memory the measurement is ignored. */
static void add(void *user, const char *problem, const tn_tuned *tuned)
{
    tn_searched *searched = user;
    (void)problem;
    if (!tuned->is_searched)
        return;
    tn_tuned *outcomes = realloc(searched->outcomes, (searched->count + 1) * sizeof *outcomes);
    if (outcomes == NULL)
        return;
    searched->outcomes = outcomes;
    outcomes[searched->count++] = *tuned;
}

/* Called without the lock, since the store may log. The first thread to finish sets the result. */
static void read_searched(tenon_context *context, tn_dispatch *dispatch)
{
    tn_searched read = {NULL, 0};
    tn_mutex_lock(&dispatch->checked_lock);
    const bool is_known = dispatch->knows_searched;
    tn_mutex_unlock(&dispatch->checked_lock);
    if (is_known)
        return;
    tn_tuning_each(context, add, &read);
    tn_mutex_lock(&dispatch->checked_lock);
    if (!dispatch->knows_searched) {
        dispatch->searched = read;
        read.outcomes = NULL;
    }
    dispatch->knows_searched = true;
    tn_mutex_unlock(&dispatch->checked_lock);
    free(read.outcomes);
}

static bool is_of_family(const char *solver, const tn_family *family)
{
    const size_t length = strlen(family->name);
    return strncmp(solver, family->name, length) == 0 && solver[length] == '/';
}

/* The caller holds the lock. Ties are resolved by the solver's name, independent of the order in
 * the store. */
static const tn_tuned *nearest_of(const tn_searched *searched, const tn_family *family,
                                  const char *text)
{
    const tn_tuned *nearest = NULL;
    double least = FARTHEST;
    for (uint32_t i = 0; i < searched->count; i++) {
        const tn_tuned *t = &searched->outcomes[i];
        if (!is_of_family(t->solver, family))
            continue;
        const double distance = tn_call_distance(t->call, text);
        if (distance < least ||
            (distance == least && (nearest == NULL || strcmp(t->solver, nearest->solver) < 0))) {
            nearest = t;
            least = distance;
        }
    }
    return nearest;
}

bool tn_nearest_find(const tn_request *request, tn_tuned *tuned)
{
    tn_dispatch *dispatch = tn_dispatch_of(request->context);
    char text[TN_REPEAT_SIZE];
    if (!tn_can_measure(request->call) || !tn_tuning_has_any(request->context))
        return false;
    tn_call_text(request->call, text);
    read_searched(request->context, dispatch);
    tn_mutex_lock(&dispatch->checked_lock);
    const tn_tuned *nearest = nearest_of(&dispatch->searched, request->family, text);
    if (nearest != NULL)
        *tuned = *nearest;
    tn_mutex_unlock(&dispatch->checked_lock);
    return nearest != NULL;
}

void tn_nearest_forget(tn_dispatch *dispatch)
{
    free(dispatch->searched.outcomes);
}
