/* Applies the results of CLBlast's own tuners to a device. */
#include "peers.h"

#include <stdio.h>

#ifdef BENCH_CLBLAST
#include "clblast.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMETERS 32

/* The kernel name of the library for each kernel family and run number in the tuners' files. */
static const struct {
    const char *family, *kernel;
} kernels[] = {{"copy", "Copy"},
               {"pad", "Pad"},
               {"transpose", "Transpose"},
               {"padtranspose", "Padtranspose"},
               {"xgemm_direct", "XgemmDirect"},
               {"xgemm", "Xgemm"}};

static const char *kernel_of(const char *family)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        size_t length = strlen(kernels[i].family);
        if (strncmp(family, kernels[i].family, length) == 0 &&
            strspn(family + length, "_0123456789") == strlen(family + length))
            return kernels[i].kernel;
    }
    return NULL;
}

/* Splits "NAME=VALUE NAME=VALUE" in place; the type, which is one of the names, is skipped. */
static size_t parameters_of(char *text, const char *names[MAX_PARAMETERS],
                            size_t values[MAX_PARAMETERS])
{
    size_t count = 0;
    char *rest = NULL;
    for (char *at = strtok_r(text, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(at, '=');
        if (equals == NULL || count == MAX_PARAMETERS)
            return 0;
        *equals = '\0';
        if (strcmp(at, "PRECISION") == 0)
            continue;
        names[count] = at;
        values[count++] = strtoul(equals + 1, NULL, 10);
    }
    return count;
}

static bool tuned;

bool bench_clblast_is_tuned(void)
{
    return tuned;
}

static bool apply(cl_device_id device, const char *file, const json_t *found)
{
    const char *names[MAX_PARAMETERS], *family, *precision, *best;
    size_t values[MAX_PARAMETERS];
    if (json_unpack((json_t *)found, "{s:s, s:s, s:s}", "kernel_family", &family, "precision",
                    &precision, "best_parameters", &best) != 0) {
        fprintf(stderr, "tenon-bench: %s is not a file of CLBlast's tuners\n", file);
        return false;
    }
    const char *kernel = kernel_of(family);
    char *text = strdup(best);
    if (kernel == NULL || text == NULL) {
        free(text);
        return text != NULL; /* a kernel that matrix products do not use */
    }
    size_t count = parameters_of(text, names, values);
    CLBlastStatusCode code =
        bench_clblast_of(BENCH_OTHER)
            ->override_parameters(device, kernel, (CLBlastPrecision)atoi(precision), count, names,
                                  values);
    free(text);
    if (code != CLBlastSuccess)
        fprintf(stderr, "tenon-bench: %s: CLBlast rejected it with status %d\n", file, (int)code);
    return code == CLBlastSuccess;
}

static bool apply_file(cl_device_id device, const char *file)
{
    json_error_t error;
    json_t *found = json_load_file(file, 0, &error);
    if (found == NULL) {
        fprintf(stderr, "tenon-bench: %s: %s\n", file, error.text);
        return false;
    }
    bool applied = apply(device, file, found);
    json_decref(found);
    return applied;
}

bool bench_clblast_tune(cl_device_id device, const char *folder)
{
    char file[1024];
    const struct dirent *entry;
    bool applied = true;
    tuned = false;
    if (bench_clblast_of(BENCH_OTHER) == NULL)
        return true; /* left out */
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        fprintf(stderr, "tenon-bench: --clblast-tuning: cannot read folder %s\n", folder);
        return false;
    }
    while ((entry = readdir(listing)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
        applied &= apply_file(device, file);
    }
    closedir(listing);
    tuned = applied;
    return applied;
}
#else
bool bench_clblast_tune(cl_device_id device, const char *folder)
{
    (void)device;
    fprintf(stderr, "tenon-bench: --clblast-tuning %s: CLBlast is not built in\n", folder);
    return false;
}
#endif
