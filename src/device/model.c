#include "device/model.h"

#include <math.h>

/* Number of rounds up to which the last one takes as long as the others; and the fraction of a
 * round that is lost if there are many. */
#define FEW_ROUNDS 4.0
#define LATE       0.25
/* Fraction of the shorter of two overlapping times (computation, memory latency) that is not
 * hidden. */
#define OVERLAP 0.1
/* Bytes of a row that a work-item reads at once; and that stay in the cache. */
#define VECTOR_BYTES 16
#define SHORT_BYTES  128

double tn_model_cores(const tn_model *model)
{
    return fmax(1, floor(model->units / model->kind->group_units));
}

double tn_model_items(const tn_model *model)
{
    return model->units * model->kind->memory.items;
}

tn_reads tn_reads_of_row(double bytes)
{
    return bytes <= VECTOR_BYTES  ? TN_COALESCED
           : bytes <= SHORT_BYTES ? TN_SHORT_ROWS
                                  : TN_LONG_ROWS;
}

/* Returns the number of rounds (waves), each of one work-group per core. With few rounds, idle
 * cores wait for the last one. With many, cores finish at different times, and the tail averages
 * out. A CPU's driver assigns work-groups to idle cores, so with many rounds no core waits. */
static double rounds_of(const tn_model *model, double groups)
{
    const double rounds = groups / tn_model_cores(model), idle = ceil(rounds) - rounds;
    if (tn_device_kind_is_cpu(model->kind))
        return rounds < FEW_ROUNDS ? ceil(rounds) : rounds;
    const double whole = fmin(FEW_ROUNDS / rounds, 1);
    return rounds + whole * idle + (1 - whole) * LATE;
}

/* Returns the fraction of the device that this many work-items keep busy. */
static double busy_share(const tn_model *model, double items)
{
    return items > 0 ? fmin(items / tn_model_items(model), 1) : 1;
}

static double rate_of(const tn_model *model, const tn_work *work)
{
    const tn_kind_rates *rates = &model->kind->rates;
    const double rate = work->rate == TN_RATE_F32   ? rates->f32
                        : work->rate == TN_RATE_F64 ? rates->f64
                        : work->bits == 32          ? rates->matrix_32
                                                    : rates->matrix_16 * 16 / work->bits;
    return fmax(rate * (work->efficiency > 0 ? work->efficiency : 1), 1e-3);
}

/* Returns the nanoseconds that a single compute unit would need for all of the work. */
static double computing(const tn_model *model, const tn_work *work)
{
    const tn_kind_rates *rates = &model->kind->rates;
    const tn_kind_steps *steps = &model->kind->steps;
    const double multiplying = work->multiply_adds / rate_of(model, work),
                 plain = work->scalar / rates->scalar, local = model->kind->memory.local,
                 moving = local > 0 ? work->local_bytes / local : 0;
    if (!tn_device_kind_is_cpu(model->kind))
        return fmax(multiplying, moving) + plain + work->instructions / rates->f32;
    const double vectors = work->vector_elements * (work->rate == TN_RATE_F64 ? 2 : 1);
    return multiplying + plain + vectors * steps->vector_element +
           work->single_elements * steps->single_element + work->rows * steps->row;
}

/* Returns the nanoseconds of the whole device, where units are idle only in the last round. */
static double compute_time(const tn_model *model, const tn_work *work)
{
    const double cores = tn_model_cores(model), latency = model->kind->memory.latency;
    const double all = computing(model, work) / model->units;
    if (work->groups <= 0)
        return all / busy_share(model, work->items);
    const double rounds = rounds_of(model, work->groups),
                 time = all / work->groups * cores * rounds;
    const double waiting = latency * work->steps;
    return work->steps > 0 ? latency + fmax(time, waiting) + OVERLAP * fmin(time, waiting) : time;
}

static double memory_time(const tn_model *model, const tn_work *work)
{
    const tn_kind_memory *memory = &model->kind->memory;
    const bool cached = memory->cache > 0 && work->bytes <= (double)model->cache_size;
    const double speed = cached ? memory->cache * model->units : memory->bandwidth;
    const double shares[] = {[TN_COALESCED] = memory->coalesced,
                             [TN_SHORT_ROWS] = memory->short_rows,
                             [TN_LONG_ROWS] = memory->long_rows,
                             [TN_SCATTERED] = memory->scattered};
    double busy = busy_share(model, work->items);
    if (tn_device_kind_is_cpu(model->kind) && work->groups > 0)
        busy = fmin(work->groups / model->units, 1);
    else if (work->groups > 0)
        busy = fmin(busy, model->kind->assumed.core_share * work->groups / tn_model_cores(model));
    const double share = shares[work->reads] * (work->reach > 0 ? work->reach : 1);
    return fmax(work->bytes / (speed * busy * share),
                work->fetched_bytes / (model->kind->assumed.fetching * memory->bandwidth));
}

static double launch_time(const tn_model *model, const tn_work *work)
{
    const tn_kind_launch *launch = &model->kind->launch;
    const double others = work->launches - (work->follows ? 0 : fmin(work->launches, 1));
    return (work->launches - others) * launch->first + others * launch->next +
           (work->blocks ? launch->blocks : 0);
}

tn_work_parts tn_work_parts_of(const tn_model *model, const tn_work *work)
{
    tn_work_parts parts = {.launching = launch_time(model, work),
                           .computing = compute_time(model, work),
                           .memory = memory_time(model, work),
                           .launches = work->launches,
                           .groups = work->groups,
                           .rounds = work->groups > 0 ? rounds_of(model, work->groups) : 0};
    parts.total = parts.launching + fmax(parts.computing, parts.memory);
    return parts;
}

void tn_work_parts_add(tn_work_parts *sum, const tn_work_parts *more)
{
    sum->total += more->total;
    sum->launching += more->launching;
    sum->computing += more->computing;
    sum->memory += more->memory;
    sum->launches += more->launches;
    if (more->groups > sum->groups) {
        sum->groups = more->groups;
        sum->rounds = more->rounds;
    }
}

double tn_work_time(const tn_model *model, const tn_work *work)
{
    return tn_work_parts_of(model, work).total;
}
