#include "digits_host.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INK    16  /* the darkest pixel of the file */
#define SHOWN  5   /* digits drawn */
#define ENOUGH 192 /* digits: the third that is held out is a batch */

static void usage(FILE *out)
{
    fprintf(out,
            "usage: digits [--device SELECTOR] [--data FILE] [--type TYPE] [--seed S] [--seeds N]\n"
            "\nTrains a convolutional network to read handwritten digits on an OpenCL device, in "
            "TYPE\n(f32, f16 or bf16; default: all three), with N seeds starting at S (5 from 1). "
            "Fails if a\nnetwork recognizes fewer than 97 %% of the held-out digits "
            "(96.5 %% in f16 and bf16).\n");
}

static void wrong_usage(const char *argument, const char *what)
{
    fprintf(stderr, "digits: %s %s\n", argument, what);
    usage(stderr);
    exit(2);
}

static uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < least || value > most)
        wrong_usage(name, "must be a whole number within its limits");
    return value;
}

static const char *type_named(const char *value)
{
    if (strcmp(value, "f32") != 0 && strcmp(value, "f16") != 0 && strcmp(value, "bf16") != 0)
        wrong_usage("--type", "must be f32, f16 or bf16");
    return value;
}

options options_parse(int argc, char **argv, const char *default_data)
{
    options o = {.data = default_data, .seed = 1, .seeds = 5};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
            usage(stdout);
            exit(0);
        }
        const char *value = ++i < argc ? argv[i] : NULL;
        if (value == NULL)
            wrong_usage(name, "is not an option, or has no value");
        else if (strcmp(name, "--device") == 0)
            o.device = value;
        else if (strcmp(name, "--data") == 0)
            o.data = value;
        else if (strcmp(name, "--type") == 0)
            o.type = type_named(value);
        else if (strcmp(name, "--seed") == 0)
            o.seed = number(name, value, 0, UINT64_MAX / 2);
        else if (strcmp(name, "--seeds") == 0)
            o.seeds = (int)number(name, value, 1, 1000);
        else
            wrong_usage(name, "is not an option");
    }
    return o;
}

/* Reads one line of numbers; returns false if it is malformed. */
static bool read_digit(const char *line, digit *d)
{
    for (int i = 0; i <= PIXELS; i++) {
        char *end;
        long value = strtol(line, &end, 10);
        long most = i < PIXELS ? INK : CLASSES - 1;
        if (end == line || value < 0 || value > most || (i < PIXELS && *end != ','))
            return false;
        if (i < PIXELS)
            d->pixels[i] = (float)value / INK;
        else
            d->label = (int)value;
        line = end + 1;
    }
    return true;
}

/* Adds the lines of a file to *digits, which the caller frees; on failure prints a message to
 * stderr and returns false. */
static bool read_lines(FILE *file, const char *path, digit **digits, int *count)
{
    char line[512];
    int room = 0;
    for (*count = 0; fgets(line, sizeof line, file) != NULL; ++*count) {
        if (*count == room) {
            room = room * 2 + 1024;
            digit *more = realloc(*digits, (size_t)room * sizeof *more);
            if (more == NULL) {
                fprintf(stderr, "digits: no memory for %d digits\n", room);
                return false;
            }
            *digits = more;
        }
        if (!read_digit(line, &(*digits)[*count])) {
            fprintf(stderr, "digits: %s:%d: expected %d pixels from 0 to %d and a label\n", path,
                    *count + 1, PIXELS, INK);
            return false;
        }
    }
    if (*count < ENOUGH)
        fprintf(stderr, "digits: %s: %d digits are not enough to learn from\n", path, *count);
    return *count >= ENOUGH;
}

digit *digits_read(const char *path, int *count)
{
    digit *digits = NULL;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "digits: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    bool ok = read_lines(file, path, &digits, count);
    fclose(file);
    if (ok)
        return digits;
    free(digits);
    return NULL;
}

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t random_bits(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void digits_shuffle(digit *digits, int count, uint64_t *seed)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(random_bits(seed) % (uint64_t)(i + 1));
        digit other = digits[j];
        digits[j] = digits[i];
        digits[i] = other;
    }
}

/* Two columns per pixel, so that pixels are about square. */
static const char *shade(float ink)
{
    static const char *const ascii[] = {"  ", "..", "::", "++", "##"};
    static const char *const blocks[] = {"  ", "░░", "▒▒", "▓▓", "██"};
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    return (utf8 ? blocks : ascii)[(int)(ink * 4 + 0.5f)];
}

static void draw_row(const digit *const *digits, int count, int y)
{
    for (int i = 0; i < count; i++) {
        printf("  ");
        for (int x = 0; x < SIDE; x++)
            printf("%s", shade(digits[i]->pixels[y * SIDE + x]));
    }
    printf("\n");
}

void digits_draw(const digit *digits, const int32_t *taken_for, int count)
{
    const digit *shown[SHOWN];
    int places = count < SHOWN ? count : SHOWN, first_wrong = count - 1;
    setlocale(LC_CTYPE, ""); /* to detect if the terminal supports UTF-8 */
    for (int i = count - 1; i >= places - 1; i--)
        if (taken_for[i] != digits[i].label)
            first_wrong = i;
    for (int i = 0; i < places; i++)
        shown[i] = &digits[i < places - 1 ? i : first_wrong];
    printf("\n");
    for (int y = 0; y < SIDE; y++)
        draw_row(shown, places, y);
    for (int i = 0; i < places; i++) {
        char text[32];
        int taken = taken_for[shown[i] - digits];
        snprintf(text, sizeof text, taken == shown[i]->label ? "read %d, right" : "read %d, is %d",
                 taken, shown[i]->label);
        printf("  %-*s", 2 * SIDE, text);
    }
    printf("\n\n");
}

void progress_show(progress *p)
{
    char bar[41];
    const int width = (int)sizeof bar - 1, percent = 100 * p->done / p->all;
    const double left = p->ahead + p->spent * (p->all - p->done) / p->done;
    if (isatty(STDOUT_FILENO)) {
        for (int i = 0; i < width; i++)
            bar[i] = i < width * p->done / p->all ? '#' : '.';
        bar[width] = '\0';
        printf("\rtraining  [%s] %3d %%  about %.0f s left ", bar, percent, left);
    } else if (p->done * 5 / p->all > p->shown) {
        p->shown = p->done * 5 / p->all;
        printf("training  %3d %%  about %.0f s left\n", percent, left);
    }
    fflush(stdout);
}

void progress_kernels(const char *type, int ready, int all)
{
    if (!isatty(STDOUT_FILENO))
        return;
    printf("\r%-5s kernels   %d of %d calls ready ", type, ready, all);
    fflush(stdout);
}

void progress_clear(void)
{
    if (isatty(STDOUT_FILENO))
        printf("\r%79s\r", "");
}

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
