/* The parts of the digits example that need no device: its data and what it draws. */
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

/* Reads the command line; ends the process where it asks for help or is wrong. */
options options_parse(int argc, char **argv, const char *default_data);

typedef struct digit {
    float pixels[PIXELS]; /* 0 is paper, 1 is ink */
    int label;
} digit;

/* Reads the digits of a file: 64 pixels from 0 to 16 and the label on each line, separated by
 * commas. The caller frees them. Says what is wrong on stderr and returns NULL on failure. */
digit *digits_read(const char *path, int *count);

/* Puts the digits in an order that depends on the seed alone. */
void digits_shuffle(digit *digits, int count, uint64_t *seed);

/* Draws the first five digits side by side with what each was taken for; the last place is for the
 * first that was misread, where there is one. */
void digits_draw(const digit *digits, const int32_t *taken_for, int count);

/* How far all of the work has come. */
typedef struct progress {
    int done, all; /* steps of training */
    double spent;  /* seconds, on these alone */
    double ahead;  /* seconds that other work to come will take: compiling */
    int shown;     /* fifths that have a line */
} progress;

/* Shows how much is done and how long the rest will take: on a terminal as a bar, which the next
 * line to be printed replaces, else as a line for each fifth. */
void progress_show(progress *p);

/* Shows, on a terminal, how many of the first calls are ready. */
void progress_kernels(const char *type, int ready, int all);

/* Makes room for a line where a bar may be. */
void progress_clear(void);

/* Seconds of a clock that only goes forward. */
double seconds_now(void);

#endif
