/* Names of processes that other processes can look up, for the owner of a file or of a crash
 * record. */
#ifndef TN_BASE_PROCESS_H
#define TN_BASE_PROCESS_H

#define TN_PROCESS_SIZE 64

/* Writes the name of this process: letters, digits and dots. */
void tn_process_name(char name[TN_PROCESS_SIZE]);

typedef enum tn_process_state {
    TN_PROCESS_ALIVE,
    TN_PROCESS_ENDED,
    TN_PROCESS_ELSEWHERE /* on another host, or unknown */
} tn_process_state;

/* Returns the state of a named process. Accepts any text. */
tn_process_state tn_process_look(const char *name);

#endif
