#include "resume.h"

#include "device.h"
#include "options.h"
#include "provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_command(const bench_file *file, const json_t *words)
{
    if (json_array_size(words) != (size_t)file->argc)
        return false;
    for (int i = 1; i < file->argc; i++) {
        const char *word = json_string_value(json_array_get(words, (size_t)i));
        if (word == NULL || strcmp(word, file->argv[i]) != 0)
            return false;
    }
    return true;
}

static bool is_same_build(const json_t *build)
{
    json_t *own = bench_json_build();
    const bool same = json_equal(own, build) != 0;
    json_decref(own);
    return same;
}

static tenon_dtype dtype_of(const char *name)
{
    for (size_t i = 0; i < BENCH_DTYPES; i++)
        if (strcmp(name, tenon_dtype_string(bench_dtypes[i])) == 0)
            return bench_dtypes[i];
    return TENON_DTYPE_INVALID;
}

static const char *peer_named(const char *name)
{
    for (size_t i = 0; i < BENCH_PEER_NAMES; i++)
        if (strcmp(name, bench_peer_names[i]) == 0)
            return bench_peer_names[i];
    return NULL;
}

static bool read_peers(const json_t *peers, bench_result *r)
{
    const char *name;
    const json_t *peer;
    json_object_foreach((json_t *)(uintptr_t)peers, name, peer)
    {
        const char *known = peer_named(name);
        if (known == NULL || r->peer_count == BENCH_MAX_PEERS)
            return false;
        r->peers[r->peer_count].name = known;
        r->peers[r->peer_count].median = bench_json_number(peer, "median_ns");
        snprintf(r->peers[r->peer_count++].algorithm, sizeof r->peers[0].algorithm, "%s",
                 bench_json_text(peer, "algorithm"));
    }
    return true;
}

static void read_conditions(const json_t *o, bench_result *r)
{
    const json_t *load = json_object_get(o, "load"), *roofline = json_object_get(o, "roofline"),
                 *layers = json_object_get(o, "layers_ns"),
                 *energy = json_object_get(o, "energy_nj");
    r->load = (bench_load){json_is_number(json_object_get(load, "other")),
                           bench_json_number(load, "other"), bench_json_number(load, "steal")};
    r->repeats = (uint32_t)bench_json_number(load, "repeats");
    r->attainable = bench_json_number(roofline, "attainable_ns");
    snprintf(r->ceiling, sizeof r->ceiling, "%s", bench_json_text(roofline, "ceiling"));
    r->energy = energy != NULL ? json_number_value(energy) : -1;
    r->has_layers = layers != NULL;
    for (int i = 0; i < BENCH_LAYER_KINDS; i++)
        r->layers[i] = bench_json_number(layers, bench_layer_kinds[i]);
}

/* Reads a result as files.c writes it. Returns false if a member is missing. */
static bool read_result(const json_t *o, bench_result *r)
{
    memset(r, 0, sizeof *r);
    r->device = (uint32_t)bench_json_number(o, "device");
    r->suite = json_string_value(json_object_get(o, "suite"));
    r->dtype = dtype_of(bench_json_text(o, "dtype"));
    snprintf(r->name, sizeof r->name, "%s", bench_json_text(o, "case"));
    snprintf(r->solver, sizeof r->solver, "%s", bench_json_text(o, "solver"));
    snprintf(r->asked, sizeof r->asked, "%s", bench_json_text(o, "asked"));
    r->wall = (bench_times){bench_json_number(o, "median_ns"), bench_json_number(o, "low_ns"),
                            bench_json_number(o, "high_ns")};
    r->event = bench_json_number(o, "event_ns");
    r->latency = bench_json_number(o, "latency_ns");
    r->operations = bench_json_number(o, "gflops") * r->wall.median;
    r->bytes = bench_json_number(o, "gbps") * r->wall.median;
    r->verified = json_is_true(json_object_get(o, "verified"));
    r->error_over_bound = bench_json_number(o, "error_over_bound");
    read_conditions(o, r);
    return r->suite != NULL && r->dtype != TENON_DTYPE_INVALID && r->wall.median > 0 &&
           read_peers(json_object_get(o, "peers"), r);
}

static bool read_results(bench_resumed *resumed)
{
    const json_t *list = json_object_get(resumed->document, "results");
    resumed->results = calloc(json_array_size(list) + 1, sizeof *resumed->results);
    if (resumed->results == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read_result(json_array_get(list, i), &resumed->results[resumed->count]))
            resumed->count++;
    return true;
}

/* Returns false, with a message, for a file that must not be overwritten. */
static bool is_result_file(const char *path, const json_t *document, const json_error_t *error)
{
    if (document == NULL)
        fprintf(stderr,
                "tenon-bench: --json %s: the file is not a complete JSON document (line %d: %s); "
                "remove it or give another name\n",
                path, error->line, error->text);
    else if (!json_is_array(json_object_get(document, "results")) &&
             !json_is_array(json_object_get(document, "ceilings")))
        fprintf(stderr,
                "tenon-bench: --json %s: the file is not one of tenon-bench; remove it or give "
                "another name\n",
                path);
    else
        return true;
    return false;
}

/* Returns true if the document is an incomplete one of the same command and build. */
static bool can_be_resumed(const bench_file *file, const json_t *document)
{
    return json_integer_value(json_object_get(document, "version")) == BENCH_JSON_VERSION &&
           json_is_false(json_object_get(document, "complete")) &&
           is_same_command(file, json_object_get(document, "command")) &&
           is_same_build(json_object_get(document, "build"));
}

bool bench_resume_document(const bench_file *file, json_t **document)
{
    const char *path = file->options->json;
    json_error_t error;
    *document = NULL;
    FILE *source = path != NULL ? fopen(path, "r") : NULL;
    if (source == NULL)
        return true;
    const bool is_empty = fgetc(source) == EOF;
    rewind(source);
    json_t *found = is_empty ? NULL : json_loadf(source, 0, &error);
    fclose(source);
    const bool well = is_empty || is_result_file(path, found, &error);
    if (well && can_be_resumed(file, found))
        *document = found;
    else
        json_decref(found);
    return well;
}

bool bench_resume(const bench_file *file, bench_resumed *resumed)
{
    *resumed = (bench_resumed){NULL, NULL, 0};
    return bench_resume_document(file, &resumed->document) && read_results(resumed);
}

void bench_resume_end(bench_resumed *resumed)
{
    free(resumed->results);
    json_decref(resumed->document);
}

bool bench_resumed_device(const json_t *document, uint32_t number, const json_t *device)
{
    static const char *const members[] = {"name", "platform", "driver", "selector"};
    const json_t *earlier = json_array_get(json_object_get(document, "devices"), number);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (earlier == NULL ||
            strcmp(bench_json_text(earlier, members[i]), bench_json_text(device, members[i])) != 0)
            return false;
    return true;
}

const bench_result *bench_resumed_result(const bench_resumed *resumed, uint32_t device,
                                         const char *suite, const char *name, tenon_dtype dtype,
                                         const char *solver)
{
    for (uint32_t i = 0; i < resumed->count; i++) {
        const bench_result *r = &resumed->results[i];
        if (r->device == device && r->dtype == dtype && strcmp(r->suite, suite) == 0 &&
            strcmp(r->name, name) == 0 && strcmp(r->asked, solver != NULL ? solver : "") == 0)
            return r;
    }
    return NULL;
}
