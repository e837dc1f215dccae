/*
 * A pipeline over two streams: while the device computes one batch, the next one is uploaded and
 * the previous one is downloaded. The plan is created once; events define the dependencies.
 *
 *     copies    up 0 | up 1    down 0 | up 2    down 1 | …
 *     compute          run 0          | run 1          | …
 */
#include "try.h"

#define BATCHES 8
#define ROWS    64 /* of a batch */
#define INPUTS  256
#define OUTPUTS 32

enum { SLOTS = 2 }; /* two batches are in flight at any time */

typedef struct slot {
    tenon_tensor x, y;
    cl_event uploaded, computed;
} slot;

typedef struct pipeline {
    tenon_context *context;
    tenon_stream *copies, *compute;
    tenon_plan *layer;
    tenon_tensor w;
    slot slots[SLOTS];
} pipeline;

static void prepare(pipeline *p, const float *weights)
{
    TRY(tenon_context_create(NULL, &p->context));
    TRY(tenon_stream_create(p->context, NULL, &p->copies));
    TRY(tenon_stream_create(p->context, NULL, &p->compute));
    TRY(tenon_tensor_create(p->context, TENON_DTYPE_F32, 2, (int64_t[]){INPUTS, OUTPUTS}, &p->w));
    TRY(tenon_tensor_upload(p->copies, weights, sizeof(float) * INPUTS * OUTPUTS, &p->w, NULL));
    for (slot *s = p->slots; s < p->slots + SLOTS; s++) {
        TRY(tenon_tensor_create(p->context, TENON_DTYPE_F32, 2, (int64_t[]){ROWS, INPUTS}, &s->x));
        TRY(tenon_tensor_create(p->context, TENON_DTYPE_F32, 2, (int64_t[]){ROWS, OUTPUTS}, &s->y));
    }
    /* y = relu(x · w): validated, selected, compiled and checked here; runs only enqueue. */
    TRY(tenon_gemm_plan(p->context,
                        &tenon_gemm_params(.epilogue.activation.kind = TENON_ACTIVATION_RELU),
                        &p->slots[0].x, &p->w, NULL, NULL, &p->slots[0].y, &p->layer));
}

/* Uploads a batch and enqueues the computation. Returns when `x` may be reused. */
static void start(pipeline *p, slot *s, const float *x)
{
    const tenon_memory memories[] = {s->x.memory, p->w.memory, {0}, {0}, s->y.memory};
    TRY(tenon_tensor_upload(p->copies, x, sizeof(float) * ROWS * INPUTS, &s->x,
                            &(tenon_sync){.event = &s->uploaded}));
    TRY(tenon_plan_run(
        p->compute, p->layer, memories, 5,
        &(tenon_sync){.wait_list = &s->uploaded, .wait_count = 1, .event = &s->computed}));
}

/* Waits for a batch and reads its result, which frees its slot. */
static void finish(pipeline *p, slot *s, float *y)
{
    TRY(tenon_tensor_download(p->copies, &s->y, y, sizeof(float) * ROWS * OUTPUTS,
                              &(tenon_sync){.wait_list = &s->computed, .wait_count = 1}));
    clReleaseEvent(s->uploaded);
    clReleaseEvent(s->computed);
}

static void end(pipeline *p)
{
    for (slot *s = p->slots; s < p->slots + SLOTS; s++) {
        tenon_tensor_destroy(&s->x);
        tenon_tensor_destroy(&s->y);
    }
    tenon_tensor_destroy(&p->w);
    tenon_plan_release(p->layer);
    tenon_stream_destroy(p->copies);
    tenon_stream_destroy(p->compute);
    tenon_context_release(p->context);
}

static float small_integer(int i)
{
    return (float)(i * 7 % 11 - 5);
}

/* Small integers: the result must match the host's bit for bit. */
static int wrong(const float *x, const float *w, const float *y)
{
    int count = 0;
    for (int i = 0; i < BATCHES * ROWS; i++)
        for (int j = 0; j < OUTPUTS; j++) {
            float sum = 0;
            for (int k = 0; k < INPUTS; k++)
                sum += x[i * INPUTS + k] * w[k * OUTPUTS + j];
            count += y[i * OUTPUTS + j] != (sum > 0 ? sum : 0);
        }
    return count;
}

int main(void)
{
    static float x[BATCHES * ROWS * INPUTS], w[INPUTS * OUTPUTS], y[BATCHES * ROWS * OUTPUTS];
    for (int i = 0; i < BATCHES * ROWS * INPUTS; i++)
        x[i] = small_integer(i);
    for (int i = 0; i < INPUTS * OUTPUTS; i++)
        w[i] = small_integer(i + i / OUTPUTS);

    pipeline p = {0};
    prepare(&p, w);
    for (int i = 0; i <= BATCHES; i++) {
        if (i < BATCHES)
            start(&p, &p.slots[i % SLOTS], x + i * ROWS * INPUTS);
        if (i > 0)
            finish(&p, &p.slots[(i - 1) % SLOTS], y + (i - 1) * ROWS * OUTPUTS);
    }
    end(&p);

    const int differing = wrong(x, w, y);
    printf("%d batches of %d rows, %d wrong elements\n", BATCHES, ROWS, differing);
    return differing == 0 ? 0 : 1;
}
