/** @file
 * Where what is learnt on a machine is kept between processes. */
#ifndef TENON_STORE_H
#define TENON_STORE_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a store is. */
typedef enum tenon_store_kind {
    /** The folder that the environment names: TENON_CACHE_DIR, else $XDG_CACHE_HOME/tenon, else
     * ~/.cache/tenon (macOS: ~/Library/Caches/tenon; Windows: the folder tenon in LOCALAPPDATA).
     * None where TENON_CACHE is 0 or there is no home. */
    TENON_STORE_USUAL = 0,
    TENON_STORE_NONE,     /**< nothing is kept */
    TENON_STORE_FOLDER,   /**< a folder of the application's choice */
    TENON_STORE_FUNCTIONS /**< the application keeps the entries */
} tenon_store_kind;

/** The limit of a folder that stands for 256 MiB. */
#define TENON_STORE_LIMIT_DEFAULT 0

/** A store of built programs, of the outcomes of self-checks and trials, and of measurements, each
 * an entry of its own. All zeros mean the usual one. An entry is used where its key matches exactly
 * (the source, the options, the library, the driver, the device) and its checksum is right; else it
 * is as if it were not there. A fault of a store never fails a call: the log is told once, and what
 * would have been found there is made again.
 *
 * Many processes may share a folder, over a network too. It is made with mode 0700, and refused
 * where it is another user's or others may write into it: what is kept there is run. On Windows
 * nobody looks at that: the folder has the rights of the one that it is made in. */
typedef struct tenon_store {
    uint32_t kind;      /**< a tenon_store_kind */
    uint32_t reserved;  /**< 0 */
    const char *folder; /**< of TENON_STORE_FOLDER; read during the call only */
    /** Of folders: the most bytes of entries; beyond it those that were used longest ago go.
     * TENON_STORE_LIMIT_DEFAULT: 256 MiB. */
    uint64_t limit;
    /** Of TENON_STORE_FUNCTIONS; called from any thread, several at once, those of the library's
     * own among them, until the context is gone. They must not call the library.
     *
     * Copies at most `capacity` bytes of the entry `name` (up to 63 characters: letters of ASCII,
     * digits, points) to `data`, which may be NULL where that is 0, and returns the entry's size; 0
     * where there is none. */
    size_t (*get)(void *user, const char *name, void *data, size_t capacity);
    /** Keeps an entry in the place of what has its name; removes that where `size` is 0. */
    void (*set)(void *user, const char *name, const void *data, size_t size);
    void *user; /**< handed to both */
} tenon_store;

#ifdef __cplusplus
}
#endif

#endif
