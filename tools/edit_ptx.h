#ifndef TENON_TOOLS_EDIT_PTX_H
#define TENON_TOOLS_EDIT_PTX_H

/* Writes to standard output what Tenon makes of a file of PTX that a driver gives for a program
 * which is built with these options. Returns the exit status, and says on stderr why it fails. */
int edit_ptx(const char *path, const char *options);

#endif
