/* SPDX-License-Identifier: Apache-2.0 */
/* A client of CUPTI's callbacks on simgpu: what it is told of each call, and that cuptiFinalize leaves nothing on. */
#include <string.h>

#include "check.h"
#include "cudart_api.h"
#include "tests/simgpu/cupti/records.h"

enum { DRIVER = 1, ENTER = 0 };

/* cuLaunchKernel_params, as far as it is looked at */
struct launch {
    void *function;
    unsigned grid_x, grid_y, grid_z, block_x;
};
/* CUpti_CallbackData */
struct data {
    uint32_t site;
    const char *function;
    const struct launch *params;
    const int *result;
    const char *symbol;
    const void *context;
    uint32_t context_id;
    uint64_t *kept;
    uint32_t correlation;
};
typedef void (*callback_fn)(void *user_data, uint32_t domain, uint32_t cbid, const void *data);

int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
int cuptiSubscribe(void **subscriber, callback_fn callback, void *user_data);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain);
int cuptiGetCallbackState(uint32_t *enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiFinalize(void);
int cuptiGetContextId(const void *context, uint32_t *id);
int cuptiGetDeviceId(const void *context, uint32_t *device);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry work_1us()\n{\n    ret;\n}\n";
static struct sim_fatbin_wrapper fatbin = {SIM_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL};
static const struct sim_dim3 grid = {3, 2, 1}, block = {64, 2, 1};
static int entries, exits, others, completed;
static uint32_t last_correlation;

HOST_STUB(work)

static void on_call(void *user_data, uint32_t domain, uint32_t cbid, const void *told)
{
    const struct data *data = told;
    uint32_t context_id = 0, device = 9;

    CHECK(user_data == &entries && domain == DRIVER);
    if (strcmp(data->function, "cuLaunchKernel") != 0) {
        others++;
        return;
    }
    CHECK(data->params->function != NULL);
    CHECK_EQ(data->params->grid_x, 3);
    CHECK_EQ(data->params->block_x, 64);
    CHECK(strcmp(data->symbol, "work_1us") == 0);
    CHECK_EQ(cuptiGetContextId(data->context, &context_id), 0);
    CHECK_EQ(context_id, data->context_id);
    CHECK(cuptiGetDeviceId(data->context, &device) == 0 && cuptiGetDeviceId(NULL, &device) == 0);
    CHECK_EQ(device, 0);
    CHECK_EQ(cuptiGetDeviceId(told, &device), 3);
    if (data->site == ENTER) {
        CHECK(data->correlation > last_correlation);
        last_correlation = data->correlation;
        CHECK_EQ(*data->kept, 0);
        *data->kept = 1000 + data->correlation;
        entries++;
    } else {
        CHECK_EQ(data->correlation, last_correlation);
        CHECK_EQ(*data->kept, 1000 + last_correlation);
        CHECK_EQ(*data->result, 0);
        exits++;
    }
}

static void request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *bytes = 1 << 16;
    *buffer = aligned_alloc(8, *bytes);
    *max_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    completed++;
    free(buffer);
}

static uint32_t id_of(const char *wanted)
{
    const char *name = NULL;

    for (uint32_t id = 1; cuptiGetCallbackName(DRIVER, id, &name) == 0; id++) {
        if (strcmp(name, wanted) == 0) {
            return id;
        }
    }
    return 0;
}

static void run_work(void)
{
    CHECK_EQ(cudaLaunchKernel((void *)work_stub, grid, block, NULL, 0, NULL), 0);
    CHECK_EQ(cudaDeviceSynchronize(), 0);
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&fatbin), *subscriber, *second;
    uint32_t launch_id = id_of("cuLaunchKernel"), state = 9;

    __cudaRegisterFunction(handle, (const char *)work_stub, NULL, "work_1us", -1, 0, 0, 0, 0, 0);
    CHECK_EQ(cuptiSubscribe(&subscriber, on_call, &entries), 0);
    CHECK_EQ(cuptiEnableCallback(1, subscriber, DRIVER, 0), 1);
    CHECK_EQ(cuptiEnableCallback(1, NULL, DRIVER, launch_id), 1);
    CHECK_EQ(cuptiEnableCallback(1, subscriber, DRIVER, launch_id), 0);
    CHECK_EQ(cuptiGetCallbackState(&state, subscriber, DRIVER, launch_id), 0);
    CHECK_EQ(state, 1);
    run_work();
    run_work();
    CHECK(entries == 2 && exits == 2 && others == 0);
    CHECK_EQ(cuptiEnableDomain(1, subscriber, DRIVER), 0);
    run_work();
    CHECK(entries == 3 && exits == 3 && others > 0);
    CHECK_EQ(cuptiEnableDomain(0, subscriber, DRIVER), 0);
    run_work();
    CHECK_EQ(entries, 3);

    CHECK_EQ(cuptiEnableCallback(1, subscriber, DRIVER, launch_id), 0);
    CHECK_EQ(cuptiActivityRegisterCallbacks(request, complete), 0);
    CHECK_EQ(cuptiActivityEnable(SIM_KIND_CONCURRENT_KERNEL), 0);
    run_work();
    CHECK_EQ(cuptiActivityFlushAll(1), 0);
    CHECK(completed == 1 && entries == 4);
    run_work();
    CHECK_EQ(cuptiFinalize(), 0); /* takes what was not flushed along */
    run_work();
    CHECK_EQ(cuptiActivityFlushAll(1), 0);
    CHECK(completed == 1 && entries == 5);
    CHECK_EQ(cuptiSubscribe(&second, on_call, &entries), 0);
    CHECK_EQ(cuptiUnsubscribe(second), 0);
    return 0;
}
