/* Calls a kernel through two coherent cache lines: rpc KERNEL_FOLDER (with the kernel rpc). */
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

enum { CALLS = 10 };

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s KERNEL_FOLDER\n", argv[0]);
        return 2;
    }
    const uint64_t base = 0x10000000;
    tmb_card_options options = TMB_CARD_OPTIONS;
    options.platform = "enzian";
    options.coherent = 1;
    options.channel_bytes = (uint64_t)64 << 20;
    tmb_card *card;
    tmb_space *space;
    tmb_slot *slot;
    tmb_coherent *lines;
    TRY(tmb_card_open_simulated(&options, &card));
    TRY(tmb_space_create(card, NULL, &space));
    TRY(tmb_slot_load(card, 0, argv[1], space, &slot));
    TRY(tmb_slot_set(slot, "base", base));
    TRY(tmb_slot_set(slot, "handler", 0)); /* which answers with its arguments */
    TRY(tmb_slot_set(slot, "calls", CALLS));
    TRY(tmb_slot_start(slot));
    TRY(tmb_coherent_open(card, base, (uint64_t)64 * TMB_LINE_BYTES, 0, &lines));

    /* The CPU has one line for itself and writes arguments into it, which costs nothing. A load of the other one is
     * the call: the kernel answers it when it has the result. Then the lines have changed roles. */
    unsigned char line[TMB_LINE_BYTES];
    uint64_t request = 0, answer = TMB_LINE_BYTES;
    TRY(tmb_coherent_load(lines, request, 1, line));
    for (int call = 0; call < CALLS; call++) {
        unsigned char arguments[TMB_LINE_BYTES];
        for (int at = 0; at < TMB_LINE_BYTES; at++) arguments[at] = (unsigned char)(call + at);
        TRY(tmb_coherent_store(lines, request, arguments, sizeof arguments));
        TRY(tmb_coherent_load(lines, answer, 1, line));
        if (memcmp(line, arguments, sizeof line) != 0) {
            fprintf(stderr, "call %d: the answer is not the arguments\n", call);
            return 1;
        }
        uint64_t other = request;
        request = answer;
        answer = other;
    }
    TRY(tmb_slot_wait(slot, NULL));
    printf("%d calls answered\n", CALLS);

    /* The kernel's other lines at an ordinary address: a page without the two that are calls. */
    tmb_coherent_map *map;
    void *start;
    TRY(tmb_coherent_map_open(lines, 1, 0, &map));
    TRY(tmb_coherent_map_pointer(map, &start));
    strcpy((char *)start + 40 * TMB_LINE_BYTES, "through a pointer");
    TRY(tmb_coherent_load(lines, 40 * TMB_LINE_BYTES, 0, line));
    if (strcmp((char *)line, "through a pointer") != 0) {
        fprintf(stderr, "the line is not what was stored\n");
        return 1;
    }
    TRY(tmb_coherent_map_close(map));
    TRY(tmb_coherent_close(lines));
    TRY(tmb_slot_close(slot));
    TRY(tmb_space_close(space));
    TRY(tmb_card_close(card));
    return 0;
}
