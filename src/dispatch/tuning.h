/* Measurements on this device: the fastest solver of a problem, kept in the store. A measurement
 * is replaced only by `tenon tune`, so that equal calls give equal bits. */
#ifndef TN_DISPATCH_TUNING_H
#define TN_DISPATCH_TUNING_H

#include "dispatch/request.h"

/* A stored measurement. */
typedef struct tn_tuned {
    char solver[TN_SOLVER_NAME_SIZE]; /* with its parameters */
    double nanoseconds;
    uint32_t candidates;       /* number of choices measured */
    bool is_searched;          /* found by a complete search of `tenon tune` */
    char call[TN_REPEAT_SIZE]; /* the call as arguments of `tenon check` */
} tn_tuned;

/* Returns true if the store may have measurements and the context uses them. */
bool tn_tuning_has_any(tenon_context *context);

/* Returns false if the problem was not measured, or the context does not use measurements. */
bool tn_tuning_find(const tn_request *request, tn_tuned *tuned);

void tn_tuning_keep(tenon_context *context, const tn_family *family, const tn_problem *problem,
                    const tn_tuned *tuned);

/* Format and parse a measurement. The parser accepts any text. */
int tn_tuned_text(const tn_tuned *tuned, char *text, size_t size);
bool tn_tuned_parse(const char *text, tn_tuned *tuned);

/* When a plan is created, at most this many choices are measured, of those whose estimates are
 * within this ratio of the lowest. Larger differences are trusted without measuring. */
#define TN_TUNING_MAX   3
#define TN_TUNING_RATIO 1.5

/* Measures choices that have passed their self-checks, and stores the result; `best` is the index
 * of the fastest. Returns false if nothing could be measured. */
bool tn_tuning_choose(const tn_request *request, tn_choice *const *choices, uint32_t count,
                      uint32_t *best);

/* Writes the part of a measurement's key that names the problem, "gemm " and 32 digits, regardless
 * of a forced solver. The rest of the key identifies the machine. Returns false if the problem is
 * too large. */
#define TN_TUNING_KEY_SIZE 96
bool tn_tuning_name(const tn_family *family, const tn_problem *problem,
                    char name[TN_TUNING_KEY_SIZE]);

/* Visits every measurement of this machine. Returns false if the store cannot be listed. */
typedef void tn_tuning_visitor(void *user, const char *problem, const tn_tuned *tuned);
bool tn_tuning_each(tenon_context *context, tn_tuning_visitor *visit, void *user);

/* Find, store and remove a measurement by that part of the key, even if the context does not use
 * measurements. */
bool tn_tuning_get(tenon_context *context, const char *problem, tn_tuned *tuned);
void tn_tuning_put(tenon_context *context, const char *problem, const tn_tuned *tuned);
void tn_tuning_drop(tenon_context *context, const char *problem);

#endif
