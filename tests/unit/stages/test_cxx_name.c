/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions from their symbols: every form, what is no function, spoiled ones; words of patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "config/cxx_name.h"

static const struct {
    const char *symbol, *name; /* NULL: none */
} names[] = {
    {"_Z4workv", "work"},
    {"_ZN3vae6decodeERK6Tensori", "vae::decode"},
    {"_ZNK3net5ModelclEv", "net::Model::operator()"},
    {"_ZN3net5Model3runIiNS_4ViewEEEvT_T0_", "net::Model::run"},
    {"_ZN3fooIiE3barILi3ELb1EEEvv", "foo::bar"},
    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back"},
    {"_ZNSs6appendEPKc", "std::basic_string::append"},
    {"_ZStlsIcEvv", "std::operator<<"},
    {"_ZlsRSoRK5Image", "operator<<"},
    {"_ZnwmRK4Pool", "operator new"},
    {"_ZdaPv", "operator delete[]"},
    {"_ZNK5ImagecvbEv", "Image::operator cast"},
    {"_ZNK5ImagecvRKSt6vectorIiSaIiEEEv", "Image::operator cast"},
    {"_Zli2_xPKc", "operator\"\" _x"},
    {"_ZN5ImageC2ERKS_", "Image::Image"},
    {"_ZN5ImageD0Ev", "Image::~Image"},
    {"_ZN4TreeIiEC1Ev", "Tree::Tree"},
    {"_ZN12_GLOBAL__N_14stepEv", "(anonymous namespace)::step"},
    {"_ZZN3vae6decodeEiENKUliE0_clEi", "vae::decode::{lambda#2}::operator()"},
    {"_ZZN3vae6decodeEiENUlvE_4_FUNEv", "vae::decode::{lambda#1}::_FUN"},
    {"_ZZ4mainENUt_3runEv", "main::{unnamed type#1}::run"},
    {"_ZZN1A1fEvEN1B1gEv", "A::f::B::g"},
    {"_ZN1AUt0_1fEv", "A::{unnamed type#2}::f"},
    {"_ZZN1A1fEiEd_NKUlvE_clEv", "A::f::{default arg#1}::{lambda#1}::operator()"},
    {"_ZN4TaskB5cxx113runB3abcEv", "Task::run"},
    {"_ZL6hiddenv", "hidden"},
    {"_ZN3netL6hiddenEv", "net::hidden"},
    {"_ZThn16_N3net5Model3runEv", "net::Model::run"},
    {"_ZTv0_n24_N3net5Model3runEv", "net::Model::run"},
    {"_ZTchn8_h16_N3net5Model5cloneEv", "net::Model::clone"},
    {"_ZN3vae6decodeEi.cold", "vae::decode"},
    {"_ZN3vae6decodeEi.constprop.0", "vae::decode"},
    {"_ZN1fIXadL_Z1gvEEE1hEv", "f::h"},                           /* the address of a function as an argument */
    {"_ZN1fIXplT_Li2EEE1hEv", "f::h"},                            /* a sum */
    {"_ZN1fIJidEE1hEv", "f::h"},                                  /* a pack */
    {"_ZN3fooIXsr3std7is_sameIT_iE5valueEE3barEv", "foo::bar"},   /* a name that depends on a parameter */
    {"_ZN3fooIPFvRKSt4pairIiS1_EzEE3barEv", "foo::bar"},          /* pointer to function */
    {"_ZN3fooIMS_KFivEA4_A_dE3barEv", "foo::bar"},                /* pointer to member, arrays */
    {"_ZN3fooIDv4_fDnDpT_E3barEv", "foo::bar"},                   /* vector, nullptr, expansion */
    {"_ZN3fooIDTcl1gfp_EEE3barEv", "foo::bar"},                   /* decltype of a call */
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place::h0123456789abcdef"}, /* Rust */
    /* no functions, or none that can be told */
    {"work", NULL},
    {"_Z", NULL},
    {"_ZTV5Image", NULL},
    {"_ZGVZ4mainE1x", NULL},
    {"_ZN", NULL},
    {"_ZN3vae", NULL},
    {"_ZN3vae9decodeEi", NULL},    /* shorter than it says */
    {"_ZN99999999999vaeEv", NULL},
    {"_ZN3fooI3barEv", NULL},      /* never closed */
    {"_ZNS0_3barEv", NULL},        /* begins with what is not known */
};

static void test_names(void **state)
{
    char name[ST_CXX_NAME_BYTES];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool is_known = st_cxx_name(names[i].symbol, name, sizeof(name));
        if (!names[i].name && is_known) fail_msg("%s: %s", names[i].symbol, name);
        if (names[i].name && !is_known) fail_msg("%s: not understood", names[i].symbol);
        if (names[i].name) assert_string_equal(name, names[i].name);
    }
}

/* Only where no structure can be on the stack. */
static void test_small_arguments(void **state)
{
    static const char *const small[] = {"_Z4workv", "_ZN3vae6decodeERK6Tensori", "_Z1fPFvNS_1AEE", "_Z1fdegnoDnPKc",
                                        "_ZNK3net5ModelclEv", "_Z1fM1AFivE", "_ZN3fooIiE3barEOS0_", "_Z1fKxVj"};
    static const char *const open[] = {"work", "_Z4work6Tensor", "_ZN3vae6decodeENS_6TensorE", "_Z1fSs", "_Z1fiz",
                                       "_Z1fIiEvT_", "_Z1fiSt6vectorIiSaIiEE", "_Z1fDpT_", "_ZTV1A", "_Z1fi6Tensor",
                                       "_Z1fDv4_f", "_Z1fCd", "_Z1f9", "_Z1fK6Tensor"};

    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
        if (!st_cxx_has_small_arguments(small[i])) fail_msg("%s", small[i]);
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        if (st_cxx_has_small_arguments(open[i])) fail_msg("%s", open[i]);
}

static void test_room(void **state)
{
    char name[16];

    assert_true(st_cxx_name("_ZN3vae9decode_itEv", name, sizeof(name)));
    assert_string_equal(name, "vae::decode_it");
    assert_false(st_cxx_name("_ZN3vae11decode_it_xEv", name, sizeof(name)));
    assert_false(st_cxx_name("_ZN3vae6decodeEv", name, 0));
}

/* Any bytes, and nesting without end: no crash, no endless loop. */
static void test_spoiled(void **state)
{
    static char symbol[4096];
    char name[ST_CXX_NAME_BYTES];

    srand(7);
    for (int round = 0; round < 200000; round++) {
        const char *from = names[(size_t)rand() % (sizeof(names) / sizeof(names[0]))].symbol;
        size_t length = strlen(from);
        memcpy(symbol, from, length + 1);
        for (int i = 0; i < 3; i++) {
            static const char letters[] = "NESIJXLTZDCFUQRK_0123sradtclfpn";
            symbol[2 + (size_t)rand() % length] = letters[(size_t)rand() % (sizeof(letters) - 1)];
        }
        symbol[length] = '\0';
        if (st_cxx_name(symbol, name, sizeof(name))) assert_true(strlen(name) < sizeof(name));
    }
    static const char *const openings[] = {"N1aI", "Z", "P", "F", "XpsL", "DT", "J", "St3aI", "Ul", "srN"};
    for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
        strcpy(symbol, "_ZN1aI");
        while (strlen(symbol) + 8 < sizeof(symbol)) strcat(symbol, openings[i]);
        assert_false(st_cxx_name(symbol, name, sizeof(name)));
    }
}

static void assert_key(const char *pattern, const char *wanted)
{
    const char *key = "";
    size_t length = st_cxx_pattern_key(pattern, &key);

    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(key, wanted, length);
}

/* What a pattern's symbols must contain: never a part that a symbol spells otherwise. */
static void test_keys(void **state)
{
    assert_key("vae::decode*", "decode");
    assert_key("*decode_first_stage*", "decode_first_stage");
    assert_key("vae_decode", "vae_decode");
    assert_key("std::string::*", "");
    assert_key("(anonymous namespace)::step", "step");
    assert_key("*::operator()", "");
    assert_key("vae::{lambda#2222}::operator()", "vae");
    assert_key("*", "");
    assert_key("std::vector::push_back", "push_back");
    assert_key("?ecode", "ecode");
}

static void test_matches(void **state)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];

    assert_true(st_cxx_matches("_ZN3vae*", "_ZN3vae6decodeEv", "vae::decode", NULL));
    assert_true(st_cxx_matches("vae::*", "_ZN3vae6decodeEv", "vae::decode", captures));
    assert_int_equal(captures[0].length, 6);
    assert_memory_equal(captures[0].begin, "decode", 6);
    assert_false(st_cxx_matches("vae::*", "_ZN3vae6decodeEv", NULL, NULL));
    assert_false(st_cxx_matches("vae", "_ZN3vae6decodeEv", "vae::decode", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_small_arguments),
                                       cmocka_unit_test(test_room),
                                       cmocka_unit_test(test_spoiled), cmocka_unit_test(test_keys),
                                       cmocka_unit_test(test_matches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
