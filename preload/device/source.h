/* SPDX-License-Identifier: Apache-2.0 */
/* The device side as the writer asks for it; see preload/writer/writer.h. */
#ifndef ST_DEVICE_SOURCE_H
#define ST_DEVICE_SOURCE_H

#include "preload/writer/writer.h"

/* Valid after st_device_start(). */
extern const struct st_device_source st_device_source;

#endif
