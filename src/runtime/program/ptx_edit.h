/*
 * Editing of the PTX that NVIDIA's driver returns as a program's binary, to use features that its
 * OpenCL compiler does not emit.
 *
 * wgmma, and more than 48 KiB of local memory in arrays, require the target sm_90a, while a driver
 * may compile OpenCL C for sm_90. For such a driver, kernels contain these instructions behind a
 * marker that turns them into comments, and a small array instead of a large one. The driver's
 * front end compiles this. The edit then removes the markers, changes the target and enlarges the
 * array, and the driver loads the resulting text (runtime/program/program_build.c). Kernels use
 * the markers through common/ptx.clh.
 */
#ifndef TN_RUNTIME_PROGRAM_PTX_EDIT_H
#define TN_RUNTIME_PROGRAM_PTX_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Build options that request an edit, and the size of the enlarged array in bytes. */
#define TN_PTX_OPTION       "-DTENON_PTX_EDIT=1"
#define TN_PTX_LOCAL_OPTION "-DTENON_LOCAL_ENLARGED="
/* The marker before an instruction, and a part of the name of the array to enlarge. */
#define TN_PTX_MARK  "//tenon:"
#define TN_PTX_ARRAY "tenon_grows"

typedef struct tn_ptx_edit {
    uint32_t local_bytes; /* new size of the array; 0: no array is enlarged */
} tn_ptx_edit;

/* Returns true if the build options request an edit, and describes it. */
bool tn_ptx_wanted(const char *options, tn_ptx_edit *edit);

/* Returns the edited text with as many trailing NULs as the input, and its size including them.
 * The caller frees it. Returns NULL if the input is not PTX for sm_90 or sm_90a or has no array to
 * enlarge (`*why` is then a static text), or if memory is short (`*why` is NULL). Accepts any
 * bytes. */
char *tn_ptx_edited(const char *bytes, size_t size, const tn_ptx_edit *edit, size_t *edited_size,
                    const char **why);

#endif
