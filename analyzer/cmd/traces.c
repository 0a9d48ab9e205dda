/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the files of a run; see traces.h. */
#include "analyzer/cmd/traces.h"

#include <stdlib.h>

#include "analyzer/cmd/cmd.h"

/* Every file that can be read into models[]; the others are said and left out. Returns the last failure. */
static enum st_status load_all(struct st_run_files *files, struct st_model **models, size_t *ret_count)
{
    enum st_status status = ST_OK;

    for (size_t i = 0; i < files->paths.count; i++) {
        struct st_err err = {.offset = -1};
        enum st_status got = st_model_load(files->paths.items[i], &models[*ret_count], &err);

        if (got == ST_OK) {
            ++*ret_count;
            continue;
        }
        st_say_err(&err);
        status = st_run_files_leave_out(files, &err) ? got : ST_NO_MEMORY;
    }
    return status;
}

enum st_status st_traces_load(struct st_run_files *files, struct st_model **ret_model)
{
    struct st_model **models = calloc(files->paths.count, sizeof(struct st_model *));
    struct st_err err = {.offset = -1};
    enum st_status status = ST_NO_MEMORY;
    size_t count = 0;

    for (size_t i = 0; i < files->copies.count; i++) st_say_error("%s", files->copies.items[i]);
    for (size_t i = 0; i < files->left_out.count; i++) st_say_error("%s", files->left_out.items[i]);
    if (models != NULL) status = load_all(files, models, &count);
    if (count == 1) {
        *ret_model = models[0];
        status = ST_OK;
    } else if (count > 1) {
        status = st_model_merge(models, count, ret_model, &err);
        if (status != ST_OK) st_say_err(&err);
    }
    free(models);
    return status;
}
