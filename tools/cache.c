/* tenon cache: manages the persistent cache. */
#include "cache_file.h"
#include "cache_list.h"
#include "command.h"

#include "base/platform.h"
#include "base/store_folder.h"

#include <errno.h>
#include <inttypes.h>

#define WHY_SIZE 256

/* Returns the default folder, which the caller frees. If there is none, prints the reason to stderr
 * and returns NULL. */
static char *usual_folder(const char *verb)
{
    char *folder = tn_folder_usual();
    const char *off = getenv("TENON_CACHE");
    char none[128];
    snprintf(none, sizeof none, "none of TENON_CACHE_DIR, %s is set",
             tn_folder_of_caches_variables);
    if (folder == NULL)
        fprintf(stderr, "tenon cache: %s: no folder: %s\n", verb,
                off != NULL && strcmp(off, "0") == 0 ? "TENON_CACHE is 0" : none);
    return folder;
}

/* A folder that does not exist yet is usable: it is created at its first use. */
static bool may_be_used(const char *verb, const char *folder)
{
    char why[WHY_SIZE];
    tn_file_facts is;
    if (tn_file_look(folder, &is) == ENOENT || tn_folder_check(folder, why) == NULL)
        return true;
    fprintf(stderr, "tenon cache: %s: folder %s is not used: %s\n", verb, folder, why);
    return false;
}

static int path(const char *folder)
{
    printf("%s\n", folder);
    return may_be_used("path", folder) ? EXIT_OK : EXIT_FAILED;
}

static int list(const char *folder, const char *kind)
{
    cache_rows rows;
    if (!cache_rows_read("list", folder, &rows))
        return EXIT_FAILED;
    const int status = cache_list(folder, &rows, kind);
    free(rows.rows);
    return status;
}

static int clear(const char *folder)
{
    cache_rows before, after;
    if (!may_be_used("clear", folder) || !cache_rows_read("clear", folder, &before))
        return EXIT_FAILED;
    for (size_t i = 0; i < before.count; i++)
        tn_folder_remove(folder, before.rows[i].name);
    tn_folder_sweep(folder);
    free(before.rows);
    if (!cache_rows_read("clear", folder, &after))
        return EXIT_FAILED;
    free(after.rows);
    printf("removed %u %s of %" PRIu64 " bytes from %s\n", before.count,
           before.count == 1 ? "entry" : "entries", before.bytes, folder);
    if (after.count == 0)
        return EXIT_OK;
    fprintf(stderr, "tenon cache: clear: %u entries in %s could not be removed or are new\n",
            after.count, folder);
    return EXIT_FAILED;
}

/* Writes the valid entries. Crash guards are only meaningful on this machine and are not written.
 */
static bool write_all(FILE *file, const char *folder, const cache_rows *rows, size_t *count,
                      uint64_t *bytes)
{
    bool written = cache_file_begin(file);
    for (size_t i = 0; written && i < rows->count; i++) {
        const char *name = rows->rows[i].name;
        size_t size;
        tn_entry entry;
        unsigned char *whole = tn_folder_read(folder, name, &size);
        if (whole != NULL && !tn_entry_read(whole, size, &entry)) {
            fprintf(stderr, "tenon cache: export: skipped %s: it is damaged\n", name);
        } else if (whole != NULL && entry.kind != TN_STORE_RUNNING) {
            written = cache_file_add(file, name, whole, size);
            ++*count;
            *bytes += size;
        }
        free(whole);
    }
    return written && cache_file_end(file, *count);
}

static int cannot_write(const char *path, int error)
{
    fprintf(stderr, "tenon cache: export: cannot write %s: %s\n", path, strerror(error));
    return EXIT_FAILED;
}

/* Writes to a temporary file first, so a reader sees the complete file or none. */
static int export_rows(const char *folder, const cache_rows *rows, const char *path)
{
    char temporary[4096];
    size_t count = 0;
    uint64_t bytes = 0;
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return cannot_write(path, ENAMETOOLONG);
    FILE *file = tn_file_begin(temporary);
    if (file == NULL)
        return cannot_write(path, errno);
    const bool written = write_all(file, folder, rows, &count, &bytes);
    const int error = tn_file_keep(file, temporary, path, written, false);
    if (error != 0)
        return cannot_write(path, error);
    printf("wrote %zu %s of %" PRIu64 " bytes from %s to %s\n", count,
           count == 1 ? "entry" : "entries", bytes, folder, path);
    return EXIT_OK;
}

static int export_all(const char *folder, const char *path)
{
    cache_rows rows;
    if (!may_be_used("export", folder) || !cache_rows_read("export", folder, &rows))
        return EXIT_FAILED;
    const int status = export_rows(folder, &rows, path);
    free(rows.rows);
    return status;
}

typedef struct importing {
    const char *folder;
    bool force;
    size_t written, kept;
    char why[WHY_SIZE];
    bool failed;
} importing;

static bool only_look(void *user, const cache_item *item)
{
    (void)user;
    (void)item;
    return true;
}

static bool import_one(void *user, const cache_item *item)
{
    importing *job = user;
    if (item->entry.kind == TN_STORE_RUNNING)
        return true;
    if (!job->force && tn_folder_has(job->folder, item->name)) {
        job->kept++;
        return true;
    }
    job->failed =
        tn_folder_write(job->folder, item->name, item->bytes, item->size, job->why) != NULL;
    job->written += !job->failed;
    return !job->failed;
}

/* Verifies the whole file before any entry is written. */
static int import_file(importing *job, FILE *file, const char *path)
{
    char fault[CACHE_FAULT_SIZE];
    if (!cache_file_read(file, only_look, NULL, fault) || fseek(file, 0, SEEK_SET) != 0 ||
        !cache_file_read(file, import_one, job, fault)) {
        fprintf(stderr, "tenon cache: import: %s: %s\n", path, fault);
        return EXIT_FAILED;
    }
    if (job->failed) {
        fprintf(stderr, "tenon cache: import: folder %s: %s\n", job->folder, job->why);
        return EXIT_FAILED;
    }
    printf("wrote %zu %s to %s; %zu more existed already\n", job->written,
           job->written == 1 ? "entry" : "entries", job->folder, job->kept);
    return EXIT_OK;
}

static int import_all(const char *folder, const char *path, bool force)
{
    importing job = {.folder = folder, .force = force};
    if (tn_folder_make(folder, job.why) != NULL) {
        fprintf(stderr, "tenon cache: import: folder %s is not used: %s\n", folder, job.why);
        return EXIT_FAILED;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "tenon cache: import: cannot read %s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    const int status = import_file(&job, file, path);
    fclose(file);
    return status;
}

typedef struct request {
    const char *verb, *file, *kind;
    bool force;
} request;

static bool is_kind(const char *word)
{
    for (int kind = 0; kind < TN_STORE_KINDS; kind++)
        if (strcmp(word, tn_store_kind_name((tn_store_kind)kind)) == 0)
            return true;
    return false;
}

static bool is_action(const char *word)
{
    static const char *const actions[] = {"list", "clear", "path", "export", "import"};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(word, actions[i]) == 0)
            return true;
    return false;
}

/* Takes the action and the file. Returns EXIT_OK, or EXIT_USAGE after a message. */
static int take_operands(const command_line *line, request *r)
{
    const command *c = &cache_command;
    if (line->count == 0)
        return command_line_wrong(c, "an action is missing");
    r->verb = line->operands[0];
    if (!is_action(r->verb))
        return command_line_wrong(c, "unknown action \"%s\"", r->verb);
    const bool exports = strcmp(r->verb, "export") == 0, imports = strcmp(r->verb, "import") == 0;
    r->file = line->operands[1];
    if ((exports || imports) && (r->file == NULL || r->file[0] == '\0'))
        return command_line_wrong(c, "%s: FILE is missing", r->verb);
    if (!exports && !imports && r->file != NULL)
        return command_line_wrong(c, "%s: unexpected argument \"%s\"", r->verb, r->file);
    if (r->force && !imports)
        return command_line_wrong(c, "%s: --force is an option of import", r->verb);
    if (r->kind != NULL && strcmp(r->verb, "list") != 0)
        return command_line_wrong(c, "%s: --kind is an option of list", r->verb);
    if (r->kind != NULL && !is_kind(r->kind))
        return command_line_wrong(
            c, "list: unknown --kind \"%s\", allowed: program, check, trial, tuning, running",
            r->kind);
    return EXIT_OK;
}

static int run(int argc, char **argv)
{
    request r = {NULL};
    command_line line;
    const command_option known[] = {
        {"kind", OPTION_TEXT, &r.kind, "KIND",
         "of list: only entries of this kind: program, check, trial, tuning or running"},
        {"force", OPTION_FLAG, &r.force, NULL, "of import: replace entries that exist"},
        {NULL},
    };
    if (!command_line_read(&cache_command, argc, argv, known, 2, &line))
        return line.status;
    int status = take_operands(&line, &r);
    if (status != EXIT_OK)
        return status;
    char *folder = usual_folder(r.verb);
    if (folder == NULL)
        return EXIT_FAILED;
    status = strcmp(r.verb, "path") == 0     ? path(folder)
             : strcmp(r.verb, "list") == 0   ? list(folder, r.kind)
             : strcmp(r.verb, "clear") == 0  ? clear(folder)
             : strcmp(r.verb, "export") == 0 ? export_all(folder, r.file)
                                             : import_all(folder, r.file, r.force);
    free(folder);
    return status;
}

const command cache_command = {
    .name = "cache",
    .summary = "list, clear, export or import the persistent cache",
    .run = run,
    .arguments = "list | clear | path | export FILE | import FILE",
    .details =
        "  list          prints a line for each entry: its kind (program, check, trial, tuning,\n"
        "                running), size in bytes, last use (to the day) and description; fails\n"
        "                if an entry is damaged\n"
        "  clear         removes all entries\n"
        "  path          prints the folder: TENON_CACHE_DIR, else $XDG_CACHE_HOME/tenon, else\n"
        "                ~/.cache/tenon (macOS: ~/Library/Caches/tenon), on Windows tenon in\n"
        "                %LOCALAPPDATA%; fails if there is none, for example with TENON_CACHE=0\n"
        "  export FILE   writes all entries to one file, except the crash guards (running)\n"
        "  import FILE   verifies such a file as a whole and adds its entries. They are only used\n"
        "                with the same device, driver and library. Existing entries are kept\n"
        "                unless --force is given. Entries contain code that is executed: import\n"
        "                only files from people who may run code on this machine.\n",
};
