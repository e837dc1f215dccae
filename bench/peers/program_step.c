/* A training step in NumPy: describes the workload, and compares the results of one step. */
#include "program.h"

#include "../environment.h"
#include "absent.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#define SAMPLES     64     /* elements of a result that are compared at most */
#define ANSWER_SIZE 262144 /* of all samples as text */
/* A difference may be this part of the largest element. Of the millions of units in a large step,
 * some are so near to 0, to another one in their window or to a drawn number that rounding decides
 * where their gradients go; in a small step that is unlikely. decisions.py measures the effect:
 * with 16 images, 2 such units change gradients of AlexNet by up to 0.005 of the largest element,
 * and sums by less than 0.00001. */
#define TOLERANCE       1e-4
#define LARGE           1e9 /* operations */
#define LARGE_TOLERANCE 1e-2

/* Returns a value: the seed of its initial numbers, and their limits (bench_training_reset). */
static json_t *describe_value(const bench_training *t, int32_t number)
{
    const bench_value *value = &t->values[number];
    json_t *shape = json_array();
    for (uint32_t d = 0; d < value->rank; d++)
        json_array_append_new(shape, json_integer(value->shape[d]));
    return json_pack("{s:i, s:o, s:f, s:f, s:b, s:b}", "seed", number + 1, "shape", shape, "low",
                     value->low, "high", value->high, "integer", value->dtype == TENON_DTYPE_I32,
                     "channels_last", value->is_image);
}

/* Returns a line of JSON: the workload, the number of examples, the threads, the values that are
 * given, and the number of elements of each result that are compared. */
static char *describe(const bench_historic *h)
{
    json_t *given = json_array();
    for (uint32_t i = 0; i < h->given_count; i++)
        json_array_append_new(given, describe_value(&h->training, h->given[i]));
    json_t *all = json_pack("{s:s, s:I, s:i, s:i, s:o}", "workload", h->workload, "n",
                            (json_int_t)h->training.n, "threads", bench_processors(), "samples",
                            SAMPLES, "given", given);
    char *line = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return line;
}

/* Compares samples of a result, which are equally far apart, with Tenon's. */
static bool compare(const bench_value *value, double tolerance, tenon_stream *stream,
                    const json_t *samples)
{
    const size_t count = (size_t)tenon_tensor_elements(&value->own),
                 step = count / SAMPLES > 0 ? count / SAMPLES : 1;
    float *got = malloc(count * sizeof *got);
    bool well =
        got != NULL && json_array_size(samples) > 0 &&
        BENCH_WELL(tenon_tensor_download(stream, &value->own, got, count * sizeof *got, NULL));
    double largest = 0;
    for (size_t i = 0; well && i < count; i++)
        largest = fmax(largest, fabs((double)got[i]));
    for (size_t i = 0; well && i < json_array_size(samples) && i * step < count; i++) {
        const double wanted = json_number_value(json_array_get(samples, i));
        well = fabs((double)got[i * step] - wanted) <= tolerance * largest;
    }
    free(got);
    return well;
}

/* Returns whether a step of the program has the same results as a step of Tenon, both from the
 * initial values. */
static bool agrees(bench_session *session, bench_historic *h, const bench_way *way)
{
    bench_training *t = &h->training;
    char *answer = malloc(ANSWER_SIZE);
    json_t *results = NULL;
    bool well = answer != NULL && bench_program_ask(way, "check", answer, ANSWER_SIZE);
    if (well)
        results = json_loads(answer, 0, NULL);
    well = well && json_array_size(results) == h->result_count &&
           bench_training_reset(t, session->stream) && bench_training_run(t, session->stream) &&
           BENCH_WELL(tenon_stream_finish(session->stream));
    for (uint32_t i = 0; well && i < h->result_count; i++) {
        well =
            compare(&t->values[h->results[i]], t->operations > LARGE ? LARGE_TOLERANCE : TOLERANCE,
                    session->stream, json_array_get(results, i));
        if (!well)
            bench_leave_out("numpy", "wrong result %u of %u", i + 1, h->result_count);
    }
    if (results == NULL)
        bench_leave_out("numpy", "its program failed");
    json_decref(results);
    free(answer);
    return well;
}

bool bench_program_step(bench_session *session, bench_historic *h, bench_way *way)
{
    char *line = describe(h);
    bool well = bench_program_start(session->options->network_program, "numpy", line, NULL, 0, way);
    free(line);
    if (well && !agrees(session, h, way)) {
        way->destroy(way->data);
        well = false;
    }
    return well;
}
