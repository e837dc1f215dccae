/*
 * What is under way, for the case that it ends the process: a mark in the store, by which the next
 * process stays clear of what did so. It may have been killed by somebody else; so a mark bars for
 * an hour, the second for a day, the third and later ones for a month, and what nothing else can
 * do is tried once more before it is barred.
 */
#ifndef TN_RUNTIME_RUNNING_H
#define TN_RUNTIME_RUNNING_H

#include "runtime/context.h"

/* Marks it as begun, by the key of its outcome (tn_identity_key; NULL: nothing is kept). False
 * where it has ended `least` processes or more: then `why` says so, and it must not be begun. */
bool tn_running_begin(tenon_context *context, const char *key, unsigned least, char why[256]);

/* It has ended, and the process has not. */
void tn_running_end(tenon_context *context, const char *key);

/* Whether the text of a mark says that it has ended a process: why it is barred. Takes any text. */
bool tn_running_explain(const char *text, char why[256]);

#endif
