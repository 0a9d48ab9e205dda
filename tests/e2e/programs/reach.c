/* SPDX-License-Identifier: Apache-2.0 */
/* reach [throw | slow]: three pictures, with work outside of them. Prints what came out. */
#include <string.h>

#include "reach.h"

static const char image[] = PTX_HEAD PTX_ENTRY("encode_100us") PTX_ENTRY("step_100us") PTX_ENTRY("between_100us")
    PTX_ENTRY("decode_100us");

int main(int argc, char **argv)
{
    struct reach_work work = {.throws = argc == 2 && strcmp(argv[1], "throw") == 0,
                              .is_slow = argc == 2 && strcmp(argv[1], "slow") == 0};
    CUmodule module;
    CUdeviceptr memory;

    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    work.encoding = e2e_function(module, "encode_100us");
    work.stepping = e2e_function(module, "step_100us");
    work.between = e2e_function(module, "between_100us");
    work.decoding = e2e_function(module, "decode_100us");
    CHECK(cuStreamCreate(&work.stream, E2E_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&memory, 4096));
    for (int i = 0; i < 3; i++) {
        reach_picture(&work);
        CHECK(cuMemsetD8Async(memory, 0, 4096, work.stream)); /* of no stage */
        CHECK(cuStreamSynchronize(work.stream));
        printf("picture %d: %u\n", i, work.sum);
    }
    if (argc > 2)
        reach_spare(&work);
    return 0;
}
