/* SPDX-License-Identifier: Apache-2.0 */
/* An older program: linked with libnvToolsExt, which it calls before CUDA is loaded. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int nvtxRangePushA(const char *text);
int nvtxRangePop(void);
uint64_t nvtxRangeStartA(const char *text);
void nvtxRangeEnd(uint64_t range);

int main(void)
{
    void *library;
    int (*init)(unsigned int) = NULL;
    uint64_t range;

    nvtxRangePushA("first of all");
    nvtxRangePop();
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library)
        *(void **)&init = dlsym(library, "cuInit");
    printf("cuInit %d\n", init ? init(0) : -1);
    nvtxRangePushA("request");
    nvtxRangePushA("encode");
    nvtxRangePop();
    range = nvtxRangeStartA("decode");
    nvtxRangeEnd(range);
    nvtxRangePop();
    return 0;
}
