/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generator that tells of its stages by lines alone. For each of two pictures: "picture N", "encode" and 3 launches,
 * "sample" and 4 steps of 2 launches with "step N/4" after each, "decode" and 5 launches, "saved". E2E_TIMES names a
 * file that gets a line for each of these: CLOCK_MONOTONIC before and after it was printed, and its text.
 * E2E_PAUSE_MS: how long it then does nothing.
 */
#ifndef E2E_PRINTER_H
#define E2E_PRINTER_H

#ifdef __cplusplus
extern "C" {
#endif

enum { PRINTER_PICTURES = 2, PRINTER_STEPS = 4 };

/* `say` prints a line; it gets the text without the newline. */
void printer_run(void (*say)(const char *line));

void printer_launch(int count);

#ifdef __cplusplus
}
#endif

#endif
