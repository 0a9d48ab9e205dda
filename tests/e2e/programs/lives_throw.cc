// SPDX-License-Identifier: Apache-2.0
// Exceptions through stages, and what throwing costs beside the preload: lives_throw stages | cost
extern "C" {
#include "lives.h"
}
#include <cstdint>
#include <cstring>
#include <stdexcept>

static CUfunction kernel;

static void launch_and_throw(void *argument)
{
    for (long i = 0; i < reinterpret_cast<long>(argument); i++)
        e2e_launch(kernel, nullptr);
    throw std::runtime_error("left");
}

static void sample_throws(void *argument)
{
    lives_sample(launch_and_throw, argument);
}

static void inside(void *)
{
    try {
        lives_encode(sample_throws, reinterpret_cast<void *>(2)); // through two stages
    } catch (const std::runtime_error &error) {
        puts(error.what());
    }
    e2e_launch(kernel, nullptr);
    CHECK(cuCtxSynchronize());
}

// No stage inside: only the unwinder, which an interposer slows down when it gets between.
__attribute__((noinline)) static int deep(int depth)
{
    if (depth == 0)
        throw std::runtime_error("deep");
    return deep(depth - 1) + 1;
}

static double cost_ns()
{
    enum { THROWS = 1000 };
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < 15; round++) {
        uint64_t begin = e2e_now_ns();

        for (int i = 0; i < THROWS; i++) {
            try {
                deep(8);
            } catch (const std::runtime_error &) {
            }
        }
        uint64_t spent = e2e_now_ns() - begin;
        best = spent < best ? spent : best;
    }
    return static_cast<double>(best) / THROWS;
}

int main(int argc, char **argv)
{
    static const char image[] = PTX_HEAD PTX_ENTRY("dot_5us");
    CUmodule module;

    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    kernel = e2e_function(module, "dot_5us");
    if (argc > 1 && strcmp(argv[1], "cost") == 0) {
        printf("%.1f\n", cost_ns());
        return 0;
    }
    for (int i = 0; i < 3; i++)
        lives_request(inside, nullptr);
    return 0;
}
