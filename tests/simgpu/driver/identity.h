/* SPDX-License-Identifier: Apache-2.0 */
/* What libcuda and libnvidia-ml both say of a simulated device. Constant; any thread. */
#ifndef SIMGPU_IDENTITY_H
#define SIMGPU_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#define SIM_DEVICE_NAME "SimGPU"
#define SIM_PCI_FORMAT "0000:%02x:00.0" /* of the bus */

enum { SIM_DRIVER_VERSION = 13000, SIM_CAPABILITY_MAJOR = 8, SIM_CAPABILITY_MINOR = 0 };

static const uint64_t sim_device_bytes = 80ull << 30;

/* "SimGPU", zeros, and the ordinal in the last byte. */
void sim_device_uuid(uint8_t uuid[16], uint32_t device);
static inline unsigned sim_device_bus(uint32_t device)
{
    return device + 1;
}

/* The device on that bus, as text: domain:bus:device.function. -1: the text names no place where one could be. */
int sim_device_at(const char *pci_id);

#endif
