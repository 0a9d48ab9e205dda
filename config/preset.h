/* SPDX-License-Identifier: Apache-2.0 */
/* The list of presets that embed.py generates; ends with a name of NULL. Constant data. */
#ifndef ST_CONFIG_PRESET_H
#define ST_CONFIG_PRESET_H

struct st_preset {
    const char *name; /* file name without .map */
    const char *text;
};

extern const struct st_preset st_presets[];

#endif
