#define _XOPEN_SOURCE 700 /* for realpath */
#include "in_python.h"

#include "session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* Writes the path of this program to `path`, without symbolic links. Returns false if the system
 * does not tell it. */
static bool path_of_program(char path[PATH_MAX])
{
#ifdef __APPLE__
    char name[PATH_MAX];
    uint32_t size = sizeof name;
    return _NSGetExecutablePath(name, &size) == 0 && realpath(name, path) != NULL;
#else
    return realpath("/proc/self/exe", path) != NULL;
#endif
}

/* Writes the path of the modules' folder to `folder`. Returns false, after a message, if there is
 * none. */
static bool find_modules(char folder[PATH_MAX])
{
    static const char *const places[] = {"../python/tenon/bench", "../share/tenon/bench"};
    char program[PATH_MAX], entry[PATH_MAX];
    if (!path_of_program(program)) {
        fprintf(stderr, "tenon-bench: the path of this program is not known, by which the Python "
                        "modules are found\n");
        return false;
    }
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(folder, PATH_MAX, "%s/%s", program, places[i]) < PATH_MAX &&
            snprintf(entry, PATH_MAX, "%s/__main__.py", folder) < PATH_MAX &&
            access(entry, R_OK) == 0)
            return true;
    fprintf(stderr, "tenon-bench: its Python modules are neither in %s/%s nor in %s/%s\n", program,
            places[0], program, places[1]);
    return false;
}

int bench_python(int argc, char **argv)
{
    const char *named = getenv("TENON_BENCH_PYTHON");
    const char *python = named != NULL && *named != '\0' ? named : "python3";
    char folder[PATH_MAX];
    char **words = calloc((size_t)argc + 2, sizeof *words); /* python, folder, argv[1] …, NULL */
    if (words == NULL) {
        fprintf(stderr, "tenon-bench: out of memory\n");
        return 1;
    }
    if (find_modules(folder)) {
        words[0] = (char *)python;
        words[1] = folder;
        memcpy(words + 2, argv + 1, ((size_t)argc - 1) * sizeof *words);
        fflush(stdout);
        execvp(python, words);
        fprintf(stderr, "tenon-bench: %s needs Python, but %s cannot be run: %s\n", argv[1], python,
                strerror(errno));
    }
    free(words);
    return BENCH_WRONG_USE;
}
