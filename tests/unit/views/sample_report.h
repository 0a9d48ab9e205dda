/* SPDX-License-Identifier: Apache-2.0 */
/* A small report with known figures, the numbers of the README's example. Static memory; never finish it. */
#ifndef TESTS_SAMPLE_REPORT_H
#define TESTS_SAMPLE_REPORT_H

#include "analyzer/analysis/report.h"

/* Two stages, one of them with steps, one device, two gaps, a hostile kernel name. */
struct st_report sample_report(void);
/* The same without device time: every device figure unknown. */
struct st_report sample_report_without_devices(void);

#endif
