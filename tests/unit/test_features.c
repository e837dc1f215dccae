/* Tests the processor's features and brand. */
#include "common/testing.h"

#include "base/processor.h"
#include "base/platform.h"

TEST(features)
{

    assert_true(tn_processor_has("fpu avx512_vnni avx512vl", "avx512vl avx512_vnni"));
    assert_true(tn_processor_has("fpu", "fpu"));
    assert_true(tn_processor_has("", ""));
    assert_false(tn_processor_has("", "fpu"));
    assert_false(tn_processor_has("fpu avx512_vnni", "avx512_vnni avx512vl"));
    assert_false(tn_processor_has("avx512_vnni2 xavx512_vnni", "avx512_vnni"));
    assert_false(tn_processor_has("avx512_vnn", "avx512_vnni"));
}

TEST(own_features_and_brand)
{
    char brand[129], features[8192], text[256];
    tn_processor_facts(brand, sizeof brand, features, sizeof features);
    assert_true(tn_processor_has(NULL, features));
    assert_false(tn_processor_has(NULL, "no_such_feature"));
    snprintf(text, sizeof text, "device-%s (2 cores)", brand);
    assert_int_equal(tn_processor_is_in(text), brand[0] != '\0');
    assert_false(tn_processor_is_in(""));
}
