#include "packed_case.h"

tenon_packed *pack_filters(const tenon_tensor *w)
{
    const tenon_pack_params params = tenon_pack_params(.layout = "filter_panels");
    tenon_packed *packed;
    assert_ok(tenon_conv_pack_filter(test_stream, &params, w, &packed, NULL));
    return packed;
}

static tenon_status call_packed(const void *params, const tenon_tensor *const *v)
{
    tenon_packed *packed = pack_filters(v[CONV_W]);
    const tenon_status status = tenon_conv_forward_packed(test_stream, params, v[CONV_X], packed,
                                                          v[CONV_C], v[CONV_BIAS], v[CONV_Y], NULL);
    tenon_packed_release(packed); /* enqueued work continues */
    return status;
}

static tenon_status plan_packed(const void *params, const tenon_tensor *const *v, tenon_plan **plan)
{
    tenon_packed *packed = pack_filters(v[CONV_W]);
    const tenon_status status = tenon_conv_forward_packed_plan(
        test_stream->context, params, v[CONV_X], packed, v[CONV_C], v[CONV_BIAS], v[CONV_Y], plan);
    tenon_packed_release(packed); /* the plan keeps a reference */
    return status;
}

void packed_begin(test_fixture *f, const conv_case *p, tenon_dtype dtype, const tn_family *family)
{
    conv_begin(f, FORWARD, p, dtype);
    test_params(f, tenon_conv_params)->flags = TENON_CONV_EXACT;
    f->call = call_packed;
    f->plan = plan_packed;
    f->family = family;
    f->emulate = NULL;
    f->has_own_bounds = NULL;
}

void packed_make(test_fixture *f, const conv_case *p, tenon_dtype dtype, const tn_family *family,
                 test_judge judge, test_random *random)
{
    packed_begin(f, p, dtype, family);
    conv_fill(f, FORWARD, p, judge, random);
}
