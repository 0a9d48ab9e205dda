// SPDX-License-Identifier: Apache-2.0
// Three pictures.
#include "signatures.h"

int main()
{
    static const char image[] = PTX_HEAD PTX_ENTRY("any_50us");
    CUmodule module;
    Work work = {};

    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    work.kernel = e2e_function(module, "any_50us");
    CHECK(cuStreamCreate(&work.stream, E2E_NON_BLOCKING));
    for (work.image = 0; work.image < 3; work.image++) sd::picture(&work);
    return 0;
}
