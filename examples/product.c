/* Multiplies two matrices on the default device. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void)
{
    const float a_data[] = {1, 2, 3, 4, 5, 6}, b_data[] = {1, 0, 0, 1, 1, 1};
    float d_data[4];
    tenon_context *context = NULL;
    tenon_stream *stream = NULL;
    tenon_tensor a = {0}, b = {0}, d = {0};

    /* Every call returns a status; TENON_OK is 0. */
    if (tenon_context_create(NULL, &context) || tenon_stream_create(context, NULL, &stream) ||
        tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){2, 3}, &a) ||
        tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){3, 2}, &b) ||
        tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){2, 2}, &d) ||
        tenon_tensor_upload(stream, a_data, sizeof a_data, &a, NULL) ||
        tenon_tensor_upload(stream, b_data, sizeof b_data, &b, NULL) ||
        tenon_gemm(stream, NULL, &a, &b, NULL, NULL, &d, NULL) || /* d = a · b */
        tenon_tensor_download(stream, &d, d_data, sizeof d_data, NULL))
        return fprintf(stderr, "%s\n", tenon_last_error()), 1;

    printf("%g %g\n%g %g\n", d_data[0], d_data[1], d_data[2], d_data[3]);
    tenon_tensor_destroy(&a);
    tenon_tensor_destroy(&b);
    tenon_tensor_destroy(&d);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    return 0;
}
