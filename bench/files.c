#include "device.h"
#include "peers/absent.h"
#include "provenance.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "tenon-bench: %s: %s: %s\n", path, what, strerror(errno));
    return false;
}

static char *name_beside(const char *path)
{
    char *name = malloc(strlen(path) + 5);
    if (name != NULL)
        sprintf(name, "%s.new", path);
    return name;
}

bool bench_can_write(const char *path)
{
    char *name = name_beside(path);
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    if (file != NULL) {
        fclose(file);
        remove(name);
    } else {
        complain(path, "cannot write the file");
    }
    free(name);
    return file != NULL;
}

/* Renames the complete temporary file to `path`. */
static bool put_in_place(FILE *file, char *name, const char *path)
{
    bool well = fflush(file) == 0 && ferror(file) == 0;
    well = fclose(file) == 0 && well && rename(name, path) == 0;
    if (!well) {
        complain(path, "could not be written");
        remove(name);
    }
    free(name);
    return well;
}

static json_t *peers_of(const bench_result *r)
{
    json_t *peers = json_object();
    for (uint32_t p = 0; p < r->peer_count; p++) {
        json_t *peer = json_pack("{s:f, s:f}", "median_ns", r->peers[p].median, "ratio",
                                 r->peers[p].median / r->wall.median);
        if (r->peers[p].algorithm[0] != '\0')
            json_object_set_new(peer, "algorithm", json_string(r->peers[p].algorithm));
        json_object_set_new(peers, r->peers[p].name, peer);
    }
    return peers;
}

/* Adds the nanoseconds of each kind of layer, for a network. */
static json_t *with_layers(json_t *result, const bench_result *r)
{
    json_t *layers = r->has_layers ? json_object() : NULL;
    for (int kind = 0; layers != NULL && kind < BENCH_LAYER_KINDS; kind++)
        if (r->layers[kind] > 0)
            json_object_set_new(layers, bench_layer_kinds[kind], json_real(r->layers[kind]));
    if (layers != NULL)
        json_object_set_new(result, "layers_ns", layers);
    return result;
}

static json_t *share_or_null(bool known, double share)
{
    return known ? json_real(share) : json_null();
}

/* Adds the device, the load of the machine and, as far as they are known, the rest. */
static json_t *with_conditions(json_t *result, const bench_result *r)
{
    json_object_set_new(result, "device", json_integer(r->device));
    json_object_set_new(result, "load",
                        json_pack("{s:o, s:o, s:b, s:i}", "other",
                                  share_or_null(r->load.known, r->load.other), "steal",
                                  share_or_null(r->load.known, r->load.steal), "disturbed",
                                  (int)bench_is_disturbed(&r->load), "repeats", (int)r->repeats));
    json_object_set_new(result, "roofline",
                        r->attainable > 0
                            ? json_pack("{s:f, s:s, s:f}", "share", r->attainable / r->wall.median,
                                        "ceiling", r->ceiling, "attainable_ns", r->attainable)
                            : json_null());
    if (r->energy >= 0)
        json_object_set_new(result, "energy_nj", json_real(r->energy));
    if (r->asked[0] != '\0')
        json_object_set_new(result, "asked", json_string(r->asked));
    return result;
}

static json_t *result_of(const bench_result *r)
{
    json_t *result =
        json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:o}", "suite",
                  r->suite, "case", r->name, "dtype", tenon_dtype_string(r->dtype), "solver",
                  r->solver, "median_ns", r->wall.median, "low_ns", r->wall.low, "high_ns",
                  r->wall.high, "event_ns", r->event, "latency_ns", r->latency, "gflops",
                  r->operations / r->wall.median, "gbps", r->bytes / r->wall.median, "verified",
                  r->verified, "error_over_bound", r->error_over_bound, "peers", peers_of(r));
    return with_layers(with_conditions(result, r), r);
}

static json_t *summary_of(const bench_summary *summary)
{
    json_t *ratios = json_array(), *slowest = json_array();
    for (uint32_t i = 0; i < summary->ratio_count; i++) {
        const bench_ratio *r = &summary->ratios[i];
        json_array_append_new(
            ratios, json_pack("{s:i, s:s, s:s, s:s, s:i, s:f, s:f, s:s}", "device", (int)r->device,
                              "suite", r->suite, "dtype", tenon_dtype_string(r->dtype), "peer",
                              r->peer, "cases", (int)r->cases, "mean", r->mean, "least", r->least,
                              "least_case", r->least_at->name));
    }
    for (uint32_t i = 0; i < summary->slow_count; i++) {
        const bench_ratio *r = &summary->slowest[i];
        json_array_append_new(slowest,
                              json_pack("{s:i, s:s, s:s, s:s, s:s, s:f}", "device", (int)r->device,
                                        "suite", r->suite, "dtype", tenon_dtype_string(r->dtype),
                                        "case", r->least_at->name, "solver", r->least_at->solver,
                                        "ratio", r->least));
    }
    return json_pack("{s:o, s:o}", "ratios", ratios, "slowest", slowest);
}

static json_t *command_of(int argc, char **argv)
{
    json_t *command = json_array();
    for (int i = 0; i < argc; i++)
        json_array_append_new(command, json_string(argv[i]));
    return command;
}

bench_file bench_file_begin(const bench_options *options, int argc, char **argv)
{
    return (bench_file){.options = options,
                        .argc = argc,
                        .argv = argv,
                        .clock = bench_clock(),
                        .store = "off",
                        .devices = json_array(),
                        .failures = json_array()};
}

void bench_file_end(bench_file *file)
{
    json_decref(file->devices);
    json_decref(file->failures);
}

json_t *bench_json_document(const bench_file *file, bool complete, json_t *results, json_t *summary)
{
    json_t *document = json_pack(
        "{s:i, s:s, s:o, s:o, s:b, s:b, s:o, s:s, s:o, s:O, s:o}", "version", BENCH_JSON_VERSION,
        "tenon", tenon_version_string(), "date", bench_json_date(), "command",
        command_of(file->argc, file->argv), "complete", (int)complete, "predicted",
        (int)file->predicted, "build", bench_json_build(), "store", file->store, "energy",
        file->energy != NULL ? json_string(file->energy) : json_null(), "devices", file->devices,
        "host", bench_json_host(file->clock));
    json_object_set_new(document, "peers", bench_json_peers(file->options));
    json_object_set(document, "failures", file->failures);
    json_object_set_new(document, "results", results);
    json_object_set_new(document, "summary", summary);
    return document;
}

static json_t *document_of(const bench_file *file, bool complete, const bench_result *results,
                           uint32_t count, const bench_summary *summary)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, result_of(&results[i]));
    return bench_json_document(file, complete, list, summary_of(summary));
}

bool bench_write_text(const char *path, const char *text)
{
    char *name = name_beside(path);
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    if (file == NULL) {
        free(name);
        return complain(path, "cannot write the file");
    }
    fprintf(file, "%s\n", text);
    return put_in_place(file, name, path);
}

bool bench_write_json(const char *path, const bench_file *file, bool complete,
                      const bench_result *results, uint32_t count, const bench_summary *summary)
{
    return bench_json_write(path, document_of(file, complete, results, count, summary));
}

static void write_row(FILE *file, const bench_result *r)
{
    fprintf(file, "%u,%s,%s,%s,\"%s\",%.1f,%.1f,%.1f,%.1f,%.1f,%.4f,%.4f,%d,%.4f", r->device,
            r->suite, r->name, tenon_dtype_string(r->dtype), r->solver, r->wall.median, r->wall.low,
            r->wall.high, r->event, r->latency, r->operations / r->wall.median,
            r->bytes / r->wall.median, r->verified, r->error_over_bound);
    for (size_t n = 0; n < BENCH_PEER_NAMES; n++) {
        fputc(',', file);
        for (uint32_t p = 0; p < r->peer_count; p++)
            if (strcmp(r->peers[p].name, bench_peer_names[n]) == 0)
                fprintf(file, "%.1f", r->peers[p].median);
    }
    fputc('\n', file);
}

/* Writes the name of a peer's column: "tenon-f32" becomes tenon_f32_ns. */
static void write_column(FILE *file, const char *peer)
{
    fputc(',', file);
    for (; *peer != '\0'; peer++)
        fputc(*peer == '-' ? '_' : *peer, file);
    fputs("_ns", file);
}

bool bench_write_csv(const char *path, const bench_result *results, uint32_t count)
{
    char *name = name_beside(path);
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    if (file == NULL) {
        free(name);
        return complain(path, "cannot write the file");
    }
    fputs("device,suite,case,dtype,solver,median_ns,low_ns,high_ns,event_ns,latency_ns,gflops,gbps,"
          "verified,error_over_bound",
          file);
    for (size_t n = 0; n < BENCH_PEER_NAMES; n++)
        write_column(file, bench_peer_names[n]);
    fputc('\n', file);
    for (uint32_t i = 0; i < count; i++)
        write_row(file, &results[i]);
    return put_in_place(file, name, path);
}
