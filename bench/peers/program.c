#include "program.h"

#include "absent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program that answers each line of its standard input with a line. */
typedef struct program {
    const char *library;
    char version[64];
    pid_t process;
    FILE *to, *from;
    int waiting; /* runs that were called and not yet requested */
} program;

static void destroy(void *data)
{
    program *p = data;
    if (p->to != NULL)
        fclose(p->to);
    if (p->from != NULL)
        fclose(p->from);
    if (p->process > 0)
        waitpid(p->process, NULL, 0);
    free(p);
}

static void execute(const char *command, const char *library, const int *input, const int *output)
{
    char line[1024];
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches it, too; it ends when its input is closed */
    const int length = snprintf(line, sizeof line, "exec %s %s", command, library);
    if (length < (int)sizeof line && dup2(input[0], STDIN_FILENO) >= 0 &&
        dup2(output[1], STDOUT_FILENO) >= 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    }
    _exit(127);
}

/* Opens a pipe that other programs do not inherit. */
static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static bool start(const char *command, const char *library, program *p)
{
    int input[2], output[2];
    if (!open_pipe(input))
        return false;
    if (!open_pipe(output)) {
        close(input[0]);
        close(input[1]);
        return false;
    }
    signal(SIGPIPE, SIG_IGN); /* a program that has ended is reported by ask */
    fflush(NULL);
    p->process = fork();
    if (p->process == 0)
        execute(command, library, input, output);
    close(input[0]);
    close(output[1]);
    p->to = fdopen(input[1], "w");
    p->from = fdopen(output[0], "r");
    return p->process > 0 && p->to != NULL && p->from != NULL;
}

/* Sends a line and the bytes that follow it, and reads the answer; "" if the program has ended. */
static const char *ask(program *p, const char *line, const bench_bytes *bytes, uint32_t count,
                       char *answer, int size)
{
    bool well = fprintf(p->to, "%s\n", line) >= 0;
    for (uint32_t i = 0; well && i < count; i++)
        well = fwrite(bytes[i].data, 1, bytes[i].size, p->to) == bytes[i].size;
    answer[0] = '\0';
    if (!well || fflush(p->to) != 0 || fgets(answer, size, p->from) == NULL)
        return "";
    answer[strcspn(answer, "\n")] = '\0';
    return answer;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    (void)stream;
    (void)turn;
    ((program *)data)->waiting++;
    return true;
}

/* Lets the program do all runs that were called, so that its answer takes no part of the time. */
static bool finish(void *data)
{
    program *p = data;
    char line[16], answer[64];
    snprintf(line, sizeof line, "%d", p->waiting);
    p->waiting = 0;
    if (strcmp(ask(p, line, NULL, 0, answer, sizeof answer), "done") == 0)
        return true;
    bench_complain("the program of %s has ended", p->library);
    return false;
}

bool bench_program_start(const char *command, const char *library, const char *line,
                         const bench_bytes *bytes, uint32_t count, bench_way *way)
{
    char answer[256], version[64];
    if (command == NULL) {
        bench_leave_out(library, "--network-program is not given");
        return false;
    }
    program *p = calloc(1, sizeof *p);
    const bool runs = p != NULL && line != NULL && start(command, library, p);
    const char *found = runs ? ask(p, line, bytes, count, answer, sizeof answer) : "";
    if (!runs || sscanf(found, "ready %63[^\n]", p->version) != 1) {
        bench_leave_out(library, "%s",
                        strncmp(found, "absent: ", 8) == 0 ? found + 8 : "its program failed");
        if (p != NULL)
            destroy(p);
        return false;
    }
    p->library = library;
    snprintf(version, sizeof version, "%.*s", (int)strcspn(p->version, ",/"), p->version);
    bench_note_version(library, version);
    *way = (bench_way){library, call, true, p, destroy, p->version, finish};
    return true;
}

bool bench_program_ask(const bench_way *way, const char *line, char *answer, int size)
{
    return ask(way->data, line, NULL, 0, answer, size)[0] != '\0';
}
