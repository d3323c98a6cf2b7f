/* Memory that stays in the host, for program and kernel: direct KERNEL_FOLDER (with the kernel copy). The kernel reads and
 * writes it over PCIe; no page moves, the program is never trapped, and system calls may have the memory as well. */
#include <stdio.h>
#include <string.h>
#include <tombolo.h>

#define TRY(call)                                                                            \
    do {                                                                                     \
        tmb_status status_ = (call);                                                         \
        if (status_ != TMB_OK) {                                                             \
            fprintf(stderr, "%s: %s\n", tmb_status_name(status_), tmb_last_error());         \
            return 1;                                                                        \
        }                                                                                    \
    } while (0)

enum { BYTES = 10000, APART = 10048 /* kernels want multiples of 64 */, ROUNDS = 3 };

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s KERNEL_FOLDER\n", argv[0]);
        return 2;
    }
    tmb_card_options options = TMB_CARD_OPTIONS;
    options.host_channel = 1; /* the card's way to host memory */
    tmb_card *card;
    tmb_space *space;
    tmb_memory *memory;
    tmb_slot *slot;
    void *start;
    TRY(tmb_card_open_functional(&options, &card));
    TRY(tmb_space_create(card, NULL, &space));
    TRY(tmb_memory_alloc_direct(space, APART + BYTES, 0, &memory));
    TRY(tmb_memory_pointer(memory, &start));
    char *from = start, *to = from + APART;

    TRY(tmb_slot_load(card, 0, argv[1], space, &slot));
    TRY(tmb_slot_set(slot, "input", (uint64_t)(uintptr_t)from));
    TRY(tmb_slot_set(slot, "output", (uint64_t)(uintptr_t)to));
    TRY(tmb_slot_set(slot, "bytes", BYTES));
    for (int round = 0; round < ROUNDS; round++) {
        /* Both sides write the same pages in turns, and none of them moves. */
        memset(from, 'a' + round, BYTES);
        TRY(tmb_slot_start(slot));
        TRY(tmb_slot_wait(slot, NULL));
        if (memcmp(from, to, BYTES) != 0) {
            fprintf(stderr, "round %d: the copy is wrong\n", round);
            return 1;
        }
    }
    char *report;
    TRY(tmb_card_report(card, &report));
    puts(report);
    tmb_text_free(report);
    TRY(tmb_slot_close(slot));
    TRY(tmb_memory_free(memory));
    TRY(tmb_space_close(space));
    TRY(tmb_card_close(card));
    return 0;
}
