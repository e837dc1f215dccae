#define WIN32_LEAN_AND_MEAN

#include "platform.h"

#include <io.h>
#include <signal.h>
#include <windows.h>

#define LINE_SIZE 32768 /* longest command line on Windows */

void platform_set(const char *name, const char *value, bool replaces)
{
    if (replaces || getenv(name) == NULL)
        _putenv_s(name, value);
}

void platform_unset(const char *name)
{
    _putenv_s(name, "");
}

unsigned platform_cores(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors > 0 ? (unsigned)info.dwNumberOfProcessors : 1;
}

bool platform_is_terminal(FILE *file)
{
    return _isatty(_fileno(file)) != 0;
}

static void (*caught)(int);

/* Windows removes a handler when it calls it. */
static void call(int number)
{
    signal(number, call);
    caught(number);
}

void platform_catch(void (*handler)(int))
{
    caught = handler;
    signal(SIGINT, call);
    signal(SIGTERM, call);
}

static void (*orderly_end)(void);

/* Windows calls this on a thread of its own, and ends the program when it returns FALSE. */
static BOOL WINAPI end_when_interrupted(DWORD event)
{
    (void)event;
    orderly_end();
    return FALSE;
}

void platform_end_orderly(void (*end)(void))
{
    orderly_end = end;
    SetConsoleCtrlHandler(end_when_interrupted, TRUE);
}

void platform_interrupt(int number)
{
    orderly_end();
    signal(number, SIG_DFL);
    raise(number);
}

/* Appends a word in quotes, escaped such that the started program parses it back unchanged. Returns
 * false if the line is full. */
static bool append_word(char *line, size_t *used, const char *word)
{
    if (*used + 2 * strlen(word) + 4 > LINE_SIZE)
        return false;
    char *at = line + *used;
    *at++ = '"';
    for (; *word != '\0'; word++) {
        size_t slashes = strspn(word, "\\");
        const char after = word[slashes];
        const bool doubled = after == '"' || after == '\0';
        for (size_t i = 0; i < slashes * (doubled ? 2 : 1); i++)
            *at++ = '\\';
        word += slashes;
        if (after == '\0')
            break;
        if (after == '"')
            *at++ = '\\';
        *at++ = after;
    }
    *at++ = '"';
    *at++ = ' ';
    *at = '\0';
    *used = (size_t)(at - line);
    return true;
}

static bool start(char *line, platform_child *child)
{
    char path[4096];
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    PROCESS_INFORMATION process;
    STARTUPINFOA how = {.cb = sizeof how, .dwFlags = STARTF_USESTDHANDLES};
    const DWORD length = GetModuleFileNameA(NULL, path, sizeof path);
    const HANDLE nothing =
        CreateFileA("NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    &inherited, OPEN_EXISTING, 0, NULL);
    if (nothing == INVALID_HANDLE_VALUE)
        return false;
    how.hStdInput = how.hStdOutput = how.hStdError = nothing;
    const bool started =
        length > 0 && length < sizeof path &&
        CreateProcessA(path, line, NULL, NULL, TRUE, 0, NULL, NULL, &how, &process);
    CloseHandle(nothing);
    if (!started)
        return false;
    CloseHandle(process.hThread);
    child->handle = (intptr_t)process.hProcess;
    return true;
}

bool platform_spawn_self(char *const *words, platform_child *child)
{
    size_t used = 0;
    char *line = malloc(LINE_SIZE);
    bool well = line != NULL;
    for (; well && *words != NULL; words++)
        well = append_word(line, &used, *words);
    well = well && start(line, child);
    free(line);
    return well;
}

bool platform_ended_well(platform_child child)
{
    DWORD code = 1;
    const HANDLE process = (HANDLE)child.handle;
    WaitForSingleObject(process, INFINITE);
    const bool well = GetExitCodeProcess(process, &code) && code == 0;
    CloseHandle(process);
    return well;
}
