/*
 * What only a trial tells of a driver. Work-groups are one-dimensional but for far_groups.
 *
 * LOCAL     bytes of local memory that local_array declares
 */
#ifndef LOCAL
#define LOCAL 1024
#endif

/* Whether the words are this work-group's own: each work-item looks at what others have put there.
 */
static float shared_is_whole(__local uint *shared, uint words)
{
    const uint size = (uint)get_local_size(0), id = (uint)get_local_id(0);
    uint wrong = 0;
    for (uint i = id; i < words; i += size)
        shared[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = id; i < words; i += size)
        wrong += shared[words - 1 - i] != words - 1 - i;
    return wrong == 0 ? 1.0f : 0.0f;
}

__kernel void local_array(__global float *results)
{
    __local uint shared[LOCAL / 4];
    results[get_global_id(0)] = shared_is_whole(shared, LOCAL / 4);
}

__kernel void local_argument(__global float *results, __local uint *shared, uint words)
{
    results[get_global_id(0)] = shared_is_whole(shared, words);
}

/* Work-groups of one item, all along y or all along z: each writes its number. */
__kernel void far_groups(__global uint *seen)
{
    const uint number = (uint)(get_group_id(1) + get_group_id(2));
    seen[number] = number + 1;
}

typedef struct walk {
    long stride[8];
    int size[8];
    int rank, again;
} walk;

/* A struct of arguments whose arrays are indexed by a variable, as kernels of many dimensions do: a
 * compiler may read it where it lies, or copy it into the memory of every work-item. */
__kernel void argument_stack(__global float *results, walk w)
{
    const uint id = (uint)get_global_id(0);
    uint rest = id;
    long at = 0;
    for (int d = 0; d < w.rank; d++) {
        at += (long)(rest % (uint)w.size[d]) * w.stride[d];
        rest /= (uint)w.size[d];
    }
    results[id] = at == (long)id ? 1.0f : 0.0f;
}
