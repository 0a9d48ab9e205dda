/* SPDX-License-Identifier: Apache-2.0 */
/* Our own declarations of NVTX against the real headers, at compile time. Without the headers: skipped (77). */
#include "preload/stages/nvtx_abi.h"

#include <stdio.h>

#ifdef HAVE_NVTX_HEADERS
#include <nvtx3/nvToolsExt.h>

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a " = " #b)
#define SAME_FIELD(our_field, their_field)                                                                             \
    SAME(offsetof(struct st_nvtx_attributes, our_field), offsetof(nvtxEventAttributes_t, their_field));                \
    SAME(sizeof(((struct st_nvtx_attributes *)0)->our_field), sizeof(((nvtxEventAttributes_t *)0)->their_field))

SAME(ST_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(ST_NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(ST_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(ST_NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(ST_NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(ST_NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(ST_NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(ST_NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(ST_NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(ST_NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(ST_NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(ST_NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(ST_NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(ST_NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(ST_NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(ST_NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(ST_NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(ST_NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(ST_NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(ST_NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(ST_NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(ST_NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(ST_NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(ST_NVTX_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(ST_NVTX_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(ST_NVTX_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);

SAME(sizeof(struct st_nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(offsetof(struct st_nvtx_callbacks, get_module_table), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(struct st_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));

int main(void)
{
    printf("NVTX declarations agree with the headers of version %d\n", NVTX_VERSION);
    return 0;
}
#else
int main(void)
{
    printf("no NVTX headers here\n");
    return 77;
}
#endif
