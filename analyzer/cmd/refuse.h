/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `stagetap run` refuses before the target starts: values that are not well-formed or that this version
 * cannot do (config/settings.h), and, beyond that, maps with mistakes and files that cannot be read. An output
 * folder that cannot be written is no mistake of that kind: the library falls back and says where. One thread.
 */
#ifndef ST_CMD_REFUSE_H
#define ST_CMD_REFUSE_H

#include <stdbool.h>

#include "config/settings.h"

#define ST_WHY_BYTES 512

/* May the target run with this value? If not, `why` says what is wrong and what is allowed, in one line. */
bool st_value_is_usable(const struct st_setting *setting, const char *value, char why[ST_WHY_BYTES]);

/* Look through an environment (NAME=VALUE, NULL at the end). False: `why` names the first STAGETAP_ variable
 * that is no setting, or whose value is not usable. */
bool st_environment_is_usable(char *const *environment, char why[ST_WHY_BYTES]);

#endif
