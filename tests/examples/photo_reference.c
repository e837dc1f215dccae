/*
 * Reference for examples/photo: computes the drawing in double precision, pixel by pixel, and
 * compares a drawing with it. No pixel may differ by more than one step of 255.
 *
 * photo_reference PHOTO.png DRAWING.png
 */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

#define RADIUS 4

typedef struct picture {
    int height, width;
    png_bytep pixels;
} picture;

static picture read_png(const char *name, png_uint_32 format)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    picture p = {0};
    if (png_image_begin_read_from_file(&png, name)) {
        png.format = format;
        p = (picture){(int)png.height, (int)png.width, malloc(PNG_IMAGE_SIZE(png))};
    }
    if (p.pixels == NULL || !png_image_finish_read(&png, NULL, p.pixels, 0, NULL)) {
        fprintf(stderr, "photo_reference: %s: %s\n", name, png.message);
        exit(2);
    }
    return p;
}

static int within(int value, int size)
{
    return value < 0 ? 0 : value >= size ? size - 1 : value;
}

/* Returns the luminance of a pixel. Outside the picture the nearest border pixel is used. */
static double brightness(const picture *p, int y, int x)
{
    png_const_bytep at = p->pixels + 3 * (within(y, p->height) * p->width + within(x, p->width));
    return 0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2];
}

/* Returns the mean around a pixel, weighted by a Gaussian. */
static double blurred(const picture *p, int y, int x, double deviation)
{
    double sum = 0, weights = 0;
    for (int v = -RADIUS; v <= RADIUS; v++)
        for (int u = -RADIUS; u <= RADIUS; u++) {
            const double weight = exp(-(v * v + u * u) / (2 * deviation * deviation));
            sum += weight * brightness(p, y + v, x + u);
            weights += weight;
        }
    return sum / weights;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const picture photo = read_png(argv[1], PNG_FORMAT_RGB);
    const picture drawing = read_png(argv[2], PNG_FORMAT_GRAY);
    int wrong = photo.height != drawing.height || photo.width != drawing.width;
    for (int y = 0; y < photo.height && !wrong; y++)
        for (int x = 0; x < photo.width && !wrong; x++) {
            const double line = blurred(&photo, y, x, 0.8) - blurred(&photo, y, x, 2.4);
            const double wanted = fmin(fmax(255 + 9 * line, 0), 255);
            const int found = drawing.pixels[y * photo.width + x];
            wrong = !(fabs(found - wanted) <= 1);
            if (wrong)
                fprintf(stderr, "pixel %d of row %d is %d, expected %.2f\n", x, y, found, wanted);
        }
    free(photo.pixels);
    free(drawing.pixels);
    return wrong;
}
