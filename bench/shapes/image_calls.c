/* Calls on images in the syntax of "tenon check", in which `$` and a letter stand for a view, with
 * channels C and pixels H × W:
 *   X  images                       Y  images in the other layout
 *   H  images of half the height and width, rounded up, or down: F
 *   P  images of one pixel          B  one image of one pixel
 *   R  images of one channel        Z  X with a border of one pixel
 *   C  the first half of the channels of images with twice as many
 *   V  a vector of channels         S  the same in f32         W  C × 1 × 1 */
#include "reader.h"

#include "check/case.h"

#include <stdio.h>
#include <string.h>

/* Writes an N C H W view. `stored` is the number of channels of the images that it is a part of. */
static int put_images(char *text, size_t size, int64_t n, int64_t c, int64_t h, int64_t w,
                      int64_t stored, bool channels_last)
{
    const long long last[] = {h * w * stored, 1, w * stored, stored},
                    first[] = {stored * h * w, h * w, w, 1};
    const long long *stride = channels_last ? last : first;
    return snprintf(text, size, "T:%lldx%lldx%lldx%lld/%lld,%lld,%lld,%lld", (long long)n,
                    (long long)c, (long long)h, (long long)w, stride[0], stride[1], stride[2],
                    stride[3]);
}

/* Writes the view that a letter stands for. Returns its length; -1 if the letter is unknown. */
static int put_view(char *text, size_t size, char letter, const bench_image_call *call,
                    bool channels_last)
{
    const int64_t n = call->n, c = call->c, h = call->h, w = call->w;
    switch (letter) {
    case 'X':
        return put_images(text, size, n, c, h, w, c, channels_last);
    case 'Y':
        return put_images(text, size, n, c, h, w, c, !channels_last);
    case 'H':
        return put_images(text, size, n, c, (h + 1) / 2, (w + 1) / 2, c, channels_last);
    case 'F':
        return put_images(text, size, n, c, h / 2, w / 2, c, channels_last);
    case 'P':
        return put_images(text, size, n, c, 1, 1, c, channels_last);
    case 'B':
        return put_images(text, size, 1, c, 1, 1, c, channels_last);
    case 'R':
        return put_images(text, size, n, 1, h, w, 1, channels_last);
    case 'Z':
        return put_images(text, size, n, c, h + 2, w + 2, c, channels_last);
    case 'C':
        return put_images(text, size, n, c, h, w, 2 * c, channels_last);
    case 'W':
        return snprintf(text, size, "T:%lldx1x1", (long long)c);
    case 'S':
    case 'V':
        return snprintf(text, size, "%c:%lld", letter == 'S' ? 'S' : 'T', (long long)c);
    default:
        return -1;
    }
}

bool bench_image_call_line(const bench_image_call *call, bool channels_last, char *line,
                           size_t size)
{
    size_t used = 0;
    for (const char *from = call->line; *from != '\0'; from++) {
        const size_t left = size - used;
        int length = 1;
        if (*from == '$')
            length = put_view(line + used, left, *++from, call, channels_last);
        else
            line[used] = *from;
        if (length < 0 || (size_t)length >= left)
            return false;
        used += (size_t)length;
    }
    line[used] = '\0';
    return true;
}

bool bench_check_image_call(const bench_reader *reader, const bench_image_call *call)
{
    char line[TN_CASE_TEXT_SIZE];
    for (int last = 0; last < 2; last++) {
        if (!bench_image_call_line(call, last != 0, line, sizeof line))
            return bench_refuse(reader, "\"call\" has an unknown letter after $, or is too long");
        if (!bench_check_call(reader, line))
            return false;
    }
    return true;
}
