/* SPDX-License-Identifier: Apache-2.0 */
/* From the files of a run to a model. Main thread. */
#ifndef ST_CMD_TRACES_H
#define ST_CMD_TRACES_H

#include "analyzer/model/model.h"
#include "analyzer/reader/find.h"

/* All files that were found into one model; those that cannot be read are left out. What is wrong is said on stderr;
 * ST_OK if anything could be read: the caller destroys the model. */
enum st_status st_traces_load(struct st_run_files *files, struct st_model **ret_model);

#endif
