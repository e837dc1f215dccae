/* Preloaded replacement of the function of oneDNN that appends an activation to a primitive:
 * appends none, so that networks give wrong results. */
__attribute__((visibility("default"))) int dnnl_post_ops_append_eltwise(void)
{
    return 0; /* dnnl_success */
}
