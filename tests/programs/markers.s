# Three times: a marked region "outer" of a loop, and in it "inner" of another. The name of the first marker goes on
# in the next page, in which nothing has been executed yet.
        .globl  _start, looped
        .text
        .p2align 12
        .fill   4096 - 30, 1, 0x90
_start: movl    $3, %esi
again:  nop
        .byte   0xeb, 1f - . - 1
        .asciz  "p4sim:Bouter region of the program"
1:      movl    $100, %ecx
        call    looped
        .byte   0xeb, 1f - . - 1
        .asciz  "p4sim:Binner"
1:      movl    $10, %ecx
        call    looped
        .byte   0xeb, 1f - . - 1
        .asciz  "p4sim:Einner"
1:      nop
        .byte   0xeb, 1f - . - 1
        .asciz  "p4sim:Eouter region of the program"
1:      decl    %esi
        jnz     again
        movl    $1, %eax
        xorl    %ebx, %ebx
        int     $0x80

        .type   looped, @function
looped: decl    %ecx
        jnz     looped
        ret
        .size   looped, . - looped
