/* SPDX-License-Identifier: Apache-2.0 */
/* The toolkit's side of check_own.c. */
#include <cuda.h>

#include "check_values.h"

const struct check_value toolkit_values[] = {
#include "cuda_values.def"
};
