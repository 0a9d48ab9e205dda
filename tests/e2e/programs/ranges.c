/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generator whose stages are NVTX ranges, not functions. One thread. With E2E_REAL_NVTX the real headers
 * are used, else the few lines of nvtx_few.h. Ranges are pushed and popped right beside the stage log.
 *
 *   ranges          names of its own for the request and the step
 *   ranges plain    names that need no map
 */
#ifdef E2E_REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "../../demo/nvtx_few.h"
#endif

#include "cuda_few.h"
#include "stage_log.h"

static const char image[] = PTX_HEAD PTX_ENTRY("tokens_60us") PTX_ENTRY("unet_250us") PTX_ENTRY("vae_500us");
static CUfunction tokens, unet, vae;
static CUstream stream;
static const char *request_name = "picture", *step_name = "denoise step";

static void denoise(int picture)
{
    uint64_t start_ns;

    nvtxRangePushA("sample");
    start_ns = e2e_now_ns();
    for (int step = 0; step < 4; step++) {
        uint64_t step_ns;

        nvtxRangePushA(step_name);
        step_ns = e2e_now_ns();
        e2e_launch(unet, stream);
        e2e_spin_us(200);
        e2e_log("step", picture, step, step_ns);
        nvtxRangePop();
    }
    e2e_log("sample", picture, -1, start_ns);
    nvtxRangePop();
}

static void picture_make(int picture)
{
    uint64_t start_ns, request_ns;
    nvtxRangeId_t range;

    nvtxRangePushA(request_name);
    request_ns = e2e_now_ns();
    nvtxRangePushA("encode");
    start_ns = e2e_now_ns();
    e2e_launch(tokens, stream);
    e2e_log("encode", picture, -1, start_ns);
    nvtxRangePop();
    denoise(picture);
    range = nvtxRangeStartA("decode");
    start_ns = e2e_now_ns();
    e2e_launch(vae, stream);
    CHECK(cuStreamSynchronize(stream));
    e2e_log("decode", picture, -1, start_ns);
    nvtxRangeEnd(range);
    e2e_log("request", picture, -1, request_ns);
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    CUmodule module;

    if (argc > 1) {
        request_name = "request";
        step_name = "step";
    }
    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    tokens = e2e_function(module, "tokens_60us");
    unet = e2e_function(module, "unet_250us");
    vae = e2e_function(module, "vae_500us");
    CHECK(cuStreamCreate(&stream, E2E_NON_BLOCKING));
    for (int picture = 0; picture < 3; picture++)
        picture_make(picture);
    return 0;
}
