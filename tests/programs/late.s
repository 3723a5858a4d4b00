# An instruction of SSE3, which came with model 3, then exit status 5.
        .globl _start
        .text
_start: addsubps %xmm0, %xmm1
        movl $1, %eax
        movl $5, %ebx
        int $0x80
