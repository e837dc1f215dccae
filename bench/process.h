/* Measurements of first calls: each in a process of its own, with caches of its own. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

/* The folders in which the process keeps programs: Tenon's store (NULL: none) and the driver's
 * cache. */
typedef struct bench_caches {
    const char *store, *driver;
} bench_caches;

#define BENCH_MOST_TIMES 16

/* A measurement that runs in a child process. */
typedef struct bench_measurement {
    void (*measure)(const void *user, double *times); /* writes `count` times in seconds */
    void (*done)(const void *user); /* called after that, unless NULL; may end the process */
    const void *user;
    int count;  /* at most BENCH_MOST_TIMES */
    int signal; /* by which the process ends; 0: it exits */
} bench_measurement;

/* Creates a folder below TMPDIR or /tmp that is deleted when the program ends, also after Ctrl-C or
 * SIGTERM. To be called once. Returns its path, or NULL after a message. */
const char *bench_temporary_folder(void);

/* Makes an empty folder; what it contained is deleted. */
void bench_empty_folder(const char *folder);

/* Runs a measurement. Ends the program if the process fails, or after Ctrl-C or SIGTERM. */
void bench_run_process(const bench_caches *caches, const bench_measurement *measurement,
                       double *times);

#endif
