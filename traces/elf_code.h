/*
 * The code a program's ELF file has at an address of the running program, for runs of which only
 * addresses were written down.
 */
#ifndef TRACES_ELF_CODE_H
#define TRACES_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_CODE_PAGE_BYTES = 4096 };

struct elf_code;

/* The file at PATH, mapped BASE above the addresses it names (0 for programs that are not
 * position-independent). NULL and ERROR (512 bytes) where it is no ELF file of IA-32 or x86-64. */
struct elf_code *elf_code_open(const char *path, uint64_t base, char error[512]);
bool elf_code_is_64(const struct elf_code *code);

/* The page NUMBER as the kernel maps it when the program starts: the file's bytes, zeros
 * where memory is larger. False: the program has none there. */
bool elf_code_page(const struct elf_code *code, uint64_t number, uint8_t bytes[ELF_CODE_PAGE_BYTES],
                   bool *writable);

/* As many of COUNT bytes at ADDRESS as an executable segment of the file has; 0: none. */
size_t elf_code_at(const struct elf_code *code, uint64_t address, uint8_t *bytes, size_t count);

void elf_code_close(struct elf_code *code);

#endif
