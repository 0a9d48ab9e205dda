/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of each figure, as `--explain FIGURE` prints it. Constant data, any thread. */
#ifndef ST_RENDER_EXPLAIN_H
#define ST_RENDER_EXPLAIN_H

#include <stddef.h>

struct st_explanation {
    const char *name;   /* as in the JSON document, without _ns */
    const char *screen; /* the column or word on the screen; "" = none */
    const char *text;
};

extern const struct st_explanation st_explanations[];
extern const size_t st_explanation_count;

/* By either name; NULL = no such figure. */
const struct st_explanation *st_explain(const char *figure);

#endif
