/* Data-parallel training steps of dense layers with ReLU, on 2 to 16 equal parts of a device: each
 * member has its part of the batch, and the gradients are added in buckets during the backward
 * pass. The peer is one such part, which computes the whole batch. */
#include "peers/peers.h"
#include "shapes/shapes.h"

#include "base/dtype.h"

#include <tenon/parallel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS     (BENCH_MOST_WIDTHS - 1)
#define MOST_PARAMETERS (2 * MOST_LAYERS)       /* the weights and the bias of each layer */
#define MEMORY_SHARE    0.75                    /* of the device's memory may be used */
#define BUCKET          (UINT64_C(4) * 1048576) /* bytes: the weights of 1024 by 1024 */
#define VERIFIED_STEPS  2
#define RATE            0.1

/* One part of the device. */
typedef struct member {
    tenon_context *context;
    tenon_stream *stream, *sums;                                   /* `sums`: of the group */
    tenon_tensor values[MOST_LAYERS + 1], slopes[MOST_LAYERS + 1]; /* slopes: gradients of values */
    tenon_tensor target, parameters[MOST_PARAMETERS];
    tenon_tensor gradients[MOST_PARAMETERS]; /* unless it has those of buckets */
} member;

/* Members that compute a batch together. One that is alone has no group and no buckets. */
typedef struct team {
    const bench_scaling_shape *shape;
    uint32_t count;
    int64_t rows; /* of the batch on each member */
    member members[BENCH_MOST_MEMBERS];
    tenon_group *group;
    tenon_buckets *buckets;
} team;

typedef struct scaling {
    team all, one; /* `all` is first: it stands for the case in calls of the runner */
    bench_scaling_shape shape;
    uint32_t parts; /* of the device */
    const bench_session *session;
} scaling;

static uint32_t layers_of(const team *t)
{
    return (uint32_t)t->shape->width_count - 1;
}

static const tenon_tensor *gradients_of(const team *t, uint32_t m)
{
    return t->buckets != NULL ? tenon_buckets_gradients(t->buckets, m) : t->members[m].gradients;
}

static bool forward(const team *t, member *m, uint32_t layer)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    if (layer + 1 < layers_of(t))
        params.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    return BENCH_WELL(tenon_gemm(m->stream, &params, &m->values[layer], &m->parameters[2 * layer],
                                 NULL, &m->parameters[2 * layer + 1], &m->values[layer + 1], NULL));
}

/* Computes the gradient of the loss: half of the mean square, of all parts of the batch. */
static bool loss(const team *t, member *m, uint32_t parts)
{
    const uint32_t last = layers_of(t);
    return BENCH_WELL(tenon_mse_backward(m->stream, &tenon_mse_params(.scale = 0.5 / parts),
                                         &m->values[last], &m->target, NULL, &m->slopes[last],
                                         NULL));
}

/* Computes the gradients of a layer's parameters, and of its input unless that is the batch. */
static bool backward(const team *t, member *m, uint32_t layer, const tenon_tensor *gradients)
{
    const tenon_tensor *y = &m->values[layer + 1], *dy = &m->slopes[layer + 1];
    const tenon_tensor x_t = tenon_tensor_transpose(m->values[layer], 0, 1),
                       w_t = tenon_tensor_transpose(m->parameters[2 * layer], 0, 1);
    if (layer + 1 < layers_of(t) &&
        !BENCH_WELL(tenon_activation_backward(
            m->stream, &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU), y, dy,
            dy, NULL)))
        return false;
    return BENCH_WELL(
               tenon_gemm(m->stream, NULL, &x_t, dy, NULL, NULL, &gradients[2 * layer], NULL)) &&
           BENCH_WELL(tenon_reduce(
               m->stream,
               &tenon_reduce_params(.kind = TENON_REDUCE_SUM, .axis_count = 1, .axes = {0}), dy,
               &gradients[2 * layer + 1], NULL)) &&
           (layer == 0 ||
            BENCH_WELL(tenon_gemm(m->stream, NULL, dy, &w_t, NULL, NULL, &m->slopes[layer], NULL)));
}

/* Declares that the gradients of a layer have been enqueued. */
static bool ready(const team *t, uint32_t m, uint32_t layer)
{
    tenon_stream *stream = t->members[m].stream;
    return t->buckets == NULL ||
           (BENCH_WELL(tenon_buckets_ready(t->buckets, m, 2 * layer + 1, stream)) &&
            BENCH_WELL(tenon_buckets_ready(t->buckets, m, 2 * layer, stream)));
}

static bool update(const team *t, member *m, const tenon_tensor *gradients)
{
    for (uint32_t i = 0; i < 2 * layers_of(t); i++)
        if (!BENCH_WELL(tenon_sgd(m->stream, &tenon_sgd_params(.learning_rate = RATE),
                                  &gradients[i], &m->parameters[i], NULL, NULL, NULL)))
            return false;
    return true;
}

/* Adds the gradients of the last layers that are not yet added, and updates the parameters. */
static bool combine_and_update(team *t)
{
    tenon_stream *streams[BENCH_MOST_MEMBERS];
    for (uint32_t m = 0; m < t->count; m++)
        streams[m] = t->members[m].stream;
    if (t->buckets != NULL && !BENCH_WELL(tenon_buckets_finish(t->buckets, streams)))
        return false;
    for (uint32_t m = 0; m < t->count; m++)
        if (!update(t, &t->members[m], gradients_of(t, m)))
            return false;
    return true;
}

/* Enqueues a step. The members' commands alternate, so that all have work early. */
static bool step(void *data, tenon_stream *stream, int turn)
{
    team *t = data;
    (void)stream;
    (void)turn;
    for (uint32_t layer = 0; layer < layers_of(t); layer++)
        for (uint32_t m = 0; m < t->count; m++)
            if (!forward(t, &t->members[m], layer))
                return false;
    for (uint32_t m = 0; m < t->count; m++)
        if (!loss(t, &t->members[m], t->count))
            return false;
    for (uint32_t layer = layers_of(t); layer-- > 0;)
        for (uint32_t m = 0; m < t->count; m++)
            if (!backward(t, &t->members[m], layer, gradients_of(t, m)) || !ready(t, m, layer))
                return false;
    return combine_and_update(t);
}

static bool finish(void *data)
{
    const team *t = data;
    bool well = true;
    for (uint32_t m = 0; well && m < t->count; m++) /* starts the commands of all */
        well = BENCH_WELL(tenon_stream_flush(t->members[m].stream));
    well = well && (t->group == NULL || BENCH_WELL(tenon_group_wait(t->group)));
    for (uint32_t m = 0; well && m < t->count; m++)
        well = BENCH_WELL(tenon_stream_finish(t->members[m].stream));
    return well;
}

static bool draw(member *m, const tenon_tensor *y, uint64_t seed, uint64_t sequence,
                 double deviation)
{
    return BENCH_WELL(
        tenon_random(m->stream,
                     &tenon_random_params(.kind = TENON_RANDOM_NORMAL, .seed = seed,
                                          .sequence = sequence, .deviation = deviation),
                     y, NULL));
}

/* Draws parts of a batch, from `first` on, and their targets. */
static bool draw_batch(const team *t, member *m, uint32_t first, uint32_t parts)
{
    const int64_t rows = t->rows / parts;
    for (uint32_t i = 0; i < parts; i++) {
        const tenon_tensor x = tenon_tensor_slice(m->values[0], 0, i * rows, rows),
                           target = tenon_tensor_slice(m->target, 0, i * rows, rows);
        if (!draw(m, &x, 1, first + i, 1) || !draw(m, &target, 2, first + i, 1))
            return false;
    }
    return true;
}

/* Gives the parameters their initial values, the same on all members. */
static bool draw_parameters(const team *t, member *m)
{
    for (uint32_t i = 0; i < layers_of(t); i++)
        if (!draw(m, &m->parameters[2 * i], 3, i, sqrt(2 / (double)t->shape->widths[i])) ||
            !BENCH_WELL(tenon_tensor_fill(m->stream, &m->parameters[2 * i + 1], 0, NULL)))
            return false;
    return true;
}

static bool make_tensor(member *m, uint32_t rank, int64_t rows, int64_t columns,
                        tenon_tensor *tensor)
{
    const int64_t shape[] = {rows, columns};
    return BENCH_WELL(tenon_tensor_create(m->context, TENON_DTYPE_F32, rank, shape, tensor));
}

/* Makes the weights and bias of each layer, or their gradients. */
static bool make_parameters(const team *t, member *m, tenon_tensor *tensors)
{
    const int64_t *widths = t->shape->widths;
    for (uint32_t i = 0; i < layers_of(t); i++)
        if (!make_tensor(m, 2, widths[i], widths[i + 1], &tensors[2 * i]) ||
            !make_tensor(m, 1, widths[i + 1], 0, &tensors[2 * i + 1]))
            return false;
    return true;
}

static bool make_tensors(const team *t, member *m)
{
    const int64_t *widths = t->shape->widths;
    for (uint32_t i = 0; i <= layers_of(t); i++)
        if (!make_tensor(m, 2, t->rows, widths[i], &m->values[i]) ||
            (i > 0 && !make_tensor(m, 2, t->rows, widths[i], &m->slopes[i])))
            return false;
    return make_tensor(m, 2, t->rows, widths[layers_of(t)], &m->target) &&
           make_parameters(t, m, m->parameters) &&
           (t->count > 1 || make_parameters(t, m, m->gradients));
}

/* Opens a part of the device. All choose the same solvers: by estimates only. */
static bool open_part(const bench_session *session, const scaling *s, uint32_t part, bool has_sums,
                      member *m)
{
    char selector[64];
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    snprintf(selector, sizeof selector, "%s/%u:%u", session->device.selector, s->parts, part);
    params.device = selector;
    params.workspace_limit = session->options->workspace;
    params.measurements = TENON_MEASUREMENTS_NONE;
    return BENCH_WELL(tenon_context_create(&params, &m->context)) &&
           BENCH_WELL(tenon_stream_create(m->context, NULL, &m->stream)) &&
           (!has_sums || BENCH_WELL(tenon_stream_create(m->context, NULL, &m->sums)));
}

/* Makes the group, whose streams are its own, so that the backward pass does not wait for sums. */
static bool make_group(team *t)
{
    tenon_stream *sums[BENCH_MOST_MEMBERS];
    for (uint32_t m = 0; m < t->count; m++)
        sums[m] = t->members[m].sums;
    return BENCH_WELL(tenon_group_create(sums, t->count, NULL, &t->group)) &&
           BENCH_WELL(tenon_buckets_create(t->group, &tenon_buckets_params(.bytes = BUCKET),
                                           2 * layers_of(t), t->members[0].parameters,
                                           &t->buckets));
}

/* Makes a team of the first parts of the device, whose members have `rows` rows each, in `parts`
 * parts of the batch. */
static bool make_team(const bench_session *session, const scaling *s, uint32_t count, int64_t rows,
                      uint32_t parts, team *t)
{
    t->shape = &s->shape;
    t->count = count;
    t->rows = rows;
    for (uint32_t i = 0; i < count; i++) {
        member *m = &t->members[i];
        if (!open_part(session, s, i, count > 1, m) || !make_tensors(t, m) ||
            !draw_parameters(t, m) || !draw_batch(t, m, i, parts))
            return false;
    }
    return count == 1 || make_group(t);
}

static void destroy_member(member *m)
{
    for (uint32_t i = 0; i <= MOST_LAYERS; i++) {
        tenon_tensor_destroy(&m->values[i]);
        tenon_tensor_destroy(&m->slopes[i]);
    }
    for (uint32_t i = 0; i < MOST_PARAMETERS; i++) {
        tenon_tensor_destroy(&m->parameters[i]);
        tenon_tensor_destroy(&m->gradients[i]);
    }
    tenon_tensor_destroy(&m->target);
    tenon_stream_destroy(m->sums);
    tenon_stream_destroy(m->stream);
    tenon_context_release(m->context);
}

static void destroy_team(team *t)
{
    tenon_buckets_destroy(t->buckets);
    tenon_group_destroy(t->group);
    for (uint32_t m = 0; m < t->count; m++)
        destroy_member(&t->members[m]);
}

static void destroy(bench_case *bench)
{
    scaling *s = bench->tenon.data;
    destroy_team(&s->all);
    destroy_team(&s->one);
    free(s);
}

/* Takes a step on one member that adds the gradients of the same parts of the batch in the same
 * order. `more` are tensors like the gradients. */
static bool step_in_parts(team *t, uint32_t parts, const tenon_tensor *more)
{
    member *m = &t->members[0];
    bool well = true;
    for (uint32_t part = 0; well && part < parts; part++) {
        const tenon_tensor *gradients = part == 0 ? m->gradients : more;
        well = draw_batch(t, m, part, 1);
        for (uint32_t layer = 0; well && layer < layers_of(t); layer++)
            well = forward(t, m, layer);
        well = well && loss(t, m, parts);
        for (uint32_t layer = layers_of(t); well && layer-- > 0;)
            well = backward(t, m, layer, gradients);
        for (uint32_t i = 0; well && part > 0 && i < 2 * layers_of(t); i++)
            well = BENCH_WELL(tenon_elementwise(m->stream, NULL, &m->gradients[i], &more[i],
                                                &m->gradients[i], NULL));
    }
    return well && update(t, m, m->gradients);
}

/* Returns false, with the reason, if a parameter of two members differs in a bit. */
static bool compare(const member *m, uint32_t number, const member *expected, uint32_t parameter,
                    char why[256])
{
    const tenon_tensor *tensor = &m->parameters[parameter];
    const int64_t elements = tenon_tensor_elements(tensor);
    const size_t bytes = (size_t)elements * sizeof(uint32_t);
    uint32_t *ours = malloc(bytes), *theirs = malloc(bytes);
    bool well = ours != NULL && theirs != NULL &&
                BENCH_WELL(tenon_tensor_download(m->stream, tensor, ours, bytes, NULL)) &&
                BENCH_WELL(tenon_tensor_download(expected->stream, &expected->parameters[parameter],
                                                 theirs, bytes, NULL));
    if (!well)
        snprintf(why, 256, "its parameters cannot be read");
    for (int64_t i = 0; well && i < elements; i++)
        if (ours[i] != theirs[i]) {
            snprintf(why, 256,
                     "member %u: element %lld of parameter %u is %.9g, on one device %.9g", number,
                     (long long)i, parameter, tn_dtype_load(TENON_DTYPE_F32, &ours[i]),
                     tn_dtype_load(TENON_DTYPE_F32, &theirs[i]));
            well = false;
        }
    free(ours);
    free(theirs);
    return well;
}

/* Takes steps from the initial parameters, and compares the parameters of all members. */
static bool compare_steps(scaling *s, team *alone, const tenon_tensor *more, char why[256])
{
    team *all = &s->all;
    bool well = true;
    for (uint32_t m = 0; well && m < all->count; m++)
        well = draw_parameters(all, &all->members[m]);
    for (int i = 0; well && i < VERIFIED_STEPS; i++)
        well = step(all, NULL, i) && step_in_parts(alone, all->count, more);
    well = well && finish(all) && finish(alone);
    for (uint32_t m = 0; well && m < all->count; m++)
        for (uint32_t i = 0; well && i < 2 * layers_of(all); i++)
            well = compare(&all->members[m], m, &alone->members[0], i, why);
    return well;
}

/* `data` is the team of all members, which begins a scaling. */
static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    scaling *s = data;
    tenon_tensor more[MOST_PARAMETERS] = {{.rank = 0}};
    team *alone = calloc(1, sizeof *alone);
    (void)stream;
    (void)error_over_bound; /* the bits are the same */
    snprintf(why, 256, "its steps fail");
    const bool well =
        alone != NULL && finish(&s->all) && make_team(s->session, s, 1, s->all.rows, 1, alone) &&
        make_parameters(alone, &alone->members[0], more) && compare_steps(s, alone, more, why);
    for (uint32_t i = 0; i < MOST_PARAMETERS; i++)
        tenon_tensor_destroy(&more[i]);
    if (alone != NULL)
        destroy_team(alone);
    free(alone);
    return well;
}

/* Returns the floating-point operations of the products of a step. */
static double operations_of(const bench_scaling_shape *shape)
{
    double operations = 0;
    for (size_t i = 0; i + 1 < shape->width_count; i++)
        operations += (i == 0 ? 4.0 : 6.0) * (double)shape->n * (double)shape->widths[i] *
                      (double)shape->widths[i + 1];
    return operations;
}

/* Returns about the bytes of all teams: parameters, gradients and their copies, values and slopes.
 */
static double bytes_of(const bench_scaling_shape *shape)
{
    double parameters = 0, values = 0;
    for (size_t i = 0; i < shape->width_count; i++) {
        values += (double)shape->n * (double)shape->widths[i];
        if (i > 0)
            parameters += ((double)shape->widths[i - 1] + 1) * (double)shape->widths[i];
    }
    return sizeof(float) * (5 * values + 4 * ((double)shape->members + 2) * parameters);
}

/* Divides the device: a CPU into its compute units, others into as many parts as there are members.
 * Returns false, with a message, if that is not possible or the device has too little memory. */
static bool divide(const bench_session *session, scaling *s, bench_case *bench)
{
    const tenon_device_info *device = &session->device;
    const bool is_cpu = (device->type & CL_DEVICE_TYPE_CPU) != 0;
    tenon_device_info part = TENON_DEVICE_INFO_INIT;
    char selector[64];
    const char *why = NULL;
    s->parts = is_cpu ? device->compute_units : (uint32_t)s->shape.members;
    snprintf(selector, sizeof selector, "%s/%u", device->selector, s->parts);
    if (strchr(device->selector, '/') != NULL)
        why = "only a whole device is divided";
    else if ((int64_t)device->compute_units < s->shape.members)
        why = "the device has fewer compute units than members";
    else if (bytes_of(&s->shape) > MEMORY_SHARE * (double)device->global_memory)
        why = "the device has too little memory";
    else if (tenon_device_select(selector, &part) != TENON_OK)
        why = "the device cannot be divided";
    if (why != NULL)
        fprintf(stderr, "tenon-bench: %s is skipped: %s\n", bench->name, why);
    bench->is_skipped = why != NULL;
    return why == NULL;
}

/* The peer: one part of the device, which computes the whole batch. */
static bool one_member_way(const bench_session *session, scaling *s, bench_way *way)
{
    *way = (bench_way){"one-member", step, false, &s->one, NULL, NULL, finish};
    return make_team(session, s, 1, s->shape.n, s->all.count, &s->one);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    scaling *s = calloc(1, sizeof *s);
    (void)dtype;
    if (s == NULL)
        return false;
    s->session = session;
    s->shape = suite->shapes->cases[number].scaling;
    bench->tenon = (bench_way){"tenon", step, false, s, NULL, NULL, finish};
    bench->destroy = destroy;
    bench->verify = verify;
    bench->operations = operations_of(&s->shape);
    snprintf(bench->solver, sizeof bench->solver, "group");
    if (session->stream == NULL) { /* of predict */
        bench_complain("%s needs a device", bench->name);
        return false;
    }
    const uint32_t members = (uint32_t)s->shape.members;
    if (!divide(session, s, bench) ||
        !make_team(session, s, members, s->shape.n / members, 1, &s->all))
        return false;
    BENCH_ADD_PEER(session, bench, "one-member", one_member_way(session, s, bench_way_at));
    return true;
}

const bench_kind bench_scaling_cases = {bench_case_count, bench_case_name, bench_only_f32, make};
