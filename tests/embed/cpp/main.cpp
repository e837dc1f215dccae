/* Tests tenon.hpp, with and without exceptions. TRY makes a call that must succeed. */
#include <tenon/tenon.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

int failures = 0;

void expect(bool is_right, const char *what, int line)
{
    if (!is_right) {
        std::printf("line %d: %s\n", line, what);
        failures++;
    }
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

#if TENON_HPP_EXCEPTIONS
#define TRY(call) call
/* Returns the status with which a call fails. */
template <class Call> tenon_status status_of(Call call)
{
    try {
        call();
    } catch (const tenon::Error &error) {
        EXPECT(std::strstr(error.what(), tenon_last_error()) != nullptr);
        return error.status;
    }
    return TENON_OK;
}
#else
void attempt(tenon_status status, const char *what, int line)
{
    expect(status == TENON_OK, what, line);
    if (status != TENON_OK)
        std::printf("%s: %s\n", tenon_status_string(status), tenon_last_error());
}
#define TRY(call) attempt(call, #call, __LINE__)
template <class Call> tenon_status status_of(Call call)
{
    return call();
}
#endif

using Floats = std::vector<float>;

/* Operands and expected result of d = a·b for 2 × 3 and 3 × 2. */
struct Product {
    tenon::Tensor<float> a, b, d;

    Product(const tenon::Context &context, const tenon::Stream &stream)
    {
        TRY(tenon::Tensor<float>::create(a, context, {2, 3}));
        TRY(tenon::Tensor<float>::create(b, context, {3, 2}));
        TRY(tenon::Tensor<float>::create(d, context, {2, 2}));
        TRY(a.upload(stream, {1, 2, 3, 4, 5, 6}));
        TRY(b.upload(stream, {1, 0, 0, 1, 1, 1}));
    }
    Floats result(const tenon::Stream &stream) const
    {
        Floats values(4);
        TRY(d.download(stream, values.data(), values.size()));
        return values;
    }
};

void test_calls(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    TRY(tenon::gemm(stream, nullptr, p.a, p.b, nullptr, nullptr, p.d));
    EXPECT(p.result(stream) == (Floats{4, 5, 10, 11}));
    tenon::gemm_params params;
    params.epilogue.alpha = 2;
    TRY(tenon::gemm(stream, params, p.a, p.b, nullptr, nullptr, p.d, nullptr));
    EXPECT(p.result(stream) == (Floats{8, 10, 20, 22}));
    TRY(tenon::gemm(stream, nullptr, tenon_tensor_slice(p.a, 1, 0, 2),
                    tenon_tensor_slice(p.b, 0, 0, 2), nullptr, nullptr, p.d));
    EXPECT(p.result(stream) == (Floats{1, 2, 4, 5}));
    const tenon_tensor d =
        tenon::output_shape("tenon_gemm", params, {p.a, p.b, nullptr, nullptr, nullptr}, 4);
    EXPECT(d.dtype == TENON_DTYPE_F32 && d.rank == 2 && d.shape[0] == 2 && d.shape[1] == 2);
    const tenon_tensor *halves[] = {&p.a.view(), &p.a.view()};
    tenon::Tensor<float> both;
    TRY(tenon::Tensor<float>::create(both, context, {4, 3}));
    TRY(tenon::concat(stream, nullptr, halves, 2, both));
    tenon::activation_params square;
    square.activation = tenon_activation_default(TENON_ACTIVATION_SQUARE);
    TRY(tenon::activation_forward(stream, square, p.d, p.d));
    EXPECT(p.result(stream) == (Floats{1, 4, 16, 25}));
}

/* A given c is added, with or without parameters. Parameters that do not begin with the defaults
 * are refused. */
void test_epilogues(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    tenon::Tensor<float> c;
    TRY(tenon::Tensor<float>::create(c, context, {2}));
    TRY(c.upload(stream, {100, 200}));
    TRY(tenon::gemm(stream, nullptr, p.a, p.b, c, nullptr, p.d));
    EXPECT(p.result(stream) == (Floats{104, 205, 110, 211}));
    tenon::gemm_params params;
    TRY(tenon::gemm(stream, params, p.a, p.b, c, c, p.d));
    EXPECT(p.result(stream) == (Floats{204, 405, 210, 411}));
    tenon::epilogue epilogue;
    epilogue.beta = 2;
    params.epilogue = epilogue;
    TRY(tenon::gemm(stream, params, p.a, p.b, c, nullptr, p.d));
    EXPECT(p.result(stream) == (Floats{204, 405, 210, 411}));
    params.epilogue = {};
    params.epilogue.beta = 1;
    EXPECT(status_of([&] { return tenon::gemm(stream, params, p.a, p.b, c, nullptr, p.d); }) ==
           TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "TENON_EPILOGUE_INIT") != nullptr);
}

void test_pinned(const tenon::Context &context, const tenon::Stream &stream)
{
    tenon::Pinned<float> sent, got;
    tenon::Tensor<float> x;
    tenon::Event uploaded;
    TRY(tenon::Pinned<float>::create(sent, context, 6));
    TRY(tenon::Pinned<float>::create(got, context, 6));
    TRY(tenon::Tensor<float>::create(x, context, {2, 3}));
    for (std::size_t i = 0; i < 6; i++) {
        sent[i] = static_cast<float>(i) + 1;
        got[i] = -1;
    }
    TRY(x.upload_async(stream, sent.data(), 6, uploaded.signal()));
    TRY(x.download_async(stream, got.data(), 6, uploaded.after()));
    TRY(stream.finish());
    for (std::size_t i = 0; i < 6; i++)
        EXPECT(got[i] == static_cast<float>(i) + 1);
    EXPECT(status_of([&] { return x.upload_async(stream, sent.data(), 5); }) ==
           TENON_ERROR_INVALID_ARGUMENT);
}

/* Counts whose size in bytes overflows: times sizeof(float) they wrap around to 24 bytes, the size
 * of x. */
void test_overflow(const tenon::Context &context, const tenon::Stream &stream)
{
    const std::size_t huge = static_cast<std::size_t>(-1) / sizeof(float) + 7;
    static_assert(huge * sizeof(float) == 24);
    tenon::Pinned<float> pinned;
    tenon::Tensor<float> x;
    float values[6] = {1, 2, 3, 4, 5, 6};
    TRY(tenon::Tensor<float>::create(x, context, {2, 3}));
    const auto is_refused = [&](tenon_status status) {
        EXPECT(std::strstr(tenon_last_error(), "bytes is 18446744073709551615, must be 24"));
        return status == TENON_ERROR_INVALID_ARGUMENT;
    };
    EXPECT(is_refused(status_of([&] { return x.upload(stream, values, huge); })));
    EXPECT(is_refused(status_of([&] { return x.download(stream, values, huge); })));
    EXPECT(is_refused(status_of([&] { return x.upload_async(stream, values, huge); })));
    EXPECT(is_refused(status_of([&] { return x.download_async(stream, values, huge); })));
    EXPECT(status_of([&] { return tenon::Pinned<float>::create(pinned, context, huge); }) ==
           TENON_ERROR_OUT_OF_MEMORY);
    EXPECT(std::strstr(tenon_last_error(), "18446744073709551615 bytes") != nullptr);
    EXPECT(pinned == nullptr);
}

void test_plans(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    tenon::Plan plan;
    const tenon_tensor a = tenon::tensor_view<float>({2, 3}), b = tenon::tensor_view<float>({3, 2}),
                       d = tenon::tensor_view<float>({2, 2});
    TRY(tenon::gemm_plan(plan, context, nullptr, a, b, nullptr, nullptr, d));
    TRY(plan.wait());
    EXPECT(plan.operands() == 5 && plan.describe().find("gemm/") == 0);
    tenon::Event event;
    TRY(plan.run(stream, event.signal(), p.a, p.b, nullptr, nullptr, p.d));
    EXPECT(event.wait() == CL_SUCCESS);
    EXPECT(p.result(stream) == (Floats{4, 5, 10, 11}));
    tenon::Event moved = std::move(event);
    TRY(tenon::copy(stream, nullptr, p.b, p.b, moved.after()));
    tenon::Packed packed;
    TRY(tenon::Packed::gemm_pack(packed, stream, p.b));
    TRY(p.d.fill(stream, 0));
    TRY(tenon::gemm_packed(stream, nullptr, p.a, packed, nullptr, nullptr, p.d));
    EXPECT(p.result(stream) == (Floats{4, 5, 10, 11}));
    TRY(tenon::packed_unpack(stream, packed, p.b));
#if TENON_HPP_EXCEPTIONS
    tenon::Plan other = tenon::gemm_packed_plan(context, nullptr, a, packed, nullptr, nullptr, d);
    packed = tenon::Packed();
    other.run(stream, p.a, nullptr, nullptr, p.d);
    EXPECT(p.d.download(stream) == (Floats{4, 5, 10, 11}));
#endif
}

/* One plan serves all parts of a batch: operands by name, each at its own offset. */
void test_named_operands(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    tenon::Tensor<float> many, sums;
    TRY(tenon::Tensor<float>::create(many, context, {2, 2, 3}));
    TRY(tenon::Tensor<float>::create(sums, context, {3, 2, 2}));
    TRY(many.upload(stream, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    TRY(sums.fill(stream, -1));
    tenon::Plan plan;
    TRY(tenon::gemm_plan(plan, context, nullptr, p.a, p.b, nullptr, nullptr, p.d));
    EXPECT((plan.names() == std::vector<std::string>{"a", "b", "c", "bias", "d"}));
    for (std::int64_t i = 0; i < 2; i++)
        TRY(plan.run(
            stream,
            {{"d", tenon::slice(sums, 0, i, 1)}, {"b", p.b}, {"a", tenon::slice(many, 0, i, 1)}}));
    Floats values(12);
    TRY(sums.download(stream, values.data(), values.size()));
    EXPECT(values == (Floats{4, 5, 10, 11, 16, 17, 22, 23, -1, -1, -1, -1}));
    tenon::Event event;
    const std::vector<tenon::operand> third = {
        {"a", p.a}, {"b", p.b}, {"d", sums.view().memory, 8 * sizeof(float)}};
    TRY(plan.run(stream, event.signal(), third));
    EXPECT(event.wait() == CL_SUCCESS);
    TRY(sums.download(stream, values.data(), values.size()));
    EXPECT(values == (Floats{4, 5, 10, 11, 16, 17, 22, 23, 4, 5, 10, 11}));
    EXPECT(status_of([&] {
               return plan.run(stream, {{"a", p.a}, {"b", p.b}});
           }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "\"d\" is missing") != nullptr);
}

/* d = a·b, then doubled in place, and both halves of the result exchanged. */
void test_sequences(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    tenon::Sequence sequence;
    tenon::Plan product, sum;
    TRY(tenon::Sequence::create(sequence, context));
    const tenon_tensor a = sequence.tensor<float>({2, 3}, "a"), h = sequence.tensor<float>({2, 2}),
                       d = sequence.tensor<float>({2, 2}, "d");
    TRY(tenon::gemm_plan(product, context, nullptr, a, p.b, nullptr, nullptr, h));
    TRY(tenon::elementwise_plan(sum, context, nullptr, h, h, h));
    TRY(sequence.add(product, {a, p.b, nullptr, nullptr, h}, "product"));
    TRY(sequence.add(sum, {h, h, h}));
    const tenon_tensor top = tenon::slice(h, 0, 0, 1), bottom = tenon::slice(h, 0, 1, 1);
    TRY(sequence.concat(nullptr, {bottom, top}, d));
    TRY(sequence.finish());
    EXPECT(sequence.steps() == 4 && sequence.workspace() > 0);
    TRY(sequence.run(stream, {{"a", p.a}, {"d", p.d}}));
    EXPECT(p.result(stream) == (Floats{20, 22, 8, 10}));
    tenon::Event event;
    const std::vector<tenon::operand> operands = {{"a", p.a}, {"d", p.d}};
    TRY(sequence.run(stream, event.signal(), operands, {{"product.alpha", 0.5}}));
    EXPECT(event.wait() == CL_SUCCESS);
    EXPECT(p.result(stream) == (Floats{10, 11, 4, 5}));
    EXPECT(status_of([&] { return sequence.copy(nullptr, d, d); }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "is finished") != nullptr);
}

/* Scalars of a run act like the parameters of an immediate call, and only for that run. */
void test_scalars(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    tenon::Plan plan;
    tenon::gemm_params params;
    params.epilogue.alpha = 2;
    TRY(tenon::gemm_plan(plan, context, params, p.a, p.b, nullptr, nullptr, p.d));
    const std::vector<tenon::operand> named = {{"a", p.a}, {"b", p.b}, {"d", p.d}};
    TRY(plan.run(stream, named, {{"alpha", 3}}));
    EXPECT(p.result(stream) == (Floats{12, 15, 30, 33}));
    TRY(plan.run(stream, {{"a", p.a}, {"b", p.b}, {"d", p.d}}, {{"alpha", -1}, {"beta", 0.0}}));
    EXPECT(p.result(stream) == (Floats{-4, -5, -10, -11}));
    tenon::Event event;
    TRY(plan.run(stream, event.signal(), named, {{"alpha", 0.5F}}));
    EXPECT(event.wait() == CL_SUCCESS);
    EXPECT(p.result(stream) == (Floats{2, 2.5F, 5, 5.5F}));
    TRY(plan.run(stream, named));
    EXPECT(p.result(stream) == (Floats{8, 10, 20, 22}));
    const std::vector<tenon_scalar> all = plan.scalars();
    EXPECT(all.size() == 2 && std::strcmp(all[0].name, "alpha") == 0 && all[0].real == 2);
    EXPECT(status_of([&] {
               return plan.run(stream, named, {{"gamma", 1}});
           }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "whose scalars are alpha, beta") != nullptr);
    TRY(tenon::random_plan(plan, context, nullptr, p.d));
    TRY(plan.run(stream, {{"y", p.d}}, {{"seed", std::uint64_t(1) << 63}}));
    EXPECT(status_of([&] {
               return plan.run(stream, {{"y", p.d}}, {{"seed", -1}});
           }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "must be an integer of 64 bits") != nullptr);
}

/* Collectives of two members with one context. */
void test_groups(const tenon::Context &context, const tenon::Stream &stream)
{
    tenon::Stream other;
    TRY(tenon::Stream::create(other, context));
    tenon::Group group;
    EXPECT(group.size() == 0);
    TRY(tenon::Group::create(group, {stream, other}));
    EXPECT(group.size() == 2);
    std::vector<tenon::Tensor<float>> x(2), y(2);
    tenon::Tensor<float> first, second;
    for (std::size_t m = 0; m < 2; m++) {
        TRY(tenon::Tensor<float>::create(x[m], context, {2}));
        TRY(tenon::Tensor<float>::create(y[m], context, {2}));
    }
    TRY(tenon::Tensor<float>::create(first, context, {1}));
    TRY(tenon::Tensor<float>::create(second, context, {1}));
    const auto values = [&](const tenon::Tensor<float> &tensor) {
        Floats read(static_cast<std::size_t>(tensor.elements()));
        TRY(group.wait());
        TRY(tensor.download(stream, read.data(), read.size()));
        return read;
    };
    TRY(x[0].upload(stream, {1, 2}));
    TRY(x[1].upload(other, {3, 5}));
    TRY(group.all_reduce(TENON_GROUP_SUM, x, y));
    EXPECT(values(y[0]) == (Floats{4, 7}) && values(y[1]) == (Floats{4, 7}));
    TRY(group.reduce(TENON_GROUP_MAX, 1, x, y[1]));
    EXPECT(values(y[1]) == (Floats{3, 5}));
    TRY(group.reduce_scatter(TENON_GROUP_PRODUCT, {x[0], x[1]}, {first, second}));
    EXPECT(values(first) == (Floats{3}) && values(second) == (Floats{10}));
    TRY(group.all_gather({second, first}, y));
    EXPECT(values(y[0]) == (Floats{10, 3}) && values(y[1]) == (Floats{10, 3}));
    TRY(group.broadcast(1, x[1], y));
    EXPECT(values(y[0]) == (Floats{3, 5}) && values(y[1]) == (Floats{3, 5}));
    TRY(group.all_to_all(x, y));
    EXPECT(values(y[0]) == (Floats{1, 3}) && values(y[1]) == (Floats{2, 5}));
    TRY(group.barrier());
    cl_event events[2];
    TRY(group.send(0, 1, x[0], &events[0]));
    TRY(group.receive(0, 1, y[1], &events[1]));
    EXPECT(clWaitForEvents(2, events) == CL_SUCCESS);
    EXPECT(values(y[1]) == (Floats{1, 2}));
    for (cl_event event : events)
        clReleaseEvent(event);
    TRY(group.all_reduce_many(TENON_GROUP_SUM, 2, {x[0], first, x[1], second},
                              {y[0], first, y[1], second}));
    EXPECT(values(y[1]) == (Floats{4, 7}) && values(first) == (Floats{13}));
    int busy = 1;
    TRY(group.poll(&busy));
    EXPECT(busy == 0 && group.first_rank() == 0 && group.local_count() == 2);
    tenon::Group left;
    EXPECT(status_of([&] { return group.shrink(left); }) == TENON_ERROR_UNSUPPORTED);
    EXPECT(status_of([&] { return group.all_reduce(TENON_GROUP_SUM, x, {y[0]}); }) ==
           TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "y is NULL") != nullptr);
    EXPECT(status_of([&] {
               return tenon::Group::create(group, {stream, stream});
           }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(group.size() == 2);
}

#if TENON_HPP_EXCEPTIONS
template <class Make> bool is_refused(Make make)
{
    return status_of(make) != TENON_OK;
}
#else
template <class Make> bool is_refused(Make make)
{
    return make().dtype == TENON_DTYPE_INVALID;
}
#endif

/* Invalid views are refused where they are created, with the message available at once. */
void test_views()
{
    const tenon_tensor view = tenon::tensor_view<float>({4, 5, 6, 7});
    const tenon_tensor images = tenon::nhwc(view);
    EXPECT(images.shape[1] == 7 && images.stride[1] == 1 && images.shape[3] == 6);
    EXPECT(tenon::transpose(view, 0, 3).shape[0] == 7);
    EXPECT(tenon::slice_step(view, 1, 0, 2, 3).stride[1] == 3 * 6 * 7);
    EXPECT(tenon::permute(view, {3, 2, 1, 0}).shape[0] == 7);
    EXPECT(tenon::squeeze(tenon::unsqueeze(view, 0), 0).rank == 4);
    EXPECT(tenon::broadcast(view, {2, 4, 5, 6, 7}).stride[0] == 0);
    EXPECT(is_refused([&] { return tenon::slice(view, 1, 4, 2); }));
    EXPECT(std::strcmp(tenon_last_error(), "tenon_tensor_slice of 4x5x6x7 refused dim 1, start 4, "
                                           "size 2: dimension 1 has 5 entries") == 0);
    EXPECT(is_refused([&] { return tenon::tensor_view<float>({4, -1}); }));
    EXPECT(std::strstr(tenon_last_error(), "4x-1") != nullptr);
    EXPECT(is_refused([&] { return tenon::permute(view, {1, 0}); }));
    EXPECT(is_refused([&] { return tenon::broadcast(view, {5, 5, 6, 7}); }));
    EXPECT(is_refused([&] { return tenon::nhwc(tenon::tensor_view<float>({4, 5})); }));
    EXPECT(is_refused([&] { return tenon::squeeze(view, 0); }));
}

void test_failures(const tenon::Context &context, const tenon::Stream &stream)
{
    Product p(context, stream);
    EXPECT(status_of([&] {
               return tenon::gemm(stream, nullptr, p.a, p.a, nullptr, nullptr, p.d);
           }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(status_of([&] { return p.a.upload(stream, {1, 2}); }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(),
                       "bytes is 8, must be 24: the tensor has 6 values of f32, 4 bytes "
                       "each") != nullptr);
    tenon::Plan plan;
    EXPECT(status_of([&] {
               return tenon::gemm_plan(plan, context, nullptr, p.a, p.a, nullptr, nullptr, p.d);
           }) == TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(plan == nullptr);
    tenon::context_params params;
    params.device = "no such device";
    tenon::Context other;
    EXPECT(status_of([&] { return tenon::Context::create(other, params); }) ==
           TENON_ERROR_DEVICE_NOT_FOUND);
    EXPECT(other == nullptr);
    tenon::Stream none;
    EXPECT(status_of([&] { return tenon::Stream::create(none, other); }) ==
           TENON_ERROR_INVALID_ARGUMENT);
    EXPECT(std::strstr(tenon_last_error(), "context is NULL") != nullptr);
#if TENON_HPP_EXCEPTIONS
    EXPECT(status_of([&] { tenon::Context::make(params); }) == TENON_ERROR_DEVICE_NOT_FOUND);
    EXPECT(tenon::Context::make() != nullptr);
#endif
}

/* An owner that is moved is released once, in any order of release. */
void test_owners()
{
    tenon::Tensor<double> kept;
    {
        tenon::Context context;
        TRY(tenon::Context::create(context));
        tenon::Stream stream;
        TRY(tenon::Stream::create(stream, context));
        tenon::Context moved = std::move(context);
        EXPECT(context == nullptr && moved != nullptr);
        tenon::Tensor<double> tensor;
        TRY(tenon::Tensor<double>::create(tensor, moved, {4}));
        moved = tenon::Context();
        kept = std::move(tensor);
        TRY(stream.flush());
    }
    EXPECT(kept.elements() == 4);
}

static_assert(tenon::dtype_v<std::int8_t> == TENON_DTYPE_I8);
static_assert(tenon::dtype_v<long double> == TENON_DTYPE_INVALID);
static_assert(!std::is_copy_constructible_v<tenon::Tensor<float>>);
static_assert(!std::is_copy_constructible_v<tenon::Plan>);
static_assert(std::is_nothrow_move_constructible_v<tenon::Event>);

} // namespace

int main()
{
    tenon::Context context;
    TRY(tenon::Context::create(context));
    tenon::Stream stream;
    TRY(tenon::Stream::create(stream, context));
    test_calls(context, stream);
    test_epilogues(context, stream);
    test_pinned(context, stream);
    test_overflow(context, stream);
    test_plans(context, stream);
    test_named_operands(context, stream);
    test_sequences(context, stream);
    test_scalars(context, stream);
    test_groups(context, stream);
    test_views();
    test_failures(context, stream);
    test_owners();
    TRY(stream.finish());
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
