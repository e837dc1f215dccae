/* What the programs of ./run cluster share. Each is compiled by mpicc and run by mpirun. */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H

#include <tenon/mpi.h>
#include <tenon/tenon.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The process's rank in MPI_COMM_WORLD, for messages. */
static int cluster_rank;

/* Seconds since a time that is the same for all processes of a machine. */
static inline double cluster_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void cluster_sleep(double seconds)
{
    const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* The next number of a sequence (splitmix64). */
static inline uint64_t cluster_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns the number of an environment variable, or `otherwise`. */
static inline double cluster_number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtod(text, NULL) : otherwise;
}

/* Prints a line that begins with the rank, and ends the process without MPI_Finalize. */
#define CLUSTER_END(code, ...)                                                                     \
    do {                                                                                           \
        printf("rank %d: ", cluster_rank);                                                         \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        fflush(stdout);                                                                            \
        _exit(code);                                                                               \
    } while (0)

/* Ends the process, and so the job, unless a condition is true. */
#define CLUSTER_CHECK(condition, ...)                                                              \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("rank %d: %s:%d: ", cluster_rank, __FILE__, __LINE__);                          \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
            fflush(stdout);                                                                        \
            MPI_Abort(MPI_COMM_WORLD, 9);                                                          \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

#define CLUSTER_OK(call)                                                                           \
    do {                                                                                           \
        const tenon_status cluster_status = (call);                                                \
        CLUSTER_CHECK(cluster_status == TENON_OK, "%s: %s (%s)", #call, tenon_last_error(),        \
                      tenon_status_string(cluster_status));                                        \
    } while (0)

/* Initializes MPI at the level of CLUSTER_THREADS (3, MPI_THREAD_MULTIPLE, by default). */
static inline void cluster_open(int *count, char ***words)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    int provided = 0;
    MPI_Init_thread(count, words, levels[(int)cluster_number("CLUSTER_THREADS", 3) & 3], &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &cluster_rank);
    /* MPICH 5 handles errors of MPI_Test by this handler. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

#endif
