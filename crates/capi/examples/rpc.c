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

enum { CALLS = 10, CONTEXTS = 2 };

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
    TRY(tmb_slot_set(slot, "calls", CALLS + 1));
    TRY(tmb_slot_set(slot, "contexts", CONTEXTS));
    TRY(tmb_slot_start(slot));
    TRY(tmb_coherent_open(card, base, (uint64_t)64 * TMB_LINE_BYTES, 0, &lines));

    /* The CPU holds one line exclusively, so writing arguments into it costs nothing. A load of the other one is the
     * call: the kernel answers it when it has the result. Then the lines swap roles. */
    unsigned char line[TMB_LINE_BYTES], arguments[TMB_LINE_BYTES];
    tmb_rpc *contexts[CONTEXTS];
    for (uint32_t context = 0; context < CONTEXTS; context++)
        TRY(tmb_rpc_connect(lines, context, context == 1, &contexts[context]));
    for (int call = 0; call < CALLS; call += CONTEXTS) {
        /* A core may have a call under way in each context. */
        tmb_access *answers[CONTEXTS];
        for (int context = 0; context < CONTEXTS; context++) {
            for (int at = 0; at < TMB_LINE_BYTES; at++) arguments[at] = (unsigned char)(call + context + at);
            TRY(tmb_rpc_begin_call(contexts[context], arguments, sizeof arguments, &answers[context]));
        }
        for (int context = 0; context < CONTEXTS; context++) {
            for (int at = 0; at < TMB_LINE_BYTES; at++) arguments[at] = (unsigned char)(call + context + at);
            TRY(tmb_access_wait(answers[context], line));
            if (memcmp(line, arguments, sizeof line) != 0) {
                fprintf(stderr, "call %d: the answer is not the arguments\n", call + context);
                return 1;
            }
        }
    }
    /* One that waits. The line of an answer takes the next arguments, so the bytes behind them are that answer's. */
    TRY(tmb_rpc_call(contexts[0], "now", 3, line));
    if (memcmp(line, "now", 3) != 0 || line[3] != (unsigned char)(CALLS - CONTEXTS + 3)) {
        fprintf(stderr, "the last answer is not the arguments\n");
        return 1;
    }
    if (tmb_rpc_call(contexts[0], arguments, TMB_LINE_BYTES + 1, line) != TMB_ERROR_COHERENT_RANGE) {
        fprintf(stderr, "129 bytes were taken for arguments\n");
        return 1;
    }
    for (uint32_t context = 0; context < CONTEXTS; context++) TRY(tmb_rpc_close(contexts[context]));
    TRY(tmb_slot_wait(slot, NULL));
    printf("%d calls answered\n", CALLS + 1);

    /* The kernel's other lines at an ordinary address: a page without those that are calls. */
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
