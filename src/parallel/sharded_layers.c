/* Layers whose parameters, gradients and moments are divided among the members (ZeRO-3). */
#include "parallel/shard.h"

#include "base/checked.h"

#include <tenon/elementwise.h>
#include <tenon/parallel.h>

#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 2, NO_LAYER = -1 };

typedef struct tn_layer {
    uint32_t first, count; /* of its parameters */
    int64_t size;          /* elements of the whole parameters, padded */
    bool is_reduced;       /* the shards have its gradients */
    tn_shards shards;
} tn_layer;

/* The whole parameters of a layer on each local member. */
typedef struct tn_layer_buffer {
    int64_t layer; /* whose parameters it has, or NO_LAYER */
    tenon_tensor arrays[TENON_GROUP_MAX_MEMBERS];
    tenon_tensor *views;
} tn_layer_buffer;

struct tenon_sharded_layers {
    tenon_group *group;
    uint32_t members, count; /* local members; layers */
    tenon_dtype dtype;
    tenon_tensor *parameters; /* types and shapes */
    tn_layer *layers;
    tn_layer_buffer buffers[BUFFERS];
    int last; /* the buffer that was gathered last */
    tenon_tensor gradients[TENON_GROUP_MAX_MEMBERS];
    tenon_tensor *gradient_views;
};

static tenon_status check_counts(const char *caller, uint32_t layers, const uint32_t *counts,
                                 uint32_t *total, uint32_t *most)
{
    uint64_t sum = 0;
    *most = 0;
    if (layers == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: layers is 0, must be at least 1", caller);
    if (counts == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: counts is NULL", caller);
    for (uint32_t i = 0; i < layers; i++) {
        if (counts[i] == 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: counts[%u] is 0, must be at least 1",
                           caller, (unsigned)i);
        sum += counts[i];
        if (sum > UINT32_MAX)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: counts: the sum is above %u", caller,
                           (unsigned)UINT32_MAX);
        *most = counts[i] > *most ? counts[i] : *most;
    }
    *total = (uint32_t)sum;
    return TENON_OK;
}

/* `total` parameters, of which a layer has at most `most`. */
static tenon_sharded_layers *allocate_layers(tenon_group *group, uint32_t layers, uint32_t total,
                                             uint32_t most)
{
    tenon_sharded_layers *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    const int64_t views = (int64_t)tn_local_count(group) * most;
    l->group = group;
    l->members = tn_local_count(group);
    l->count = layers;
    l->parameters = tn_array(total, sizeof *l->parameters);
    l->layers = tn_array(layers, sizeof *l->layers);
    l->gradient_views = tn_array(views, sizeof *l->gradient_views);
    bool is_whole = l->parameters != NULL && l->layers != NULL && l->gradient_views != NULL;
    for (int b = 0; b < BUFFERS; b++) {
        l->buffers[b].layer = NO_LAYER;
        l->buffers[b].views = tn_array(views, sizeof *l->buffers[b].views);
        is_whole = is_whole && l->buffers[b].views != NULL;
    }
    if (is_whole)
        return l;
    tenon_sharded_layers_destroy(l);
    return NULL;
}

/* Creates the memory of all layers. */
static tenon_status fill_layers(const char *caller, tenon_sharded_layers *l, const uint32_t *counts)
{
    int64_t largest = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < l->count; first += counts[i++]) {
        tn_layer *layer = &l->layers[i];
        layer->first = first;
        layer->count = counts[i];
        TN_TRY(tn_flat_size(caller, layer->count, &l->parameters[first],
                            tn_member_count(&l->group->places), &layer->size));
        TN_TRY(tn_shards_create(caller, l->group, l->dtype, layer->size, NULL, &layer->shards));
        largest = tn_max_i64(largest, layer->size);
    }
    for (int b = 0; b < BUFFERS; b++)
        TN_TRY(tn_flat_create(caller, l->group, l->dtype, largest, l->buffers[b].arrays));
    return tn_flat_create(caller, l->group, l->dtype, largest, l->gradients);
}

TENON_API tenon_status tenon_sharded_layers_create(tenon_group *group, uint32_t layers,
                                                   const uint32_t *counts,
                                                   const tenon_tensor *parameters,
                                                   tenon_sharded_layers **out)
{
    static const char caller[] = "tenon_sharded_layers_create";
    uint32_t total = 0, most = 0;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(check_counts(caller, layers, counts, &total, &most));
    TN_TRY(tn_flat_check(caller, total, parameters));
    TN_TRY(tn_group_check(caller, group));
    tenon_sharded_layers *l = allocate_layers(group, layers, total, most);
    if (l == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    memcpy(l->parameters, parameters, total * sizeof *parameters);
    l->dtype = parameters[0].dtype;
    const tenon_status status = fill_layers(caller, l, counts);
    if (status == TENON_OK)
        *out = l;
    else
        tenon_sharded_layers_destroy(l);
    return status;
}

TENON_API void tenon_sharded_layers_destroy(tenon_sharded_layers *l)
{
    if (l == NULL)
        return;
    tn_group_drain(l->group);
    for (uint32_t i = 0; l->layers != NULL && i < l->count; i++)
        tn_shards_destroy(l->group, &l->layers[i].shards);
    for (int b = 0; b < BUFFERS; b++) {
        tn_flat_destroy(l->group, l->buffers[b].arrays);
        free(l->buffers[b].views);
    }
    tn_flat_destroy(l->group, l->gradients);
    free(l->gradient_views);
    free(l->parameters);
    free(l->layers);
    free(l);
}

static tenon_status check_layer(const char *caller, const tenon_sharded_layers *l, uint32_t layer)
{
    if (l == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: layers is NULL", caller);
    if (layer >= l->count)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: layer is %u, but there are %u layers",
                       caller, (unsigned)layer, (unsigned)l->count);
    return TENON_OK;
}

/* Writes the views of a layer's parameters, or gradients, in the arrays of the local members. */
static void write_views(const tenon_sharded_layers *l, const tn_layer *layer,
                        const tenon_tensor *arrays, tenon_tensor *views)
{
    for (uint32_t m = 0; m < l->members; m++)
        tn_flat_views(layer->count, &l->parameters[layer->first], &arrays[m],
                      &views[(size_t)m * layer->count]);
}

/* Writes the parts of the arrays that a layer uses. */
static void use_arrays(const tenon_sharded_layers *l, const tn_layer *layer,
                       const tenon_tensor *arrays, tenon_tensor *used)
{
    for (uint32_t m = 0; m < l->members; m++)
        used[m] = tn_array_part(&arrays[m], 0, layer->size);
}

/* Returns the buffer of a gathered layer, or -1. */
static int find(const tenon_sharded_layers *l, uint32_t layer)
{
    for (int b = 0; b < BUFFERS; b++)
        if (l->buffers[b].layer == (int64_t)layer)
            return b;
    return -1;
}

/* Gathers a layer in the buffer that was not used last. */
static tenon_status gather(const char *caller, tenon_sharded_layers *l, uint32_t number)
{
    tenon_tensor whole[TENON_GROUP_MAX_MEMBERS];
    const tn_layer *layer = &l->layers[number];
    tn_layer_buffer *buffer = &l->buffers[1 - l->last];
    use_arrays(l, layer, buffer->arrays, whole);
    buffer->layer = NO_LAYER;
    const tenon_status status = tenon_group_all_gather(l->group, layer->shards.values, whole, NULL);
    if (status != TENON_OK)
        return tn_fail_because(status, "%s: layer %u", caller, (unsigned)number);
    write_views(l, layer, buffer->arrays, buffer->views);
    buffer->layer = number;
    return TENON_OK;
}

TENON_API tenon_status tenon_sharded_layers_gather(tenon_sharded_layers *l, uint32_t layer,
                                                   const tenon_tensor **parameters)
{
    static const char caller[] = "tenon_sharded_layers_gather";
    if (parameters == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: parameters is NULL", caller);
    *parameters = NULL;
    TN_TRY(check_layer(caller, l, layer));
    if (find(l, layer) < 0)
        TN_TRY(gather(caller, l, layer));
    l->last = find(l, layer);
    *parameters = l->buffers[l->last].views;
    return TENON_OK;
}

TENON_API tenon_status tenon_sharded_layers_keep(tenon_sharded_layers *l, uint32_t layer)
{
    static const char caller[] = "tenon_sharded_layers_keep";
    TN_TRY(check_layer(caller, l, layer));
    const int b = find(l, layer);
    if (b < 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: layer %u is not one of the last two that were gathered", caller,
                       (unsigned)layer);
    const tn_shards *shards = &l->layers[layer].shards;
    for (uint32_t m = 0; m < l->members; m++) {
        const tenon_tensor part = tn_shard_of(l->group, shards, &l->buffers[b].arrays[m], m);
        const tenon_status status =
            tenon_copy(l->group->members[m].stream, NULL, &part, &shards->values[m], NULL);
        if (status != TENON_OK)
            return tn_fail_because(tn_group_fail_at(l->group, m, status), "%s", caller);
    }
    return TENON_OK;
}

TENON_API const tenon_tensor *tenon_sharded_layers_gradients(tenon_sharded_layers *l,
                                                             uint32_t layer)
{
    if (l == NULL || layer >= l->count)
        return NULL;
    write_views(l, &l->layers[layer], l->gradients, l->gradient_views);
    return l->gradient_views;
}

TENON_API tenon_status tenon_sharded_layers_reduce(tenon_sharded_layers *l, uint32_t layer)
{
    static const char caller[] = "tenon_sharded_layers_reduce";
    tenon_tensor whole[TENON_GROUP_MAX_MEMBERS];
    TN_TRY(check_layer(caller, l, layer));
    tn_layer *reduced = &l->layers[layer];
    use_arrays(l, reduced, l->gradients, whole);
    const tenon_status status = tenon_group_reduce_scatter(l->group, TENON_GROUP_SUM, whole,
                                                           reduced->shards.gradients, NULL);
    if (status != TENON_OK)
        return tn_fail_because(status, "%s: layer %u", caller, (unsigned)layer);
    reduced->is_reduced = true;
    return TENON_OK;
}

TENON_API const tenon_tensor *tenon_sharded_layers_moments(const tenon_sharded_layers *l,
                                                           uint32_t layer, uint32_t member)
{
    return l != NULL && layer < l->count && member < l->members
               ? l->layers[layer].shards.moments[member]
               : NULL;
}

TENON_API tenon_status tenon_sharded_layers_step(tenon_sharded_layers *l,
                                                 const tenon_adam_params *params)
{
    static const char caller[] = "tenon_sharded_layers_step";
    TN_TRY(check_layer(caller, l, 0));
    for (int b = 0; b < BUFFERS; b++)
        l->buffers[b].layer = NO_LAYER;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->layers[i].is_reduced)
            TN_TRY(tn_shards_step(caller, l->group, &l->layers[i].shards, params));
        l->layers[i].is_reduced = false;
    }
    return TENON_OK;
}
