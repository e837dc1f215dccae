/* The tensors of TN_ENTRIES, up to eight: as parameters, and v[0], v[1], … for as many. */
#ifndef TN_DISPATCH_TENSOR_LIST_H
#define TN_DISPATCH_TENSOR_LIST_H

#define TN_TENSORS_1(x)      const tenon_tensor *x
#define TN_TENSORS_2(x, ...) TN_TENSORS_1(x), TN_TENSORS_1(__VA_ARGS__)
#define TN_TENSORS_3(x, ...) TN_TENSORS_1(x), TN_TENSORS_2(__VA_ARGS__)
#define TN_TENSORS_4(x, ...) TN_TENSORS_1(x), TN_TENSORS_3(__VA_ARGS__)
#define TN_TENSORS_5(x, ...) TN_TENSORS_1(x), TN_TENSORS_4(__VA_ARGS__)
#define TN_TENSORS_6(x, ...) TN_TENSORS_1(x), TN_TENSORS_5(__VA_ARGS__)
#define TN_TENSORS_7(x, ...) TN_TENSORS_1(x), TN_TENSORS_6(__VA_ARGS__)
#define TN_TENSORS_8(x, ...) TN_TENSORS_1(x), TN_TENSORS_7(__VA_ARGS__)

#define TN_VIEWS_1 v[0]
#define TN_VIEWS_2 TN_VIEWS_1, v[1]
#define TN_VIEWS_3 TN_VIEWS_2, v[2]
#define TN_VIEWS_4 TN_VIEWS_3, v[3]
#define TN_VIEWS_5 TN_VIEWS_4, v[4]
#define TN_VIEWS_6 TN_VIEWS_5, v[5]
#define TN_VIEWS_7 TN_VIEWS_6, v[6]
#define TN_VIEWS_8 TN_VIEWS_7, v[7]

#define TN_NINTH(x1, x2, x3, x4, x5, x6, x7, x8, x9, ...) x9

#define TN_TENSORS(...)                                                                            \
    TN_NINTH(__VA_ARGS__, TN_TENSORS_8, TN_TENSORS_7, TN_TENSORS_6, TN_TENSORS_5, TN_TENSORS_4,    \
             TN_TENSORS_3, TN_TENSORS_2, TN_TENSORS_1, 0)                                          \
    (__VA_ARGS__)
#define TN_VIEWS(...)                                                                              \
    TN_NINTH(__VA_ARGS__, TN_VIEWS_8, TN_VIEWS_7, TN_VIEWS_6, TN_VIEWS_5, TN_VIEWS_4, TN_VIEWS_3,  \
             TN_VIEWS_2, TN_VIEWS_1, 0)

#endif
