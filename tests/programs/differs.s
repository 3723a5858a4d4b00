/* One instruction that a Pentium 4 and a host with TZCNT execute differently: F3 0F BC of zero. */
        .intel_syntax noprefix
        .globl  _start
        .text
_start: mov     ecx, 3
again:  mov     eax, 7
        xor     edx, edx
        .byte   0xf3, 0x0f, 0xbc, 0xc2  # bsf eax, edx; tzcnt where there is one
        dec     ecx
        jnz     again
        mov     ebx, 0
        mov     eax, 1                  # exit(0)
        int     0x80
