# Sets up a TLS descriptor by hand and reads and writes through gs; then through fs with a second one.
# The exit status is the sum of what was read: 5 + 9.
        .globl _start
        .data
        .balign 16
block:  .long 1, 5, 3, 4
other:  .long 6, 7, 8, 9
first:  .long -1, block, 0xfffff, 0x51    # struct user_desc: entry, base, limit, 32 bit, pages, usable
second: .long -1, other, 0xfffff, 0x51
        .text
_start:
        movl    $243, %eax                # set_thread_area
        movl    $first, %ebx
        int     $0x80
        movl    first, %eax
        leal    3(,%eax,8), %eax
        movw    %ax, %gs
        movl    $243, %eax
        movl    $second, %ebx
        int     $0x80
        movl    second, %eax
        leal    3(,%eax,8), %eax
        movw    %ax, %fs
        movl    %gs:4, %ebx
        movl    $12, %ecx
        addl    %fs:(%ecx), %ebx
        movl    %ebx, %gs:8
        movl    $1, %eax                  # exit
        int     $0x80
