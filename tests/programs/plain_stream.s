# What a plain stream has to get right: repeated instructions up, down and not at all, accesses in parts, both kinds.
        .globl _start
        .text
_start:
        mov $100,%ecx
1: addl $3,(buf)
        pushl (buf)
        popl %eax
        dec %ecx
        jnz 1b
        mov $5,%ecx
        mov $buf,%edi
        mov $buf+64,%esi
        cld
        rep movsl
        xor %ecx,%ecx
        rep stosb
        pusha
        popa
        mov $20, %ecx
        std
        mov $buf+100,%edi
        rep stosb
        cld
        fxsave (buf)
        movdqa (buf),%xmm0
        fildl (buf)
        fistpl (buf)
        cmpxchg8b (buf)
        prefetcht0 (buf)
        lock xaddl %eax,(buf)
        xchg %eax,(buf)
        call 2f
        leal buf,%eax
        mov $1,%eax
        xor %ebx,%ebx
        int $0x80
2: ret $0
        .bss
        .align 64
buf: .space 1024
