/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client with a clock of its own, three counts a nanosecond, and with correlation ids of its own, as PyTorch's
 * profiler has both: records are in its units, and tell which of its ids was pushed.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "cudart_api.h"
#include "tests/simgpu/cupti/records.h"

enum { COUNTS_A_NS = 3, CUSTOM0 = 3, OWN_ID = 4711, QUEUE_EMPTY = 18, LAUNCHES = 5, KERNEL_NS = 2000000 };

int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityRegisterTimestampCallback(uint64_t (*callback)(void));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record);
int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last_id);
int cuptiGetTimestamp(uint64_t *timestamp);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry work_2ms()\n{\n    ret;\n}\n";
static struct sim_fatbin_wrapper fatbin = {SIM_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL};
static const struct sim_dim3 one = {1, 1, 1};
static uint64_t begin, kernels, externals, with_own_id;

HOST_STUB(work)

static uint64_t own_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return COUNTS_A_NS * ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static void request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *bytes = 65536;
    *buffer = aligned_alloc(8, *bytes);
    *max_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    for (void *record = NULL; cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == 0;) {
        const struct sim_kernel_record *kernel = record;
        const struct sim_external_record *external = record;

        if (kernel->kind == SIM_KIND_CONCURRENT_KERNEL) {
            double off = (double)(kernel->end - kernel->start) / (COUNTS_A_NS * (double)KERNEL_NS) - 1;
            CHECK(off < 0.001 && off > -0.001);
            CHECK(kernel->start > begin && kernel->end < own_clock());
            kernels++;
        } else if (external->kind == SIM_KIND_EXTERNAL_CORRELATION) {
            CHECK_EQ(external->externalKind, CUSTOM0);
            with_own_id += external->externalId == OWN_ID && external->correlationId != 0;
            externals++;
        }
    }
    free(buffer);
}

int main(void)
{
    uint64_t id = 0, now = 0;
    void **handle = __cudaRegisterFatBinary(&fatbin);

    __cudaRegisterFunction(handle, (const char *)work_stub, (char *)"work_2ms", "work_2ms", -1, NULL, NULL, NULL,
                           NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    CHECK_EQ(cudaFree(NULL), 0);
    CHECK_EQ(cuptiActivityRegisterTimestampCallback(own_clock), 0);
    CHECK_EQ(cuptiActivityRegisterCallbacks(request, complete), 0);
    CHECK_EQ(cuptiActivityEnable(SIM_KIND_CONCURRENT_KERNEL), 0);
    CHECK_EQ(cuptiActivityEnable(SIM_KIND_EXTERNAL_CORRELATION), 0);
    begin = own_clock();
    CHECK_EQ(cuptiGetTimestamp(&now), 0);
    CHECK(now >= begin && now <= own_clock());
    CHECK_EQ(cuptiActivityPopExternalCorrelationId(CUSTOM0, &id), QUEUE_EMPTY);
    CHECK_EQ(cuptiActivityPushExternalCorrelationId(CUSTOM0, 1), 0);
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK_EQ(cuptiActivityPushExternalCorrelationId(CUSTOM0, OWN_ID), 0);
        CHECK_EQ(cudaLaunchKernel((const void *)work_stub, one, one, NULL, 0, NULL), 0);
        CHECK_EQ(cuptiActivityPopExternalCorrelationId(CUSTOM0, &id), 0);
        CHECK_EQ(id, OWN_ID);
    }
    CHECK_EQ(cudaDeviceSynchronize(), 0);
    CHECK_EQ(cuptiActivityFlushAll(1), 0);
    CHECK_EQ(kernels, LAUNCHES);
    CHECK(with_own_id >= LAUNCHES); /* and what the first launch of a function needs */
    CHECK(externals > with_own_id); /* the wait came with the id below */
    return 0;
}
