/* Data-parallel training in the processes of an MPI job: a linear model finds its weights, each
 * process has samples of its own, and the gradients are averaged. The weights are saved every
 * hundred steps; a job that is started again continues from there, with any number of processes.
 *
 *     mpicc mpi_training.c -o mpi_training $(pkg-config --cflags --libs tenon)
 *     mpirun -n 4 ./mpi_training model.safetensors
 */
#include <tenon/mpi.h>

#include "try.h"

enum { SAMPLES = 256, INPUTS = 8, SAVE_EVERY = 100 };

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "model.safetensors";
    const int steps = argc > 2 ? atoi(argv[2]) : 400;
    const tenon_gemm_params difference = tenon_gemm_params(.epilogue.beta = -1);
    const tenon_gemm_params mean = tenon_gemm_params(.epilogue.alpha = 1.0 / SAMPLES);
    const tenon_sgd_params sgd = tenon_sgd_params(.learning_rate = 0.3);
    float weights[INPUTS] = {-3, -2, -1, 0, 1, 2, 3, 4}; /* to be found */
    int provided, step = 0;
    tenon_context *context;
    tenon_stream *stream;
    tenon_transport transport;
    tenon_group *group;
    tenon_tensor x, y, w, e, gradient;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    TRY(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    TRY(tenon_group_create(&stream, 1, &tenon_group_params(.transport = &transport), &group));
    const uint32_t rank = tenon_group_first_rank(group);
    const tenon_random_params random = tenon_random_params(.seed = 1, .sequence = rank);

    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){SAMPLES, INPUTS}, &x));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){SAMPLES, 1}, &y));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){SAMPLES, 1}, &e));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){INPUTS, 1}, &w));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){INPUTS, 1}, &gradient));
    TRY(tenon_random(stream, &random, &x, NULL));
    TRY(tenon_tensor_upload(stream, weights, sizeof weights, &w, NULL));
    TRY(tenon_gemm(stream, NULL, &x, &w, NULL, NULL, &y, NULL)); /* y = x · weights */
    TRY(tenon_tensor_fill(stream, &w, 0, NULL));

    const tenon_named_tensor named = {"w", w};
    tenon_checkpoint *checkpoint;
    if (tenon_checkpoint_open(path, &checkpoint) == TENON_OK) { /* every process reads */
        TRY(tenon_checkpoint_load(stream, checkpoint, &named, 1));
        const char *text = tenon_checkpoint_text(checkpoint, "step");
        step = text != NULL ? atoi(text) : 0;
        tenon_checkpoint_close(checkpoint);
    }
    while (step < steps) {
        TRY(tenon_gemm(stream, &difference, &x, &w, &y, NULL, &e, NULL)); /* e = x · w - y */
        const tenon_tensor transposed = tenon_tensor_transpose(x, 0, 1);
        TRY(tenon_gemm(stream, &mean, &transposed, &e, NULL, NULL, &gradient, NULL));
        TRY(tenon_group_all_reduce(group, TENON_GROUP_MEAN, &gradient, &gradient, NULL));
        TRY(tenon_sgd(stream, &sgd, &gradient, &w, NULL, NULL, NULL));
        if (++step % SAVE_EVERY == 0) {
            char text[16];
            snprintf(text, sizeof text, "%d", step);
            TRY(tenon_group_wait(group)); /* also reports failures */
            if (rank == 0)                /* all have the same weights */
                TRY(tenon_checkpoint_save(stream, path, &named, 1,
                                          &(tenon_named_text){"step", text}, 1));
        }
    }
    TRY(tenon_tensor_download(stream, &w, weights, sizeof weights, NULL));
    for (int i = 0; i < INPUTS && rank == 0; i++)
        printf("%.2f%c", (double)weights[i], i < INPUTS - 1 ? ' ' : '\n');
    tenon_group_destroy(group);
    tenon_tensor *const tensors[] = {&x, &y, &w, &e, &gradient};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tenon_tensor_destroy(tensors[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    MPI_Finalize();
    return 0;
}
