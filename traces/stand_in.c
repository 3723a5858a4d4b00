/* Stand-ins; see stand_in.h. */
#include "stand_in.h"

/* Registers do not matter: addresses come with each execution. In 64-bit mode all mean the same. */
static const struct shape {
    uint8_t bytes[2];
    uint8_t length;
    bool reads, writes, jumps;
} shapes[] = {
    {{0x8b, 0x00}, 2, true, false, false}, /* mov eax, [eax] */
    {{0x89, 0x00}, 2, false, true, false}, /* mov [eax], eax */
    {{0x01, 0x00}, 2, true, true, false},  /* add [eax], eax */
    {{0xff, 0xe0}, 2, false, false, true}, /* jmp eax */
    {{0xff, 0xd0}, 2, false, true, true},  /* call eax */
    {{0xff, 0x10}, 2, true, true, true},   /* call [eax] */
    {{0x90}, 1, false, false, false},      /* nop */
    {{0x58}, 1, true, false, false},       /* pop eax */
    {{0x50}, 1, false, true, false},       /* push eax */
    {{0xa5}, 1, true, true, false},        /* movsd */
    {{0xc3}, 1, true, false, true},        /* ret */
};

bool stand_in(unsigned length, bool reads, bool writes, bool jumps,
              uint8_t bytes[TRACE_INSTRUCTION_BYTES])
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i];
        if (shape->length > length || shape->reads != reads || shape->writes != writes ||
            shape->jumps != jumps)
            continue;
        memset(bytes, 0x3e, length); /* DS prefixes */
        memcpy(bytes + length - shape->length, shape->bytes, shape->length);
        return true;
    }
    memset(bytes, 0x3e, length);
    bytes[length - 1] = 0x90;
    return false;
}
