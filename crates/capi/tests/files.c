/* Files that others have too: files KERNEL_FOLDER FOLDER. Two cards, a child after fork, a file that is truncated,
 * standard streams that are closed, a limit on the size of files. Bytes are compared with a model. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tombolo.h>
#include <unistd.h>

static const char *kernel;
static FILE *messages;
static int failures;

#define TRUE(condition) \
    do { \
        if (!(condition)) { \
            failures++; \
            fprintf(messages, "line %d: not so: %s (%s)\n", __LINE__, #condition, tmb_last_error()); \
        } \
    } while (0)
#define OK(call) TRUE((call) == TMB_OK)

enum { BYTES = 200000 };
static unsigned char old_bytes[BYTES], new_bytes[BYTES];

static void put(const char *path, const unsigned char *bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, BYTES, file) != BYTES || fclose(file)) abort();
}

/* Bytes of a file that differ from these; -1 if it is not as long as that. */
static long differ(const char *path, const unsigned char *bytes, size_t length)
{
    unsigned char *found = malloc(length + 1);
    FILE *file = fopen(path, "rb");
    if (!file || !found) abort();
    long count = fread(found, 1, length + 1, file) == length ? 0 : -1;
    for (size_t at = 0; count >= 0 && at < length; at++) count += found[at] != bytes[at];
    fclose(file);
    free(found);
    return count;
}

struct user {
    tmb_card *card;
    tmb_space *space;
};

static struct user open_card(void)
{
    struct user user = { NULL, NULL };
    tmb_card_options options = TMB_CARD_OPTIONS;
    options.host_channel = 1;
    OK(tmb_card_open_functional(&options, &user.card));
    OK(tmb_space_create(user.card, NULL, &user.space));
    return user;
}

static tmb_status map(struct user *user, const char *path, uint64_t offset, uint64_t bytes, tmb_mapping **mapping)
{
    tmb_map_options options = TMB_MAP_OPTIONS;
    options.access = TMB_READ_WRITE;
    options.offset = offset;
    options.bytes = bytes;
    *mapping = NULL;
    return tmb_map_file(user->space, path, &options, mapping);
}

static void copy(struct user *user, const char *from, tmb_mapping *to)
{
    tmb_map_options options = TMB_MAP_OPTIONS;
    tmb_mapping *source = NULL;
    tmb_slot *slot = NULL;
    uint64_t input = 0, output = 0, bytes = 0;
    OK(tmb_map_file(user->space, from, &options, &source));
    OK(tmb_mapping_address(source, &input));
    OK(tmb_mapping_address(to, &output));
    OK(tmb_mapping_bytes(to, &bytes));
    OK(tmb_slot_load(user->card, 0, kernel, user->space, &slot));
    OK(tmb_slot_set(slot, "input", input));
    OK(tmb_slot_set(slot, "output", output));
    OK(tmb_slot_set(slot, "bytes", bytes));
    OK(tmb_slot_start(slot));
    OK(tmb_slot_wait(slot, 0));
    OK(tmb_slot_close(slot));
    OK(tmb_mapping_unmap(source));
}

static void two_cards(const char *from, const char *file)
{
    struct user one = open_card(), other = open_card();
    tmb_mapping *first, *second;
    put(file, old_bytes);
    OK(map(&one, file, 0, 128, &first));
    TRUE(map(&other, file, 127, 1000, &second) == TMB_ERROR_UNMAPPABLE);
    TRUE(strstr(tmb_last_error(), file) && strstr(tmb_last_error(), "bytes 0 to 127"));
    OK(map(&other, file, 128, BYTES - 128, &second));
    copy(&one, from, first);
    copy(&other, from, second);
    OK(tmb_mapping_unmap(first));
    OK(tmb_mapping_unmap(second));
    unsigned char *model = malloc(BYTES);
    memcpy(model, new_bytes, 128);
    memcpy(model + 128, new_bytes, BYTES - 128);
    TRUE(differ(file, model, BYTES) == 0);
    free(model);
    /* A child has the lock's description, and does not keep it. */
    OK(map(&one, file, 0, 0, &first));
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    TRUE(map(&other, file, 5, 5, &second) == TMB_ERROR_UNMAPPABLE);
    OK(tmb_mapping_unmap(first));
    OK(map(&other, file, 5, 5, &second));
    OK(tmb_mapping_unmap(second));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    OK(tmb_card_close(one.card));
    OK(tmb_card_close(other.card));
}

static void truncated(const char *from, const char *file)
{
    for (int close_at_once = 0; close_at_once < 2; close_at_once++) {
        struct user user = open_card();
        tmb_mapping *mapping;
        put(file, old_bytes);
        OK(map(&user, file, 0, 0, &mapping));
        copy(&user, from, mapping);
        TRUE(truncate(file, 100000) == 0);
        if (!close_at_once) {
            TRUE(tmb_mapping_sync(mapping) == TMB_ERROR_TRANSFER);
            TRUE(strstr(tmb_last_error(), "100000 bytes now") && strstr(tmb_last_error(), file));
            TRUE(differ(file, old_bytes, 100000) == 0);
            TRUE(tmb_mapping_unmap(mapping) == TMB_ERROR_TRANSFER);
        }
        TRUE((tmb_card_close(user.card) != TMB_OK) == close_at_once);
        TRUE(differ(file, old_bytes, 100000) == 0);
    }
}

/* Printed text must not reach a mapped file. */
static void closed_streams(const char *from, const char *file)
{
    int kept[3];
    put(file, old_bytes);
    for (int stream = 0; stream < 3; stream++) {
        kept[stream] = fcntl(stream, F_DUPFD_CLOEXEC, 100);
        close(stream);
    }
    struct user user = open_card();
    tmb_mapping *mapping;
    OK(map(&user, file, 0, 0, &mapping));
    static const char text[] = "not for a file";
    for (int stream = 0; stream < 3; stream++) {
        if (write(stream, text, sizeof text) >= 0) continue;
    }
    copy(&user, from, mapping);
    for (int stream = 0; stream < 3; stream++) {
        if (write(stream, text, sizeof text) >= 0) continue;
    }
    OK(tmb_mapping_unmap(mapping));
    OK(tmb_card_close(user.card));
    for (int stream = 0; stream < 3; stream++) {
        dup2(kept[stream], stream);
        close(kept[stream]);
    }
    TRUE(differ(file, new_bytes, BYTES) == 0);
}

static void size_limit(void)
{
    struct rlimit before, limit;
    TRUE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 4096;
    TRUE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    struct user user = open_card();
    tmb_memory *memory = NULL;
    tmb_status status = tmb_memory_alloc(user.space, 1 << 20, 0, &memory);
    TRUE(status == TMB_ERROR_UNSHAREABLE);
    OK(tmb_card_close(user.card));
    TRUE(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

int main(int count, char **words)
{
    if (count != 3) return 2;
    messages = fdopen(fcntl(2, F_DUPFD_CLOEXEC, 90), "w");
    kernel = words[1];
    char from[4096], file[4096];
    snprintf(from, sizeof from, "%s/from", words[2]);
    snprintf(file, sizeof file, "%s/shared by others", words[2]);
    for (int at = 0; at < BYTES; at++) {
        old_bytes[at] = (unsigned char)(at * 2654435761u >> 13);
        new_bytes[at] = (unsigned char)(at * 2246822519u >> 11);
    }
    put(from, new_bytes);
    two_cards(from, file);
    truncated(from, file);
    closed_streams(from, file);
    size_limit();
    unlink(file);
    unlink(from);
    return failures != 0;
}
