/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From printed text to lines, as rules of the source `log` see them. A line ends with \n or \r; one that is not finished
 * may be offered, too (progress bars are ended by their successor). Control sequences of terminals and other control
 * characters are left out, blanks at the end as well. Pure functions of their arguments: any thread, no allocation.
 */
#ifndef ST_CONFIG_LINE_H
#define ST_CONFIG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_LINE_BYTES 1024 /* of a line; what goes beyond is not looked at */

/* A line that is not finished yet; begins as zeroes. */
struct st_line {
    uint32_t used;
    uint16_t told;  /* rule + 1 that matched it already */
    uint8_t escape; /* inside a terminal's control sequence */
    bool is_torn;   /* a part of it is not known: no line */
    char text[ST_LINE_BYTES];
};

/* A line with text in it. */
typedef void (*st_line_fn)(void *context, struct st_line *line, bool is_whole, const char *text);

/* Add text; `fn` gets each line that it ends. */
void st_line_add(struct st_line *line, const char *text, size_t length, st_line_fn fn, void *context);
/* Let `fn` see what there is of the unfinished line. */
void st_line_offer(struct st_line *line, st_line_fn fn, void *context);
/* What comes now does not follow what was there. */
void st_line_tear(struct st_line *line);
/* Is this printed data, not text? */
bool st_line_is_binary(const char *text, size_t length);

/* The line matched `rule`: for the first time? An unfinished line is matched again and again. */
bool st_line_is_news(struct st_line *line, uint16_t rule);

#endif
