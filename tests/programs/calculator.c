/*
 * A small compiler and its machine: expressions become bytecode by recursive descent, the bytecode
 * runs in a loop with one indirect jump per operation - the branch that made interpreters slow on
 * deep pipelines.
 * Size: how often each compiled expression runs.
 */
#include "size.h"

#include <stdio.h>

enum operation { PUSH, LOAD, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, STOP };

struct code {
    int32_t words[256];
    unsigned used;
};

static const char *text;

static void emit(struct code *code, int32_t word)
{
    if (code->used < sizeof code->words / sizeof *code->words)
        code->words[code->used++] = word;
}

static void sum(struct code *code);

static void atom(struct code *code)
{
    if (*text == '(') {
        text++;
        sum(code);
        text++;
    } else if (*text == '-') {
        text++;
        atom(code);
        emit(code, NEGATE);
    } else if (*text == 'x') {
        text++;
        emit(code, LOAD);
    } else {
        int32_t number = 0;
        for (; *text >= '0' && *text <= '9'; text++)
            number = 10 * number + (*text - '0');
        emit(code, PUSH);
        emit(code, number);
    }
}

static void product(struct code *code)
{
    atom(code);
    while (*text == '*' || *text == '/') {
        char operator= * text++;
        atom(code);
        emit(code, operator== '*' ? MULTIPLY : DIVIDE);
    }
}

static void sum(struct code *code)
{
    product(code);
    while (*text == '+' || *text == '-') {
        char operator= * text++;
        product(code);
        emit(code, operator== '+' ? ADD : SUBTRACT);
    }
}

static int32_t run(const struct code *code, int32_t x)
{
    uint32_t stack[64] = {0}, *top = stack;

    for (const int32_t *word = code->words;;) {
        switch ((enum operation) * word++) {
        case PUSH:
            *++top = (uint32_t)*word++;
            break;
        case LOAD:
            *++top = (uint32_t)x;
            break;
        case ADD:
            top--;
            top[0] += top[1];
            break;
        case SUBTRACT:
            top--;
            top[0] -= top[1];
            break;
        case MULTIPLY:
            top--;
            top[0] *= top[1];
            break;
        case DIVIDE:
            top--;
            top[0] = top[1] ? (uint32_t)((int64_t)(int32_t)top[0] / (int32_t)top[1]) : 0;
            break;
        case NEGATE:
            top[0] = -top[0];
            break;
        case STOP:
            return (int32_t)*top;
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const expressions[] = {"x*x*x-3*x+7", "(x+1)*(x-1)/(x*x+1)",
                                              "-(12-x)*(4+x/3)-(-x)", "1+2*(3+4*(5+6*(7+x)))"};
    unsigned times = size_argument(argc, argv, 700);
    int32_t check = 0;

    for (unsigned i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        struct code code = {.used = 0};
        text = expressions[i];
        sum(&code);
        emit(&code, STOP);
        for (unsigned x = 0; x < times; x++)
            check = (int32_t)((uint32_t)check * 31 + (uint32_t)run(&code, (int32_t)(x & 1023)));
    }
    printf("checksum %ld\n", (long)check);
    return 0;
}
