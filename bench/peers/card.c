#include "card.h"

#include "absent.h"
#include "base/dtype.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opens the first of the libraries that is installed. */
static void *open_first(const char *what, const char *const *names)
{
    for (const char *const *name = names; *name != NULL; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
        if (library != NULL)
            return library;
    }
    bench_leave_out(what, "%s", dlerror());
    return NULL;
}

bool bench_card_find(const char *what, const char *const *names,
                     const bench_card_function *functions)
{
    void *library = open_first(what, names);
    if (library == NULL)
        return false;
    for (const bench_card_function *f = functions; f->name != NULL; f++) {
        void *found = dlsym(library, f->name);
        if (found == NULL) {
            bench_leave_out(what, "the library lacks %s", f->name);
            return false;
        }
        /* Copied through memory, because ISO C has no conversion from data to function pointers. */
        memcpy(f->address, &found, sizeof found);
    }
    return true;
}

/* Opens the library and creates its handle. */
static void *create(const bench_card_library *library, const char *peer)
{
    char version[BENCH_CARD_VERSION_SIZE] = "";
    void *handle = NULL;
    if (!bench_card_find(library->title, library->names, library->functions))
        return NULL;
    const int status = (*library->create)(&handle);
    if (status != 0) {
        bench_leave_out(peer, "%s failed to start with status %d", library->title, status);
        return NULL;
    }
    library->version(handle, version);
    bench_note_version(peer, version);
    return handle;
}

void *bench_card_handle(bench_card_library *library, const char *peer)
{
    if (!library->tried)
        library->handle = create(library, peer);
    library->tried = true;
    return library->handle;
}

/* Uploads a copy of an operand with the values uploaded for Tenon. Outputs are not filled. The
 * first copy is already stored in the operand's type; others are converted from floats. */
static bool upload(const bench_card *card, const bench_operand *o, int copy, bench_card_address *at)
{
    const size_t size = tenon_dtype_size(o->view.dtype);
    const int64_t count = tenon_tensor_elements(&o->view);
    const size_t bytes = (size_t)count * size;
    if (card->allocate(at, bytes + 1) != 0)
        return false;
    if (o->is_output)
        return true;
    if (copy == 0)
        return card->to_device(*at, o->host.memory.u.svm, bytes) == 0;
    unsigned char *data = malloc(bytes + 1);
    for (int64_t i = 0; data != NULL && i < count; i++)
        tn_dtype_store(o->view.dtype, data + (size_t)i * size, (double)o->values[copy][i]);
    const bool well = data != NULL && card->to_device(*at, data, bytes) == 0;
    free(data);
    return well;
}

bool bench_card_copy(const bench_card *card, const bench_operands *operands,
                     bench_card_operands *copied)
{
    copied->from = operands;
    for (int c = 0; c < operands->copies; c++)
        for (uint32_t i = 0; i < operands->count; i++)
            if (operands->operand[i].view.dtype != TENON_DTYPE_INVALID &&
                !upload(card, &operands->operand[i], c, &copied->at[c][i])) {
                fprintf(stderr, "tenon-bench: the GPU has too little memory for the operands\n");
                return false;
            }
    return true;
}

void bench_card_free(const bench_card *card, bench_card_operands *copied)
{
    for (int c = 0; copied->from != NULL && c < copied->from->copies; c++)
        for (uint32_t i = 0; i < copied->from->count; i++)
            if (copied->at[c][i] != 0)
                (void)card->release(copied->at[c][i]);
    copied->from = NULL;
}

double bench_card_element(const bench_card *card, const bench_card_operands *copied,
                          uint32_t number, int64_t element)
{
    const tenon_dtype dtype = copied->from->operand[number].view.dtype;
    const size_t size = tenon_dtype_size(dtype);
    unsigned char value[8];
    if (card->synchronize() != 0 ||
        card->to_host(value, copied->at[0][number] + (uint64_t)element * size, size) != 0)
        return NAN;
    return tn_dtype_load(dtype, value);
}

bool bench_card_agrees(const char *who, tenon_dtype dtype, double got, double wanted, int64_t terms)
{
    /* The rounding error of the result and of f32 sums; TF32 instead of f32 would be far outside.
     */
    const double rounding = dtype == TENON_DTYPE_BF16  ? 0x1p-8
                            : dtype == TENON_DTYPE_F16 ? 0x1p-10
                                                       : 0x1p-23;
    const double slack = rounding * fabs(wanted) + 0x1p-22 * sqrt((double)terms) * 4;
    const bool agrees = fabs(got - wanted) <= slack;
    if (!agrees)
        bench_leave_out(who, "wrong result: %.9g instead of %.9g", got, wanted);
    return agrees;
}
