/* SPDX-License-Identifier: Apache-2.0 */
/* The list of cuda_values.def as a table, made twice: by check_own.c from cuda_min.h, by check_toolkit.c from
 * cuda.h. */
#ifndef SIMGPU_CHECK_VALUES_H
#define SIMGPU_CHECK_VALUES_H

struct check_value {
    const char *what;
    unsigned long long value;
};

extern const struct check_value own_values[], toolkit_values[];
extern const unsigned own_value_count;

#define VALUE(name) {#name, (unsigned long long)(name)},
#define SIZE(type) {"sizeof " #type, sizeof(type)},
#define OFFSET(type, member) {#type "." #member, __builtin_offsetof(type, member)},

#endif
