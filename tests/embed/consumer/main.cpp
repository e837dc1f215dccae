/* Minimal application in C++; see main.c. */
#include <iostream>
#include <memory>
#include <tenon/tenon.h>

int main()
{
    tenon_context *made = nullptr;
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    params.log_level = TENON_LOG_ERROR;
    const tenon_status status = tenon_context_create(&params, &made);
    const std::unique_ptr<tenon_context, decltype(&tenon_context_release)> context(
        made, tenon_context_release);

    std::cout << "tenon " << tenon_version_string() << ": " << tenon_status_string(status);
    if (status != TENON_OK)
        std::cout << ": " << tenon_last_error();
    std::cout << '\n';
    return status == TENON_OK ? 0 : status == TENON_ERROR_NO_OPENCL ? 3 : 1;
}
