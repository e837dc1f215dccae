/* Edge detection in C++: filters a disc on the device with the two Sobel operators, as one
 * convolution with two filters, and prints it before and after. The host verifies the result.
 * edges.py is the same program in Python. */
#include <tenon/tenon.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

namespace
{

constexpr int HEIGHT = 20, WIDTH = 44;

/* Filters 2 × 1 × 3 × 3: the differences along x and along y. */
const std::vector<float> SOBEL = {-1, 0, 1, -2, 0, 2, -1, 0, 1, -1, -2, -1, 0, 0, 0, 1, 2, 1};

std::vector<float> disc()
{
    std::vector<float> pixels(HEIGHT * WIDTH);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int down = 2 * y - HEIGHT + 1, right = x - WIDTH / 2;
            pixels[y * WIDTH + x] = down * down + right * right < 225 ? 1 : 0;
        }
    return pixels;
}

/* The expected result: |difference along x| + |difference along y|, 0 outside the picture. */
std::vector<float> edges_on_host(const std::vector<float> &pixels)
{
    std::vector<float> edges(pixels.size());
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int k = 0; k < 2; k++) {
                float sum = 0;
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++) {
                        const int v = y + r - 1, u = x + s - 1;
                        if (v >= 0 && v < HEIGHT && u >= 0 && u < WIDTH)
                            sum += SOBEL[k * 9 + r * 3 + s] * pixels[v * WIDTH + u];
                    }
                edges[y * WIDTH + x] += std::fabs(sum);
            }
    return edges;
}

void draw(const std::vector<float> &pixels)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++)
            std::putchar(pixels[y * WIDTH + x] > 0 ? '#' : '.');
        std::putchar('\n');
    }
    std::putchar('\n');
}

std::vector<float> edges_on_device(const std::vector<float> &pixels)
{
    auto context = tenon::Context::make();
    tenon::Stream stream(context);
    tenon::Tensor<float> x(context, {1, 1, HEIGHT, WIDTH}), w(context, {2, 1, 3, 3});
    tenon::Tensor<float> y(context, {1, 2, HEIGHT, WIDTH}), edges(context, {1, 1, HEIGHT, WIDTH});
    x.upload(stream, pixels);
    w.upload(stream, SOBEL);

    /* A plan selects and compiles a kernel once; run it for any number of pictures. */
    tenon::conv_params params;
    for (int d = 0; d < 2; d++)
        params.geometry.pad_begin[d] = params.geometry.pad_end[d] = 1;
    params.epilogue.activation.kind = TENON_ACTIVATION_ABS;
    const tenon::Plan plan = tenon::conv_forward_plan(context, params, x, w, nullptr, nullptr, y);
    plan.run(stream, x, w, nullptr, nullptr, y);

    /* The two channels are views: no copy is made to add them. */
    tenon::elementwise(stream, nullptr, tenon::slice(y, 1, 0, 1), tenon::slice(y, 1, 1, 1), edges);
    return edges.download(stream);
}

} // namespace

int main()
{
    try {
        const std::vector<float> pixels = disc(), edges = edges_on_device(pixels);
        draw(pixels);
        draw(edges);
        if (edges != edges_on_host(pixels)) { /* small integers: must match bit for bit */
            std::fprintf(stderr, "edges: the device's result differs from the host's\n");
            return 1;
        }
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "edges: %s\n", error.what());
        return 1;
    }
}
