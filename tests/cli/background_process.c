/* What check_ends.py starts: asks for plans in the background and ends while they are being made,
 * as its first argument says: "return" or "exit" with everything released, "keep" with nothing
 * released, "_exit". The second one is a file that appears when a plan is being made; on an orderly
 * end the driver that holds the plan is let go by the file of the third. */
#include <tenon/tenon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *go;

/* After the end has begun: the library's handlers, which may run before any of this program's, wait
 * for a launch that is held. */
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
