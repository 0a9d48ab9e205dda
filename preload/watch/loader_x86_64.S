/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two exported functions, dlsym and dlopen. The loader judges both by the address that they return to
 * (search path, namespace, RTLD_NEXT): so the real one is reached by a jump, with the stack as the caller
 * left it. Only a dlsym with an explicit handle, where the caller does not matter, is called from C.
 */
	.text

/* Call `function` with the caller's first two arguments kept; its result is in rax. */
	.macro	call_keeping_arguments function
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	\function
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.endm

	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	testq	%rdi, %rdi                  /* RTLD_DEFAULT */
	jz	.Ldefault
	cmpq	$-1, %rdi                   /* RTLD_NEXT: never substituted */
	jne	st_watch_dlsym_handle
.Lnext:
	movq	st_watch_next_dlsym(%rip), %rax
	testq	%rax, %rax
	jz	.Lresolve
	jmp	*%rax
.Ldefault:
	call_keeping_arguments st_watch_dlsym_default
	testq	%rax, %rax                  /* ours to answer? */
	jz	.Lnext
	ret
.Lresolve:
	call_keeping_arguments st_watch_resolve_dlsym
	jmp	*%rax
	.cfi_endproc
	.size	dlsym, . - dlsym

	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	endbr64
	call_keeping_arguments st_watch_before_dlopen
	jmp	*%rax
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
