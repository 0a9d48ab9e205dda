/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a rule could match: counted by source, cut, bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "preload/stages/seen.h"

static uint64_t count_of(enum st_map_source source, const char *text)
{
    enum st_map_source found;
    uint64_t count, sum = 0;
    const char *name;
    for (uint32_t n = 0; st_seen_get(n, &found, &count, &name); n++) {
        sum += found == source && strcmp(name, text) == 0 ? count : 0;
    }
    return sum;
}

static void names_are_counted(void **state)
{
    st_seen_note(ST_MAP_NVTX, "denoise");
    st_seen_note(ST_MAP_NVTX, "denoise");
    st_seen_note(ST_MAP_PYTHON, "denoise");
    assert_int_equal(count_of(ST_MAP_NVTX, "denoise"), 2);
    assert_int_equal(count_of(ST_MAP_PYTHON, "denoise"), 1);
    assert_int_equal(count_of(ST_MAP_SYMBOL, "denoise"), 0);
}

static void long_names_are_cut(void **state)
{
    char text[300], cut[ST_SEEN_NAME_BYTES] = "";
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    memcpy(cut, text, sizeof(cut) - 1);
    st_seen_note(ST_MAP_SYMBOL, text);
    assert_int_equal(count_of(ST_MAP_SYMBOL, cut), 1);
}

static void too_many_are_untold(void **state)
{
    char text[32];
    for (int i = 0; i < ST_SEEN_NAMES; i++) {
        snprintf(text, sizeof(text), "range %d", i);
        st_seen_note(ST_MAP_NVTX, text);
    }
    assert_int_equal(st_seen_untold(), 3); /* the names of the tests above have their places */
    assert_int_equal(count_of(ST_MAP_NVTX, "range 0"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_counted),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(too_many_are_untold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
