#include "textflag.h"

// func taskSelfAddr() unsafe.Pointer
TEXT ·taskSelfAddr(SB),NOSPLIT,$0-8
	MOVQ	$libc_mach_task_self_(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
