/* Encrypts a file: encrypt KERNEL_FOLDER IN OUT (with the kernel aes256ctr). */
#include <stdio.h>
#include <tombolo.h>

#define TRY(call)                                                                            \
    do {                                                                                     \
        tmb_status status_ = (call);                                                         \
        if (status_ != TMB_OK) {                                                             \
            fprintf(stderr, "%s: %s\n", tmb_status_name(status_), tmb_last_error());         \
            return 1;                                                                        \
        }                                                                                    \
    } while (0)

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s KERNEL_FOLDER IN OUT\n", argv[0]);
        return 2;
    }
    unsigned char key[32], iv[16];
    for (unsigned char at = 0; at < sizeof key; at++) key[at] = at;
    for (unsigned char at = 0; at < sizeof iv; at++) iv[at] = (unsigned char)(0xf0 + at);

    tmb_card *card;
    tmb_space *space;
    tmb_mapping *in, *out;
    tmb_slot *slot;
    uint64_t from, to, bytes;
    TRY(tmb_card_open_functional(NULL, &card));
    TRY(tmb_space_create(card, NULL, &space));
    TRY(tmb_map_file(space, argv[2], NULL, &in));
    TRY(tmb_mapping_bytes(in, &bytes));
    tmb_map_options options = TMB_MAP_OPTIONS;
    options.create = 1;
    options.create_bytes = bytes;
    TRY(tmb_map_file(space, argv[3], &options, &out));
    TRY(tmb_mapping_address(in, &from));
    TRY(tmb_mapping_address(out, &to));

    TRY(tmb_slot_load(card, 0, argv[1], space, &slot));
    TRY(tmb_slot_set(slot, "input", from));
    TRY(tmb_slot_set(slot, "output", to));
    TRY(tmb_slot_set(slot, "bytes", bytes));
    TRY(tmb_slot_set_bytes(slot, "key", key, sizeof key));
    TRY(tmb_slot_set_bytes(slot, "iv", iv, sizeof iv));
    TRY(tmb_slot_start(slot));
    TRY(tmb_slot_wait(slot, NULL));
    TRY(tmb_mapping_unmap(out)); /* the bytes are in the file now */

    char *report;
    TRY(tmb_card_report(card, &report));
    puts(report);
    tmb_text_free(report);
    TRY(tmb_slot_close(slot));
    TRY(tmb_mapping_unmap(in));
    TRY(tmb_space_close(space));
    TRY(tmb_card_close(card));
    return 0;
}
