/* SPDX-License-Identifier: Apache-2.0 */
/* The call table: finding rows, judging look-ups by version, and what is decoded from argument words. */
#include <stdio.h>
#include <string.h>

#include "preload/calls/calls.h"
#include "preload/calls/place.h"

static int failures;

static void check(int ok, const char *what, int line)
{
    if (!ok) {
        printf("test_calls.c:%d: %s\n", line, what);
        failures++;
    }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

static void test_find(void)
{
    for (int i = 0; i < st_call_count; i++) {
        /* no name twice, but for rows of one provider's major versions, oldest first */
        int first = st_call_find(st_calls[i].name);
        CHECK(first == i || (first >= 0 && first < i && st_calls[first].until != 0 &&
                             (st_calls[i].until == 0 || st_calls[i].until > st_calls[first].until)));
        CHECK((st_calls[i].layer == ST_LAYER_DRIVER) == (strncmp(st_calls[i].name, "cuda", 4) != 0 &&
                                                         strncmp(st_calls[i].name, "__cuda", 6) != 0));
        CHECK((st_calls[i].layer == ST_LAYER_DRIVER) == (st_calls[i].since != 0));
        size_t length = strlen(st_calls[i].name);
        const char *end = st_calls[i].name + length - 5;
        CHECK((st_calls[i].per_thread != 0) == (strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0));
    }
    CHECK(st_call_find("cuNoSuchThing") < 0);
    CHECK(st_call_find("") < 0);
    CHECK(st_call_find("malloc") < 0);
}

static void test_majors(void)
{
    static const char *const names[] = {"cudaMemcpyBatchAsync", "cudaMemcpyBatchAsync_ptsz", "cudaMemcpy3DBatchAsync",
                                        "cudaMemcpy3DBatchAsync_ptsz"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int old = st_call_find(names[i]), new = st_call_find_for(names[i], 13);
        CHECK(old >= 0 && new > old && strcmp(st_calls[new].name, names[i]) == 0);
        CHECK(st_call_find_for(names[i], 11) == old && st_call_find_for(names[i], 12) == old);
        CHECK(st_call_find_for(names[i], 14) == new && st_call_find_for(names[i], 0) == new);
        CHECK(st_calls[old].words == st_calls[new].words + 1 && st_calls[old].d != st_calls[new].d);
    }
    CHECK(st_call_find_for("cudaMalloc", 12) == st_call_find("cudaMalloc"));
    CHECK(st_call_find_for("cudaNoSuchThing", 12) < 0);
}

static const char *asked(const char *symbol, int version, uint64_t flags)
{
    int call = st_call_find_version(symbol, version, flags);
    return call < 0 ? "none" : st_calls[call].name;
}

static void test_versions(void)
{
    static const struct {
        const char *symbol;
        int version;
        uint64_t flags;
        const char *want;
    } cases[] = {
        {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
        {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
        {"cuMemcpyHtoD", 2000, 0, "cuMemcpyHtoD"},
        {"cuMemcpyHtoD", 3020, 0, "cuMemcpyHtoD_v2"},
        {"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
        {"cuMemcpyHtoD", 6000, 2, "cuMemcpyHtoD_v2"},
        {"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
        {"cuLaunchKernel", 13000, 2, "cuLaunchKernel_ptsz"},
        {"cuLaunchKernel", 3000, 0, "none"},
        {"cuLaunchKernel", 13010, 0, "none"},
        {"cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"},
        {"cuStreamGetCaptureInfo", 11030, 2, "cuStreamGetCaptureInfo_v2_ptsz"},
        {"cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3"},
        {"cuCtxSynchronize", 12080, 0, "cuCtxSynchronize"},
        {"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
        {"cuEventSynchronize", 13000, 2, "cuEventSynchronize"},
        {"cuMemcpy", 13000, 0, "cuMemcpy"},
        {"cuMemcpyBatchAsync", 12080, 2, "cuMemcpyBatchAsync_ptsz"},
        {"cudaMalloc", 13000, 0, "none"},
        {"cuNoSuchThing", 13000, 0, "none"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *got = asked(cases[i].symbol, cases[i].version, cases[i].flags);
        if (strcmp(got, cases[i].want) != 0) {
            printf("%s %d flags %d: %s, not %s\n", cases[i].symbol, cases[i].version, (int)cases[i].flags, got,
                   cases[i].want);
            failures++;
        }
    }
}

/* Words 0, 1, 2 … as the thunk lays them out. */
static const uint64_t *frame_of(const uint64_t *words, int count)
{
    static uint64_t frame[ST_CALL_FRAME_STACK + 16];
    memset(frame, 0xee, sizeof(frame));
    for (int i = 0; i < count; i++) {
        frame[i < ST_CALL_REGISTER_WORDS ? i : i - ST_CALL_REGISTER_WORDS + ST_CALL_FRAME_STACK] = words[i];
    }
    return frame;
}

static void expect(const char *name, const uint64_t *words, int count, int result, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t d, uint32_t direction)
{
    struct st_call_note note = {.flags = ST_CALL_INNER};
    int call = st_call_find(name);
    if (call < 0) {
        printf("%s: no such row\n", name);
        failures++;
        return;
    }
    st_call_decode(&st_calls[call], frame_of(words, count), result, &note);
    if (note.a != a || note.b != b || note.c != c || note.d != d ||
        note.flags != (ST_CALL_INNER | direction << ST_CALL_DIRECTION_SHIFT)) {
        printf("%s result %d: a %llx b %llx c %llx d %llx flags %x\n", name, result, (unsigned long long)note.a,
               (unsigned long long)note.b, (unsigned long long)note.c, (unsigned long long)note.d, note.flags);
        failures++;
    }
}
#define WORDS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8
#define AT(object) (uint64_t)(uintptr_t)(object)

static void test_plain(void)
{
    uint64_t out = 0xabcdef0123456789, pitch = 512;
    const uint64_t garbage = 0xdeadbeef00000000; /* upper halves of 32-bit arguments are anything */
    expect("cuLaunchKernel", WORDS(0xf, 1, 2, 3, 4, 5, 6, 7, 0x55, 9, 10), 0, 0xf, 0x55, 0, 0, 0);
    expect("cuLaunchKernel_ptsz", WORDS(0xf, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10), 0, 0xf, 2, 0, 0, 0);
    expect("cudaLaunchKernel", WORDS(0xf, 1, 2, 3, 4, 5, 6, 0x77), 0, 0xf, 0x77, 0, 0, 0);
    expect("__cudaLaunchKernel_ptsz", WORDS(0xf, 1, 2, 3, 4, 5, 6, 0), 0, 0xf, 2, 0, 0, 0);
    expect("cuMemcpyDtoHAsync_v2", WORDS(1, 2, 300, 4), 0, 1, 2, 300, 4, ST_DIR_D2H);
    expect("cuMemcpyHtoD_v2", WORDS(1, 2, 300), 0, 1, 2, 300, 0, ST_DIR_H2D);
    expect("cuMemcpyHtoD_v2_ptds", WORDS(1, 2, 300), 0, 1, 2, 300, 2, ST_DIR_H2D);
    expect("cuMemcpyPeerAsync", WORDS(1, 10, 2, 20, 300, 5), 0, 1, 2, 300, 5, ST_DIR_P2P);
    expect("cudaMemcpy", WORDS(1, 2, 300, garbage | 2), 0, 1, 2, 300, 0, ST_DIR_D2H);
    expect("cudaMemcpyAsync", WORDS(1, 2, 300, 4, 5), 0, 1, 2, 300, 5, ST_DIR_UNKNOWN);
    expect("cudaMemcpyAsync", WORDS(1, 2, 300, 99, 5), 1, 1, 2, 300, 5, ST_DIR_UNKNOWN);
    expect("cudaMemcpy2DAsync", WORDS(1, 64, 2, 64, 30, 10, 1, 0x77), 0, 1, 2, 300, 0x77, ST_DIR_H2D);
    expect("cuMemsetD32Async", WORDS(1, garbage | 7, 100, 5), 0, 1, 7, 400, 5, 0);
    expect("cuMemsetD2D16_v2", WORDS(1, 64, 7, 30, 10), 0, 1, 7, 600, 0, 0);
    expect("cuMemAlloc_v2", WORDS(AT(&out), 4096), 0, out, 0, 4096, 0, 0);
    expect("cuMemAlloc_v2", WORDS(8, 4096), 2, 0, 0, 4096, 0, 0); /* failed: the pointer may be bad */
    expect("cuMemAlloc_v2", WORDS(0, 4096), 0, 0, 0, 4096, 0, 0);
    expect("cuMemAlloc", WORDS(AT(&out), garbage | 16), 0, (uint32_t)out, 0, 16, 0, 0);
    expect("cuMemAllocPitch_v2", WORDS(AT(&out), AT(&pitch), 500, 10, 4), 0, out, 0, 5120, 0, 0);
    expect("cuStreamWaitEvent", WORDS(5, 6, 0), 0, 6, 5, 0, 0, 0);
    expect("cuEventRecord", WORDS(5, 6), 0, 5, 6, 0, 0, 0);
    expect("cuEventRecord_ptsz", WORDS(5, 0), 0, 5, 2, 0, 0, 0);
    expect("cuStreamSynchronize_ptsz", WORDS(0), 0, 2, 0, 0, 0, 0);
    expect("cuStreamQuery", WORDS(9), 600, 9, 0, 0, 0, 0);
    expect("cudaSetDevice", WORDS(garbage | 3), 0, 3, 0, 0, 0, 0);
    expect("cuGraphLaunch", WORDS(3, 4), 0, 3, 4, 0, 0, 0);
    expect("cuLaunchHostFunc", WORDS(4, 0xf00, 1), 0, 0xf00, 4, 1, 0, 0);
    expect("cuLinkCreate_v2", WORDS(0, 0, 0, AT(&out)), 0, out, 0, 0, 0, 0);
}

/* By value and larger than 16 bytes: words on the stack, or the address of a copy. */
static void test_large_structures(void)
{
    uint64_t out = 0xabcdef0123456789;
#if defined(__aarch64__)
    uint64_t pitched[] = {1, 64, 64, 10}, extent[] = {30, 10, 2};
    expect("cudaMemset3DAsync", WORDS(AT(pitched), 7, AT(extent), 5), 0, 1, 7, 600, 5, 0);
    expect("cudaMalloc3D", WORDS(AT(&out), AT(extent)), 0, out, 0, 600, 0, 0);
#else
    expect("cudaMemset3DAsync", WORDS(7, 5, 0, 0, 0, 0, 1, 64, 64, 10, 30, 10, 2), 0, 1, 7, 600, 5, 0);
    expect("cudaMalloc3D", WORDS(AT(&out), 0, 0, 0, 0, 0, 30, 10, 2), 0, out, 0, 600, 0, 0);
#endif
}

static void test_structures(void)
{
    struct launch_config config = {.stream = 0x66};
    expect("cuLaunchKernelEx", WORDS(AT(&config), 0xf, 0, 0), 0, 0xf, 0x66, 0, 0, 0);
    expect("cudaLaunchKernelExC", WORDS(AT(&config), 0xf, 0), 0, 0xf, 0x66, 0, 0, 0);
    expect("cuLaunchKernelEx", WORDS(8, 0xf, 0, 0), 1, 0xf, 0, 0, 0, 0);
    config.stream = 0;
    expect("cuLaunchKernelEx_ptsz", WORDS(AT(&config), 0xf, 0, 0), 0, 0xf, 2, 0, 0, 0);

    struct copy_2d flat = {.source_type = 1, .source_host = (void *)0x10, .target_type = 2, .target_device = 0x20,
                           .width_bytes = 30, .height = 10};
    expect("cuMemcpy2DAsync_v2", WORDS(AT(&flat), 5), 0, 0x20, 0x10, 300, 5, ST_DIR_H2D);
    expect("cuMemcpy2D_v2", WORDS(AT(&flat)), 0, 0x20, 0x10, 300, 0, ST_DIR_H2D);
    expect("cuMemcpy2D_v2", WORDS(8), 1, 0, 0, 0, 0, 0);
    flat.source_type = 4;
    expect("cuMemcpy2DUnaligned_v2_ptds", WORDS(AT(&flat)), 0, 0x20, 0, 300, 2, ST_DIR_UNKNOWN);

    struct copy_3d solid = {.source_type = 3, .source_array = (void *)0x30, .target_type = 1,
                            .target_host = (void *)0x40, .width_bytes = 30, .height = 10, .depth = 2};
    expect("cuMemcpy3DAsync_v2", WORDS(AT(&solid), 5), 0, 0x40, 0x30, 600, 5, ST_DIR_D2H);
    expect("cuMemcpy3DPeerAsync", WORDS(AT(&solid), 5), 0, 0x40, 0x30, 600, 5, ST_DIR_P2P);

    struct copy_rt3d runtime = {.source = {.pointer = (void *)0x50}, .target_array = (void *)0x60,
                                .extent = {30, 10, 2}, .kind = 1};
    expect("cudaMemcpy3DAsync", WORDS(AT(&runtime), 5), 0, 0x60, 0x50, 600, 5, ST_DIR_H2D);
    struct copy_rt3d_peer peer = {.source = {.pointer = (void *)0x50}, .target = {.pointer = (void *)0x70},
                                  .extent = {30, 10, 1}};
    expect("cudaMemcpy3DPeer", WORDS(AT(&peer)), 0, 0x70, 0x50, 300, 0, ST_DIR_P2P);

    uint64_t targets[] = {1, 2}, sources[] = {3, 4}, sizes[] = {100, 200};
    expect("cuMemcpyBatchAsync_v2", WORDS(AT(targets), AT(sources), AT(sizes), 2, 0, 0, 0, 5), 0, 1, 3, 300, 5, 0);
    expect("cuMemcpyBatchAsync", WORDS(AT(targets), AT(sources), AT(sizes), 2, 0, 0, 0, 0, 5), 0, 1, 3, 300, 5, 0);
    expect("cuMemcpyBatchAsync_v2", WORDS(8, 8, 8, 2, 0, 0, 0, 5), 1, 0, 0, 0, 5, 0);
}

static void test_first_and_many(void)
{
    struct copy_2d_32 flat = {.source_type = 1, .source_host = (void *)0x10, .target_type = 2, .target_device = 0x20,
                              .width_bytes = 30, .height = 10};
    expect("cuMemcpy2DAsync", WORDS(AT(&flat), 5), 0, 0x20, 0x10, 300, 5, ST_DIR_H2D);
    expect("cuMemcpy2D", WORDS(8), 1, 0, 0, 0, 0, 0);
    struct copy_3d_32 solid = {.source_type = 3, .source_array = (void *)0x30, .target_type = 1,
                               .target_host = (void *)0x40, .width_bytes = 1u << 31, .height = 4, .depth = 2};
    expect("cuMemcpy3D", WORDS(AT(&solid)), 0, 0x40, 0x30, 1ull << 34, 0, ST_DIR_D2H);

    struct copy_3d_batch batch[2] = {
        {.source = {1, 0x50, {0}}, .target = {2, 0x60, {0}}, .extent = {30, 10, 2}},
        {.extent = {5, 4, 5}},
    };
    expect("cuMemcpy3DBatchAsync", WORDS(2, AT(batch), 0, 0, 5), 0, 0x60, 0x50, 700, 5, 0);
    expect("cuMemcpy3DBatchAsync_v2", WORDS(1, AT(batch), 0, 5), 0, 0x60, 0x50, 600, 5, 0);
    expect("cuMemcpy3DBatchAsync_v2_ptsz", WORDS(0, AT(batch), 0, 0), 0, 0, 0, 0, 2, 0);
    expect("cuMemcpy3DBatchAsync_v2", WORDS(2, 8, 0, 5), 1, 0, 0, 0, 5, 0);

    struct launch_multi launches[2] = {{.function = 0xf, .stream = 0x66}, {.function = 0xe, .stream = 0x77}};
    expect("cuLaunchCooperativeKernelMultiDevice", WORDS(AT(launches), 2, 0), 0, 0xf, 0x66, 0, 0, 0);
    expect("cuLaunchCooperativeKernelMultiDevice", WORDS(8, 2, 0), 1, 0, 0, 0, 0, 0);
    struct launch_rt_multi runtime = {.function = 0xf, .stream = 0x66};
    expect("cudaLaunchCooperativeKernelMultiDevice", WORDS(AT(&runtime), 1, 0), 0, 0xf, 0x66, 0, 0, 0);
}

static bool tells(const char *name, const uint64_t *words, int count, int result, uint64_t key, const char *text)
{
    uint64_t got_key = 0;
    const char *got = NULL;
    return st_call_name(&st_calls[st_call_find(name)], frame_of(words, count), result, &got_key, &got) &&
           got_key == key && strcmp(got, text) == 0;
}

static void test_names(void)
{
    uint64_t function = 0x100, kernel = 0x200, again = 0x300, unknown = 0x400;
    const char *name = "late";
    CHECK(tells("cuModuleGetFunction", WORDS(AT(&function), 1, AT("attention")), 0, 0x100, "attention"));
    CHECK(!tells("cuModuleGetFunction", WORDS(8, 1, AT("attention")), 500, 0x100, "attention"));
    CHECK(tells("cuLibraryGetKernel", WORDS(AT(&kernel), 1, AT("upsample")), 0, 0x200, "upsample"));
    CHECK(tells("cuKernelGetFunction", WORDS(AT(&again), 0x200), 0, 0x300, "upsample"));
    CHECK(!tells("cuKernelGetFunction", WORDS(AT(&unknown), 0x999), 0, 0x400, ""));
    CHECK(tells("cuFuncGetName", WORDS(AT(&name), 0x500), 0, 0x500, "late"));
    CHECK(tells("__cudaRegisterFunction", WORDS(1, 0x600, 2, AT("stub"), 4, 5, 6, 7, 8, 9), 0, 0x600, "stub"));
    CHECK(tells("cudaGetKernel", WORDS(AT(&unknown), 0x600), 0, 0x400, "stub"));
    /* a handle that is used again has its newest name */
    CHECK(tells("cuModuleGetFunction", WORDS(AT(&function), 1, AT("other")), 0, 0x100, "other"));
    CHECK(tells("cuKernelGetFunction", WORDS(AT(&again), 0x100), 0, 0x300, "other"));
    int kind;
    uint64_t key;
    const char *text;
    CHECK(st_call_early_name(0, &kind, &key, &text) && kind == ST_NAME_FUNCTION && key == 0x100 &&
          strcmp(text, "attention") == 0);
    CHECK(!st_call_early_name(1000, &kind, &key, &text));
    CHECK(!st_call_early_name(1u << 31, &kind, &key, &text));
}

int main(void)
{
    test_find();
    test_majors();
    test_versions();
    test_plain();
    test_large_structures();
    test_structures();
    test_first_and_many();
    test_names();
    printf("%d rows, %d failures\n", st_call_count, failures);
    return failures != 0;
}
