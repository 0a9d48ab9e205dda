/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of error codes (errors.def). Static strings; any thread. */
#include <stddef.h>

const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);

static const struct {
    int number;
    const char *name, *text;
} errors[] = {
#define ERR(number, name, text) {number, #name, text},
#include "errors.def"
#undef ERR
};

#define COUNT (sizeof(errors) / sizeof(errors[0]))

static size_t find(int error)
{
    size_t i = 0;
    while (i < COUNT && errors[i].number != error) {
        i++;
    }
    return i;
}

const char *cudaGetErrorName(int error)
{
    size_t i = find(error);
    return i < COUNT ? errors[i].name : "unrecognized error code";
}

const char *cudaGetErrorString(int error)
{
    size_t i = find(error);
    return i < COUNT ? errors[i].text : "unrecognized error code";
}
