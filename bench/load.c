#include "load.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_TICKS 20 /* of the reports, which count in steps of a tick per processor */
#define MOST_OTHER  0.1
#define MOST_STEAL  0.02

const char *bench_proc(void)
{
    const char *folder = getenv("TENON_BENCH_PROC");
    return folder != NULL ? folder : "/proc";
}

const char *bench_sys(void)
{
    const char *folder = getenv("TENON_BENCH_SYS");
    return folder != NULL ? folder : "/sys";
}

typedef struct process {
    long id, parent;
    double ticks;
    bool is_own;
} process;

typedef struct processes {
    process *list;
    size_t count, capacity;
} processes;

/* Reads /proc/ID/stat. The name of the program, in parentheses, may contain anything. */
static bool read_process(const char *id, process *p)
{
    char path[512], text[1024];
    double user = 0, kernel = 0, user_below = 0, kernel_below = 0;
    snprintf(path, sizeof path, "%s/%s/stat", bench_proc(), id);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *rest = strrchr(text, ')');
    *p = (process){.id = atol(id)};
    if (rest == NULL ||
        sscanf(rest + 1, " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf %lf %lf", &p->parent,
               &user, &kernel, &user_below, &kernel_below) != 5)
        return false;
    p->ticks = user + kernel + user_below + kernel_below;
    p->is_own = p->id == (long)getpid();
    return true;
}

static void add(processes *all, const process *p)
{
    if (all->count == all->capacity) {
        const size_t capacity = 2 * all->capacity + 64;
        process *list = realloc(all->list, capacity * sizeof *list);
        if (list == NULL)
            return;
        all->list = list;
        all->capacity = capacity;
    }
    all->list[all->count++] = *p;
}

/* Marks the children of processes that are marked. Returns true if there are new ones. */
static bool mark_children(processes *all)
{
    bool changed = false;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->count && !all->list[i].is_own; k++)
            if (all->list[k].is_own && all->list[k].id == all->list[i].parent)
                changed = all->list[i].is_own = true;
    return changed;
}

/* Returns the ticks of this process and its descendants, some of which run peers. */
static double own_ticks(void)
{
    DIR *folder = opendir(bench_proc());
    processes all = {NULL, 0, 0};
    double ticks = 0;
    process p;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && read_process(entry->d_name, &p))
            add(&all, &p);
    if (folder != NULL)
        closedir(folder);
    while (mark_children(&all))
        ;
    for (size_t i = 0; i < all.count; i++)
        ticks += all.list[i].is_own ? all.list[i].ticks : 0;
    free(all.list);
    return ticks;
}

bench_ticks bench_ticks_now(void)
{
    char path[512];
    double user, nice, kernel, idle, wait, interrupts, soft, steal;
    bench_ticks now = {.known = false};
    snprintf(path, sizeof path, "%s/stat", bench_proc());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return now;
    now.known = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle,
                       &wait, &interrupts, &soft, &steal) == 8;
    fclose(file);
    if (!now.known)
        return now;
    now.busy = user + nice + kernel + interrupts + soft;
    now.steal = steal;
    now.all = now.busy + idle + wait + steal;
    now.own = own_ticks();
    return now;
}

bench_load bench_load_between(const bench_ticks *begin, const bench_ticks *end)
{
    const double all = end->all - begin->all;
    bench_load load = {.known = begin->known && end->known && all >= LEAST_TICKS};
    if (!load.known)
        return load;
    const double other = (end->busy - begin->busy) - (end->own - begin->own);
    load.other = fmin(fmax(other / all, 0), 1);
    load.steal = fmin(fmax((end->steal - begin->steal) / all, 0), 1);
    return load;
}

bool bench_is_disturbed(const bench_load *load)
{
    return load->known && (load->other > MOST_OTHER || load->steal > MOST_STEAL);
}
