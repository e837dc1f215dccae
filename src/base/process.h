/* Processes by a name that others can look up: of whoever wrote a file, or was at work when it
 * ended. */
#ifndef TN_BASE_PROCESS_H
#define TN_BASE_PROCESS_H

#define TN_PROCESS_SIZE 64

/* The name of this one: letters, digits and points. */
void tn_process_name(char name[TN_PROCESS_SIZE]);

typedef enum tn_process_state {
    TN_PROCESS_ALIVE,
    TN_PROCESS_ENDED,
    TN_PROCESS_ELSEWHERE /* on another host, or not known */
} tn_process_state;

/* Takes any text. */
tn_process_state tn_process_look(const char *name);

#endif
