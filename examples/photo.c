/*
 * Turns a photograph into a pencil drawing; reads and writes PNG.
 *
 *     photo IN.png OUT.png
 *
 * It uses one convolution, whose filter is a narrow Gaussian minus a wide one, over all three
 * colors: pixels darker than their surroundings become lines, all others stay white.
 */
#include "try.h"

#include <math.h>
#include <png.h>

#define RADIUS   4
#define SIDE     (2 * RADIUS + 1)
#define NARROW   0.8 /* pixels: deviation of the narrow Gaussian, which sets the line width */
#define WIDE     2.4
#define PRESSURE 9.0 /* of the pencil */
#define WHITE    255.0f

typedef struct image {
    png_image png;
    uint8_t *pixels;
} image;

static void end(const char *what, const char *why)
{
    fprintf(stderr, "photo: %s: %s\n", what, why);
    exit(1);
}

/* Reads a PNG file of any format as rows of red, green and blue bytes. */
static image read_png(const char *name)
{
    image in = {.png = {.version = PNG_IMAGE_VERSION}};
    if (!png_image_begin_read_from_file(&in.png, name))
        end(name, in.png.message);
    in.png.format = PNG_FORMAT_RGB;
    in.pixels = malloc(PNG_IMAGE_SIZE(in.png));
    if (in.pixels == NULL)
        end(name, "no memory");
    if (!png_image_finish_read(&in.png, NULL, in.pixels, 0, NULL))
        end(name, in.png.message);
    return in;
}

/* Weights 1 × 3 × SIDE × SIDE. Each Gaussian sums to 1, so a uniform area gives 0. */
static void make_filter(float *filter)
{
    static const double gray[] = {0.299, 0.587,
                                  0.114}; /* perceived brightness of red, green, blue */
    double narrow[SIDE * SIDE], wide[SIDE * SIDE], narrow_sum = 0, wide_sum = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int y = i / SIDE - RADIUS, x = i % SIDE - RADIUS;
        narrow_sum += narrow[i] = exp(-(x * x + y * y) / (2 * NARROW * NARROW));
        wide_sum += wide[i] = exp(-(x * x + y * y) / (2 * WIDE * WIDE));
    }
    for (int color = 0; color < 3; color++)
        for (int i = 0; i < SIDE * SIDE; i++)
            *filter++ = (float)(gray[color] * (narrow[i] / narrow_sum - wide[i] / wide_sum));
}

/* Reads `pixels`, H × W × 3 bytes; writes `drawing`, H × W bytes. */
static void draw(int64_t height, int64_t width, const uint8_t *pixels, uint8_t *drawing)
{
    const int64_t high = height + 2 * RADIUS, wide = width + 2 * RADIUS;
    float filter[3 * SIDE * SIDE];
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor bytes, framed, x, w, paper, y, result;
    make_filter(filter);

    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    TRY(tenon_tensor_create(context, TENON_DTYPE_U8, 4, (int64_t[]){1, height, width, 3}, &bytes));
    TRY(tenon_tensor_create(context, TENON_DTYPE_U8, 4, (int64_t[]){1, high, wide, 3}, &framed));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 4, (int64_t[]){1, 3, high, wide}, &x));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 4, (int64_t[]){1, 3, SIDE, SIDE}, &w));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 1, (int64_t[]){1}, &paper));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 4, (int64_t[]){1, 1, height, width}, &y));
    TRY(tenon_tensor_create(context, TENON_DTYPE_U8, 4, (int64_t[]){1, 1, height, width}, &result));
    TRY(tenon_tensor_upload(stream, pixels, (size_t)(height * width * 3), &bytes, NULL));
    TRY(tenon_tensor_upload(stream, filter, sizeof filter, &w, NULL));
    TRY(tenon_tensor_fill(stream, &paper, WHITE, NULL));

    /* Repeats the edge pixels outwards, so that no frame is drawn around the picture. */
    TRY(tenon_pad_forward(stream,
                          &tenon_pad_params(.mode = TENON_PAD_EDGE, .begin = {0, RADIUS, RADIUS},
                                            .end = {0, RADIUS, RADIUS}),
                          &bytes, &framed, NULL));
    /* Views rows of pixels as planes of colors, and converts them to float. */
    const tenon_tensor planes = tenon_tensor_nhwc(framed);
    TRY(tenon_copy(stream, NULL, &planes, &x, NULL));
    TRY(tenon_conv_forward(stream, &tenon_conv_params(.epilogue.alpha = PRESSURE), &x, &w, NULL,
                           &paper, &y, NULL));
    /* Rounds to the nearest integer and saturates to 0 to 255. */
    TRY(tenon_copy(stream, &tenon_copy_params(.flags = TENON_COPY_NEAREST), &y, &result, NULL));
    TRY(tenon_tensor_download(stream, &result, drawing, (size_t)(height * width), NULL));

    tenon_tensor *const made[] = {&bytes, &framed, &x, &w, &paper, &y, &result};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tenon_tensor_destroy(made[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        end("usage", "photo IN.png OUT.png");
    image in = read_png(argv[1]);
    image out = {.png = {.version = PNG_IMAGE_VERSION,
                         .width = in.png.width,
                         .height = in.png.height,
                         .format = PNG_FORMAT_GRAY}};
    out.pixels = malloc(PNG_IMAGE_SIZE(out.png));
    if (out.pixels == NULL)
        end(argv[2], "no memory");
    draw(in.png.height, in.png.width, in.pixels, out.pixels);
    if (!png_image_write_to_file(&out.png, argv[2], 0, out.pixels, 0, NULL))
        end(argv[2], out.png.message);
    printf("%s: %u × %u pixels\n", argv[2], out.png.width, out.png.height);
    free(in.pixels);
    free(out.pixels);
    return 0;
}
