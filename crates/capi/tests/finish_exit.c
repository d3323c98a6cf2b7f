/* A run whose program then returns from main, and has closed, unmapped and synced nothing. Arguments: card, kernel folder,
 * output file, page size, and the kernel's bytes, seed and mode. */
#include <tombolo.h>

#include <stdio.h>
#include <stdlib.h>

static void expect(tmb_status status, const char *what) {
    if (status != TMB_OK) {
        fprintf(stderr, "%s: %s\n", what, tmb_last_error());
        exit(3);
    }
}

int main(int argc, char **argv) {
    if (argc != 8)
        return 2;
    tmb_card *card;
    tmb_space *space;
    tmb_mapping *output;
    tmb_slot *slot;
    tmb_map_options options = TMB_MAP_OPTIONS;
    options.access = TMB_READ_WRITE;
    options.page_size = strtoull(argv[4], NULL, 0);
    expect(tmb_card_open(argv[1], &card), "card");
    expect(tmb_space_create(card, NULL, &space), "space");
    expect(tmb_map_file(space, argv[3], &options, &output), "mapping");
    expect(tmb_slot_load(card, 0, argv[2], space, &slot), "kernel");
    expect(tmb_slot_set_mapping(slot, "output", output), "output");
    expect(tmb_slot_set_mapping(slot, "source", output), "source");
    expect(tmb_slot_set(slot, "bytes", strtoull(argv[5], NULL, 0)), "bytes");
    expect(tmb_slot_set(slot, "seed", strtoull(argv[6], NULL, 0)), "seed");
    expect(tmb_slot_set(slot, "mode", strtoull(argv[7], NULL, 0)), "mode");
    expect(tmb_slot_start(slot), "start");
    expect(tmb_slot_wait(slot, NULL), "wait");
    return 0;
}
