/*
 * What was measured on this device: the fastest solver of a problem, kept in the store. It is never
 * decided again but by who asks for it (tenon tune), so that equal calls have equal bits.
 */
#ifndef TN_DISPATCH_TUNING_H
#define TN_DISPATCH_TUNING_H

#include "dispatch/request.h"

/* An outcome. */
typedef struct tn_tuned {
    char solver[TN_SOLVER_NAME_SIZE]; /* with its parameters */
    double nanoseconds;
    uint32_t candidates;       /* that were measured */
    bool is_searched;          /* `tenon tune` has measured all that it would */
    char call[TN_REPEAT_SIZE]; /* the call in the words of `tenon check` */
} tn_tuned;

/* Whether there may be outcomes, and the context does not leave them out. */
bool tn_tuning_has_any(tenon_context *context);

/* False where the problem was not measured, or the context leaves measurements out. */
bool tn_tuning_find(const tn_request *request, tn_tuned *tuned);

void tn_tuning_keep(tenon_context *context, const tn_family *family, const tn_problem *problem,
                    const tn_tuned *tuned);

/* Writes an outcome, and reads one; takes any text. */
int tn_tuned_text(const tn_tuned *tuned, char *text, size_t size);
bool tn_tuned_parse(const char *text, tn_tuned *tuned);

/* As many choices are measured at a plan's making, of those whose estimates are within this ratio
 * of the least: what is further apart is believed. */
#define TN_TUNING_MOST  3
#define TN_TUNING_RATIO 1.5

/* Measures choices, which have been checked, against each other, and keeps the outcome: the number
 * of the fastest in `best`. False where nothing could be measured. */
bool tn_tuning_choose(const tn_request *request, tn_choice *const *choices, uint32_t count,
                      uint32_t *best);

/* The part of an outcome's key that names the problem, "gemm " and 32 digits, whatever solver was
 * forced for it; the rest is the machine's. False where the problem is larger than any. */
#define TN_TUNING_KEY_SIZE 96
bool tn_tuning_name(const tn_family *family, const tn_problem *problem,
                    char name[TN_TUNING_KEY_SIZE]);

/* Every outcome of this machine; false where the store cannot be listed. */
typedef void tn_tuning_visitor(void *user, const char *problem, const tn_tuned *tuned);
bool tn_tuning_each(tenon_context *context, tn_tuning_visitor *visit, void *user);

/* The same as find and keep, by that part of the key, whatever the context says of measurements. */
bool tn_tuning_get(tenon_context *context, const char *problem, tn_tuned *tuned);
void tn_tuning_put(tenon_context *context, const char *problem, const tn_tuned *tuned);
void tn_tuning_drop(tenon_context *context, const char *problem);

#endif
