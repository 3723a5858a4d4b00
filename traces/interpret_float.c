/* Floating-point arithmetic done by the host; see interpret_float.h. */
#include "interpret_float.h"

#if defined(__SSE2__)

/* One host instruction on two registers, with MXCSR put in place around it. */
#define UNDER_MXCSR(instruction)                                                                   \
    "stmxcsr %[host]\n\tldmxcsr %[mxcsr]\n\tmovups %[a], %%xmm0\n\tmovups %[b], "                  \
    "%%xmm1\n\t" instruction "\n\tmovups %%xmm0, %[a]\n\tstmxcsr %[mxcsr]\n\tldmxcsr %[host]"

#define ARITHMETIC(name)                                                                           \
    static void name(union interpret_xmm *destination, const union interpret_xmm *source,          \
                     uint32_t *mxcsr)                                                              \
    {                                                                                              \
        uint32_t host;                                                                             \
        __asm__(UNDER_MXCSR(#name " %%xmm1, %%xmm0")                                               \
                : [a] "+m"(*destination), [mxcsr] "+m"(*mxcsr), [host] "=m"(host)                  \
                : [b] "m"(*source)                                                                 \
                : "xmm0", "xmm1");                                                                 \
    }

/* clang-format off */
#define FOUR(F, opcode, name)                                                                      \
    F(NONE, opcode, name##ps)                                                                      \
    F(66, opcode, name##pd)                                                                        \
    F(F3, opcode, name##ss)                                                                        \
    F(F2, opcode, name##sd)
#define EACH(F)                                                                                    \
    FOUR(F, 0x51, sqrt)                                                                            \
    FOUR(F, 0x58, add)                                                                             \
    FOUR(F, 0x59, mul)                                                                             \
    FOUR(F, 0x5c, sub)                                                                             \
    FOUR(F, 0x5d, min)                                                                             \
    FOUR(F, 0x5e, div)                                                                             \
    FOUR(F, 0x5f, max)                                                                             \
    F(NONE, 0x5a, cvtps2pd)                                                                        \
    F(66, 0x5a, cvtpd2ps)                                                                          \
    F(F3, 0x5a, cvtss2sd)                                                                          \
    F(F2, 0x5a, cvtsd2ss)                                                                          \
    F(NONE, 0x5b, cvtdq2ps)                                                                        \
    F(66, 0x5b, cvtps2dq)                                                                          \
    F(F3, 0x5b, cvttps2dq)                                                                         \
    F(F3, 0xe6, cvtdq2pd)                                                                          \
    F(66, 0xe6, cvttpd2dq)                                                                         \
    F(F2, 0xe6, cvtpd2dq)
/* clang-format on */

#define DEFINE(prefix, opcode, name) ARITHMETIC(name)
EACH(DEFINE)

/* cvtsi2ss, cvtsi2sd take their integer from the source's first lane. */
#define FROM_INTEGER(name, function, lane)                                                         \
    static void function(union interpret_xmm *destination, const union interpret_xmm *source,      \
                         uint32_t *mxcsr)                                                          \
    {                                                                                              \
        uint32_t host;                                                                             \
        __asm__(UNDER_MXCSR(#name " %[integer], %%xmm0")                                           \
                : [a] "+m"(*destination), [mxcsr] "+m"(*mxcsr), [host] "=m"(host)                  \
                : [b] "m"(*source), [integer] "r"(source->lane)                                    \
                : "xmm0", "xmm1");                                                                 \
    }
FROM_INTEGER(cvtsi2ss, cvtsi2ss, d[0])
FROM_INTEGER(cvtsi2sd, cvtsi2sd, d[0])

#if defined(__x86_64__)
FROM_INTEGER(cvtsi2ssq, cvtsi2ssq, q[0])
FROM_INTEGER(cvtsi2sdq, cvtsi2sdq, q[0])
#endif

interpret_float_fn *interpret_float_from_quad(enum interpret_prefix prefix)
{
#if defined(__x86_64__)
    return prefix == PREFIX_F3 ? cvtsi2ssq : prefix == PREFIX_F2 ? cvtsi2sdq : NULL;
#else
    (void)prefix;
    return NULL;
#endif
}

interpret_float_fn *interpret_float(enum interpret_prefix prefix, uint8_t opcode)
{
    static const struct {
        enum interpret_prefix prefix;
        uint8_t opcode;
        interpret_float_fn *function;
    } rows[] = {
#define ROW(prefix, opcode, name) {PREFIX_##prefix, opcode, name},
        /* clang-format off */
        EACH(ROW)
        ROW(F3, 0x2a, cvtsi2ss)
        ROW(F2, 0x2a, cvtsi2sd)
        /* clang-format on */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].prefix == prefix && rows[i].opcode == opcode)
            return rows[i].function;
    return NULL;
}

/* Each predicate of a compare into a mask is an instruction of its own to the assembler. */
#define PREDICATE(name, number)                                                                    \
    static void name##_##number(union interpret_xmm *destination,                                  \
                                const union interpret_xmm *source, uint32_t *mxcsr)                \
    {                                                                                              \
        uint32_t host;                                                                             \
        __asm__(UNDER_MXCSR(#name " $" #number ", %%xmm1, %%xmm0")                                 \
                : [a] "+m"(*destination), [mxcsr] "+m"(*mxcsr), [host] "=m"(host)                  \
                : [b] "m"(*source)                                                                 \
                : "xmm0", "xmm1");                                                                 \
    }
#define PREDICATES(name)                                                                           \
    PREDICATE(name, 0)                                                                             \
    PREDICATE(name, 1)                                                                             \
    PREDICATE(name, 2)                                                                             \
    PREDICATE(name, 3)                                                                             \
    PREDICATE(name, 4)                                                                             \
    PREDICATE(name, 5)                                                                             \
    PREDICATE(name, 6)                                                                             \
    PREDICATE(name, 7)
/* clang-format off */
PREDICATES(cmpps)
PREDICATES(cmppd)
PREDICATES(cmpss)
PREDICATES(cmpsd)
/* clang-format on */

interpret_float_fn *interpret_float_predicate(enum interpret_prefix prefix, unsigned predicate)
{
#define OF_EACH(name)                                                                              \
    {                                                                                              \
        name##_0, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6, name##_7             \
    }
    static interpret_float_fn *const functions[PREFIX_KINDS][8] = {
        [PREFIX_NONE] = OF_EACH(cmpps),
        [PREFIX_66] = OF_EACH(cmppd),
        [PREFIX_F3] = OF_EACH(cmpss),
        [PREFIX_F2] = OF_EACH(cmpsd),
    };

    return predicate < 8 ? functions[prefix][predicate] : NULL;
}

#define COMPARE(name)                                                                              \
    static uint32_t name(union interpret_xmm a, union interpret_xmm b, uint32_t *mxcsr)            \
    {                                                                                              \
        uint32_t host;                                                                             \
        uint8_t zero, parity, carry;                                                               \
        __asm__(UNDER_MXCSR(#name " %%xmm1, %%xmm0\n\tsetz %[zero]\n\tsetp %[parity]"              \
                                  "\n\tsetc %[carry]")                                             \
                : [a] "+m"(a), [mxcsr] "+m"(*mxcsr), [host] "=m"(host), [zero] "=m"(zero),         \
                  [parity] "=m"(parity), [carry] "=m"(carry)                                       \
                : [b] "m"(b)                                                                       \
                : "xmm0", "xmm1", "cc");                                                           \
        return (uint32_t)zero << 6 | (uint32_t)parity << 2 | carry;                                \
    }
COMPARE(ucomiss)
COMPARE(ucomisd)
COMPARE(comiss)
COMPARE(comisd)

uint32_t interpret_float_compare(enum interpret_prefix prefix, uint8_t opcode,
                                 const union interpret_xmm *a, const union interpret_xmm *b,
                                 uint32_t *mxcsr)
{
    if (opcode == 0x2e)
        return prefix == PREFIX_66 ? ucomisd(*a, *b, mxcsr) : ucomiss(*a, *b, mxcsr);
    return prefix == PREFIX_66 ? comisd(*a, *b, mxcsr) : comiss(*a, *b, mxcsr);
}

#define TO_INTEGER(name, function, type)                                                           \
    static type function(union interpret_xmm a, uint32_t *mxcsr)                                   \
    {                                                                                              \
        const union interpret_xmm b = a;                                                           \
        uint32_t host;                                                                             \
        type integer;                                                                              \
        __asm__(UNDER_MXCSR(#name " %%xmm1, %[integer]")                                           \
                : [a] "+m"(a), [mxcsr] "+m"(*mxcsr), [host] "=m"(host), [integer] "=&r"(integer)   \
                : [b] "m"(b)                                                                       \
                : "xmm0", "xmm1");                                                                 \
        return integer;                                                                            \
    }
TO_INTEGER(cvtss2si, cvtss2si, uint32_t)
TO_INTEGER(cvtsd2si, cvtsd2si, uint32_t)
TO_INTEGER(cvttss2si, cvttss2si, uint32_t)
TO_INTEGER(cvttsd2si, cvttsd2si, uint32_t)

#if defined(__x86_64__)
TO_INTEGER(cvtss2si, cvtss2siq, uint64_t)
TO_INTEGER(cvtsd2si, cvtsd2siq, uint64_t)
TO_INTEGER(cvttss2si, cvttss2siq, uint64_t)
TO_INTEGER(cvttsd2si, cvttsd2siq, uint64_t)

static uint64_t to_quad(enum interpret_prefix prefix, uint8_t opcode,
                        const union interpret_xmm *source, uint32_t *mxcsr)
{
    if (opcode == 0x2c)
        return prefix == PREFIX_F2 ? cvttsd2siq(*source, mxcsr) : cvttss2siq(*source, mxcsr);
    return prefix == PREFIX_F2 ? cvtsd2siq(*source, mxcsr) : cvtss2siq(*source, mxcsr);
}
#endif

uint64_t interpret_float_to_integer(enum interpret_prefix prefix, uint8_t opcode, unsigned bytes,
                                    const union interpret_xmm *source, uint32_t *mxcsr)
{
#if defined(__x86_64__)
    if (bytes == 8)
        return to_quad(prefix, opcode, source, mxcsr);
#endif
    (void)bytes;
    if (opcode == 0x2c)
        return prefix == PREFIX_F2 ? cvttsd2si(*source, mxcsr) : cvttss2si(*source, mxcsr);
    return prefix == PREFIX_F2 ? cvtsd2si(*source, mxcsr) : cvtss2si(*source, mxcsr);
}

#else

interpret_float_fn *interpret_float_predicate(enum interpret_prefix prefix, unsigned predicate)
{
    (void)prefix;
    (void)predicate;
    return NULL;
}

interpret_float_fn *interpret_float(enum interpret_prefix prefix, uint8_t opcode)
{
    (void)prefix;
    (void)opcode;
    return NULL;
}

uint32_t interpret_float_compare(enum interpret_prefix prefix, uint8_t opcode,
                                 const union interpret_xmm *a, const union interpret_xmm *b,
                                 uint32_t *mxcsr)
{
    (void)prefix;
    (void)opcode;
    (void)a;
    (void)b;
    (void)mxcsr;
    return 0;
}

interpret_float_fn *interpret_float_from_quad(enum interpret_prefix prefix)
{
    (void)prefix;
    return NULL;
}

uint64_t interpret_float_to_integer(enum interpret_prefix prefix, uint8_t opcode, unsigned bytes,
                                    const union interpret_xmm *source, uint32_t *mxcsr)
{
    (void)prefix;
    (void)opcode;
    (void)bytes;
    (void)source;
    (void)mxcsr;
    return 0;
}

#endif
