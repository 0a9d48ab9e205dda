/* SPDX-License-Identifier: Apache-2.0 */
/* Which preset a Python program is given, by the modules that it runs. Each case in a process of its own, as what was
 * recognised stays so; the presets are the real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/preset.h"
#include "preload/stages/recognise.h"

enum { RULES = 512, THREADS = 8 };

static struct st_map_rule rules[RULES];
static char arena[256 << 10];
static struct st_map map;
static uint8_t owners[RULES];

static void add_rules(void)
{
    map = (struct st_map){.rules = rules, .capacity = RULES, .arena = arena, .arena_bytes = sizeof(arena)};
    st_recognise_add_rules(&map, owners, RULES);
}

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Do all rules of the preset count, or none? */
static bool counts(const char *preset)
{
    int yes = 0, no = 0;
    for (uint32_t i = 0; i < map.count; i++) {
        if (strcmp(rules[i].origin, preset) != 0) continue;
        if (st_recognise_counts(owners[i])) yes++;
        else no++;
    }
    EXPECT((yes > 0) != (no > 0));
    return yes > 0;
}

static void in_child(void (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void rules_wait_for_their_module(void)
{
    struct st_recognised told;

    st_recognise_see("diffusers:<module>"); /* too early: nothing was taken in, so nothing is recognised */
    add_rules();
    EXPECT(map.count > 80 && map.count < RULES);
    for (uint32_t i = 0; i < map.count; i++) EXPECT(owners[i] > 0 && rules[i].source == ST_MAP_PYTHON);
    st_recognise_see("transformers.modeling_utils:PreTrainedModel.from_pretrained");
    st_recognise_see("mydiffusers:<module>");
    st_recognise_see("diffusers_extras.loop:run");
    st_recognise_see("__main__:diffusers.run");
    st_recognise_see("modules.processing:<module>"); /* a package that many programs have */
    EXPECT(st_recognise_count() == 0);
    st_recognise_tell(&told);
    EXPECT(strcmp(told.names, "") == 0 && strcmp(told.why, "") == 0 && strcmp(told.checked, "") == 0);
    EXPECT(!counts("diffusers"));

    st_recognise_see("diffusers.utils.logging:get_logger");
    st_recognise_see("diffusers:<module>");
    EXPECT(st_recognise_count() == 1);
    EXPECT(counts("diffusers") && !counts("comfyui") && !counts("webui") && !counts("onnx"));
    st_recognise_tell(&told);
    EXPECT(strcmp(told.names, "diffusers") == 0);
    EXPECT(strcmp(told.why, "module diffusers.utils.logging was imported") == 0);
    EXPECT(strncmp(told.checked, "diffusers 0.30.0 ", 17) == 0);
}

/* Its pipelines are those of diffusers: both count, in the order of their names. */
static void presets_go_together(void)
{
    struct st_recognised told;

    add_rules();
    st_recognise_see("optimum.onnxruntime:<module>");
    st_recognise_see("diffusers:<module>");
    EXPECT(counts("diffusers") && counts("onnx"));
    st_recognise_tell(&told);
    EXPECT(strcmp(told.names, "diffusers+onnx") == 0);
    EXPECT(strcmp(told.why, "module diffusers was imported, module optimum.onnxruntime was imported") == 0);
    EXPECT(strstr(told.checked, "; optimum-onnx ") != NULL);
}

/* A program that uses diffusers has loops of its own. */
static void programs_stand_over_libraries(void)
{
    struct st_recognised told;

    add_rules();
    st_recognise_see("diffusers:<module>");
    EXPECT(counts("diffusers"));
    st_recognise_see("invokeai.app.run_app:run_app");
    EXPECT(!counts("diffusers") && counts("invokeai"));
    st_recognise_tell(&told);
    EXPECT(strcmp(told.names, "invokeai") == 0);
}

static void programs_stand_over_later_libraries(void)
{
    add_rules();
    st_recognise_see("comfy.options:<module>");
    st_recognise_see("/srv/ComfyUI/custom_nodes/SwarmComfyCommon.SwarmKSampler:<module>");
    st_recognise_see("diffusers:<module>");
    EXPECT(!counts("diffusers") && counts("comfyui") && counts("swarmui"));
}

static pthread_barrier_t barrier;

static void *see_one(void *number)
{
    static const char *const MODULES[] = {"diffusers:f", "modules.sd_models:f", "comfy:f", "invokeai:f"};
    pthread_barrier_wait(&barrier);
    st_recognise_see(MODULES[(uintptr_t)number % 4]);
    return NULL;
}

static void threads_agree(void)
{
    pthread_t threads[THREADS];

    add_rules();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, see_one, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    EXPECT(st_recognise_count() == 4);
    EXPECT(!counts("diffusers") && counts("webui") && counts("comfyui") && counts("invokeai"));
}

static void test_cases(void **state)
{
    in_child(rules_wait_for_their_module);
    in_child(presets_go_together);
    in_child(programs_stand_over_libraries);
    in_child(programs_stand_over_later_libraries);
    for (int i = 0; i < 50; i++) in_child(threads_agree);
}

/* A kept answer of st_stages_match() must stay right: no function has rules of two presets. */
static void test_no_rule_twice(void **state)
{
    add_rules();
    for (uint32_t i = 0; i < map.count; i++)
        for (uint32_t k = i + 1; k < map.count; k++)
            if (owners[i] != owners[k] && st_map_glob(rules[i].pattern, rules[k].pattern, NULL))
                fail_msg("'%s' (%s) also matches '%s' (%s)", rules[i].text, rules[i].origin, rules[k].text,
                         rules[k].origin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_no_rule_twice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
