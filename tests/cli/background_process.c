/* Process started by check_ends.py: requests plans in the background and ends while they are being
 * built.
 *
 *   background_process WAY STARTED GO
 *
 * WAY is "return" or "exit", which release everything first, "keep", which releases nothing, or
 * "_exit". The process ends once the file STARTED exists, which the held driver creates at a
 * launch. A thread then creates the file GO, which lets the launch continue. */
#include <tenon/tenon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *go;

/* Thread function: creates GO after the process has begun to end, because the library's exit
 * handlers wait for the held launch and may run before any handler of this program. */
static void *let_go(void *nothing)
{
    const struct timespec time = {.tv_sec = 1};
    nanosleep(&time, NULL);
    FILE *file = fopen(go, "wb");
    if (file != NULL)
        fclose(file);
    return nothing;
}

static tenon_status ask(tenon_context *context, int64_t size, tenon_plan **plan)
{
    const int64_t shape[] = {size, size};
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    return tenon_gemm_plan(context, NULL, &a, &a, NULL, NULL, &a, plan);
}

int main(int argc, char **argv)
{
    const struct timespec time = {.tv_nsec = 10000000};
    tenon_context *context = NULL;
    tenon_plan *plans[3] = {NULL};
    pthread_t thread;
    if (argc != 4 || tenon_context_create(NULL, &context) != TENON_OK ||
        tenon_prepare_begin(context) != TENON_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        if (ask(context, 64 << i, &plans[i]) != TENON_OK)
            return 1;
    if (tenon_prepare_end(context) != TENON_OK)
        return 1;
    while (access(argv[2], F_OK) != 0)
        nanosleep(&time, NULL);
    if (strcmp(argv[1], "_exit") == 0)
        _exit(0);
    for (int i = 0; i < 3 && strcmp(argv[1], "keep") != 0; i++)
        tenon_plan_release(plans[i]);
    if (strcmp(argv[1], "keep") != 0)
        tenon_context_release(context);
    go = argv[3];
    if (pthread_create(&thread, NULL, let_go, NULL) != 0)
        return 1;
    if (strcmp(argv[1], "exit") == 0)
        exit(0);
    return 0;
}
