/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX as C++ programs use it, with the real headers: a range in a constructor of a global, before main() and before
 * any CUDA library is loaded; domains, registered strings, payloads, wide names; libcuda by dlopen. Prints what the
 * program and its child see of the variable by which NVTX finds its tool.
 *
 *   nvtx_ways          with CUDA
 *   nvtx_ways without  the same ranges and no CUDA at all
 */
#include <nvtx3/nvtx3.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

extern char **environ;

namespace {

struct early_user {
    early_user() { nvtx3::scoped_range range{"before main"}; }
} early;

struct own_domain {
    static constexpr char const *name{"own domain"};
};

struct decode_name {
    static constexpr char const *message{"decode"};
};

int variables()
{
    int count = 0;
    for (char **entry = environ; *entry; entry++) {
        count += std::strncmp(*entry, "NVTX_INJECTION64_PATH=", 22) == 0;
    }
    return count;
}

void use_cuda()
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    auto init = library ? reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit")) : nullptr;
    std::printf("cuInit %d\n", init ? init(0) : -1);
}

} // namespace

int main(int argc, char **)
{
    nvtx3::scoped_range request{"request"};
    if (argc == 1) {
        use_cuda();
    }
    {
        nvtx3::scoped_range_in<own_domain> range{"encode", nvtx3::payload{42}, nvtx3::rgb{1, 2, 3}};
    }
    {
        nvtxRangePushW(L"sample \u00e4");
        nvtxRangePop();
        nvtxRangePop(); /* closes the request, which is not what the program meant */
        nvtxRangePop(); /* and this one nothing */
    }
    {
        auto const &name = nvtx3::registered_string_in<own_domain>::get<decode_name>();
        nvtx3::scoped_range_in<own_domain> range{nvtx3::event_attributes{name, nvtx3::payload{1.5}}};
    }
    {
        nvtx3::unique_range range{nvtx3::event_attributes{"output"}};
    }
    nvtx3::mark("a mark");
    std::printf("variables %d\n", variables());
    std::fflush(stdout);
    return std::system("env | grep -c ^NVTX_INJECTION64_PATH=") < 0;
}
