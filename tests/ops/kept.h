/* What tests of the store share: contexts with a store of their own, what they tell, and processes
 * that begin anew. */
#ifndef TEST_OPS_KEPT_H
#define TEST_OPS_KEPT_H

#include "support.h"

#include "common/temporary.h"

#include "base/store_entry.h"

/* What a context has said. */
typedef struct kept_log {
    tenon_context *context; /* of which no lock may be held where it speaks */
    int warnings, infos;
    int begun[3], done[3]; /* steps of progress, by stage */
    int info_lines[3];     /* lines that tell of one that is done, by stage */
    int measured;          /* lines that tell of the processor's numbers */
    char warning[1024];    /* the last one */
    char all[4096];        /* warnings, one after the other */
} kept_log;

/* A context with a store, which tells `log`. */
typedef struct kept_session {
    tenon_context *context;
    tenon_stream *stream;
    kept_log log;
    tenon_statistics seen; /* by kept_see */
} kept_session;

tenon_store kept_folder(const char *folder);
void kept_open(kept_session *s, const tenon_store *store);
void kept_close(kept_session *s); /* when all is kept; there may be no other context */
void kept_see(kept_session *s);

/* Runs a product whose result is exact and compared; gives a hash of its bits. */
uint64_t kept_product(kept_session *s);

/* All of it; the statistics are those of before the end, when nothing more is to be kept. */
uint64_t kept_run(kept_session *s, const tenon_store *store);

/* How many of the folder's entries are of a kind. */
int kept_count(const char *folder, tn_store_kind kind);

/* The path of the first entry of a kind, valid as temporary_path's. */
const char *kept_entry(const char *folder, tn_store_kind kind);

/* Writes other data under an entry's key. */
void kept_write(const char *path, tn_store_kind kind, const char *key, const char *data);

/* Whether nothing was compiled, tried or checked. */
#define assert_nothing_new(s)                                                                      \
    do {                                                                                           \
        assert_int_equal((s)->seen.programs_built, 0);                                             \
        assert_int_equal((s)->seen.trials, 0);                                                     \
        assert_int_equal((s)->seen.checks, 0);                                                     \
    } while (0)

/* Runs this program anew with two arguments, after environment variables ("A=1 B=2", or ""), and
 * gives the first line that it prints; returns what waitpid says of it. */
int kept_begin_anew(const char *variables, const char *what, const char *folder, char line[256]);

/* What a process that was begun with "run" does: prints what it has found. Returns its status. */
int kept_run_and_print(const char *folder);

#endif
