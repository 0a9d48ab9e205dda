/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the screen: what each means, as `--explain` prints it, and how names of the JSON document are
 * called there. Constant data, any thread.
 */
#ifndef ST_RENDER_EXPLAIN_H
#define ST_RENDER_EXPLAIN_H

#include <stddef.h>

struct st_explanation {
    const char *name;   /* as in the JSON document, without _ns; several as a|b */
    const char *screen; /* the words on the screen, as a|b; the first is how `name` is shown */
    const char *text;
};

extern const struct st_explanation st_explanations[];
extern const size_t st_explanation_count;

#define ST_NEAREST 6

/* For a word that st_explain() does not know: the words most like it, best first, each valid for good. Returns how many
 * (at most ST_NEAREST). */
size_t st_explain_nearest(const char *word, const char *ret_words[ST_NEAREST], size_t ret_lengths[ST_NEAREST]);

/* By either name, with or without its unit, in any case; NULL = no such figure. */
const struct st_explanation *st_explain(const char *figure);

#define ST_WORDS_BYTES 64

/* What a name of the JSON document (a cause, a loss, a state) is called on the screen; one that is not in the table
 * stands for itself. Returns `ret` or `name`. */
const char *st_words(const char *name, char ret[ST_WORDS_BYTES]);

#endif
