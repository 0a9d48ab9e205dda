/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling this is the test: what simgpu says of NVML, once more after the toolkit's nvml.h. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#define API(name, parameters) nvmlReturn_t name parameters;
#define ALIAS(name, parameters, implementation) API(name, parameters)
#define STUB(name) __typeof__(name) name; /* it must be declared */
#define LAYOUT(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define VALUE(constant, number) _Static_assert((constant) == (number), #constant);
#include "nvml_api.def"

int main(void)
{
    return 0;
}
