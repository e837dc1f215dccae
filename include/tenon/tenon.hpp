/** @file
 * Tenon for C++17: the C API with owning classes, element types derived from C++ types, and
 * exceptions instead of statuses. All functions call the C function of the same name; see its
 * header for arguments.
 *
 *     tenon::Context context = tenon::Context::make();
 *     tenon::Stream stream(context);
 *     tenon::Tensor<float> a(context, {2, 3}), b(context, {3, 4}), d(context, {2, 4});
 *     a.upload(stream, values);
 *     tenon::gemm(stream, nullptr, a, b, nullptr, nullptr, d);
 *     std::vector<float> result = d.download(stream);
 *
 * Without exceptions (-fno-exceptions, or TENON_NO_EXCEPTIONS defined before this header), every
 * function that can fail returns a tenon::result, a tenon_status that must not be ignored. Objects
 * are then made by `create`, whose first argument is the object to fill:
 *
 *     tenon::Context context;                                         empty until it is filled
 *     if (tenon::Context::create(context) != TENON_OK) …              tenon_last_error() has the
 * reason
 *
 * `create` is also available with exceptions. All source files of a program should use the same
 * mode, because a macro selects it.
 *
 * Owning classes (Context, Stream, Tensor, Pinned, Plan, Sequence, Packed, Group, Checkpoint,
 * CheckpointWriter, Event) can be moved but not copied. They may be destroyed in any order, except
 * that a Group is destroyed before its streams, and convert to the C handle, so they can be passed
 * to every function of the C API. Thread safety is that of the C objects. A default-constructed or
 * moved-from object is empty: its handle is NULL (the view of a Tensor is all zeros), which every
 * call rejects ("context is NULL"). `tenon::Context context;` therefore opens no device; use `make`
 * or `create`.
 */
#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "tenon.hpp needs C++17: compile with -std=c++17 (MSVC: /std:c++17) or later"
#endif

#include <tenon/tenon.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions) && !defined(TENON_NO_EXCEPTIONS)
/** 1 if calls throw exceptions, 0 if they return a result. */
#define TENON_HPP_EXCEPTIONS 1
#include <stdexcept>
#else
#define TENON_HPP_EXCEPTIONS 0
#endif

// Most functions below are a single call, on one line.
// clang-format off
namespace tenon {

#if TENON_HPP_EXCEPTIONS
/** The exception for a failed call: its status, the underlying OpenCL error, and Tenon's message.
 */
class Error : public std::runtime_error {
  public:
    /** Makes the exception for the call that has just failed on this thread. */
    explicit Error(tenon_status failed)
        : std::runtime_error(std::string(tenon_status_string(failed)) + ": " + tenon_last_error()),
          status(failed), cl_error(tenon_last_cl_error())
    {
    }
    tenon_status status; /**< the status of the call */
    cl_int cl_error; /**< the value of tenon_last_cl_error() */
};

/** The return type of calls that can fail: void, because they throw. */
using result = void;

/** Throws an Error unless the status is TENON_OK. */
inline void check(tenon_status status)
{
    if (status != TENON_OK)
        throw Error(status);
}
#else
/** The return type of calls that can fail: a tenon_status that must not be ignored. */
class [[nodiscard]] result {
  public:
    /** Wraps the status of a C function. */
    explicit result(tenon_status status) : status_(status) {}
    /** Returns the status, to compare with TENON_OK. */
    operator tenon_status() const { return status_; }

  private:
    tenon_status status_;
};

/** Makes a result from the status of a C function. */
inline result check(tenon_status status) { return result(status); }
#endif

/** Storage type of a binary16 number. The application converts to and from its bits. */
enum class f16 : std::uint16_t {};
/** Storage type of a bfloat16 number, likewise. */
enum class bf16 : std::uint16_t {};

/** Storage type of a truth value: a byte, 0 or 1. (The size of C++'s bool is not specified, and a
 * std::vector of it has no array.) */
enum class boolean : std::uint8_t {};

/** The tenon_dtype of a C++ type; TENON_DTYPE_INVALID if there is none. */
template <class T> inline constexpr tenon_dtype dtype_v = TENON_DTYPE_INVALID;
/** @cond */
template <> inline constexpr tenon_dtype dtype_v<double> = TENON_DTYPE_F64;
template <> inline constexpr tenon_dtype dtype_v<float> = TENON_DTYPE_F32;
template <> inline constexpr tenon_dtype dtype_v<f16> = TENON_DTYPE_F16;
template <> inline constexpr tenon_dtype dtype_v<bf16> = TENON_DTYPE_BF16;
template <> inline constexpr tenon_dtype dtype_v<std::int8_t> = TENON_DTYPE_I8;
template <> inline constexpr tenon_dtype dtype_v<std::uint8_t> = TENON_DTYPE_U8;
template <> inline constexpr tenon_dtype dtype_v<std::int32_t> = TENON_DTYPE_I32;
template <> inline constexpr tenon_dtype dtype_v<std::int64_t> = TENON_DTYPE_I64;
template <> inline constexpr tenon_dtype dtype_v<std::int16_t> = TENON_DTYPE_I16;
template <> inline constexpr tenon_dtype dtype_v<std::uint16_t> = TENON_DTYPE_U16;
template <> inline constexpr tenon_dtype dtype_v<std::uint32_t> = TENON_DTYPE_U32;
template <> inline constexpr tenon_dtype dtype_v<boolean> = TENON_DTYPE_BOOL;
/** @endcond */

/** Sizes of a tensor: {2, 3}. */
using shape = std::vector<std::int64_t>;

namespace detail {

/* An argument for a `const P *` of the C API: nullptr, a P, or an object that converts to P. It
 * points to the object passed in, so it must only be used for parameters. */
template <class P> class reference {
  public:
    reference(std::nullptr_t) {}
    reference(const P *pointer) : pointer_(pointer) {}
    template <class X, class = std::enable_if_t<std::is_convertible_v<const X &, const P &>>>
    reference(const X &x) : pointer_(&static_cast<const P &>(x))
    {
    }
    operator const P *() const { return pointer_; }

  private:
    const P *pointer_ = nullptr;
};

/* Maps the type of a parameter in C to its type here: structs are passed by reference. */
template <class A> struct parameter {
    using type = A;
};
template <class P> struct parameter<const P *> {
    using type = std::conditional_t<std::is_class_v<P> && !std::is_same_v<P, tenon_packed>,
                                    reference<P>, const P *>;
};

/* An owner of a handle of the C API, which it releases when it is destroyed. */
template <class T, void (*Release)(T *)> class owner {
  public:
    owner() = default;
    explicit owner(T *owned) : handle_(owned) {}
    operator T *() const { return handle_.get(); }
    T *get() const { return handle_.get(); }

  private:
    struct release {
        void operator()(T *handle) const { Release(handle); }
    };
    std::unique_ptr<T, release> handle_;
};

/* Returns the size of `count` values in bytes, or the largest size_t if it overflows, which every
 * transfer and allocation rejects. */
template <class T> std::size_t bytes_of(std::size_t count) {
    constexpr std::size_t most = static_cast<std::size_t>(-1);
    return count <= most / sizeof(T) ? count * sizeof(T) : most;
}

/* Fills an owner by a call that returns a handle. */
template <class Owner, class T, class Call> result make(Owner &out, T *, Call call) {
    T *made = nullptr;
    const tenon_status status = call(&made);
    if (status == TENON_OK)
        out = Owner(made);
    return check(status);
}

} // namespace detail

/** Parameter structs initialized with the defaults: gemm_params p; p.epilogue.alpha = 2; */
#define TENON_HPP_PARAMS(name, NAME)                                                               \
    struct name##_params : ::tenon_##name##_params {                                               \
        name##_params() : ::tenon_##name##_params TENON_##NAME##_PARAMS_INIT {}                    \
    };
TENON_HPP_PARAMS(activation, ACTIVATION)
TENON_HPP_PARAMS(adam, ADAM)
TENON_HPP_PARAMS(classify, CLASSIFY)
TENON_HPP_PARAMS(blocks, BLOCKS)
TENON_HPP_PARAMS(channel_shuffle, CHANNEL_SHUFFLE)
TENON_HPP_PARAMS(bernoulli, BERNOULLI)
TENON_HPP_PARAMS(buckets, BUCKETS)
TENON_HPP_PARAMS(categorical, CATEGORICAL)
TENON_HPP_PARAMS(clip, CLIP)
TENON_HPP_PARAMS(compact, COMPACT)
TENON_HPP_PARAMS(compare, COMPARE)
TENON_HPP_PARAMS(concat, CONCAT)
TENON_HPP_PARAMS(context, CONTEXT)
TENON_HPP_PARAMS(conv, CONV)
TENON_HPP_PARAMS(conv_backward, CONV_BACKWARD)
TENON_HPP_PARAMS(conv_transpose, CONV_TRANSPOSE)
TENON_HPP_PARAMS(copy, COPY)
TENON_HPP_PARAMS(cross_entropy, CROSS_ENTROPY)
TENON_HPP_PARAMS(dropout, DROPOUT)
TENON_HPP_PARAMS(elementwise, ELEMENTWISE)
TENON_HPP_PARAMS(elementwise_chain, ELEMENTWISE_CHAIN)
TENON_HPP_PARAMS(function, FUNCTION)
TENON_HPP_PARAMS(gated, GATED)
TENON_HPP_PARAMS(gather, GATHER)
TENON_HPP_PARAMS(gemm, GEMM)
TENON_HPP_PARAMS(gemm_ragged, GEMM_RAGGED)
TENON_HPP_PARAMS(grid_sample, GRID_SAMPLE)
TENON_HPP_PARAMS(group, GROUP)
TENON_HPP_PARAMS(histogram, HISTOGRAM)
TENON_HPP_PARAMS(im2col, IM2COL)
TENON_HPP_PARAMS(logic, LOGIC)
TENON_HPP_PARAMS(lrn, LRN)
TENON_HPP_PARAMS(loss_scale, LOSS_SCALE)
TENON_HPP_PARAMS(masked_put, MASKED_PUT)
TENON_HPP_PARAMS(mse, MSE)
TENON_HPP_PARAMS(nonfinite, NONFINITE)
TENON_HPP_PARAMS(norm, NORM)
TENON_HPP_PARAMS(pack, PACK)
TENON_HPP_PARAMS(pad, PAD)
TENON_HPP_PARAMS(permutation, PERMUTATION)
TENON_HPP_PARAMS(pool, POOL)
TENON_HPP_PARAMS(prelu, PRELU)
TENON_HPP_PARAMS(random, RANDOM)
TENON_HPP_PARAMS(one_hot, ONE_HOT)
TENON_HPP_PARAMS(rearrange, REARRANGE)
TENON_HPP_PARAMS(reduce, REDUCE)
TENON_HPP_PARAMS(scan, SCAN)
TENON_HPP_PARAMS(search_sorted, SEARCH_SORTED)
TENON_HPP_PARAMS(reverse_lengths, REVERSE_LENGTHS)
TENON_HPP_PARAMS(scatter, SCATTER)
TENON_HPP_PARAMS(segment, SEGMENT)
TENON_HPP_PARAMS(segment_scan, SEGMENT_SCAN)
TENON_HPP_PARAMS(unique, UNIQUE)
TENON_HPP_PARAMS(resize, RESIZE)
TENON_HPP_PARAMS(roi_align, ROI_ALIGN)
TENON_HPP_PARAMS(rnn, RNN)
TENON_HPP_PARAMS(sgd, SGD)
TENON_HPP_PARAMS(softmax, SOFTMAX)
TENON_HPP_PARAMS(sort, SORT)
TENON_HPP_PARAMS(square_sum, SQUARE_SUM)
TENON_HPP_PARAMS(top_k, TOP_K)
TENON_HPP_PARAMS(where, WHERE)
TENON_HPP_PARAMS(triangle, TRIANGLE)
#undef TENON_HPP_PARAMS

/** A tenon_epilogue with the defaults: tenon::epilogue e; e.beta = 2; p.epilogue = e; */
struct epilogue : ::tenon_epilogue {
    epilogue() : ::tenon_epilogue TENON_EPILOGUE_INIT {}
};

/** Owns a tenon_context. Empty if default-constructed; can also be constructed from a handle
 * returned by a C function. */
class Context : public detail::owner<tenon_context, tenon_context_release> {
  public:
    using owner::owner;
    /** tenon_context_create; `out` is unchanged on failure. */
    static result create(Context &out, const tenon_context_params &params = context_params())
    {
        return detail::make(out, out.get(),
                            [&](tenon_context **c) { return tenon_context_create(&params, c); });
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_context_create. */
    explicit Context(const tenon_context_params &params) { create(*this, params); }
    /** tenon_context_create; uses the default device unless the parameters select another. */
    static Context make(const tenon_context_params &params = context_params())
    {
        return Context(params);
    }
#endif
};

/** Owns a tenon_stream; `queue` is the application's own queue, or nullptr. */
class Stream : public detail::owner<tenon_stream, tenon_stream_destroy> {
  public:
    using owner::owner;
    /** tenon_stream_create; `out` is unchanged on failure. */
    static result create(Stream &out, tenon_context *context, cl_command_queue queue = nullptr)
    {
        return detail::make(out, out.get(), [&](tenon_stream **s) {
            return tenon_stream_create(context, queue, s);
        });
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_stream_create. */
    explicit Stream(tenon_context *context, cl_command_queue queue = nullptr)
    {
        create(*this, context, queue);
    }
#endif
    /** tenon_stream_flush. */
    result flush() const { return check(tenon_stream_flush(get())); }
    /** tenon_stream_finish. */
    result finish() const { return check(tenon_stream_finish(get())); }
    /** tenon_stream_wait. */
    result wait(tenon_stream *other) const { return check(tenon_stream_wait(get(), other)); }
    /** tenon_stream_reserve_workspace. */
    result reserve_workspace(std::uint64_t bytes) const
    {
        return check(tenon_stream_reserve_workspace(get(), bytes));
    }
};

/** Owns an OpenCL event signaled by a call. Its members require the OpenCL library (-lOpenCL).
 *
 *     tenon::gemm(stream, nullptr, a, b, nullptr, nullptr, d, event.signal());
 *     tenon::copy(other, nullptr, d, e, event.after()); */
class Event {
  public:
    Event() = default;
    /** Takes ownership of the other object's event. */
    Event(Event &&other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    /** Exchanges the events. */
    Event &operator=(Event &&other) noexcept
    {
        std::swap(event_, other.event_);
        return *this;
    }
    ~Event() { release(); }
    /** Returns the handle, which this object keeps; NULL if there is none. */
    operator cl_event() const { return event_; }
    /** Returns the sync argument for a call that signals this event. */
    tenon_sync signal()
    {
        release();
        return {nullptr, 0, 0, &event_};
    }
    /** Returns the sync argument for a call that waits for this event, after another call has
     * signaled it. */
    tenon_sync after() const { return {&event_, 1, 0, nullptr}; }
    /** Blocks this thread until the event completes. @return OpenCL's code */
    cl_int wait() const { return clWaitForEvents(1, &event_); }

  private:
    void release()
    {
        if (event_ != nullptr)
            clReleaseEvent(std::exchange(event_, nullptr));
    }
    cl_event event_ = nullptr;
};

/** Owns a tenon_pinned: host memory for asynchronous transfers, as values of a type. */
template <class T> class Pinned : public detail::owner<tenon_pinned, tenon_pinned_destroy> {
    static_assert(dtype_v<T> != TENON_DTYPE_INVALID, "T is none of Tenon's element types");

  public:
    using owner::owner;
    /** tenon_pinned_create for `count` values; `out` is unchanged on failure. */
    static result create(Pinned &out, tenon_context *context, std::size_t count)
    {
        return detail::make(out, out.get(), [&](tenon_pinned **p) {
            return tenon_pinned_create(context, detail::bytes_of<T>(count), p);
        });
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_pinned_create for `count` values. */
    Pinned(tenon_context *context, std::size_t count) { create(*this, context, count); }
#endif
    /** Returns a pointer to the first value. */
    T *data() const { return static_cast<T *>(tenon_pinned_pointer(get())); }
    /** Returns value i; i is not checked. */
    T &operator[](std::size_t i) const { return data()[i]; }
};

/** A tenon_tensor with its own memory and elements of a C++ type. It can be passed wherever a
 * tenon_tensor is expected: tenon::transpose(a, 0, 1) is a view of it, and must not outlive it. */
template <class T> class Tensor {
    static_assert(dtype_v<T> != TENON_DTYPE_INVALID, "T is none of Tenon's element types");

  public:
    Tensor() = default;
    /** tenon_tensor_create; `out` is unchanged on failure. */
    static result create(Tensor &out, tenon_context *context, const shape &sizes)
    {
        Tensor made;
        const tenon_status status =
            tenon_tensor_create(context, dtype_v<T>, static_cast<std::uint32_t>(sizes.size()),
                                sizes.data(), &made.view_);
        if (status == TENON_OK)
            out = std::move(made);
        return check(status);
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_tensor_create. */
    Tensor(tenon_context *context, const shape &sizes) { create(*this, context, sizes); }
#endif
    /** Takes ownership of the other object's memory. */
    Tensor(Tensor &&other) noexcept : view_(std::exchange(other.view_, tenon_tensor{})) {}
    /** Exchanges the tensors. */
    Tensor &operator=(Tensor &&other) noexcept
    {
        std::swap(view_, other.view_);
        return *this;
    }
    ~Tensor() { tenon_tensor_destroy(&view_); }

    /** Returns the C view; this object keeps its memory. */
    const tenon_tensor &view() const { return view_; }
    /** Converts to the C view; this object keeps its memory. */
    operator const tenon_tensor &() const { return view_; }
    /** tenon_tensor_elements. */
    std::int64_t elements() const { return tenon_tensor_elements(&view_); }

    /** Copies `count` values to the tensor; `count` must equal the number of elements. */
    result upload(tenon_stream *stream, const T *values, std::size_t count) const
    {
        return check(
            tenon_tensor_upload(stream, values, detail::bytes_of<T>(count), &view_, nullptr));
    }
    /** Copies all of `values` to the tensor. */
    result upload(tenon_stream *stream, const std::vector<T> &values) const
    {
        return upload(stream, values.data(), values.size());
    }
    /** Copies all elements to `values`; `count` must equal the number of elements. */
    result download(tenon_stream *stream, T *values, std::size_t count) const
    {
        return check(
            tenon_tensor_download(stream, &view_, values, detail::bytes_of<T>(count), nullptr));
    }
#if TENON_HPP_EXCEPTIONS
    /** Returns all elements. */
    std::vector<T> download(tenon_stream *stream) const
    {
        std::vector<T> values(static_cast<std::size_t>(elements()));
        download(stream, values.data(), values.size());
        return values;
    }
#endif
    /** Uploads without waiting: the values must stay valid and unchanged until the stream, or the
     * event signaled by `sync`, is done. */
    result upload_async(tenon_stream *stream, const T *values, std::size_t count,
                        detail::reference<tenon_sync> sync = nullptr) const
    {
        return check(
            tenon_tensor_upload_async(stream, values, detail::bytes_of<T>(count), &view_, sync));
    }
    /** Downloads without waiting: the values are complete when the stream, or the event signaled
     * by `sync`, is done. */
    result download_async(tenon_stream *stream, T *values, std::size_t count,
                          detail::reference<tenon_sync> sync = nullptr) const
    {
        return check(
            tenon_tensor_download_async(stream, &view_, values, detail::bytes_of<T>(count), sync));
    }
    /** tenon_tensor_fill. */
    result fill(tenon_stream *stream, double value) const
    {
        return check(tenon_tensor_fill(stream, &view_, value, nullptr));
    }

  private:
    tenon_tensor view_{};
};

namespace detail {

/* Checks a view returned by a function of the C API. Throws if it is invalid. Without exceptions,
 * returns the invalid view; tenon_last_error() has the reason. */
inline tenon_tensor made(const tenon_tensor &view) {
#if TENON_HPP_EXCEPTIONS
    if (view.dtype == TENON_DTYPE_INVALID)
        throw Error(TENON_ERROR_INVALID_ARGUMENT);
#endif
    return view;
}

/* Makes a view with the arguments of the C function of the same name. */
template <auto Function> struct view_maker;
template <class... A, tenon_tensor (*Function)(A...)> struct view_maker<Function> {
    tenon_tensor operator()(A... a) const { return made(Function(a...)); }
};

inline std::uint32_t rank_of(const shape &sizes)
{
    return static_cast<std::uint32_t>(sizes.size());
}

} // namespace detail

/** View functions, with the arguments of the C functions tenon_tensor_… of the same name. For an
 * invalid view they throw or, without exceptions, return a view of dtype TENON_DTYPE_INVALID, which
 * every call rejects; tenon_last_error() has the reason immediately. */
inline constexpr detail::view_maker<&::tenon_tensor_transpose> transpose{};
/** tenon_tensor_slice. */
inline constexpr detail::view_maker<&::tenon_tensor_slice> slice{};
/** tenon_tensor_slice_step. */
inline constexpr detail::view_maker<&::tenon_tensor_slice_step> slice_step{};
/** tenon_tensor_squeeze. */
inline constexpr detail::view_maker<&::tenon_tensor_squeeze> squeeze{};
/** tenon_tensor_unsqueeze. */
inline constexpr detail::view_maker<&::tenon_tensor_unsqueeze> unsqueeze{};
/** tenon_tensor_nhwc. */
inline constexpr detail::view_maker<&::tenon_tensor_nhwc> nhwc{};
/** tenon_tensor_permute; `order` has each dimension once. An order of another length than the rank
 * is rejected too. */
inline tenon_tensor permute(const tenon_tensor &tensor, const std::vector<std::uint32_t> &order)
{
    const bool fits = order.size() == tensor.rank;
    return detail::made(tenon_tensor_permute(tensor, fits ? order.data() : nullptr));
}
/** tenon_tensor_broadcast. */
inline tenon_tensor broadcast(const tenon_tensor &tensor, const shape &sizes)
{
    return detail::made(tenon_tensor_broadcast(tensor, detail::rank_of(sizes), sizes.data()));
}
/** Returns a row-major view without memory, to make plans with. */
template <class T> tenon_tensor tensor_view(const shape &sizes) {
    static_assert(dtype_v<T> != TENON_DTYPE_INVALID, "T is none of Tenon's element types");
    return detail::made(tenon_tensor_view(dtype_v<T>, detail::rank_of(sizes), sizes.data()));
}

/** tenon_output_shape: the type and shape of output `index` of a function of the C API, by name, as
 * a view without memory. `params` may be nullptr; absent tensors and outputs are nullptr. Throws on
 * failure or, without exceptions, returns a view of dtype TENON_DTYPE_INVALID. */
template <class P>
tenon_tensor output_shape(const char *function, const P &params,
                          const std::vector<detail::reference<tenon_tensor>> &tensors,
                          std::uint32_t index)
{
    const std::vector<const tenon_tensor *> given(tensors.begin(), tensors.end());
    tenon_tensor view{};
    const void *values = nullptr;
    if constexpr (!std::is_same_v<P, std::nullptr_t>)
        values = &params;
    const tenon_status status =
        tenon_output_shape(function, values, given.data(),
                           static_cast<std::uint32_t>(given.size()), index, &view);
#if TENON_HPP_EXCEPTIONS
    if (status != TENON_OK)
        throw Error(status);
#else
    if (status != TENON_OK)
        view = {};
#endif
    return view;
}

namespace detail {
inline tenon_memory memory_of(std::nullptr_t) { return {}; }
inline tenon_memory memory_of(const tenon_memory &memory) { return memory; }
inline tenon_memory memory_of(const tenon_tensor &tensor) { return tensor.memory; }
} // namespace detail

/** An operand of a plan, by name. The name must outlive this object. {"a", x} uses the memory and
 * offset of the tensor x; {"a", memory, offset} gives both explicitly. */
struct operand : ::tenon_operand {
    /** Uses the memory and offset of a tensor. */
    operand(const char *called, const tenon_tensor &x) : ::tenon_operand{called, x.memory, x.offset}
    {
    }
    /** Begins at byte `from` of the memory. */
    operand(const char *called, const tenon_memory &in, std::uint64_t from)
        : ::tenon_operand{called, in, from}
    {
    }
};

/** A scalar of a plan's run, by name: {"learning_rate", 1e-3}, {"step", step}. The name must
 * outlive this object. A non-negative integer becomes a tenon_scalar_u64, any other number a
 * tenon_scalar_f64. */
struct scalar : ::tenon_scalar {
    /** Makes a scalar from any number. */
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    scalar(const char *called, T value) : ::tenon_scalar{made(called, value)}
    {
    }

  private:
    /** Chooses the kind by the value's type. */
    template <class T> static tenon_scalar made(const char *called, T value)
    {
        if constexpr (std::is_integral_v<T>)
            if (!(value < T{}))
                return tenon_scalar_u64(called, static_cast<std::uint64_t>(value));
        return tenon_scalar_f64(called, static_cast<double>(value));
    }
};

/** Owns a tenon_plan, made by the functions …_plan. */
class Plan : public detail::owner<tenon_plan, tenon_plan_release> {
  public:
    using owner::owner;
    /** tenon_plan_workspace. */
    std::uint64_t workspace() const { return tenon_plan_workspace(get()); }
    /** tenon_plan_operands. */
    std::uint32_t operands() const { return tenon_plan_operands(get()); }
    /** tenon_plan_wait. */
    result wait() const { return check(tenon_plan_wait(get())); }
    /** tenon_plan_describe; returns the whole line. */
    std::string describe() const
    {
        std::string text(tenon_plan_describe(get(), nullptr, 0), '\0');
        tenon_plan_describe(get(), text.data(), text.size() + 1);
        return text;
    }
    /** Enqueues the plan. Each operand, in the order of the operation's arguments, is a tensor
     * (only its memory is used), a tenon_memory, or nullptr if it is absent. */
    template <class... M> result run(tenon_stream *stream, const M &...operands) const
    {
        const tenon_memory memories[] = {detail::memory_of(operands)...};
        return check(tenon_plan_run(stream, get(), memories, sizeof...(M), nullptr));
    }
    /** Enqueues the plan, with events to wait for and to signal. */
    template <class... M>
    result run(tenon_stream *stream, const tenon_sync &sync, const M &...operands) const
    {
        const tenon_memory memories[] = {detail::memory_of(operands)...};
        return check(tenon_plan_run(stream, get(), memories, sizeof...(M), &sync));
    }
    /** Enqueues the plan with operands by name, in any order, each with its own offset, which
     * replaces that of the plan (tenon_plan_run_operands): plan.run(stream, {{"a", x}, {"b", y},
     * …}). One plan then serves all parts of a batch. Shapes and strides are those of the plan,
     * whatever those of x are. Scalars apply to this run only: plan.run(stream, {{"gradient", g},
     * …}, {{"step", step}}). */
    result run(tenon_stream *stream, const std::vector<operand> &named,
               const std::vector<scalar> &scalars = {}) const
    {
        return run_operands(stream, named, scalars, nullptr);
    }
    /** Enqueues the plan with operands by name, with events to wait for and to signal. */
    result run(tenon_stream *stream, const tenon_sync &sync, const std::vector<operand> &named,
               const std::vector<scalar> &scalars = {}) const
    {
        return run_operands(stream, named, scalars, &sync);
    }
    /** Returns the names of the operands of a run, in order. */
    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (std::uint32_t i = 0; i < operands(); i++)
            all.emplace_back(tenon_plan_operand_name(get(), i));
        return all;
    }
    /** Returns the scalars that a run can set, with the plan's values, in order
     * (tenon_plan_scalar). */
    std::vector<tenon_scalar> scalars() const
    {
        std::vector<tenon_scalar> all;
        tenon_scalar next = tenon_plan_scalar(get(), 0);
        for (; next.name != nullptr; next = tenon_plan_scalar(get(), index_of(all.size())))
            all.push_back(next);
        return all;
    }

  private:
    static std::uint32_t index_of(std::size_t size) { return static_cast<std::uint32_t>(size); }
    result run_operands(tenon_stream *stream, const std::vector<operand> &named,
                        const std::vector<scalar> &numbers, const tenon_sync *sync) const
    {
        const std::vector<tenon_operand> given(named.begin(), named.end());
        const std::vector<tenon_scalar> set(numbers.begin(), numbers.end());
        return check(tenon_plan_run_operands(stream, get(), given.data(), index_of(given.size()),
                                             set.data(), index_of(set.size()), sync));
    }
};

/** Owns a tenon_sequence: plans, copies and concatenations that one call runs.
 *
 *     tenon::Sequence layers(context);
 *     const tenon_tensor x = layers.tensor<float>({1, 64}, "x"), h = layers.tensor<float>({1, 32}),
 *                        y = layers.tensor<float>({1, 10}, "y");
 *     layers.add(tenon::gemm_plan(context, relu, x, w1, nullptr, b1, h), {x, w1, nullptr, b1, h});
 *     layers.add(tenon::gemm_plan(context, nullptr, h, w2, nullptr, b2, y),
 *                {h, w2, nullptr, b2, y});
 *     layers.finish();
 *     layers.run(stream, {{"x", in}, {"y", out}}); */
class Sequence : public detail::owner<tenon_sequence, tenon_sequence_release> {
  public:
    using owner::owner;
    /** tenon_sequence_create; `out` is unchanged on failure. */
    static result create(Sequence &out, tenon_context *context)
    {
        return detail::make(out, out.get(), [&](tenon_sequence **s) {
            return tenon_sequence_create(context, s);
        });
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_sequence_create. */
    explicit Sequence(tenon_context *context) { create(*this, context); }
#endif
    /** tenon_sequence_tensor: an operand with this name, or an intermediate. Throws on failure or,
     * without exceptions, returns a view of dtype TENON_DTYPE_INVALID, which every call rejects. */
    template <class T> tenon_tensor tensor(const shape &sizes, const char *name = nullptr) const
    {
        static_assert(dtype_v<T> != TENON_DTYPE_INVALID, "T is none of Tenon's element types");
        tenon_tensor made = {};
        const tenon_status status = tenon_sequence_tensor(
            get(), name, dtype_v<T>, detail::rank_of(sizes), sizes.data(), &made);
#if TENON_HPP_EXCEPTIONS
        check(status);
#else
        if (status != TENON_OK)
            made = {};
#endif
        return made;
    }
    /** tenon_sequence_add. The tensors are in the order of the plan's operands, nullptr for absent
     * ones; runs can set the scalars of a step with a label. */
    result add(const tenon_plan *plan,
               const std::vector<detail::reference<tenon_tensor>> &tensors,
               const char *label = nullptr, const std::vector<scalar> &scalars = {}) const
    {
        const std::vector<const tenon_tensor *> given(tensors.begin(), tensors.end());
        const std::vector<tenon_scalar> set(scalars.begin(), scalars.end());
        return check(tenon_sequence_add(get(), label, plan, given.data(), count(given), set.data(),
                                        count(set)));
    }
    /** tenon_sequence_copy. */
    result copy(detail::reference<tenon_copy_params> params, const tenon_tensor &x,
                const tenon_tensor &y) const
    {
        return check(tenon_sequence_copy(get(), params, &x, &y));
    }
    /** tenon_sequence_concat. */
    result concat(detail::reference<tenon_concat_params> params,
                  const std::vector<detail::reference<tenon_tensor>> &inputs,
                  const tenon_tensor &y) const
    {
        const std::vector<const tenon_tensor *> given(inputs.begin(), inputs.end());
        return check(tenon_sequence_concat(get(), params, given.data(), count(given), &y));
    }
    /** tenon_sequence_finish. */
    result finish() const { return check(tenon_sequence_finish(get())); }
    /** tenon_sequence_workspace. */
    std::uint64_t workspace() const { return tenon_sequence_workspace(get()); }
    /** tenon_sequence_steps. */
    std::uint32_t steps() const { return tenon_sequence_steps(get()); }
    /** tenon_sequence_run. */
    result run(tenon_stream *stream, const std::vector<operand> &named,
               const std::vector<scalar> &scalars = {}) const
    {
        return run_operands(stream, named, scalars, nullptr);
    }
    /** tenon_sequence_run, with events to wait for and to signal. */
    result run(tenon_stream *stream, const tenon_sync &sync, const std::vector<operand> &named,
               const std::vector<scalar> &scalars = {}) const
    {
        return run_operands(stream, named, scalars, &sync);
    }

  private:
    template <class V> static std::uint32_t count(const V &list)
    {
        return static_cast<std::uint32_t>(list.size());
    }
    result run_operands(tenon_stream *stream, const std::vector<operand> &named,
                        const std::vector<scalar> &scalars, const tenon_sync *sync) const
    {
        const std::vector<tenon_operand> given(named.begin(), named.end());
        const std::vector<tenon_scalar> set(scalars.begin(), scalars.end());
        return check(tenon_sequence_run(stream, get(), given.data(), count(given), set.data(),
                                        count(set), sync));
    }
};

/** Owns a tenon_packed: weights in the order in which a device's kernels read them. */
class Packed : public detail::owner<tenon_packed, tenon_packed_release> {
  public:
    using owner::owner;
    /** tenon_gemm_pack; `out` is unchanged on failure. */
    static result gemm_pack(Packed &out, tenon_stream *stream, const tenon_tensor &b,
                            const tenon_pack_params &params = pack_params())
    {
        return detail::make(out, out.get(), [&](tenon_packed **p) {
            return tenon_gemm_pack(stream, &params, &b, p, nullptr);
        });
    }
    /** tenon_conv_pack_filter; `out` is unchanged on failure. */
    static result conv_pack_filter(Packed &out, tenon_stream *stream, const tenon_tensor &w,
                                   const tenon_pack_params &params = pack_params())
    {
        return detail::make(out, out.get(), [&](tenon_packed **p) {
            return tenon_conv_pack_filter(stream, &params, &w, p, nullptr);
        });
    }
};

/** Owns a tenon_checkpoint: an open file of named tensors. Lists of tensors and texts are written
 * as {{"w", w}, {"b", b}} and {{"step", "3"}}. */
class Checkpoint : public detail::owner<tenon_checkpoint, tenon_checkpoint_close> {
  public:
    using owner::owner;
    /** tenon_checkpoint_open; `out` is unchanged on failure. */
    static result open(Checkpoint &out, const std::string &path)
    {
        return detail::make(out, out.get(), [&](tenon_checkpoint **c) {
            return tenon_checkpoint_open(path.c_str(), c);
        });
    }
    /** tenon_checkpoint_save. */
    static result save(tenon_stream *stream, const std::string &path,
                       const std::vector<tenon_named_tensor> &tensors,
                       const std::vector<tenon_named_text> &texts = {})
    {
        return check(tenon_checkpoint_save(stream, path.c_str(), tensors.data(),
                                           static_cast<std::uint32_t>(tensors.size()), texts.data(),
                                           static_cast<std::uint32_t>(texts.size())));
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_checkpoint_open. */
    explicit Checkpoint(const std::string &path) { open(*this, path); }
#endif
    /** tenon_checkpoint_name of each tensor. */
    std::vector<std::string> names() const
    {
        std::vector<std::string> found;
        for (std::uint32_t i = 0; i < tenon_checkpoint_count(get()); i++)
            found.emplace_back(tenon_checkpoint_name(get(), i));
        return found;
    }
    /** tenon_checkpoint_text; NULL if there is none. */
    const char *text(const std::string &name) const
    {
        return tenon_checkpoint_text(get(), name.c_str());
    }
    /** tenon_checkpoint_view; `out` is unchanged on failure. */
    result view(tenon_tensor &out, const std::string &name) const
    {
        return check(tenon_checkpoint_view(get(), name.c_str(), &out));
    }
    /** tenon_checkpoint_read, from entry `start` of the first dimension on. */
    result read(tenon_stream *stream, const std::string &name, const tenon_tensor &tensor,
                std::int64_t start = 0) const
    {
        return check(tenon_checkpoint_read(stream, get(), name.c_str(), start, &tensor));
    }
    /** tenon_checkpoint_load. */
    result load(tenon_stream *stream, const std::vector<tenon_named_tensor> &tensors) const
    {
        return check(tenon_checkpoint_load(stream, get(), tensors.data(),
                                           static_cast<std::uint32_t>(tensors.size())));
    }
};

/** Owns a tenon_checkpoint_writer, which writes a file slice by slice. */
class CheckpointWriter
    : public detail::owner<tenon_checkpoint_writer, tenon_checkpoint_writer_destroy> {
  public:
    using owner::owner;
    /** tenon_checkpoint_writer_create; `out` is unchanged on failure. */
    static result create(CheckpointWriter &out, const std::string &path,
                         const std::vector<tenon_named_tensor> &tensors,
                         const std::vector<tenon_named_text> &texts = {})
    {
        return detail::make(out, out.get(), [&](tenon_checkpoint_writer **w) {
            return tenon_checkpoint_writer_create(
                path.c_str(), tensors.data(), static_cast<std::uint32_t>(tensors.size()),
                texts.data(), static_cast<std::uint32_t>(texts.size()), w);
        });
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_checkpoint_writer_create. */
    CheckpointWriter(const std::string &path, const std::vector<tenon_named_tensor> &tensors,
                     const std::vector<tenon_named_text> &texts = {})
    {
        create(*this, path, tensors, texts);
    }
#endif
    /** tenon_checkpoint_writer_write. */
    result write(tenon_stream *stream, const std::string &name, const tenon_tensor &part,
                 std::int64_t start = 0) const
    {
        return check(tenon_checkpoint_writer_write(stream, get(), name.c_str(), start, &part));
    }
    /** tenon_checkpoint_writer_commit. */
    result commit() const { return check(tenon_checkpoint_writer_commit(get())); }
};

/** Tensors of a collective, one per member: {a, b}, or a std::vector of Tensor or tenon_tensor.
 * They must exist until the collective is done. */
class members {
  public:
    /** Takes tensors one by one. */
    members(std::initializer_list<detail::reference<tenon_tensor>> list)
    {
        for (const tenon_tensor *tensor : list)
            views_.push_back(*tensor);
    }
    /** Takes all tensors of a container. */
    template <class T,
              class = std::enable_if_t<std::is_convertible_v<const T &, const tenon_tensor &>>>
    members(const std::vector<T> &list)
    {
        for (const tenon_tensor &tensor : list)
            views_.push_back(tensor);
    }
    /** Returns the array for a group of this size, or NULL, which every call rejects. */
    const tenon_tensor *of(std::uint32_t size) const
    {
        return views_.size() == size ? views_.data() : nullptr;
    }

  private:
    std::vector<tenon_tensor> views_;
};

/** Owns a tenon_group: collective operations on tensors of several devices. Arguments are those of
 * the C functions; `events` receives one event per local member. A number of tensors that is not
 * the number of local members is rejected ("x is NULL"). The streams must exist until the group is
 * destroyed.
 *
 *     tenon::Group group({first, second});
 *     group.all_reduce(TENON_GROUP_SUM, {a, b}, {a, b}); */
class Group : public detail::owner<tenon_group, tenon_group_destroy> {
  public:
    using owner::owner;
    /** tenon_group_create; `out` is unchanged on failure. */
    static result create(Group &out, const std::vector<tenon_stream *> &streams,
                         const tenon_group_params &params = group_params())
    {
        return detail::make(out, out.get(), [&](tenon_group **g) {
            return tenon_group_create(streams.data(), static_cast<std::uint32_t>(streams.size()),
                                      &params, g);
        });
    }
#if TENON_HPP_EXCEPTIONS
    /** tenon_group_create. */
    explicit Group(const std::vector<tenon_stream *> &streams,
                   const tenon_group_params &params = group_params())
    {
        create(*this, streams, params);
    }
#endif
    /** tenon_group_size. */
    std::uint32_t size() const { return tenon_group_size(get()); }
    /** tenon_group_first_rank. */
    std::uint32_t first_rank() const { return tenon_group_first_rank(get()); }
    /** tenon_group_local_count. */
    std::uint32_t local_count() const { return tenon_group_local_count(get()); }
    /** tenon_group_all_reduce. */
    result all_reduce(tenon_group_kind kind, const members &x, const members &y,
                      cl_event *events = nullptr) const
    {
        const std::uint32_t n = local_count();
        return check(tenon_group_all_reduce(get(), kind, x.of(n), y.of(n), events));
    }
    /** tenon_group_all_reduce_many, with `count` tensors of each local member. */
    result all_reduce_many(tenon_group_kind kind, std::uint32_t count, const members &x,
                           const members &y, cl_event *events = nullptr) const
    {
        const std::uint32_t all = count * local_count();
        return check(
            tenon_group_all_reduce_many(get(), kind, count, x.of(all), y.of(all), events));
    }
    /** tenon_group_reduce. */
    result reduce(tenon_group_kind kind, std::uint32_t root, const members &x,
                  const tenon_tensor &y, cl_event *events = nullptr) const
    {
        return check(tenon_group_reduce(get(), kind, root, x.of(local_count()), &y, events));
    }
    /** tenon_group_reduce_scatter. */
    result reduce_scatter(tenon_group_kind kind, const members &x, const members &y,
                          cl_event *events = nullptr) const
    {
        const std::uint32_t n = local_count();
        return check(tenon_group_reduce_scatter(get(), kind, x.of(n), y.of(n), events));
    }
    /** tenon_group_all_gather. */
    result all_gather(const members &x, const members &y, cl_event *events = nullptr) const
    {
        const std::uint32_t n = local_count();
        return check(tenon_group_all_gather(get(), x.of(n), y.of(n), events));
    }
    /** tenon_group_broadcast. */
    result broadcast(std::uint32_t root, const tenon_tensor &x, const members &y,
                     cl_event *events = nullptr) const
    {
        return check(tenon_group_broadcast(get(), root, &x, y.of(local_count()), events));
    }
    /** tenon_group_all_to_all. */
    result all_to_all(const members &x, const members &y, cl_event *events = nullptr) const
    {
        const std::uint32_t n = local_count();
        return check(tenon_group_all_to_all(get(), x.of(n), y.of(n), events));
    }
    /** tenon_group_send. */
    result send(std::uint32_t from, std::uint32_t to, const tenon_tensor &x,
                cl_event *event = nullptr) const
    {
        return check(tenon_group_send(get(), from, to, &x, event));
    }
    /** tenon_group_receive. */
    result receive(std::uint32_t from, std::uint32_t to, const tenon_tensor &y,
                   cl_event *event = nullptr) const
    {
        return check(tenon_group_receive(get(), from, to, &y, event));
    }
    /** tenon_group_barrier. */
    result barrier(cl_event *events = nullptr) const
    {
        return check(tenon_group_barrier(get(), events));
    }
    /** tenon_group_wait. */
    result wait() const { return check(tenon_group_wait(get())); }
    /** tenon_group_poll. */
    result poll(int *busy = nullptr) const { return check(tenon_group_poll(get(), busy)); }
    /** tenon_group_shrink; `out` is unchanged on failure. */
    result shrink(Group &out) const
    {
        return detail::make(out, out.get(),
                            [&](tenon_group **g) { return tenon_group_shrink(get(), g); });
    }
};

namespace detail {

/* An immediate call. The last argument, sync, may be omitted. */
template <auto Function> struct operation;
template <class... A, tenon_status (*Function)(A...)> struct operation<Function> {
    template <class... X> result operator()(X &&...x) const
    {
        if constexpr (sizeof...(X) == sizeof...(A))
            return call(std::forward<X>(x)...);
        else
            return call(std::forward<X>(x)..., nullptr);
    }

  private:
    static result call(typename parameter<A>::type... a) { return check(Function(a...)); }
};

/* A function that makes a plan: (plan, context, …) fills the plan; with exceptions, (context, …)
 * returns it. */
template <auto Function> struct plan_maker;
template <class... A, tenon_status (*Function)(A...)> struct plan_maker<Function> {
    template <class... X> result operator()(Plan &out, tenon_context *context, X &&...x) const
    {
        return make(out, out.get(),
                    [&](tenon_plan **p) { return call(context, std::forward<X>(x)..., p); });
    }
#if TENON_HPP_EXCEPTIONS
    template <class... X> Plan operator()(tenon_context *context, X &&...x) const
    {
        Plan out;
        (*this)(out, context, std::forward<X>(x)...);
        return out;
    }
#endif

  private:
    static tenon_status call(typename parameter<A>::type... a) { return Function(a...); }
};

} // namespace detail

/** The operations, with the arguments of the C functions of the same name: tensors and parameters
 * by reference, nullptr for absent ones, sync last or omitted. The first argument of the functions
 * …_plan is the plan to fill; with exceptions, it may be omitted, and they return the plan. */
#define TENON_HPP_CALL(name) inline constexpr detail::operation<&::tenon_##name> name{};
/** Defines an operation and the function that makes its plan. */
#define TENON_HPP_OPERATION(name)                                                                  \
    TENON_HPP_CALL(name)                                                                           \
    inline constexpr detail::plan_maker<&::tenon_##name##_plan> name##_plan{};
TENON_HPP_OPERATION(activation_backward)
TENON_HPP_OPERATION(activation_forward)
TENON_HPP_OPERATION(adam)
TENON_HPP_OPERATION(classify)
TENON_HPP_OPERATION(channel_shuffle)
TENON_HPP_OPERATION(bernoulli)
TENON_HPP_OPERATION(categorical)
TENON_HPP_OPERATION(clip)
TENON_HPP_CALL(clip_by_norm)
TENON_HPP_OPERATION(col2im)
TENON_HPP_OPERATION(compact)
TENON_HPP_OPERATION(compare)
TENON_HPP_CALL(concat)
TENON_HPP_OPERATION(conv_backward_bias)
TENON_HPP_OPERATION(conv_backward_data)
TENON_HPP_OPERATION(conv_backward_filter)
TENON_HPP_OPERATION(conv_forward)
TENON_HPP_OPERATION(conv_forward_packed)
TENON_HPP_OPERATION(conv_transpose_backward_data)
TENON_HPP_OPERATION(conv_transpose_backward_filter)
TENON_HPP_OPERATION(conv_transpose_forward)
TENON_HPP_OPERATION(copy)
TENON_HPP_OPERATION(cross_entropy_backward)
TENON_HPP_OPERATION(cross_entropy_forward)
TENON_HPP_OPERATION(depth_to_space)
TENON_HPP_OPERATION(dropout)
TENON_HPP_OPERATION(elementwise)
TENON_HPP_OPERATION(elementwise_chain)
TENON_HPP_OPERATION(function)
TENON_HPP_OPERATION(gated_backward)
TENON_HPP_OPERATION(gated_forward)
TENON_HPP_OPERATION(gather_backward)
TENON_HPP_OPERATION(gather_forward)
TENON_HPP_OPERATION(gemm)
TENON_HPP_OPERATION(gemm_packed)
TENON_HPP_OPERATION(gemm_ragged)
TENON_HPP_OPERATION(histogram)
TENON_HPP_OPERATION(im2col)
TENON_HPP_OPERATION(logic)
TENON_HPP_OPERATION(lrn_backward)
TENON_HPP_OPERATION(lrn_forward)
TENON_HPP_OPERATION(loss_scale)
TENON_HPP_OPERATION(masked_put)
TENON_HPP_OPERATION(moments)
TENON_HPP_OPERATION(mse_backward)
TENON_HPP_OPERATION(mse_forward)
TENON_HPP_OPERATION(nonfinite)
TENON_HPP_OPERATION(norm_backward)
TENON_HPP_OPERATION(norm_forward)
TENON_HPP_OPERATION(norm_inference)
TENON_HPP_OPERATION(norm_inference_backward)
TENON_HPP_CALL(packed_unpack)
TENON_HPP_OPERATION(pad_forward)
TENON_HPP_OPERATION(permutation)
TENON_HPP_OPERATION(pool_backward)
TENON_HPP_OPERATION(pool_forward)
TENON_HPP_OPERATION(prelu_backward)
TENON_HPP_OPERATION(prelu_forward)
TENON_HPP_OPERATION(random)
TENON_HPP_OPERATION(one_hot)
TENON_HPP_OPERATION(rearrange)
TENON_HPP_OPERATION(reduce)
TENON_HPP_OPERATION(scan)
TENON_HPP_OPERATION(search_sorted)
TENON_HPP_OPERATION(resize_backward)
TENON_HPP_OPERATION(resize_forward)
TENON_HPP_OPERATION(grid_sample)
TENON_HPP_OPERATION(grid_sample_backward)
TENON_HPP_OPERATION(roi_align)
TENON_HPP_OPERATION(roi_align_backward)
TENON_HPP_OPERATION(rnn_backward_data)
TENON_HPP_OPERATION(rnn_backward_weights)
TENON_HPP_OPERATION(rnn_forward)
TENON_HPP_OPERATION(sgd)
TENON_HPP_OPERATION(softmax_backward)
TENON_HPP_OPERATION(softmax_forward)
TENON_HPP_OPERATION(sort)
TENON_HPP_OPERATION(reverse_lengths)
TENON_HPP_OPERATION(scatter)
TENON_HPP_OPERATION(segment_reduce)
TENON_HPP_OPERATION(segment_reduce_backward)
TENON_HPP_OPERATION(segment_reduce_backward_weights)
TENON_HPP_OPERATION(segment_scan)
TENON_HPP_OPERATION(unique)
TENON_HPP_OPERATION(space_to_depth)
TENON_HPP_OPERATION(square_sum)
TENON_HPP_OPERATION(top_k)
TENON_HPP_OPERATION(where)
TENON_HPP_OPERATION(triangle)
#undef TENON_HPP_OPERATION
#undef TENON_HPP_CALL

} // namespace tenon
// clang-format on

#endif
