/** @file
 * The persistent cache (store) of built programs and results between processes.
 */
#ifndef TENON_STORE_H
#define TENON_STORE_H

#include <tenon/status.h>

TENON_BEGIN_C

/** The kinds of stores. */
typedef enum tenon_store_kind {
    /** The default folder: TENON_CACHE_DIR in the environment, else $XDG_CACHE_HOME/tenon, else
     * ~/.cache/tenon (macOS: ~/Library/Caches/tenon; Windows: the folder tenon in LOCALAPPDATA). No
     * store if TENON_CACHE is 0 or there is no home directory. */
    TENON_STORE_USUAL = 0,
    TENON_STORE_NONE,     /**< no store */
    TENON_STORE_FOLDER,   /**< a folder chosen by the application */
    TENON_STORE_FUNCTIONS /**< callbacks with which the application stores the entries */
} tenon_store_kind;

/** Folder limit: 256 MiB. */
#define TENON_STORE_LIMIT_DEFAULT 0

/** A store of built programs, results of self-checks and probes, and measurements, one entry for
 * each. All zeros select the default folder. An entry is used only if its key matches exactly (the
 * source, the options, the library, the driver, the device) and its checksum is correct; otherwise
 * it is ignored. An error of a store never makes a call fail: it is logged once, and the missing
 * data is made again.
 *
 * Several processes may share a folder, also on a network file system. Those that start at the same
 * time check each kernel once: the others wait for the result, a minute at most. The folder is
 * created with mode 0700, and rejected if it belongs to another user or is writable by others,
 * because programs in it are executed. On Windows permissions are not checked: the folder inherits
 * those of its parent. */
typedef struct tenon_store {
    uint32_t kind;      /**< a tenon_store_kind */
    uint32_t reserved;  /**< 0 */
    const char *folder; /**< for TENON_STORE_FOLDER; read only during the call */
    /** For folders: the largest total size of entries, in bytes; the least recently used entries
     * are removed when it is exceeded. TENON_STORE_LIMIT_DEFAULT: 256 MiB. */
    uint64_t limit;
    /** For TENON_STORE_FUNCTIONS. Both functions are called from any thread, including threads of
     * the library, several at once, until the context has been freed. They must not call the
     * library.
     *
     * Copies at most `capacity` bytes of the entry `name` (up to 63 characters: ASCII letters,
     * digits, dots) to `data`, which may be NULL if capacity is 0, and returns the size of the
     * entry; 0 if it does not exist. */
    size_t (*get)(void *user, const char *name, void *data, size_t capacity);
    /** Stores an entry, replacing one of the same name; removes the entry if `size` is 0. */
    void (*set)(void *user, const char *name, const void *data, size_t size);
    void *user; /**< passed to both */
} tenon_store;

TENON_END_C

#endif
