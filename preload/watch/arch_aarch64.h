/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations, page and frame sizes of aarch64; also included by the assembler files. */
#ifndef ST_WATCH_ARCH_AARCH64_H
#define ST_WATCH_ARCH_AARCH64_H

#define ST_CUDA_THUNKS 1024
#define ST_STAGE_THUNKS 2048
#define ST_HOST_THUNKS 256
#define ST_THUNKS (ST_CUDA_THUNKS + ST_STAGE_THUNKS + ST_HOST_THUNKS)
#define ST_THUNK_BYTES 32
#define ST_TARGET_BYTES 64

/* The thunk's own part of its stack frame: saved registers, the target, the frame record. */
#define ST_THUNK_FRAME_BYTES 112

#ifndef __ASSEMBLER__
#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>

#define ST_RELOC_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define ST_RELOC_GLOB_DAT R_AARCH64_GLOB_DAT
#define ST_RELOC_ADDRESS R_AARCH64_ABS64
#define ST_RELOC_COPY R_AARCH64_COPY
#define ST_SMALLEST_PAGE 4096ul

/* 4, 16 or 64 KiB, as the kernel was built. */
static inline uintptr_t st_arch_page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

/* A function of another calling convention (scalable or vector registers hold arguments beyond what a thunk
 * keeps): the linker marks it, it is left alone. */
static inline int st_arch_is_variant_call(unsigned char symbol_other)
{
    return (symbol_other & 0x80) != 0; /* STO_AARCH64_VARIANT_PCS */
}
#else

/* Says that every place of this file that is jumped to begins with a landing pad (BTI). */
    .macro    declare_landing_pads
    .section .note.gnu.property, "a", @note
    .p2align 3
    .word    4, 16, 5
    .asciz    "GNU"
    .word    0xc0000000, 4, 1, 0
    .endm
#endif

#endif
