/*
 * What the kernel's instructions read and write. Addresses are model choices: a stack with the
 * thread's data at its foot, a task, page tables and a page directory for each process, one page of
 * shared data, the local APIC's page. The kernel's own mapping is the same in each address space.
 */
#include "kernel.h"

static uint32_t stack_foot(const struct kernel_frame *frame)
{
    return KERNEL_STACKS + frame->process % 1024u * KERNEL_STACK_BYTES;
}

static uint32_t task(const struct kernel_frame *frame)
{
    enum { TASK_BYTES = 2048 };
    return KERNEL_TASKS + frame->process % 1024u * TASK_BYTES;
}

/* The directory's entry for the page of the fault. */
static uint32_t directory_entry(const struct kernel_frame *frame)
{
    uint32_t index = (uint32_t)(frame->fault_address >> 22) & 1023;
    return KERNEL_DIRECTORIES + frame->process % 1024u * 4096 + index * 4;
}

static uint32_t table_entry(const struct kernel_frame *frame)
{
    enum { TABLES = 1 << 15 }; /* 128 MB of page tables */
    uint32_t table = (frame->process * 1024u + ((uint32_t)(frame->fault_address >> 22) & 1023));
    return KERNEL_TABLES + table % TABLES * 4096 +
           ((uint32_t)(frame->fault_address >> 12) & 1023) * 4;
}

static void add(struct nb_instruction *out, uint32_t address, uint32_t size, bool write)
{
    out->access[out->access_count++] =
        (struct nb_access){.address = address, .size = size, .write = write};
}

static void modify(struct nb_instruction *out, uint32_t address, uint32_t size)
{
    add(out, address, size, false);
    add(out, address, size, true);
}

static void stack_access(struct kernel_frame *frame, const struct kernel_row *row,
                         struct nb_instruction *out)
{
    enum { ALL = 32, FRAME = 12 }; /* PUSHA; EIP, CS, EFLAGS, as IRET reads them first */
    switch ((enum kernel_access)row->access) {
    case KERNEL_ACCESS_PUSH:
        frame->esp -= 4;
        add(out, frame->esp, 4, true);
        break;
    case KERNEL_ACCESS_POP:
        add(out, frame->esp, 4, false);
        frame->esp += 4;
        break;
    case KERNEL_ACCESS_PUSH_ALL:
        frame->esp -= ALL;
        add(out, frame->esp, ALL, true);
        break;
    case KERNEL_ACCESS_POP_ALL:
        add(out, frame->esp, ALL, false);
        frame->esp += ALL;
        break;
    case KERNEL_ACCESS_DROP:
        frame->esp += row->operand;
        break;
    case KERNEL_ACCESS_FRAME:
        add(out, frame->esp, FRAME, false);
        break;
    case KERNEL_ACCESS_STACK_READ:
        add(out, frame->esp + row->operand, row->size, false);
        break;
    case KERNEL_ACCESS_STACK_WRITE:
        add(out, frame->esp + row->operand, row->size, true);
        break;
    default:
        break;
    }
}

static void call_slot(struct kernel_frame *frame, struct nb_instruction *out)
{
    enum { CALLS = 326 }; /* the stub compares with it */
    add(out, KERNEL_DATA + frame->call_number % CALLS * 4, 4, false);
    frame->esp -= 4;
    add(out, frame->esp, 4, true);
}

static void page_access(const struct kernel_frame *frame, const struct kernel_row *row,
                        struct nb_instruction *out)
{
    if (row->access == KERNEL_ACCESS_DIRECTORY_READ)
        add(out, directory_entry(frame), 4, false);
    else if (row->access == KERNEL_ACCESS_TABLE_READ || row->access == KERNEL_ACCESS_TABLE_WRITE)
        add(out, table_entry(frame), 4, row->access == KERNEL_ACCESS_TABLE_WRITE);
}

/* The performance driver's: its tables, its sample buffer, the DS area. */
static void driver_access(const struct kernel *kernel, const struct kernel_frame *frame,
                          const struct kernel_row *row, struct nb_instruction *out)
{
    enum { TABLE = 0x3040, RECORDS = 4096, RECORD_BYTES = 64 };
    uint32_t ds = KERNEL_DS + kernel->lp * KERNEL_DS_BYTES;
    uint32_t samples = KERNEL_SAMPLES + (uint32_t)(frame->sample_at % KERNEL_SAMPLE_BYTES);
    switch ((enum kernel_access)row->access) {
    case KERNEL_ACCESS_COUNTER_READ:
        add(out, KERNEL_DATA + TABLE + frame->counter * 8 + row->operand, 4, false);
        break;
    case KERNEL_ACCESS_SAMPLE_WRITE:
        add(out, samples + row->operand, 4, true);
        break;
    case KERNEL_ACCESS_DS_READ:
    case KERNEL_ACCESS_DS_WRITE:
        add(out, ds + row->operand, 4, row->access == KERNEL_ACCESS_DS_WRITE);
        break;
    case KERNEL_ACCESS_RECORD_READ:
        add(out, ds + RECORDS + frame->record * RECORD_BYTES + row->operand, 4, false);
        break;
    default:
        break;
    }
}

void kernel_accesses(const struct kernel *kernel, struct kernel_frame *frame,
                     const struct kernel_row *row, struct nb_instruction *out)
{
    switch ((enum kernel_access)row->access) {
    case KERNEL_ACCESS_THREAD_READ:
        add(out, stack_foot(frame) + row->operand, row->size, false);
        break;
    case KERNEL_ACCESS_TASK_READ:
        add(out, task(frame) + row->operand, row->size, false);
        break;
    case KERNEL_ACCESS_TASK_MODIFY:
        modify(out, task(frame) + row->operand, row->size);
        break;
    case KERNEL_ACCESS_DATA_READ:
    case KERNEL_ACCESS_DATA_WRITE:
        add(out, KERNEL_DATA + row->operand, row->size, row->access == KERNEL_ACCESS_DATA_WRITE);
        break;
    case KERNEL_ACCESS_DATA_MODIFY:
        modify(out, KERNEL_DATA + row->operand, row->size);
        break;
    case KERNEL_ACCESS_APIC_WRITE:
        add(out, KERNEL_APIC + row->operand, row->size, true);
        break;
    case KERNEL_ACCESS_CALL_SLOT:
        call_slot(frame, out);
        break;
    default:
        stack_access(frame, row, out);
        page_access(frame, row, out);
        driver_access(kernel, frame, row, out);
    }
}
