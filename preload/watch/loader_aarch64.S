/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two exported functions, dlsym and dlopen. The loader judges both by the address that they return to
 * (search path, namespace, RTLD_NEXT): so the real one is reached by a jump, with the link register as the
 * caller set it. Only a dlsym with an explicit handle, where the caller does not matter, is called from C.
 * Jumps go through x16: that is what a landing pad for calls (BTI) accepts.
 */
#include "arch_aarch64.h"

	.text

/* Call `function` with the caller's first two arguments kept; its result is in x16. */
	.macro	call_keeping_arguments function
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	bl	\function
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	.endm

	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34                         /* bti c */
	cbz	x0, .Ldefault               /* RTLD_DEFAULT */
	cmn	x0, #1                      /* RTLD_NEXT: never substituted */
	b.eq	.Lnext
	b	st_watch_dlsym_handle
.Lnext:
	adrp	x16, st_watch_next_dlsym
	ldr	x16, [x16, :lo12:st_watch_next_dlsym]
	cbz	x16, .Lresolve
	br	x16
.Ldefault:
	call_keeping_arguments st_watch_dlsym_default
	cbz	x16, .Lnext                 /* ours to answer? */
	mov	x0, x16
	ret
.Lresolve:
	call_keeping_arguments st_watch_resolve_dlsym
	br	x16
	.cfi_endproc
	.size	dlsym, . - dlsym

	.globl	dlopen
	.type	dlopen, %function
	.p2align 4
dlopen:
	.cfi_startproc
	hint	#34
	call_keeping_arguments st_watch_before_dlopen
	br	x16
	.cfi_endproc
	.size	dlopen, . - dlopen

	declare_landing_pads
	.section .note.GNU-stack, "", %progbits
