/*
 * One load that misses the first-level data cache, amid loads that hit: the program B. Sprunt used in
 * 2002 to compare interrupt-based with precise sampling, rebuilt from its description. An inner loop
 * of eight iterations loads from eight addresses 8 KB apart, which all fall into one set of the L1
 * (four ways): each of them misses. Long runs of loads that hit stand before and after the loop. All
 * loads are independent. The missing load reads through EAX and writes EAX, so that a precise record,
 * taken before it retires, still has the address in EAX.
 *
 * 8 misses in each of RUNS runs, whatever the model: its L1 has at most eight ways of 8 KB in all.
 */
        .globl  _start, missing_load, before, after
        .set    RUNS, 5000

        .bss
        .balign 8192
table:  .skip   8 * 8192
        .globl  near
near:   .skip   4096                    # the loads that hit: four lines, away from the table's set

        .text
        .type   _start, @function
_start: movl    $RUNS, %edi
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
        movl    $table + 0x760, %edx
        movl    $8, %ecx
again:  movl    %edx, %eax
        addl    $8192, %edx
missing_load:
        movl    (%eax), %eax
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
