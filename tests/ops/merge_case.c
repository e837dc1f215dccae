#include "merge_case.h"

#include "check/host.h"
#include "ops/common/epilogue.h"

#include <math.h>

enum { MOST = 8192 }; /* elements that are compared */

const int64_t merge_a[2] = {MERGE_ROWS, MERGE_INNER}, merge_b[2] = {MERGE_INNER, MERGE_COLUMNS},
              merge_d[2] = {MERGE_ROWS, MERGE_COLUMNS}, merge_bias[1] = {MERGE_COLUMNS};

tenon_tensor merge_random(test_random *random, tenon_dtype dtype, uint32_t rank,
                          const int64_t *shape)
{
    test_tensor values;
    int64_t stride[TENON_MAX_RANK];
    tenon_tensor made = tenon_tensor_view(dtype, rank, shape);
    memcpy(stride, made.stride, sizeof stride);
    test_tensor_create(&values, dtype, rank, shape, stride, 0);
    test_fill_reals(&values, random);
    test_upload(&values);
    assert_ok(tenon_tensor_create(test_context, dtype, rank, shape, &made));
    assert_ok(tenon_copy(test_stream, NULL, &values.view, &made, NULL));
    test_tensor_destroy(&values);
    return made;
}

merge_sequence merge_begin(tenon_dtype dtype, uint32_t rank, const int64_t *x, const int64_t *y)
{
    merge_sequence b;
    assert_ok(tenon_sequence_create(test_context, &b.sequence));
    assert_ok(tenon_sequence_tensor(b.sequence, "x", dtype, rank, x, &b.x));
    assert_ok(tenon_sequence_tensor(b.sequence, "y", dtype, rank, y, &b.y));
    return b;
}

tenon_tensor merge_intermediate(const merge_sequence *b, const tenon_tensor *like)
{
    tenon_tensor t;
    assert_ok(tenon_sequence_tensor(b->sequence, NULL, like->dtype, like->rank, like->shape, &t));
    memcpy(t.stride, like->stride, sizeof t.stride); /* a permutation of dense strides */
    return t;
}

void merge_add_plan(const merge_sequence *b, const char *label, tenon_plan *plan,
                    const tenon_tensor *const *tensors, uint32_t count)
{
    assert_ok(tenon_sequence_add(b->sequence, label, plan, tensors, count, NULL, 0));
    tenon_plan_release(plan);
}

void merge_add_activation(const merge_sequence *b, const char *label, tenon_activation activation,
                          const tenon_tensor *x, const tenon_tensor *y)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_plan *plan;
    params.activation = activation;
    assert_ok(tenon_activation_forward_plan(test_context, &params, x, y, &plan));
    merge_add_plan(b, label, plan, (const tenon_tensor *const[]){x, y}, 2);
}

void merge_add_sum(const merge_sequence *b, const tenon_tensor *p, const tenon_tensor *q,
                   const tenon_tensor *d)
{
    tenon_plan *plan;
    assert_ok(tenon_elementwise_plan(test_context, NULL, p, q, d, &plan));
    merge_add_plan(b, NULL, plan, (const tenon_tensor *const[]){p, q, d}, 3);
}

void merge_add_gemm(const merge_sequence *b, const tenon_gemm_params *params, const tenon_tensor *w,
                    const tenon_tensor *bias, const tenon_tensor *d)
{
    tenon_plan *plan;
    assert_ok(tenon_gemm_plan(test_context, params, &b->x, w, NULL, bias, d, &plan));
    merge_add_plan(b, NULL, plan, (const tenon_tensor *const[]){&b->x, w, NULL, bias, d}, 5);
}

void merge_finish(merge_sequence *b, uint32_t steps, const tenon_tensor *x, const tenon_tensor *y)
{
    const tenon_operand operands[] = {{"x", x->memory, x->offset}, {"y", y->memory, y->offset}};
    assert_ok(tenon_sequence_finish(b->sequence));
    assert_int_equal(tenon_sequence_steps(b->sequence), steps);
    assert_ok(tenon_sequence_run(test_stream, b->sequence, operands, 2, NULL, 0, NULL));
    tenon_sequence_release(b->sequence);
}

/* Returns the permitted difference, relative to the largest value. In 16 bits an intermediate is
 * not rounded. Functions such as exp may round differently for vectors and for single numbers:
 * PoCL's exp does so with AVX-512. */
static double tolerance(tenon_dtype dtype, tenon_activation_kind kind)
{
    static const bool same_bits[TN_ACTIVATION_KINDS] = {
        [TENON_ACTIVATION_IDENTITY] = true,     [TENON_ACTIVATION_RELU] = true,
        [TENON_ACTIVATION_LEAKY_RELU] = true,   [TENON_ACTIVATION_CLIPPED_RELU] = true,
        [TENON_ACTIVATION_HARD_SIGMOID] = true, [TENON_ACTIVATION_HARD_SWISH] = true,
        [TENON_ACTIVATION_HARD_TANH] = true,    [TENON_ACTIVATION_SOFTSIGN] = true,
        [TENON_ACTIVATION_ABS] = true,          [TENON_ACTIVATION_SQUARE] = true,
    };
    switch (dtype) {
    case TENON_DTYPE_F16:
        return 0x1p-9;
    case TENON_DTYPE_BF16:
        return 0x1p-6;
    case TENON_DTYPE_F32:
        return same_bits[kind] ? 0 : 0x1p-21;
    default:
        return same_bits[kind] ? 0 : 0x1p-50;
    }
}

void merge_compare(const tenon_tensor *got, const tenon_tensor *expected,
                   tenon_activation_kind kind, const char *what)
{
    const double permitted = tolerance(got->dtype, kind);
    static unsigned char p[8 * MOST], q[8 * MOST];
    const size_t bytes = (size_t)tenon_tensor_elements(got) * tenon_dtype_size(got->dtype);
    assert_true(bytes <= sizeof p);
    assert_ok(tenon_tensor_download(test_stream, got, p, bytes, NULL));
    assert_ok(tenon_tensor_download(test_stream, expected, q, bytes, NULL));
    if (permitted == 0) {
        if (memcmp(p, q, bytes) != 0)
            fail_msg("%s: other bits when merged", what);
        return;
    }
    tenon_tensor ones = tenon_tensor_view(got->dtype, got->rank, got->shape), host_p = ones,
                 host_q = ones;
    host_p.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = p};
    host_q.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = q};
    double *values_p = tn_host_read(&host_p, ones.rank, ones.shape),
           *values_q = tn_host_read(&host_q, ones.rank, ones.shape), largest = 0, difference = 0;
    for (int64_t i = 0; i < tenon_tensor_elements(&ones); i++) {
        largest = fmax(largest, fabs(values_q[i]));
        difference = fmax(difference, fabs(values_p[i] - values_q[i]));
    }
    if (!(difference <= permitted * largest))
        fail_msg("%s: differs by %g, the largest value is %g", what, difference, largest);
    free(values_p);
    free(values_q);
}

merge_operands merge_make_operands(test_random *random, tenon_dtype dtype)
{
    merge_operands o = {
        merge_random(random, dtype, 2, merge_a),    merge_random(random, dtype, 2, merge_b),
        merge_random(random, dtype, 1, merge_bias), merge_random(random, dtype, 2, merge_d),
        merge_random(random, dtype, 2, merge_d),    merge_random(random, dtype, 2, merge_d)};
    return o;
}

void merge_free_operands(merge_operands *o)
{
    test_destroy(&o->a, &o->b, &o->bias, &o->r, &o->d, &o->expected);
}
