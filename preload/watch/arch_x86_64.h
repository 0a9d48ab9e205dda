/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations and frame sizes of x86_64; also included by the assembler files. */
#ifndef ST_WATCH_ARCH_X86_64_H
#define ST_WATCH_ARCH_X86_64_H

#define ST_CUDA_THUNKS 1024
#define ST_STAGE_THUNKS 2048
#define ST_HOST_THUNKS 256
#define ST_THUNKS (ST_CUDA_THUNKS + ST_STAGE_THUNKS + ST_HOST_THUNKS)
#define ST_THUNK_BYTES 32
#define ST_TARGET_BYTES 64

/* The thunk's own part of its stack frame: return address, rbp, saved registers. */
#define ST_THUNK_FRAME_BYTES 96

#ifndef __ASSEMBLER__
#include <elf.h>
#include <stdint.h>

#define ST_RELOC_JUMP_SLOT R_X86_64_JUMP_SLOT
#define ST_RELOC_GLOB_DAT R_X86_64_GLOB_DAT
#define ST_RELOC_ADDRESS R_X86_64_64
#define ST_RELOC_COPY R_X86_64_COPY
#define ST_SMALLEST_PAGE 4096ul

static inline uintptr_t st_arch_page_bytes(void)
{
    return ST_SMALLEST_PAGE;
}

/* Functions of other calling conventions bear no mark here. */
static inline int st_arch_is_variant_call(unsigned char symbol_other)
{
    return 0;
}
#endif

#endif
