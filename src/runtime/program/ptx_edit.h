/*
 * PTX that NVIDIA's driver gives as a program's binary, edited for what its compiler does not
 * write.
 *
 * wgmma, and more than 48 KiB of local memory in arrays, are for the target sm_90a alone, and a
 * driver may compile OpenCL C for sm_90. There, kernels have such instructions behind a mark that
 * makes them a comment, and a small array in the place of a large one. The driver's front end
 * compiles that; the edit takes the marks away, names the target and gives the array its size; and
 * the driver loads the text (runtime/program/program_build.c). Kernels have the marks by
 * common/ptx.clh.
 */
#ifndef TN_RUNTIME_PROGRAM_PTX_EDIT_H
#define TN_RUNTIME_PROGRAM_PTX_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What options ask for an edit, and for an array of so many bytes. */
#define TN_PTX_OPTION       "-DTENON_PTX_MARKS=1"
#define TN_PTX_LOCAL_OPTION "-DTENON_LOCAL_ENLARGED="
/* What stands before an instruction, and is part of the name of an array that is enlarged. */
#define TN_PTX_MARK  "//tenon:"
#define TN_PTX_ARRAY "tenon_grows"

typedef struct tn_ptx_edit {
    uint32_t local_bytes; /* of the array; 0: there is none to enlarge */
} tn_ptx_edit;

/* Whether the options of a build ask for an edit, and for which. */
bool tn_ptx_wanted(const char *options, tn_ptx_edit *edit);

/* The edited text, which ends with as many NULs as the given one, and its size with these; the
 * caller frees it. NULL, and `*why`, a static text, where the bytes are not PTX for sm_90 or
 * sm_90a, where there is no array to enlarge, or no memory (`*why` is then NULL). Takes any bytes.
 */
char *tn_ptx_edited(const char *bytes, size_t size, const tn_ptx_edit *edit, size_t *edited_size,
                    const char **why);

#endif
