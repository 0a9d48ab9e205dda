/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one opaque thunk: it calls a function whose signature it does not know.
 *
 * Kept for the function: all integer argument registers, al (variadic calls), r10 (static chain), every
 * vector register (the hooks are built for general registers only), as many words of stack arguments as
 * st_watch_enter() says, at the same alignment modulo 64. Returned untouched: rax, rdx, xmm0, xmm1, st0, st1. Live thunk frames of
 * a thread have strictly falling stack pointers: the thunk never leaves by a jump once it has entered.
 *
 *     rbp+16  the caller's stack arguments (word 6 …)      frame[10] …
 *     rbp+8   return address                               frame[9]
 *     rbp-8   r10, later rdx of the result                 frame[7]
 *     rbp-16  rax, later rax of the result                 frame[6]
 *     rbp-64  rdi rsi rdx rcx r8 r9                        frame[0] … frame[5]
 *     rbp-72  the target
 *     rbp-80  (alignment)
 *     rbp+16-frame_bytes   copy of the stack arguments; rsp during the call
 */
#include "arch_x86_64.h"

#define FRAME    -64(%rbp)
#define SAVED_R10 -8(%rbp)
#define SAVED_RAX -16(%rbp)
#define TARGET   -72(%rbp)

	.text
	.type	thunk_body, @function
	.p2align 6
thunk_body:
	.cfi_startproc
	.cfi_personality 0x1b, st_watch_personality
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$80, %rsp
	movq	%r10, SAVED_R10
	movq	%rax, SAVED_RAX
	movq	%r9, -24(%rbp)
	movq	%r8, -32(%rbp)
	movq	%rcx, -40(%rbp)
	movq	%rdx, -48(%rbp)
	movq	%rsi, -56(%rbp)
	movq	%rdi, FRAME
	movq	%r11, TARGET
	movq	%r11, %rdi
	leaq	FRAME, %rsi
	call	st_watch_enter
	movq	TARGET, %r11
	testq	%rax, %rax
	js	.Ljump
	jz	.Lcopied_nothing
	leaq	ST_THUNK_FRAME_BYTES + 63(, %rax, 8), %rdx
	andq	$-64, %rdx                  /* frame_bytes */
	leaq	16(%rbp), %rsi
	movq	%rsi, %rdi
	subq	%rdx, %rdi
	cmpq	$32, %rax
	ja	.Lcopy_many
	movq	%rdi, %rsp
.Lcopy_word:
	movq	-8(%rsi,%rax,8), %rcx
	movq	%rcx, -8(%rsp,%rax,8)
	decl	%eax
	jnz	.Lcopy_word
	jmp	.Lcopied
.Lcopy_many:
	movq	%rbp, %rcx
.Lprobe:
	subq	$4096, %rcx                 /* never step over a guard page */
	cmpq	%rdi, %rcx
	jbe	.Lprobed
	orb	$0, (%rcx)
	jmp	.Lprobe
.Lprobed:
	movq	%rdi, %rsp
	movq	%rax, %rcx
	rep movsq
	jmp	.Lcopied
.Lcopied_nothing:
	leaq	-112(%rbp), %rsp            /* 128 below the caller's arguments: the same modulo 64 */
.Lcopied:
	movq	FRAME, %rdi
	movq	-56(%rbp), %rsi
	movq	-48(%rbp), %rdx
	movq	-40(%rbp), %rcx
	movq	-32(%rbp), %r8
	movq	-24(%rbp), %r9
	movq	SAVED_RAX, %rax
	movq	SAVED_R10, %r10
	call	*(%r11)
	movq	%rax, SAVED_RAX
	movq	%rdx, SAVED_R10
	leaq	-80(%rbp), %rsp
	movq	TARGET, %rdi
	leaq	FRAME, %rsi
	movq	%rax, %rdx
	call	st_watch_leave
	movq	SAVED_RAX, %rax
	movq	SAVED_R10, %rdx
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	ret
.Ljump:
	.cfi_restore_state
	movq	FRAME, %rdi
	movq	-56(%rbp), %rsi
	movq	-48(%rbp), %rdx
	movq	-40(%rbp), %rcx
	movq	-32(%rbp), %r8
	movq	-24(%rbp), %r9
	movq	SAVED_RAX, %rax
	movq	SAVED_R10, %r10
	movq	(%r11), %r11
	leave
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	thunk_body, . - thunk_body

/*
 * Thunk n: 14 bytes that do nothing and may stand anywhere, lea (7), jmp (5). A library that patches functions in
 * place writes a jump over the first 5 to 14 bytes and goes on with a copy of them. What such libraries copy is
 * little (pushes, moves to the stack, a smaller stack pointer): no endbr64, no nop, nothing that depends on its place.
 */
	.globl	st_watch_thunks
	.hidden	st_watch_thunks
	.type	st_watch_thunks, @function
	.p2align 5
st_watch_thunks:
	.cfi_startproc
	.set	n, 0
	.rept	ST_THUNKS
	.p2align 5
	.byte	0x48, 0x81, 0xec, 0, 0, 0, 0 /* sub $0, %rsp in 7 bytes, not 4 */
	.byte	0x48, 0x81, 0xec, 0, 0, 0, 0
	leaq	st_watch_targets + ST_TARGET_BYTES * n(%rip), %r11
	.byte	0xe9                        /* jmp with 32 bits, also where 8 would do */
	.long	thunk_body - . - 4
	.set	n, n + 1
	.endr
	.cfi_endproc
	.size	st_watch_thunks, . - st_watch_thunks

/*
 * st_watch_call_saved(fn, arg): run plain C where vector registers are live. The area must be 64-byte
 * aligned and its header zero; components 0-2 and 5-7 are x87, SSE, AVX and AVX-512.
 */
#define COMPONENTS 0xe7

	.globl	st_watch_call_saved
	.hidden	st_watch_call_saved
	.type	st_watch_call_saved, @function
	.p2align 4
st_watch_call_saved:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rdi
	pushq	%rsi
	call	st_watch_vector_bytes
	popq	%rdi
	popq	%r11
	testq	%rax, %rax
	jz	.Lfxsave
	subq	%rax, %rsp
	andq	$-64, %rsp
	xorl	%edx, %edx
	.set	at, 512
	.rept	8
	movq	%rdx, at(%rsp)
	.set	at, at + 8
	.endr
	movl	$COMPONENTS, %eax
	xsave64	(%rsp)
	call	*%r11
	movl	$COMPONENTS, %eax
	xorl	%edx, %edx
	xrstor64 (%rsp)
	jmp	.Lrestored
.Lfxsave:
	subq	$512, %rsp
	andq	$-64, %rsp
	fxsave64 (%rsp)
	call	*%r11
	fxrstor64 (%rsp)
.Lrestored:
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	st_watch_call_saved, . - st_watch_call_saved

	.section .note.GNU-stack, "", @progbits
