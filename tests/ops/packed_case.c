#include "packed_case.h"

tenon_packed *pack_matrix(const tenon_tensor *b, const char *layout)
{
    tenon_pack_params params = TENON_PACK_PARAMS_INIT;
    tenon_packed *packed;
    params.layout = layout;
    assert_ok(tenon_gemm_pack(test_stream, &params, b, &packed, NULL));
    return packed;
}

static tenon_status call(const void *user, const char *solver)
{
    const gemm_data *data = user;
    tenon_gemm_params params = gemm_params(&data->problem, solver);
    tenon_packed *packed = pack_matrix(gemm_view(data, GEMM_B, false), "panels");
    tenon_status status =
        tenon_gemm_packed(test_stream, &params, gemm_view(data, GEMM_A, false), packed,
                          gemm_view(data, GEMM_C, false), gemm_view(data, GEMM_BIAS, false),
                          gemm_view(data, GEMM_D, false), NULL);
    tenon_packed_release(packed); /* what is enqueued goes on */
    return status;
}

test_subject packed_subject(const gemm_data *data)
{
    test_subject subject = gemm_subject(data);
    subject.family = &tn_gemm_packed_family;
    subject.call = call;
    return subject;
}

void check_packed_typed(const gemm_case *p, tenon_dtype dtype, test_random *random)
{
    const bool exact = !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        gemm_data data;
        make_gemm(&data, p, dtype, (test_judge)judge, random);
        compute_gemm_reference(&data);
        const test_subject subject = packed_subject(&data);
        test_run_all(&subject);
        destroy_gemm(&data);
    }
}

void check_packed(const gemm_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_packed_typed(p, *type, random);
}
