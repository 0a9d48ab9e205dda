/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaching the driver, lazily: nothing happens until the first runtime call of the process. Then, as in the
 * real runtime, dlopen("libcuda.so.1"), cuGetProcAddress_v2 and nothing else by dlsym. The primary context of a
 * device is retained once per process; each thread has a current device, a current context and a last error.
 * Any thread; the process-wide steps run once under pthread_once, contexts under one mutex.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "runtime.h"

#define DEVICES_MAX 64
#define PER_THREAD_FLAG 2ULL
#define PER_THREAD_SINCE 7000

typedef int (*get_proc_address_fn)(const char *name, void **function, int version, unsigned long long flags,
                                   int *status);

struct thread_state {
    int device;
    bool bound; /* a context was made (or found) current */
    int last_error;
};

struct sim_driver sim_driver_table[2];

static __thread struct thread_state self;
static get_proc_address_fn get_proc_address;
static int load_error, init_error;
static int driver_version;
static pthread_once_t load_once = PTHREAD_ONCE_INIT, init_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static void *primary[DEVICES_MAX];

int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaRuntimeGetVersion(int *version);
int cudaDriverGetVersion(int *version);

static int missing_function(void)
{
    return SIM_NOT_SUPPORTED;
}

int sim_rt_proc_address(const char *name, void **function, int version, unsigned long long flags, int *status)
{
    return get_proc_address(name, function, version, flags, status);
}

void *sim_rt_lookup(const char *name, int version, unsigned long long flags)
{
    void *function = NULL;
    int status = 0;
    if (flags == PER_THREAD_FLAG && version < PER_THREAD_SINCE) {
        version = PER_THREAD_SINCE;
    }
    if (get_proc_address(name, &function, version, flags, &status) != SIM_SUCCESS) {
        return NULL;
    }
    return function;
}

static void resolve_table(struct sim_driver *table, unsigned long long flags)
{
    void *function;
#define DRV(name, version, params)                                                                                     \
    function = sim_rt_lookup(#name, version, flags);                                                                   \
    table->name = (int(*) params)(function ? function : (void *)missing_function);
#include "driver.def"
#undef DRV
}

static void load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library) {
        get_proc_address = (get_proc_address_fn)dlsym(library, "cuGetProcAddress_v2");
    }
    if (!get_proc_address) {
        load_error = SIM_INSUFFICIENT_DRIVER;
        return;
    }
    resolve_table(&sim_driver_table[0], 0);
    resolve_table(&sim_driver_table[1], PER_THREAD_FLAG);
    sim_forward_resolve();
    if (sim_driver_table[0].cuDriverGetVersion(&driver_version) != SIM_SUCCESS) {
        driver_version = 0;
    }
    if (driver_version < SIM_CUDA_VERSION) {
        load_error = SIM_INSUFFICIENT_DRIVER;
    }
}

static void init_driver(void)
{
    pthread_once(&load_once, load_driver);
    init_error = load_error ? load_error : sim_driver_table[0].cuInit(0);
}

int sim_rt_primary(int device, void **context)
{
    if (device < 0 || device >= DEVICES_MAX) {
        return SIM_INVALID_DEVICE;
    }
    int result = SIM_SUCCESS;
    pthread_mutex_lock(&primary_lock);
    if (!primary[device]) {
        result = sim_driver_table[0].cuDevicePrimaryCtxRetain(&primary[device], device);
    }
    *context = primary[device];
    pthread_mutex_unlock(&primary_lock);
    return result;
}

/* The thread's own context wins if it has one; otherwise the primary context of its current device. */
static int bind_thread(bool keep_current)
{
    const struct sim_driver *drv = &sim_driver_table[0];
    void *context = NULL;
    if (keep_current && drv->cuCtxGetCurrent(&context) == SIM_SUCCESS && context) {
        drv->cuCtxGetDevice(&self.device);
        self.bound = true;
        return SIM_SUCCESS;
    }
    int result = sim_rt_primary(self.device, &context);
    if (result == SIM_SUCCESS) {
        result = drv->cuCtxSetCurrent(context);
    }
    self.bound = result == SIM_SUCCESS;
    return result;
}

static __thread int enter_error;

int sim_rt_failed(void)
{
    return enter_error;
}

const struct sim_driver *sim_rt_enter(enum sim_level level, int mode)
{
    pthread_once(&init_once, init_driver);
    enter_error = init_error;
    if (!enter_error && level == SIM_CONTEXT && !self.bound) {
        enter_error = bind_thread(true);
    }
    return enter_error ? NULL : &sim_driver_table[mode];
}

int sim_rt_rebind(void)
{
    return bind_thread(false) == SIM_SUCCESS;
}

int sim_rt_leave(int result)
{
    if (result != SIM_SUCCESS) {
        self.last_error = result;
    }
    return result;
}

int sim_rt_device(void)
{
    return self.device;
}

int cudaGetLastError(void)
{
    int error = self.last_error;
    self.last_error = SIM_SUCCESS;
    return error;
}

int cudaPeekAtLastError(void)
{
    return self.last_error;
}

int cudaRuntimeGetVersion(int *version)
{
    if (!version) {
        return sim_rt_leave(SIM_INVALID_VALUE);
    }
    *version = SIM_CUDA_VERSION;
    return SIM_SUCCESS;
}

/* Without a driver: 0 and success, as documented. */
int cudaDriverGetVersion(int *version)
{
    if (!version) {
        return sim_rt_leave(SIM_INVALID_VALUE);
    }
    pthread_once(&load_once, load_driver);
    *version = driver_version;
    return SIM_SUCCESS;
}

static int set_device(int device)
{
    int count = 0;
    int result = sim_driver_table[0].cuDeviceGetCount(&count);
    if (result != SIM_SUCCESS) {
        return result;
    }
    if (device < 0 || device >= count) {
        return SIM_INVALID_DEVICE;
    }
    self.device = device;
    return bind_thread(false);
}

SIM_API(SIM_DRIVER, cudaSetDevice, (device), int device)
{
    return set_device(device);
}

SIM_API(SIM_DRIVER, cudaInitDevice, (device, device_flags, flags), int device, unsigned device_flags, unsigned flags)
{
    void *context;
    int count = 0, result = drv->cuDeviceGetCount(&count);
    if (result == SIM_SUCCESS && (device < 0 || device >= count)) {
        result = SIM_INVALID_DEVICE;
    }
    return result == SIM_SUCCESS ? sim_rt_primary(device, &context) : result;
}

SIM_API(SIM_DRIVER, cudaGetDevice, (device), int *device)
{
    if (!device) {
        return SIM_INVALID_VALUE;
    }
    *device = self.device;
    return SIM_SUCCESS;
}

int cudaDeviceReset(void);
int cudaDeviceReset(void)
{
    const struct sim_driver *drv = sim_rt_enter(SIM_DRIVER, 0);
    if (!drv) {
        return sim_rt_leave(sim_rt_failed());
    }
    pthread_mutex_lock(&primary_lock);
    int result = drv->cuDevicePrimaryCtxReset(self.device);
    primary[self.device] = NULL;
    pthread_mutex_unlock(&primary_lock);
    self.bound = false;
    return sim_rt_leave(result);
}

#if SIM_CUDA_MAJOR == 12
int cudaThreadExit(void);
int cudaThreadExit(void)
{
    return cudaDeviceReset();
}
#endif
