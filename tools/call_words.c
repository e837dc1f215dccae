#include "call_words.h"

#include "ops/registry.h"

#include <stdio.h>
#include <string.h>

#define MOST_WORDS 64

/* Expands 512x49x4608 to the views of a product with 512 rows, 49 columns and K = 4608. Returns the
 * number of views; 0 for other words. */
static uint32_t read_sizes(const char *word, const char *type, char views[3][64])
{
    long long m, n, k;
    int end = 0;
    if (sscanf(word, "%lldx%lldx%lld%n", &m, &n, &k, &end) != 3 || word[end] != '\0')
        return 0;
    snprintf(views[0], 64, "a=%s:%lldx%lld", type, m, k);
    snprintf(views[1], 64, "b=%s:%lldx%lld", type, k, n);
    snprintf(views[2], 64, "d=%s:%lldx%lld", strcmp(type, "i8") == 0 ? "i32" : type, m, n);
    return 3;
}

tenon_dtype type_named(const char *name)
{
    tenon_dtype type = TENON_DTYPE_F64;
    while (tenon_dtype_size(type) > 0 && strcmp(tenon_dtype_string(type), name) != 0)
        type = (tenon_dtype)(type + 1);
    return tenon_dtype_size(type) > 0 ? type : TENON_DTYPE_INVALID;
}

tenon_status read_call(const char *asked, const command_line *line, const char *type, tn_case *c)
{
    const char *words[MOST_WORDS];
    char views[3][64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < line->count && count + 3 < MOST_WORDS; i++) {
        const uint32_t sizes = read_sizes(line->operands[i], type, views);
        for (uint32_t s = 0; s < sizes; s++)
            words[count++] = views[s];
        if (sizes == 0)
            words[count++] = line->operands[i];
    }
    return tn_case_parse(asked, words, count, type_named(type), c);
}
