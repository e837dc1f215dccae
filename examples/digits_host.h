/* The parts of the digits example that need no device: its data and its output. */
#ifndef DIGITS_HOST_H
#define DIGITS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#define SIDE    8             /* an image is SIDE × SIDE pixels */
#define PIXELS  (SIDE * SIDE) /* in an image */
#define CLASSES 10            /* the digits 0 to 9 */

typedef struct options {
    const char *data, *device;
    const char *type; /* NULL: all */
    uint64_t seed;
    int seeds;
} options;

/* Reads the command line; exits if it requests help or is invalid. */
options options_parse(int argc, char **argv, const char *default_data);

typedef struct digit {
    float pixels[PIXELS]; /* 0 is paper, 1 is ink */
    int label;
} digit;

/* Reads the digits of a file: 64 pixels from 0 to 16 and the label on each line, separated by
 * commas. The caller frees them. On failure prints a message to stderr and returns NULL. */
digit *digits_read(const char *path, int *count);

/* Shuffles the digits into an order determined by the seed. */
void digits_shuffle(digit *digits, int count, uint64_t *seed);

/* Draws five digits in a row with the network's answers: the first ones, and as the last one the
 * first wrong answer, if there is one. */
void digits_draw(const digit *digits, const int32_t *taken_for, int count);

/* Progress of the whole training. */
typedef struct progress {
    int done, all; /* steps of training */
    double spent;  /* seconds spent on them */
    double ahead;  /* estimated seconds of remaining compilation */
    int shown;     /* fifths that have been printed */
} progress;

/* Shows the progress and the remaining time: on a terminal as a bar, which the next printed line
 * replaces, otherwise as a line for each fifth. */
void progress_show(progress *p);

/* Shows, on a terminal, how many of the first calls are ready. */
void progress_kernels(const char *type, int ready, int all);

/* Clears the progress bar, if there is one, before a line is printed. */
void progress_clear(void);

/* Returns the seconds of a monotonic clock. */
double seconds_now(void);

#endif
