/*
 * One load that misses the first-level data cache, amid loads that hit: the program B. Sprunt used in
 * 2002 to compare interrupt-based with precise sampling, rebuilt from its description. An inner loop
 * of eight iterations loads from eight addresses 8 KB apart, which all fall into one set of the L1
 * (four ways): each of them misses. Long runs of loads that hit stand before and after the loop. All
 * loads are independent. The missing load reads through EAX and writes EAX, so that a precise record,
 * taken before it retires, still has the address in EAX.
 *
 * Each run begins one address further than the one before. Without that, a fixed period would resonate
 * with the loop: here nothing else disturbs the program, and some addresses would never be met.
 */
        .globl  _start
        .set    RUNS, 5000

        .bss
        .balign 8192
table:  .skip   8 * 8192
        .globl  near
near:   .skip   4096                    # the loads that hit: four lines, away from the table's set
stack:                                  # its own: that of the kernel lies where the environment wants

        .text
        .type   _start, @function
_start: movl    $stack, %esp
        movl    $RUNS, %edi
run:    call    before
        call    missing
        call    after
        decl    %edi
        jnz     run
        movl    $1, %eax                # exit(0)
        xorl    %ebx, %ebx
        int     $0x80
        .size   _start, . - _start

        .type   missing, @function
missing:
        movl    %edi, %edx
        negl    %edx
        shll    $13, %edx
        andl    $0xe000, %edx           # (run mod 8) * 8 KB; EDI counts down
        movl    $8, %ecx
again:  leal    table + 0x760(%edx), %eax
        addl    $8192, %edx
        andl    $0xe000, %edx
        movl    (%eax), %eax            # misses
        decl    %ecx
        jnz     again
        ret
        .size   missing, . - missing

        .macro  hits
        .rept   50
        movl    near + 0x000, %eax
        movl    near + 0x040, %ebx
        movl    near + 0x080, %eax
        movl    near + 0x0c0, %ebx
        .endr
        .endm

        .type   before, @function
before: hits
        ret
        .size   before, . - before

        .type   after, @function
after:  hits
        ret
        .size   after, . - after
