/* Leaks of closed cards. Arguments: the folder of kernel "copy", a file of 4096 bytes, the number of cards. Prints the
 * growth of descriptors and threads since the first cards, and resident bytes per open since a fifth of them. */
#define _GNU_SOURCE
#include <tombolo.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != TMB_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", #call, tmb_last_error());                                                      \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

static int entries(const char *folder) {
    DIR *open = opendir(folder);
    int count = 0;
    if (open == NULL)
        exit(4);
    while (readdir(open) != NULL)
        count++;
    closedir(open);
    return count;
}

static long resident(void) {
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2)
        exit(4);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

struct things {
    tmb_card *card;
    tmb_space *space;
    tmb_mapping *mapping;
    tmb_slot *slot;
    tmb_memory *memories[3];
};

static void open_all(struct things *all, const char *kernel, const char *file) {
    tmb_map_options write = TMB_MAP_OPTIONS;
    write.access = TMB_READ_WRITE;
    OK(tmb_card_open_functional(NULL, &all->card));
    OK(tmb_space_create(all->card, NULL, &all->space));
    OK(tmb_map_file(all->space, file, &write, &all->mapping));
    OK(tmb_slot_load(all->card, 0, kernel, all->space, &all->slot));
    for (int way = 0; way < 3; way++) {
        void *first = NULL;
        OK(tmb_memory_alloc_with_traps(all->space, 8192, 4096, way, &all->memories[way], NULL));
        OK(tmb_memory_pointer(all->memories[way], &first));
        memset(first, way, 4096);
    }
    OK(tmb_slot_set_mapping(all->slot, "input", all->mapping));
    OK(tmb_slot_set_mapping(all->slot, "output", all->mapping));
    OK(tmb_slot_set(all->slot, "bytes", 4096));
    OK(tmb_slot_start(all->slot));
    OK(tmb_slot_wait(all->slot, NULL));
}

static void close_one(struct things *all, int what) {
    switch (what) {
    case 0: OK(tmb_card_close(all->card)); break;
    case 1: OK(tmb_space_close(all->space)); break;
    case 2: OK(tmb_mapping_unmap(all->mapping)); break;
    case 3: OK(tmb_slot_close(all->slot)); break;
    default:
        for (int way = 0; way < 3; way++)
            OK(tmb_memory_free(all->memories[way]));
    }
}

/* The `number`th order of five things. */
static void close_all(struct things *all, int number) {
    int left[5] = {0, 1, 2, 3, 4};
    for (int count = 5; count > 0; count--) {
        int at = number % count;
        number /= count;
        close_one(all, left[at]);
        left[at] = left[count - 1];
    }
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int count = atoi(argv[3]), descriptors = 0, threads = 0, more_descriptors = 0, more_threads = 0;
    long bytes = 0;
    for (int n = 0; n < count; n++) {
        struct things all;
        open_all(&all, argv[1], argv[2]);
        if (n % 7 == 6) { /* Only what must be freed is. */
            OK(tmb_card_close(all.card));
            for (int way = 0; way < 3; way++)
                OK(tmb_memory_free(all.memories[way]));
            if (tmb_slot_start(all.slot) != TMB_ERROR_GONE || tmb_mapping_sync(all.mapping) != TMB_ERROR_GONE)
                return 5;
        } else {
            close_all(&all, n);
        }
        if (n == 1) {
            usleep(100000);
            descriptors = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
        if (n == count / 5)
            bytes = resident();
    }
    for (int wait = 0; wait < 1000; wait++) { /* Threads take a moment to end. */
        more_descriptors = entries("/proc/self/fd") - descriptors;
        more_threads = entries("/proc/self/task") - threads;
        if (more_descriptors <= 0 && more_threads <= 0)
            break;
        usleep(1000);
    }
    printf("%d descriptors, %d threads, %ld bytes an open\n", more_descriptors, more_threads,
           (resident() - bytes) / (count - count / 5));
    return 0;
}
