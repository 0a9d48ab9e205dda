/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work launched in one stage that runs while the host is already in the next.
 *
 *   host    |encode|sample---------------------|wait|      spill one|two: streams
 *   device     EEEEEEEEEEEEEEEEEEEE ssssssssss
 *
 * Encode enqueues 4 kernels of 5 ms and returns at once; sample enqueues 10 of 1 ms, behind them (one
 * stream) or beside them (two).
 */
#include <string.h>

#include "cuda_few.h"
#include "spill.h"

static const char image[] = PTX_HEAD PTX_ENTRY("encode_block_5ms") PTX_ENTRY("sample_block_1ms");

int main(int argc, char **argv)
{
    struct spill_work work = {0};
    CUmodule module;

    if (argc != 2 || (strcmp(argv[1], "one") != 0 && strcmp(argv[1], "two") != 0)) {
        fprintf(stderr, "usage: %s one|two\n", argv[0]);
        return 2;
    }
    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    work.encode = e2e_function(module, "encode_block_5ms");
    work.sample = e2e_function(module, "sample_block_1ms");
    CHECK(cuStreamCreate(&work.encode_stream, E2E_NON_BLOCKING));
    work.sample_stream = work.encode_stream;
    if (strcmp(argv[1], "two") == 0)
        CHECK(cuStreamCreate(&work.sample_stream, E2E_NON_BLOCKING));
    for (work.number = 0; work.number < 2; work.number++)
        spill_picture(&work);
    return 0;
}
