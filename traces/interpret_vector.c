/* What SSE and SSE2 instructions compute; see interpret_vector.h. */
#include "interpret_vector.h"

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* ---- lane by lane ------------------------------------------------------------------------------
 */

typedef uint8_t lane_b;
typedef uint16_t lane_w;
typedef uint32_t lane_d;
typedef uint64_t lane_q;

#define V(prefix, opcode, name, lane, lanes, result)                                               \
    static void name(union interpret_xmm *destination, const union interpret_xmm *source,          \
                     unsigned immediate)                                                           \
    {                                                                                              \
        (void)immediate;                                                                           \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            const lane_##lane a = destination->lane[i], b = source->lane[i];                       \
            destination->lane[i] = (lane_##lane)(result);                                          \
        }                                                                                          \
    }
#include "interpret_vector.def"
#undef V

/* ---- interleaving and packing ------------------------------------------------------------------
 */

/* punpck: lanes of one half of both operands in turn. */
#define UNPACK(name, lane, lanes, first)                                                           \
    static void name(union interpret_xmm *destination, const union interpret_xmm *source,          \
                     unsigned immediate)                                                           \
    {                                                                                              \
        const union interpret_xmm a = *destination, b = *source;                                   \
        (void)immediate;                                                                           \
        for (unsigned i = 0; i < (lanes) / 2; i++) {                                               \
            destination->lane[2 * i] = a.lane[(first) + i];                                        \
            destination->lane[2 * i + 1] = b.lane[(first) + i];                                    \
        }                                                                                          \
    }
UNPACK(punpcklbw, b, 16, 0)
UNPACK(punpcklwd, w, 8, 0)
UNPACK(punpckldq, d, 4, 0)
UNPACK(punpcklqdq, q, 2, 0)
UNPACK(punpckhbw, b, 16, 8)
UNPACK(punpckhwd, w, 8, 4)
UNPACK(punpckhdq, d, 4, 2)
UNPACK(punpckhqdq, q, 2, 1)

/* Both operands' lanes made half as wide, with saturation. */
#define PACK(name, wide, signed_wide, narrow, lanes, low, high)                                    \
    static void name(union interpret_xmm *destination, const union interpret_xmm *source,          \
                     unsigned immediate)                                                           \
    {                                                                                              \
        const union interpret_xmm a = *destination, b = *source;                                   \
        (void)immediate;                                                                           \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            destination->narrow[i] = (lane_##narrow)clamp((signed_wide)a.wide[i], low, high);      \
            destination->narrow[(lanes) + i] =                                                     \
                (lane_##narrow)clamp((signed_wide)b.wide[i], low, high);                           \
        }                                                                                          \
    }
PACK(packsswb, w, int16_t, b, 8, -0x80, 0x7f)
PACK(packuswb, w, int16_t, b, 8, 0, 0xff)
PACK(packssdw, d, int32_t, w, 4, -0x8000, 0x7fff)

static void pmaddwd(union interpret_xmm *destination, const union interpret_xmm *source,
                    unsigned immediate)
{
    (void)immediate;
    for (unsigned i = 0; i < 4; i++) {
        int64_t low = (int16_t)destination->w[2 * i] * (int16_t)source->w[2 * i];
        int64_t high = (int16_t)destination->w[2 * i + 1] * (int16_t)source->w[2 * i + 1];
        destination->d[i] = (uint32_t)(low + high);
    }
}

static void psadbw(union interpret_xmm *destination, const union interpret_xmm *source,
                   unsigned immediate)
{
    (void)immediate;
    for (unsigned half = 0; half < 2; half++) {
        uint64_t sum = 0;
        for (unsigned i = 8 * half; i < 8 * half + 8; i++)
            sum += (uint64_t)(destination->b[i] > source->b[i] ? destination->b[i] - source->b[i]
                                                               : source->b[i] - destination->b[i]);
        destination->q[half] = sum;
    }
}

/* ---- shuffles ----------------------------------------------------------------------------------
 */

static void pshufd(union interpret_xmm *destination, const union interpret_xmm *source,
                   unsigned immediate)
{
    const union interpret_xmm b = *source;

    for (unsigned i = 0; i < 4; i++)
        destination->d[i] = b.d[immediate >> 2 * i & 3];
}

static void pshuflw(union interpret_xmm *destination, const union interpret_xmm *source,
                    unsigned immediate)
{
    const union interpret_xmm b = *source;

    *destination = b;
    for (unsigned i = 0; i < 4; i++)
        destination->w[i] = b.w[immediate >> 2 * i & 3];
}

static void pshufhw(union interpret_xmm *destination, const union interpret_xmm *source,
                    unsigned immediate)
{
    const union interpret_xmm b = *source;

    *destination = b;
    for (unsigned i = 0; i < 4; i++)
        destination->w[4 + i] = b.w[4 + (immediate >> 2 * i & 3)];
}

static void shufps(union interpret_xmm *destination, const union interpret_xmm *source,
                   unsigned immediate)
{
    const union interpret_xmm a = *destination, b = *source;

    for (unsigned i = 0; i < 4; i++)
        destination->d[i] = (i < 2 ? &a : &b)->d[immediate >> 2 * i & 3];
}

static void shufpd(union interpret_xmm *destination, const union interpret_xmm *source,
                   unsigned immediate)
{
    const union interpret_xmm a = *destination, b = *source;

    destination->q[0] = a.q[immediate & 1];
    destination->q[1] = b.q[immediate >> 1 & 1];
}

/* ---- shifts ------------------------------------------------------------------------------------
 */

/* Counts past the lane's width give zeros, or copies of the sign. */
#define SHIFT(name, lane, lanes, bits, result)                                                     \
    static void name##_by(union interpret_xmm *destination, uint64_t count)                        \
    {                                                                                              \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            const lane_##lane a = destination->lane[i];                                            \
            destination->lane[i] = (lane_##lane)(result);                                          \
        }                                                                                          \
    }                                                                                              \
    static void name(union interpret_xmm *destination, const union interpret_xmm *source,          \
                     unsigned immediate)                                                           \
    {                                                                                              \
        (void)immediate;                                                                           \
        name##_by(destination, source->q[0]);                                                      \
    }                                                                                              \
    static void name##_immediate(union interpret_xmm *destination,                                 \
                                 const union interpret_xmm *source, unsigned immediate)            \
    {                                                                                              \
        (void)source;                                                                              \
        name##_by(destination, immediate);                                                         \
    }
SHIFT(psrlw, w, 8, 16, count > 15 ? 0 : a >> count)
SHIFT(psrld, d, 4, 32, count > 31 ? 0 : a >> count)
SHIFT(psrlq, q, 2, 64, count > 63 ? 0 : a >> count)
SHIFT(psraw, w, 8, 16, (int16_t)a >> (count > 15 ? 15 : count))
SHIFT(psrad, d, 4, 32, (int32_t)a >> (count > 31 ? 31 : count))
SHIFT(psllw, w, 8, 16, count > 15 ? 0 : a << count)
SHIFT(pslld, d, 4, 32, count > 31 ? 0 : a << count)
SHIFT(psllq, q, 2, 64, count > 63 ? 0 : a << count)

static void psrldq(union interpret_xmm *destination, const union interpret_xmm *source,
                   unsigned immediate)
{
    const union interpret_xmm a = *destination;

    (void)source;
    for (unsigned i = 0; i < 16; i++)
        destination->b[i] = i + immediate < 16 ? a.b[i + immediate] : 0;
}

static void pslldq(union interpret_xmm *destination, const union interpret_xmm *source,
                   unsigned immediate)
{
    const union interpret_xmm a = *destination;

    (void)source;
    for (unsigned i = 0; i < 16; i++)
        destination->b[i] = i >= immediate ? a.b[i - immediate] : 0;
}

/* ---- finding them ------------------------------------------------------------------------------
 */

struct row {
    enum interpret_prefix prefix;
    uint8_t opcode;
    interpret_xmm_fn *function;
};

#define V(prefix, opcode, name, lane, lanes, result) {PREFIX_##prefix, opcode, name},
static const struct row rows[] = {
#include "interpret_vector.def"
    {PREFIX_NONE, 0x14, punpckldq}, {PREFIX_NONE, 0x15, punpckhdq}, {PREFIX_66, 0x14, punpcklqdq},
    {PREFIX_66, 0x15, punpckhqdq},  {PREFIX_66, 0x60, punpcklbw},   {PREFIX_66, 0x61, punpcklwd},
    {PREFIX_66, 0x62, punpckldq},   {PREFIX_66, 0x63, packsswb},    {PREFIX_66, 0x67, packuswb},
    {PREFIX_66, 0x68, punpckhbw},   {PREFIX_66, 0x69, punpckhwd},   {PREFIX_66, 0x6a, punpckhdq},
    {PREFIX_66, 0x6b, packssdw},    {PREFIX_66, 0x6c, punpcklqdq},  {PREFIX_66, 0x6d, punpckhqdq},
    {PREFIX_66, 0x70, pshufd},      {PREFIX_F2, 0x70, pshuflw},     {PREFIX_F3, 0x70, pshufhw},
    {PREFIX_NONE, 0xc6, shufps},    {PREFIX_66, 0xc6, shufpd},      {PREFIX_66, 0xd1, psrlw},
    {PREFIX_66, 0xd2, psrld},       {PREFIX_66, 0xd3, psrlq},       {PREFIX_66, 0xe1, psraw},
    {PREFIX_66, 0xe2, psrad},       {PREFIX_66, 0xf1, psllw},       {PREFIX_66, 0xf2, pslld},
    {PREFIX_66, 0xf3, psllq},       {PREFIX_66, 0xf5, pmaddwd},     {PREFIX_66, 0xf6, psadbw},
};
#undef V

interpret_xmm_fn *interpret_vector(enum interpret_prefix prefix, uint8_t opcode)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].prefix == prefix && rows[i].opcode == opcode)
            return rows[i].function;
    return NULL;
}

interpret_xmm_fn *interpret_vector_shift(uint8_t opcode, unsigned digit)
{
    static interpret_xmm_fn *const shifts[3][8] = {
        {[2] = psrlw_immediate, [4] = psraw_immediate, [6] = psllw_immediate},
        {[2] = psrld_immediate, [4] = psrad_immediate, [6] = pslld_immediate},
        {[2] = psrlq_immediate, [3] = psrldq, [6] = psllq_immediate, [7] = pslldq},
    };

    return opcode >= 0x71 && opcode <= 0x73 ? shifts[opcode - 0x71][digit & 7] : NULL;
}
