#include "group/staging_choice.h"

#include "base/status.h"
#include "runtime/context/context.h"
#include "runtime/queue/stream.h"

#include <tenon/group.h>

#include <stdlib.h>

/* Enough that the time of a copy exceeds that of its command. */
#define PROBE_BYTES 1048576

/* Copies of each kind; the shortest time counts. */
#define REPEATS 5

/* Ordinary memory must be faster by more than noise: many drivers copy it with the calling thread,
 * but pinned memory while that thread continues. */
#define CLEARLY 0.9

/* The kinds of memory. */
enum { PINNED, ORDINARY, KINDS };

typedef struct probe {
    tenon_stream *stream;
    tenon_tensor tensor;
    tenon_pinned *pinned;
    void *block;
    double times[KINDS][REPEATS];
} probe;

bool tn_staging_pinned_serves(double pinned, double ordinary)
{
    return !(pinned > 0 && ordinary > 0 && ordinary < CLEARLY * pinned);
}

static double shortest(const double *times)
{
    double least = times[0];
    for (int i = 1; i < REPEATS; i++)
        least = times[i] < least ? times[i] : least;
    return least;
}

static void *create_choice(void)
{
    tn_staging_choice *choice = calloc(1, sizeof *choice);
    if (choice == NULL || tn_mutex_init(&choice->lock))
        return choice;
    free(choice);
    return NULL;
}

static void destroy_choice(void *data)
{
    tn_staging_choice *choice = data;
    tn_mutex_destroy(&choice->lock);
    free(choice);
}

tn_staging_choice *tn_staging_choice_of(tenon_context *context)
{
    return tn_context_slot(context, TN_SLOT_STAGING, create_choice, destroy_choice);
}

/* From the device and back. */
static tenon_status copy_both_ways(probe *p, void *pointer, double *nanoseconds)
{
    const uint64_t began = tn_now();
    tenon_status status =
        tenon_tensor_download_async(p->stream, &p->tensor, pointer, PROBE_BYTES, NULL);
    if (status == TENON_OK)
        status = tenon_tensor_upload_async(p->stream, pointer, PROBE_BYTES, &p->tensor, NULL);
    const tenon_status end = tenon_stream_finish(p->stream);
    *nanoseconds = (double)(tn_now() - began);
    return status != TENON_OK ? status : end;
}

static tenon_status prepare_copies(probe *p, tenon_context *context)
{
    const int64_t count = PROBE_BYTES;
    TN_TRY(tenon_stream_create(context, NULL, &p->stream));
    TN_TRY(tenon_tensor_create(context, TENON_DTYPE_U8, 1, &count, &p->tensor));
    TN_TRY(tenon_tensor_fill(p->stream, &p->tensor, 0, NULL));
    TN_TRY(tenon_pinned_create(context, PROBE_BYTES, &p->pinned));
    p->block = malloc(PROBE_BYTES);
    return p->block != NULL ? TENON_OK : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory");
}

/* Alternates between the kinds, because other work may run on the device. */
static tenon_status measure(probe *p, tenon_context *context)
{
    TN_TRY(prepare_copies(p, context));
    void *const pointers[KINDS] = {tenon_pinned_pointer(p->pinned), p->block};
    double first; /* the first copies touch new pages */
    for (int k = 0; k < KINDS; k++)
        TN_TRY(copy_both_ways(p, pointers[k], &first));
    for (int i = 0; i < REPEATS; i++)
        for (int k = 0; k < KINDS; k++)
            TN_TRY(copy_both_ways(p, pointers[k], &p->times[k][i]));
    return TENON_OK;
}

/* Stores the shortest time of each kind: 0 if it could not be measured. */
static void measure_both(tenon_context *context, double best[KINDS])
{
    probe p = {0};
    const bool is_measured = measure(&p, context) == TENON_OK;
    if (!is_measured && p.stream != NULL)
        tn_stream_settle(p.stream);
    tenon_stream_destroy(p.stream);
    tenon_tensor_destroy(&p.tensor);
    tenon_pinned_destroy(p.pinned);
    free(p.block);
    for (int k = 0; k < KINDS; k++)
        best[k] = is_measured ? shortest(p.times[k]) : 0;
}

bool tn_staging_is_pinned(tenon_context *context)
{
    const tn_log log = tn_context_log(context);
    tn_staging_choice *choice = tn_staging_choice_of(context);
    double best[KINDS] = {0};
    tn_kept_message kept;
    if (choice == NULL || context->policy.measurements == TENON_MEASUREMENTS_NONE)
        return true;
    tn_mutex_lock(&choice->lock);
    if (!choice->is_made && tn_message_keep(&kept)) {
        measure_both(context, best);
        choice->is_pinned = tn_staging_pinned_serves(best[PINNED], best[ORDINARY]);
        choice->is_made = true;
        tn_message_restore(&kept);
    }
    const bool is_pinned = !choice->is_made || choice->is_pinned;
    tn_mutex_unlock(&choice->lock);
    if (best[PINNED] > 0)
        tn_log_send(&log, TENON_LOG_INFO,
                    "messages are in %s memory: 1 MiB from the device and back takes %.3f ms with "
                    "pinned and %.3f ms with ordinary memory",
                    is_pinned ? "pinned" : "ordinary", 1e-6 * best[PINNED], 1e-6 * best[ORDINARY]);
    return is_pinned;
}
