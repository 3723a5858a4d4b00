/*
 * Reads at random through working sets of 2 KB, 4 KB, ... 4 MB, each read's address made from the read
 * before, so that a read costs its whole latency. For every size 4096 reads fill the caches and 4096
 * more are there to be measured; each takes 7 instructions. No library: nothing else runs.
 *
 * A line of 128 bytes (both cache levels') is chosen by x = 5x + 12345 mod 2^n, which visits every line
 * of the set once in 2^n reads.
 */
        .intel_syntax noprefix
        .globl  _start
        .bss
        .balign 4096
table:  .skip   4 << 20

        .text
_start: mov     ebx, 15                 # lines - 1: 16 lines are 2 KB
size:   mov     ecx, 8192
        xor     eax, eax
read:   lea     eax, [eax + eax*4 + 12345]
        mov     edx, eax
        and     edx, ebx
        shl     edx, 7
        add     eax, [table + edx]      # always 0: only makes the next address wait
        dec     ecx
        jnz     read
        lea     ebx, [ebx + ebx + 1]
        cmp     ebx, 32768
        jb      size
        mov     eax, 1                  # exit(0)
        xor     ebx, ebx
        int     0x80
