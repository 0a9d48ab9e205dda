/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of crowd.c, see there. Many threads at once, each with its own job. */
#include "crowd.h"

void crowd_sample(struct crowd_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    for (int i = 0; i < job->launches; i++) {
        e2e_launch(job->kernel, NULL);
        if (i % 50 == 0)
            CHECK(cuMemsetD8Async(job->buffer, 0, 64, NULL));
    }
    e2e_log("sample", job->number, -1, start_ns);
}

void crowd_request(struct crowd_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuCtxSetCurrent(job->context));
    crowd_sample(job);
    e2e_log("request", job->number, -1, start_ns);
}
