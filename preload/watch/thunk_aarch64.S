/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one opaque thunk: it calls a function whose signature it does not know.
 *
 * Kept for the function: x0–x7, x8 (where a large result goes), x18 (static chain), q0–q7 (the hooks are built
 * for general registers only), as many words of stack arguments as st_watch_enter() says, at the same alignment
 * modulo 64.
 * Returned untouched: x0, x1, q0–q3. Functions that use more than these registers are marked by the linker
 * and never get a thunk (st_arch_is_variant_call). Live thunk frames of a thread have strictly falling stack
 * pointers: the thunk never leaves by a jump once it has entered.
 *
 *     x29+16  the caller's stack arguments (word 8 …)      frame[14] …
 *     x29+8   return address                               frame[13]
 *     x29     the caller's x29                             frame[12]
 *     x29-16  the target, (free)                           frame[10], frame[11]
 *     x29-32  x8, x18, later x0, x1 of the result          frame[8], frame[9]
 *     x29-96  x0 … x7                                      frame[0] … frame[7]
 *     x29+16-frame_bytes   copy of the stack arguments; sp during the call
 */
#include "arch_aarch64.h"

/* The function's argument registers, x16 = the function; x16 held the target. */
	.macro	restore_arguments
	ldp	x0, x1, [x29, #-96]
	ldp	x2, x3, [x29, #-80]
	ldp	x4, x5, [x29, #-64]
	ldp	x6, x7, [x29, #-48]
	ldp	x8, x18, [x29, #-32]
	ldr	x16, [x16]
	.endm

	.text
	.type	thunk_body, %function
	.p2align 6
thunk_body:
	.cfi_startproc
	.cfi_personality 0x1b, st_watch_personality
	sub	sp, sp, #ST_THUNK_FRAME_BYTES
	.cfi_def_cfa_offset ST_THUNK_FRAME_BYTES
	stp	x29, x30, [sp, #96]
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	add	x29, sp, #96
	.cfi_def_cfa 29, 16
	stp	x0, x1, [x29, #-96]
	stp	x2, x3, [x29, #-80]
	stp	x4, x5, [x29, #-64]
	stp	x6, x7, [x29, #-48]
	stp	x8, x18, [x29, #-32]
	str	x16, [x29, #-16]
	mov	x0, x16
	mov	x1, sp
	bl	st_watch_enter
	ldr	x16, [x29, #-16]
	tbnz	x0, #63, .Ljump
	lsl	x9, x0, #3
	add	x9, x9, #(ST_THUNK_FRAME_BYTES + 63)
	and	x9, x9, #-64                /* frame_bytes */
	add	x10, x29, #16
	sub	x11, x10, x9
	mov	x12, x10
.Lprobe:
	sub	x12, x12, #4096             /* never step over a guard page */
	cmp	x12, x11
	b.ls	.Lcopy
	str	xzr, [x12]
	b	.Lprobe
.Lcopy:
	mov	sp, x11
	tbz	x0, #0, .Lcopy_pairs
	sub	x0, x0, #1
	ldr	x12, [x10, x0, lsl #3]
	str	x12, [x11, x0, lsl #3]
.Lcopy_pairs:
	cbz	x0, .Lcopied
	sub	x0, x0, #2
	add	x14, x10, x0, lsl #3
	add	x15, x11, x0, lsl #3
	ldp	x12, x13, [x14]
	stp	x12, x13, [x15]
	b	.Lcopy_pairs
.Lcopied:
	restore_arguments
	blr	x16
	stp	x0, x1, [x29, #-32]
	sub	sp, x29, #96
	mov	x2, x0
	ldr	x0, [x29, #-16]
	mov	x1, sp
	bl	st_watch_leave
	ldp	x0, x1, [x29, #-32]
	.cfi_remember_state
	.cfi_def_cfa sp, ST_THUNK_FRAME_BYTES
	ldp	x29, x30, [sp, #96]
	.cfi_restore 29
	.cfi_restore 30
	add	sp, sp, #ST_THUNK_FRAME_BYTES
	.cfi_def_cfa_offset 0
	ret
.Ljump:
	.cfi_restore_state
	restore_arguments
	.cfi_def_cfa sp, ST_THUNK_FRAME_BYTES
	ldp	x29, x30, [sp, #96]
	.cfi_restore 29
	.cfi_restore 30
	add	sp, sp, #ST_THUNK_FRAME_BYTES
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	thunk_body, . - thunk_body

/* Thunk n: a landing pad (bti c), three nops so that the first 16 bytes may run anywhere – libraries that patch
 * functions in place move so many elsewhere –, then what depends on its place. */
	.globl	st_watch_thunks
	.hidden	st_watch_thunks
	.type	st_watch_thunks, %function
	.p2align 5
st_watch_thunks:
	.cfi_startproc
	.set	n, 0
	.rept	ST_THUNKS
	.p2align 5
	hint	#34
	nop
	nop
	nop
	adrp	x16, st_watch_targets + ST_TARGET_BYTES * n
	add	x16, x16, :lo12:st_watch_targets + ST_TARGET_BYTES * n
	b	thunk_body
	.set	n, n + 1
	.endr
	.cfi_endproc
	.size	st_watch_thunks, . - st_watch_thunks

/* st_watch_call_saved(fn, arg): run plain C where vector registers are live. */
	.globl	st_watch_call_saved
	.hidden	st_watch_call_saved
	.type	st_watch_call_saved, %function
	.p2align 4
st_watch_call_saved:
	.cfi_startproc
	hint	#34
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset 29, -160
	.cfi_offset 30, -152
	mov	x29, sp
	stp	q0, q1, [sp, #16]
	stp	q2, q3, [sp, #48]
	stp	q4, q5, [sp, #80]
	stp	q6, q7, [sp, #112]
	mrs	x9, fpsr
	str	x9, [sp, #144]
	mov	x9, x0
	mov	x0, x1
	blr	x9
	ldr	x9, [sp, #144]
	msr	fpsr, x9
	ldp	q0, q1, [sp, #16]
	ldp	q2, q3, [sp, #48]
	ldp	q4, q5, [sp, #80]
	ldp	q6, q7, [sp, #112]
	ldp	x29, x30, [sp], #160
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	st_watch_call_saved, . - st_watch_call_saved

	declare_landing_pads
	.section .note.GNU-stack, "", %progbits
