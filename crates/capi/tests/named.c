/* Cards by name: named KERNEL_FOLDER FOLDER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombolo.h>

static int failures;

#define TRUE(condition) \
    do { \
        if (!(condition)) { \
            failures++; \
            fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #condition, tmb_last_error()); \
        } \
    } while (0)
#define OK(call) TRUE((call) == TMB_OK)

int main(int count, char **arguments)
{
    enum { BYTES = 70001 };
    static unsigned char bytes[BYTES], found[BYTES];
    char from[512], to[512];
    tmb_card *card = NULL;
    tmb_space *space = NULL;
    tmb_slot *slot = NULL, *second = NULL;
    tmb_mapping *input = NULL, *output = NULL;
    tmb_map_options writable = TMB_MAP_OPTIONS;
    FILE *file;

    if (count != 3) return 2;
    snprintf(from, sizeof from, "%s/in", arguments[2]);
    snprintf(to, sizeof to, "%s/out", arguments[2]);
    for (int at = 0; at < BYTES; at++) bytes[at] = (unsigned char)(at * 7 + at / 251);
    file = fopen(from, "wb");
    if (!file || fwrite(bytes, 1, BYTES, file) != BYTES || fclose(file)) abort();

    TRUE(tmb_card_open(NULL, &card) == TMB_ERROR_ARGUMENT);
    TRUE(tmb_card_open("functional", NULL) == TMB_ERROR_ARGUMENT);
    TRUE(tmb_card_open("unix:/no/such/socket", &card) == TMB_ERROR_DAEMON);
    TRUE(strstr(tmb_last_error(), "/no/such/socket") != NULL);
    TRUE(tmb_card_open("no-such-platform", &card) != TMB_OK);

    OK(tmb_card_open("functional", &card));
    OK(tmb_space_create(card, NULL, &space));
    OK(tmb_map_file(space, from, NULL, &input));
    writable.access = TMB_READ_WRITE;
    writable.create = 1;
    writable.create_bytes = BYTES;
    OK(tmb_map_file(space, to, &writable, &output));
    OK(tmb_slot_load_anywhere(card, arguments[1], space, &slot));
    TRUE(tmb_slot_load_anywhere(card, arguments[1], space, &second) == TMB_ERROR_NO_FREE_SLOT);
    OK(tmb_slot_set_mapping(slot, "input", input));
    OK(tmb_slot_set_mapping(slot, "output", output));
    OK(tmb_slot_set(slot, "bytes", BYTES));
    OK(tmb_slot_start(slot));
    OK(tmb_slot_wait(slot, NULL));
    OK(tmb_mapping_unmap(output));
    OK(tmb_card_close(card));
    file = fopen(to, "rb");
    TRUE(file && fread(found, 1, BYTES, file) == BYTES && memcmp(bytes, found, BYTES) == 0);
    if (file) fclose(file);
    return failures != 0;
}
