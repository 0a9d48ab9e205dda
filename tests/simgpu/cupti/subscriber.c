/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one subscriber, and its callbacks: at the entry and the exit of the outermost driver calls of each thread. Those
 * of the other domains can be switched on and are never called. Any thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cupti.h"

enum { DRIVER_DOMAIN = 1, DOMAINS = 7, CALLBACKS = 1024 };
enum { ENTER = 0, EXIT = 1 };

/* CUpti_CallbackData */
struct callback_data {
    uint32_t site;
    const char *function_name;
    const void *params;
    void *result;
    const char *symbol_name;
    const void *context;
    uint32_t context_id;
    uint64_t *correlation_data;
    uint32_t correlation_id;
};

typedef void (*callback_fn)(void *user_data, uint32_t domain, uint32_t cbid, const void *data);

struct subscriber_params {
    size_t struct_bytes;
    const char *name;
    char *old_name;
    size_t old_name_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int subscribed;
static char subscriber_name[64];
static _Atomic(callback_fn) function;
static void *_Atomic function_data;
static atomic_bool wanted[DOMAINS][CALLBACKS];
static _Thread_local uint64_t correlation_data; /* what the client keeps from entry to exit */

int cuptiSubscribe(void **subscriber, callback_fn callback, void *user_data);
int cuptiSubscribe_v2(void **subscriber, callback_fn callback, void *user_data, struct subscriber_params *params);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain);
int cuptiEnableAllDomains(uint32_t enable, void *subscriber);
int cuptiGetCallbackState(uint32_t *enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiFinalize(void);

/* ---- subscribing ------------------------------------------------------------------------------------------------- */

static void want_domain(uint32_t domain, bool want)
{
    for (uint32_t cbid = 1; cbid < CALLBACKS; cbid++) {
        atomic_store(&wanted[domain][cbid], want);
    }
}

static void unsubscribe(void)
{
    subscribed = 0;
    atomic_store(&function, NULL);
    for (uint32_t domain = 1; domain < DOMAINS; domain++) {
        want_domain(domain, false);
    }
}

int cuptiSubscribe_v2(void **subscriber, callback_fn callback, void *user_data, struct subscriber_params *params)
{
    SIM_CALL();
    if (!subscriber) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    int result = SIM_CUPTI_SUCCESS;
    pthread_mutex_lock(&lock);
    if (sim_faults()->subscriber_taken || subscribed) {
        result = SIM_CUPTI_MULTIPLE_SUBSCRIBERS;
        if (params && params->old_name && params->old_name_bytes > 0) {
            snprintf(params->old_name, params->old_name_bytes, "CUPTI for %s",
                     subscribed ? subscriber_name : "simgpu fault");
        }
    } else {
        subscribed = 1;
        snprintf(subscriber_name, sizeof(subscriber_name), "%s", params && params->name ? params->name : "unnamed");
        atomic_store(&function_data, user_data);
        atomic_store(&function, callback);
        *subscriber = &subscribed;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuptiSubscribe(void **subscriber, callback_fn callback, void *user_data)
{
    return cuptiSubscribe_v2(subscriber, callback, user_data, NULL);
}

int cuptiUnsubscribe(void *subscriber)
{
    SIM_CALL();
    pthread_mutex_lock(&lock);
    bool held = subscribed && subscriber == &subscribed;
    if (held) {
        unsubscribe();
    }
    pthread_mutex_unlock(&lock);
    return held ? SIM_CUPTI_SUCCESS : SIM_CUPTI_INVALID_PARAMETER;
}

/* CUPTI leaves the process, whoever uses it; a later call of any client brings it back, with nothing switched on. */
int cuptiFinalize(void)
{
    SIM_CALL();
    pthread_mutex_lock(&lock);
    unsubscribe();
    pthread_mutex_unlock(&lock);
    sim_activity_forget();
    sim_buffers_forget();
    return SIM_CUPTI_SUCCESS;
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

static int change(void *subscriber, uint32_t first_domain, uint32_t last_domain, uint32_t cbid, uint32_t enable)
{
    if (subscriber != &subscribed || first_domain == 0 || last_domain >= DOMAINS || cbid >= CALLBACKS) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    int result = sim_activity_attach();
    for (uint32_t domain = first_domain; result == SIM_CUPTI_SUCCESS && domain <= last_domain; domain++) {
        if (cbid == 0) {
            want_domain(domain, enable != 0);
        } else {
            atomic_store(&wanted[domain][cbid], enable != 0);
        }
    }
    return result;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
    SIM_CALL();
    return cbid == 0 ? SIM_CUPTI_INVALID_PARAMETER : change(subscriber, domain, domain, cbid, enable);
}

int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
    SIM_CALL();
    return change(subscriber, domain, domain, 0, enable);
}

int cuptiEnableAllDomains(uint32_t enable, void *subscriber)
{
    SIM_CALL();
    return change(subscriber, 1, DOMAINS - 1, 0, enable);
}

int cuptiGetCallbackState(uint32_t *enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
    SIM_CALL();
    if (!enable || subscriber != &subscribed || domain == 0 || domain >= DOMAINS || cbid == 0 || cbid >= CALLBACKS) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *enable = atomic_load(&wanted[domain][cbid]);
    return SIM_CUPTI_SUCCESS;
}

/* ---- calling it -------------------------------------------------------------------------------------------------- */

int sim_has_subscriber(void)
{
    return atomic_load_explicit(&function, memory_order_acquire) != NULL;
}

static void tell(const struct simgpu_call *call, uint32_t site)
{
    callback_fn callback = atomic_load_explicit(&function, memory_order_acquire);
    if (!callback) {
        return;
    }
    uint32_t cbid = sim_driver_cbid(call->name);
    if (cbid == 0 || !atomic_load_explicit(&wanted[DRIVER_DOMAIN][cbid], memory_order_relaxed)) {
        return;
    }
    if (site == ENTER) {
        correlation_data = 0;
    }
    const struct callback_data data = {.site = site,
                                       .function_name = call->name,
                                       .params = call->params,
                                       .result = call->result,
                                       .symbol_name = call->kernel,
                                       .context = call->context,
                                       .context_id = call->context_id,
                                       .correlation_data = &correlation_data,
                                       .correlation_id = call->correlation};
    callback(atomic_load(&function_data), DRIVER_DOMAIN, cbid, &data);
}

void sim_tell_enter(const struct simgpu_call *call)
{
    tell(call, ENTER);
}

void sim_tell_exit(const struct simgpu_call *call)
{
    tell(call, EXIT);
}
