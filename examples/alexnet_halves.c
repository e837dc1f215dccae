/* Trains AlexNet on two devices as its authors did (A. Krizhevsky, I. Sutskever and G. Hinton,
 * "ImageNet classification with deep convolutional neural networks", 2012): each device has half of
 * the filters of every layer. The second, fourth and fifth convolutions read only the maps of their
 * own device; all other layers read those of both.
 *
 *     alexnet_halves [IMAGES [STEPS [PART]]]     2 images and 3 steps, if they are not given
 *
 * PART divides the layers' widths, to try the program on a small network: 1 if it is not given, at
 * most 16. The images are random, and repeated, so the loss must fall. The parameters have the same
 * bits as on one device that computes the halves one after the other and adds their gradients.
 *
 *     cc alexnet_halves.c -o alexnet_halves -ltenon -lm && ./alexnet_halves
 *     mpicc -DWITH_MPI alexnet_halves.c -o alexnet_halves -ltenon -lm &&
 *         mpirun -n 2 ./alexnet_halves
 */
#include "half.h"
#include "members.h"
#include "network.h"

/* The halves of this process, and the group with the other one; NULL: both are on one device. */
typedef struct halves {
    tenon_group *group;
    uint32_t count;
    half *at;
} halves;

/* Gives each half the maps of both, which are the second dimension. */
static void join(const halves *all, const tenon_tensor *own, const tenon_tensor *whole)
{
    tenon_tensor from[2] = {{.rank = 0}}, to[2] = {{.rank = 0}};
    for (uint32_t m = 0; m < all->count; m++) {
        from[m] = tenon_tensor_transpose(own[m], 0, 1);
        to[m] = tenon_tensor_transpose(whole[m], 0, 1);
    }
    if (all->group != NULL) {
        TRY(tenon_group_all_gather(all->group, from, to, NULL));
        return;
    }
    for (int m = 0; m < 2; m++)
        for (int part = 0; part < 2; part++) {
            const int64_t size = from[part].shape[0];
            const tenon_tensor place = tenon_tensor_slice(to[m], 0, part * size, size);
            TRY(tenon_copy(all->at[m].stream, NULL, &from[part], &place, NULL));
        }
}

/* Adds gradients of the maps of both halves, and gives each half the sums of its own. */
static void add(const halves *all, const tenon_tensor *whole, const tenon_tensor *own)
{
    tenon_tensor from[2] = {{.rank = 0}}, to[2] = {{.rank = 0}};
    for (uint32_t m = 0; m < all->count; m++) {
        from[m] = tenon_tensor_transpose(whole[m], 0, 1);
        to[m] = tenon_tensor_transpose(own[m], 0, 1);
    }
    if (all->group != NULL) {
        TRY(tenon_group_reduce_scatter(all->group, TENON_GROUP_SUM, from, to, NULL));
        return;
    }
    TRY(tenon_elementwise(all->at[0].stream, NULL, &from[0], &from[1], &from[0], NULL));
    for (int m = 0; m < 2; m++) {
        const int64_t size = to[m].shape[0];
        const tenon_tensor place = tenon_tensor_slice(from[0], 0, m * size, size);
        TRY(tenon_copy(all->at[m].stream, NULL, &place, &to[m], NULL));
    }
}

/* Computes the logits of both halves. */
static void forward(const halves *all, uint64_t step)
{
    tenon_tensor own[2] = {{.rank = 0}}, whole[2] = {{.rank = 0}};
    for (int i = 0; i <= LAYERS; i++) {
        for (uint32_t m = 0; m < all->count; m++) {
            half *h = &all->at[m];
            if (i > 0)
                own[m] = half_joinable(&h->layers[i - 1].result, i);
            whole[m] = i < LAYERS ? h->layers[i].x : h->logits;
        }
        if (i == LAYERS || kinds[i].joins)
            join(all, own, whole);
        for (uint32_t m = 0; m < all->count && i < LAYERS; m++)
            half_forward(&all->at[m], i, step);
    }
}

/* Computes the mean loss, and its gradient of a half's own logits. */
static float loss_of(half *h)
{
    const int64_t n = h->labels.shape[0], size = h->logits.shape[1] / 2;
    const tenon_tensor own = tenon_tensor_slice(h->d_logits, 1, h->rank * size, size);
    tenon_tensor mean;
    float loss;
    TRY(tenon_tensor_create(tenon_stream_context(h->stream), TENON_DTYPE_F32, 0, NULL, &mean));
    TRY(tenon_cross_entropy_forward(h->stream, NULL, &h->logits, &h->labels, &h->losses, NULL));
    TRY(tenon_reduce(h->stream, &tenon_reduce_params(.kind = TENON_REDUCE_MEAN), &h->losses, &mean,
                     NULL));
    TRY(tenon_cross_entropy_backward(h->stream, &tenon_cross_entropy_params(.scale = 1 / (double)n),
                                     &h->logits, &h->labels, NULL, &h->d_logits, NULL));
    TRY(tenon_copy(h->stream, NULL, &own, &h->layers[LAYERS - 1].d_result, NULL));
    TRY(tenon_tensor_download(h->stream, &mean, &loss, sizeof loss, NULL));
    tenon_tensor_destroy(&mean);
    return loss;
}

/* Takes a step. Returns the loss. */
static float train(const halves *all, uint64_t step)
{
    tenon_tensor own[2], whole[2];
    float loss = 0;
    forward(all, step);
    if (all->group != NULL)
        TRY(tenon_group_wait(all->group));
    for (uint32_t m = 0; m < all->count; m++)
        loss = loss_of(&all->at[m]);
    for (int i = LAYERS - 1; i >= 0; i--) {
        for (uint32_t m = 0; m < all->count; m++) {
            half *h = &all->at[m];
            half_backward(h, i, step);
            whole[m] = h->layers[i].dx;
            if (i > 0)
                own[m] = half_joinable(&h->layers[i - 1].d_result, i);
        }
        if (kinds[i].joins)
            add(all, whole, own);
    }
    return loss;
}

/* Draws the images, which are the same for both halves, and their labels. */
static void draw(half *h)
{
    const int64_t n = h->labels.shape[0], classes = h->logits.shape[1];
    int32_t *labels = malloc((size_t)n * sizeof *labels);
    if (labels == NULL)
        abort();
    for (int64_t i = 0; i < n; i++)
        labels[i] = (int32_t)(i * 37 % classes);
    network_normal(h->stream, &h->images, 2, 0, 1);
    TRY(tenon_tensor_upload(h->stream, labels, (size_t)n * sizeof *labels, &h->labels, NULL));
    free(labels);
}

/* Trains halves, and alone those of one device. Returns 1 if anything differs, otherwise 0. */
static int compare(const halves *both, const halves *alone, uint64_t steps)
{
    float first = 0, last = 0;
    int64_t different = 0, count = 0;
    bool is_same = true;
    for (uint64_t step = 1; step <= steps; step++) {
        last = train(both, step);
        is_same = is_same && train(alone, step) == last;
        first = step == 1 ? last : first;
        if (both->at[0].rank == 0)
            printf("step %u  loss %.4f\n", (unsigned)step, (double)last);
    }
    TRY(tenon_group_wait(both->group));
    for (uint32_t m = 0; m < both->count; m++)
        for (int i = 0; i < LAYERS; i++)
            for (int p = 0; p < 2; p++) {
                const half *own = &both->at[m], *other = &alone->at[own->rank];
                const tenon_tensor *parameter = &own->layers[i].parameters[p];
                count += tenon_tensor_elements(parameter);
                different += network_differences(own->stream, parameter, other->stream,
                                                 &other->layers[i].parameters[p]);
            }
    printf("%lld of %lld parameters differ from one device\n", (long long)different,
           (long long)count);
    return different != 0 || !is_same || !(last < first);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2, steps = argc > 2 ? atoi(argv[2]) : 3,
              part = argc > 3 ? atoi(argv[3]) : 1;
    if (n < 1 || steps < 2 || part < 1 || part > 16 || argc > 4) {
        fprintf(stderr,
                "usage: alexnet_halves [IMAGES [STEPS [PART]]], at least 1, at least 2, and "
                "1 to 16\n");
        return 2;
    }
    members all = members_open(&argc, &argv, 2, false);
    static half own[2], one[2];
    tenon_stream *stream;
    if (all.size != 2) {
        fprintf(stderr, "alexnet_halves: %u members, must be 2\n", (unsigned)all.size);
        return 2;
    }
    TRY(tenon_stream_create(all.alone, NULL, &stream));
    for (uint32_t m = 0; m < 2; m++) {
        half_open(&one[m], stream, m, n, part);
        draw(&one[m]);
    }
    for (uint32_t m = 0; m < all.local; m++) {
        half_open(&own[m], all.streams[m], all.first + m, n, part);
        draw(&own[m]);
    }
    const int failed =
        compare(&(halves){all.group, all.local, own}, &(halves){NULL, 2, one}, (uint64_t)steps);
    for (uint32_t m = 0; m < 2; m++)
        half_close(&one[m]);
    for (uint32_t m = 0; m < all.local; m++)
        half_close(&own[m]);
    tenon_stream_destroy(stream);
    members_close(&all);
    return failed;
}
