/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simgpu reads of images that nvcc made of images.cu: the same names, parameters and variables of each kind, and
 * of damaged ones whatever is left, without a crash. usage: image_cases CUBIN FATBIN COMPRESSED_FATBIN PTX
 */
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"

enum { PAGE = 4096, MUTATIONS = 3000 };

struct image {
    char *bytes;
    size_t size;
};

/* The last byte lies before a page that cannot be read. `ended`: by a zero, as a text must be. */
static struct image read_image(const char *path, bool ended)
{
    FILE *file = fopen(path, "rb");
    struct image image;
    size_t room;
    char *memory;

    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    image.size = (size_t)ftell(file) + ended;
    rewind(file);
    room = (image.size + PAGE - 1) / PAGE * PAGE;
    memory = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && mprotect(memory + room, PAGE, PROT_NONE) == 0);
    image.bytes = memory + room - image.size;
    REQUIRE(fread(image.bytes, 1, image.size - ended, file) == image.size - ended);
    fclose(file);
    return image;
}

static void check_params(CUmodule module, const char *name, unsigned count, const size_t (*wanted)[2])
{
    size_t offset, bytes;
    CUfunction function;

    OK(cuModuleGetFunction(&function, module, name));
    for (unsigned i = 0; i < count; i++) {
        OK(cuFuncGetParamInfo(function, i, &offset, &bytes));
        if (offset != wanted[i][0] || bytes != wanted[i][1]) {
            fprintf(stderr, "%s, parameter %u: %zu bytes at %zu\n", name, i, bytes, offset);
            exit(1);
        }
    }
    REQUIRE_RESULT(cuFuncGetParamInfo(function, count, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
}

static void check_kernels(CUmodule module)
{
    static const size_t unet[][2] = {{0, 8}, {8, 4}, {12, 24}, {40, 8}};
    static const size_t mixed[][2] = {{0, 4}, {4, 1}, {6, 2}, {8, 8}, {16, 3000}};
    static const size_t last[] = {312, 8};
    CUfunction functions[8] = {0}, function;
    size_t offset, bytes;
    unsigned count;

    OK(cuModuleGetFunctionCount(&count, module));
    REQUIRE(count == 4);
    OK(cuModuleEnumerateFunctions(functions, 8, module));
    REQUIRE(functions[3] != NULL && functions[4] == NULL);
    check_params(module, "wait_3ms", 0, NULL);
    check_params(module, "_Z8unet_2msPfi8settingsd", 4, unet);
    check_params(module, "mixed", 5, mixed);
    OK(cuModuleGetFunction(&function, module, "many"));
    OK(cuFuncGetParamInfo(function, 39, &offset, &bytes));
    REQUIRE(offset == last[0] && bytes == last[1]);
    REQUIRE_RESULT(cuModuleGetFunction(&function, module, "not_there"), CUDA_ERROR_NOT_FOUND);
    REQUIRE_RESULT(cuModuleGetFunction(&function, module, "_Z6helperi"), CUDA_ERROR_NOT_FOUND);
}

static void check_variables(CUlibrary library, CUmodule module)
{
    static const struct {
        const char *name;
        size_t bytes;
    } variables[] = {{"table", 64}, {"limits", 24}, {"counter", 4}, {"started", 4}};
    CUdeviceptr address;
    size_t bytes;
    int managed;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        OK(cuModuleGetGlobal_v2(&address, &bytes, module, variables[i].name));
        REQUIRE(bytes == variables[i].bytes);
    }
    REQUIRE_RESULT(cuModuleGetGlobal_v2(&address, &bytes, module, "shared"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryGetManaged(&address, &bytes, library, "counter"));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    REQUIRE(managed == 1 && bytes == 4);
    REQUIRE_RESULT(cuLibraryGetManaged(&address, &bytes, library, "table"), CUDA_ERROR_NOT_FOUND);
}

static void check_image(const char *path, bool text)
{
    struct image image = read_image(path, text);
    CUlibrary library;
    CUkernel kernels[4];
    CUmodule module;
    unsigned count;

    OK(cuLibraryLoadData(&library, image.bytes, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetModule(&module, library));
    check_kernels(module);
    check_variables(library, module);
    OK(cuLibraryGetKernelCount(&count, library));
    REQUIRE(count == 4);
    OK(cuLibraryEnumerateKernels(kernels, 4, library));
    OK(cuLibraryUnload(library));
    OK(cuModuleLoad(&module, path));
    check_kernels(module);
    OK(cuModuleUnload(module));
}

/* Nobody looks into it: it has what is asked for. Through the structure by which a program refers to it. */
static void check_compressed(const char *path)
{
    struct image image = read_image(path, false);
    struct {
        uint32_t magic, version;
        const void *data, *more;
    } wrapper = {0x466243b1, 1, image.bytes, NULL};
    CUfunction function;
    CUdeviceptr address;
    CUmodule module;
    size_t bytes;

    OK(cuModuleLoadFatBinary(&module, &wrapper));
    OK(cuModuleGetFunction(&function, module, "whatever_1ms"));
    OK(cuModuleGetGlobal_v2(&address, &bytes, module, "something"));
    OK(cuModuleUnload(module));
    wrapper.data = NULL;
    REQUIRE_RESULT(cuModuleLoadFatBinary(&module, &wrapper), CUDA_ERROR_INVALID_IMAGE);
}

/* Everything at once: what comes out has the names of all that went in. */
static void check_linked(char **paths)
{
    static char own[] = ".version 8.0\n.visible .entry extra_1ms(.param .u16 a, .param .u64 b) { ret; }\n";
    static const size_t params[][2] = {{0, 2}, {8, 8}};
    struct image image = read_image(paths[1], false);
    char log[16] = "not touched";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof(log)}, *linked;
    CUlinkState state;
    CUmodule module;
    unsigned count;
    size_t bytes;

    OK(cuLinkCreate_v2(2, options, values, &state));
    REQUIRE(log[0] == '\0' && values[1] == NULL);
    REQUIRE_RESULT(cuLinkComplete(state, &linked, &bytes), CUDA_ERROR_INVALID_VALUE); /* nothing to link */
    OK(cuLinkAddFile_v2(state, CU_JIT_INPUT_CUBIN, paths[0], 0, NULL, NULL));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_FATBINARY, image.bytes, image.size, "second", 0, NULL, NULL));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, own, sizeof(own), NULL, 0, NULL, NULL));
    OK(cuLinkComplete(state, &linked, &bytes));
    REQUIRE(bytes > image.size);
    OK(cuModuleLoadDataEx(&module, linked, 0, NULL, NULL));
    OK(cuLinkDestroy(state));
    REQUIRE_RESULT(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleGetFunctionCount(&count, module));
    REQUIRE(count == 5);
    check_params(module, "extra_1ms", 2, params);
    OK(cuModuleUnload(module));

    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    REQUIRE_RESULT(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "not there", 0, NULL, NULL), CUDA_ERROR_FILE_NOT_FOUND);
    own[1] = 'x';
    REQUIRE_RESULT(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, own, sizeof(own), NULL, 0, NULL, NULL),
                   CUDA_ERROR_INVALID_PTX);
    REQUIRE_RESULT(cuLinkAddData_v2(state, CU_JIT_INPUT_FATBINARY, image.bytes, image.size - 1, NULL, 0, NULL, NULL),
                   CUDA_ERROR_INVALID_IMAGE);
    OK(cuLinkDestroy(state));
}

static void use(CUmodule module)
{
    CUfunction functions[64] = {0};
    size_t offset, bytes;
    unsigned count;

    OK(cuModuleGetFunctionCount(&count, module));
    OK(cuModuleEnumerateFunctions(functions, 64, module));
    for (unsigned i = 0; i < 64 && functions[i] != NULL; i++) {
        const char *name;

        OK(cuFuncGetName(&name, functions[i]));
        REQUIRE(strlen(name) > 0);
        for (size_t param = 0; cuFuncGetParamInfo(functions[i], param, &offset, &bytes) == CUDA_SUCCESS; param++) {
            REQUIRE(bytes > 0);
        }
    }
    OK(cuModuleUnload(module));
}

/* The same damage in every run: some bytes anywhere, or one number made very large. */
static void check_damaged(const char *path)
{
    struct image image = read_image(path, false);
    char *whole = malloc(image.size);
    uint64_t state = 88172645463325252ull;
    unsigned loaded = 0;
    CUmodule module;

    REQUIRE(whole != NULL);
    memcpy(whole, image.bytes, image.size);
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(image.bytes, whole, image.size);
        for (unsigned n = 0; n <= i % 8u; n++) {
            size_t at;

            state = state * 6364136223846793005ull + 1442695040888963407ull;
            at = (state >> 33) % (i % 2 == 0 ? image.size : 4096 < image.size ? 4096 : image.size);
            image.bytes[at] = (char)(i % 3 == 0 ? 0xff : state >> 25);
            if (i % 5 == 0 && at + 8 <= image.size) {
                memset(image.bytes + at, 0xff, 8);
            }
        }
        if (cuModuleLoadData(&module, image.bytes) == CUDA_SUCCESS) {
            loaded++;
            use(module);
        }
    }
    REQUIRE(loaded > MUTATIONS / 2);
    free(whole);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 5);
    start();
    for (int i = 1; i < argc; i++) {
        if (i != 3) {
            check_image(argv[i], i == 4);
        }
    }
    check_compressed(argv[3]);
    check_linked(argv + 1);
    check_damaged(argv[1]);
    check_damaged(argv[2]);
    return 0;
}
