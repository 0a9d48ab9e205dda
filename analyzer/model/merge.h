/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of st_model_merge(): what is called or numbered differently in each trace, and its number in all. One thread.
 */
#ifndef ST_MODEL_MERGE_H
#define ST_MODEL_MERGE_H

#include "model.h"
#include "rows.h"

/* From the numbers of one trace to those of the merged model. */
struct st_merge_map {
    uint32_t *rows, *calls, *names; /* by the trace's index */
    uint32_t *requests;             /* by the trace's index: index in order of begin in all of them */
    int32_t *devices;               /* by the ordinal in the process; -1 = not used */
    int64_t offset_ns;              /* its zero on the common time line */
    uint32_t thread_base, call_base, span_base;
};

/* Each fills its part of maps[0 … count) and of `model`, whose arena owns the texts already. False: out of memory. */
bool st_merge_rows(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model);
bool st_merge_names(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model);
bool st_merge_calls(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model);
bool st_merge_devices(struct st_model *const *models, size_t count, struct st_merge_map *maps);

#endif
