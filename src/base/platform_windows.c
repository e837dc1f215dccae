/* Clock, libraries, processes and processor for Windows. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif

#include "base/platform.h"

#include <signal.h>
#include <stdatomic.h>
#include <windows.h>

uint64_t tn_now(void)
{
    const uint64_t second = UINT64_C(1000000000);
    LARGE_INTEGER ticks, rate;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&rate);
    const uint64_t t = (uint64_t)ticks.QuadPart, r = (uint64_t)rate.QuadPart;
    return t / r * second + t % r * second / r;
}

void tn_sleep(uint64_t nanoseconds)
{
    Sleep((DWORD)((nanoseconds + 999999) / 1000000));
}

void tn_yield(void)
{
    SwitchToThread();
}

void tn_error_text(int error, char *text, size_t size)
{
    if (strerror_s(text, size, error) != 0)
        snprintf(text, size, "error %d", error);
}

void *tn_library_open(const char *name, char *why, size_t size)
{
    void *library = (void *)(name != NULL ? LoadLibraryA(name) : GetModuleHandleA(NULL));
    if (library == NULL && size > 0)
        snprintf(why, size, "%s: error %lu", name, GetLastError());
    return library;
}

void *tn_library_find(void *library, const char *name)
{
    void *found = NULL;
    const FARPROC function = GetProcAddress((HMODULE)library, name);
    memcpy(&found, &function, sizeof found); /* C has no cast from a function pointer to void * */
    return found;
}

void tn_library_close(void *library)
{
    FreeLibrary((HMODULE)library);
}

void tn_host_name(char *name, size_t size)
{
    DWORD length = (DWORD)size;
    if (!GetComputerNameA(name, &length))
        name[0] = '\0';
}

int64_t tn_process_number(void)
{
    return (int64_t)GetCurrentProcessId();
}

bool tn_process_find(int64_t number, uint64_t *started)
{
    FILETIME made, ended, kernel, user;
    *started = 0;
    const HANDLE process =
        OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, (DWORD)number);
    if (process == NULL)
        return GetLastError() == ERROR_ACCESS_DENIED;
    /* An open handle keeps the ID of a process that has ended. */
    const bool is_there = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    if (GetProcessTimes(process, &made, &ended, &kernel, &user))
        *started = (uint64_t)made.dwHighDateTime << 32 | made.dwLowDateTime;
    CloseHandle(process);
    return is_there;
}

/* Written by a signal handler and by a thread of the system. */
static atomic_bool is_terminating;
static void (*earlier_handler)(int);

/* Windows removes a handler when it calls it. */
static void note_termination(int number)
{
    signal(number, note_termination);
    atomic_store(&is_terminating, true);
}

/* Windows calls this on a thread of its own. For these events it ends the process when the handler
 * returns, and after some seconds in any case. */
static BOOL WINAPI note_event(DWORD event)
{
    if (event != CTRL_CLOSE_EVENT && event != CTRL_LOGOFF_EVENT && event != CTRL_SHUTDOWN_EVENT)
        return FALSE;
    atomic_store(&is_terminating, true);
    Sleep(INFINITE);
    return TRUE;
}

bool tn_termination_catch(void)
{
    atomic_store(&is_terminating, false);
    earlier_handler = signal(SIGTERM, note_termination);
    if (earlier_handler == SIG_ERR)
        return false;
    if (SetConsoleCtrlHandler(note_event, TRUE))
        return true;
    signal(SIGTERM, earlier_handler);
    return false;
}

void tn_termination_restore(void)
{
    void (*current)(int) = signal(SIGTERM, earlier_handler);
    if (current != note_termination)
        signal(SIGTERM, current);
    SetConsoleCtrlHandler(note_event, FALSE);
}

bool tn_termination_caught(void)
{
    return atomic_load(&is_terminating);
}

/* Does nothing: Windows has no fork. */
bool tn_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void))
{
    (void)before;
    (void)after;
    (void)in_child;
    return true;
}

bool tn_at_thread_end(void (*work)(void *))
{
    (void)work;
    return false;
}

bool tn_threads_have_ended(void)
{
    typedef BOOLEAN(WINAPI * in_shutdown)(void);
    in_shutdown ask = NULL;
    const FARPROC found = GetProcAddress(GetModuleHandleA("ntdll.dll"), "RtlDllShutdownInProgress");
    memcpy(&ask, &found, sizeof ask);
    return ask != NULL && ask();
}

void tn_processor_facts(char *brand, size_t brand_size, char *features, size_t features_size)
{
    const char *text = getenv("PROCESSOR_IDENTIFIER");
    size_t used = 0;
    snprintf(brand, brand_size, "%s", text != NULL ? text : "");
    features[0] = '\0';
    for (DWORD i = 0; i < 64 && used + 4 < features_size; i++)
        if (IsProcessorFeaturePresent(i))
            used += (size_t)snprintf(features + used, features_size - used, "%lu ", i);
}
