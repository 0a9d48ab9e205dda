/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers made from the ordinal alone, so that two libraries that share nothing agree. */
#include "identity.h"

#include <stdio.h>
#include <string.h>

void sim_device_uuid(uint8_t uuid[16], uint32_t device)
{
    memset(uuid, 0, 16);
    memcpy(uuid, SIM_DEVICE_NAME, sizeof(SIM_DEVICE_NAME) - 1);
    uuid[15] = (uint8_t)device;
}

int sim_device_at(const char *pci_id)
{
    unsigned domain, bus;

    return sscanf(pci_id, "%x:%x:", &domain, &bus) == 2 && domain == 0 && bus > 0 && bus < 256 ? (int)bus - 1 : -1;
}
