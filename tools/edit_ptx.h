#ifndef TENON_TOOLS_EDIT_PTX_H
#define TENON_TOOLS_EDIT_PTX_H

/* Writes the PTX of a file, as returned by a driver for a program built with these options, to
 * standard output with Tenon's edits. Returns the exit status; prints the reason for a failure to
 * stderr. */
int edit_ptx(const char *path, const char *options);

#endif
