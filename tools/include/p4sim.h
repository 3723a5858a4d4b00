/*
 * Markers for p4sim: where a region of a program begins and ends.
 *
 *   #include <p4sim.h>
 *   P4SIM_BEGIN("inner loop");
 *   ...
 *   P4SIM_END("inner loop");
 *
 *   p4sim stat --region marker -- ./program          # every marker's region
 *   p4sim stat --region "marker:inner loop" -- ./program
 *
 * A marker is one short jump over a few bytes of text, in 32-bit and 64-bit code alike, position
 * independent or not; without p4sim it does nothing else. The jumps belong to no region. Regions
 * nest, and may begin again inside themselves. NAME is a string literal of up to 100 characters
 * without quotes, backslashes and percent signs. The compiler moves no memory access over a marker,
 * but may move calculations in registers.
 *
 * In assembly:  .byte 0xeb, 1f - . - 1; .asciz "p4sim:Bname"; 1:     (E for the end)
 *
 * For GCC and Clang on x86. This header may be copied into any program.
 */
#ifndef P4SIM_MARKERS_H
#define P4SIM_MARKERS_H

#define P4SIM_MARKER(kind, name)                                                                   \
    do {                                                                                           \
        (void)sizeof(char[sizeof(name) <= 101 ? 1 : -1]); /* a name is too long */                 \
        __asm__ volatile(".byte 0xeb, 1f - . - 1\n\t.asciz \"p4sim:" kind name "\"\n1:" ::         \
                             : "memory");                                                          \
    } while (0)

#define P4SIM_BEGIN(name) P4SIM_MARKER("B", name)
#define P4SIM_END(name)   P4SIM_MARKER("E", name)

#endif
