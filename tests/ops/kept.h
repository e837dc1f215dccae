/* Shared parts of the store's tests: contexts with a store of their own, their log, and new
 * processes. */
#ifndef TEST_OPS_KEPT_H
#define TEST_OPS_KEPT_H

#include "support.h"

#include "common/temporary.h"

#include "base/store_entry.h"

/* Log of a context. */
typedef struct kept_log {
    tenon_context *context; /* must not hold a lock during a callback */
    int warnings, infos;
    int begun[3], done[3]; /* progress callbacks by stage */
    int info_lines[3];     /* log lines that report a completed step, by stage */
    int measured;          /* log lines that report the processor's constants */
    char warning[1024];    /* the last one */
    char all[4096];        /* all warnings, concatenated */
} kept_log;

/* A context with a store, and its log. */
typedef struct kept_session {
    tenon_context *context;
    tenon_stream *stream;
    kept_log log;
    tenon_statistics seen; /* set by kept_see */
} kept_session;

tenon_store kept_folder(const char *folder);
void kept_open(kept_session *s, const tenon_store *store);
void kept_close(kept_session *s); /* after everything is stored; no other context may exist */
void kept_see(kept_session *s);

/* Runs a product whose exact result is checked; returns a hash of its bits. */
uint64_t kept_product(kept_session *s);

/* Opens, runs the product, and closes. The statistics are those before the close, when nothing more
 * is to be stored. */
uint64_t kept_run(kept_session *s, const tenon_store *store);

/* Returns the number of entries of a kind in the folder. */
int kept_count(const char *folder, tn_store_kind kind);

/* Returns the path of the first entry of a kind, valid as long as a temporary_path. */
const char *kept_entry(const char *folder, tn_store_kind kind);

/* Writes other data under the key of an entry. */
void kept_write(const char *path, tn_store_kind kind, const char *key, const char *data);

/* Checks that nothing was compiled, tried or self-checked. */
#define assert_nothing_new(s)                                                                      \
    do {                                                                                           \
        assert_int_equal((s)->seen.programs_built, 0);                                             \
        assert_int_equal((s)->seen.trials, 0);                                                     \
        assert_int_equal((s)->seen.checks, 0);                                                     \
    } while (0)

/* Runs this program again with two arguments and additional environment variables ("A=1 B=2", or
 * ""). Stores the first line that it prints; returns its status from waitpid. */
int kept_begin_again(const char *variables, const char *what, const char *folder, char line[256]);

/* Does the work of a process started with "run": prints its results. Returns the exit status. */
int kept_run_and_print(const char *folder);

#endif
