/* Calls of many coherent lines to a kernel, which answers with as many: rpc_lines KERNEL_FOLDER [LINES]
 * (with the kernel rpc_lines). The first run builds the model of a shell with a directory of two slices: some minutes. */
#include <stdio.h>
#include <stdlib.h>
#include <tombolo.h>

#define TRY(call)                                                                            \
    do {                                                                                     \
        tmb_status status_ = (call);                                                         \
        if (status_ != TMB_OK) {                                                             \
            fprintf(stderr, "%s: %s\n", tmb_status_name(status_), tmb_last_error());         \
            return 1;                                                                        \
        }                                                                                    \
    } while (0)

enum { ECHO = 2, CALLS = 3, LINE = TMB_LINE_BYTES };

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: %s KERNEL_FOLDER [LINES]\n", argv[0]);
        return 2;
    }
    const uint64_t lines = argc == 3 ? strtoull(argv[2], NULL, 10) : 100, base = 0x10000000;
    if (lines > TMB_RPC_LINES_MOST) {
        fprintf(stderr, "at most %d lines\n", TMB_RPC_LINES_MOST);
        return 2;
    }
    tmb_card_options options = TMB_CARD_OPTIONS;
    options.platform = "enzian";
    options.coherent = 2;
    tmb_card *card;
    tmb_space *space;
    tmb_slot *slot;
    tmb_coherent *memory;
    tmb_rpc_lines *rpc;
    TRY(tmb_card_open_simulated(&options, &card));
    TRY(tmb_space_create(card, NULL, &space));
    TRY(tmb_slot_load(card, 0, argv[1], space, &slot));
    TRY(tmb_slot_set(slot, "base", base));
    TRY(tmb_slot_set(slot, "handler", ECHO));
    TRY(tmb_slot_start(slot));
    TRY(tmb_coherent_open(card, base, TMB_RPC_LINES_BYTES, 0, &memory));
    TRY(tmb_rpc_lines_connect(memory, &rpc));

    static unsigned char request[TMB_RPC_LINES_MOST * LINE], answer[TMB_RPC_LINES_MOST * LINE];
    for (int call = 0; call < CALLS; call++) {
        for (uint64_t at = 0; at < lines * LINE; at++) request[at] = (unsigned char)(at + (uint64_t)call);
        tmb_lines_answer about;
        TRY(tmb_rpc_lines_call(rpc, request, lines * LINE, answer, lines, &about));
        for (uint64_t at = 0; at < lines * LINE; at++) {
            if (answer[at] != request[at]) {
                fprintf(stderr, "call %d: byte %llu of the answer is another\n", call, (unsigned long long)at);
                return 1;
            }
        }
        printf("call %u: %u lines there and back, %u cycles of the card\n", about.calls, about.lines, about.cycles);
    }
    TRY(tmb_rpc_lines_close(rpc));
    TRY(tmb_coherent_close(memory));
    TRY(tmb_slot_close(slot));
    TRY(tmb_space_close(space));
    TRY(tmb_card_close(card));
    return 0;
}
