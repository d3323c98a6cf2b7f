/* Copies a file with FSRF's calls: fsrf KERNEL_FOLDER IN OUT */
#define _POSIX_C_SOURCE 200809L
#include <fsrf_tombolo.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRY(call)                                          \
    do {                                                   \
        if ((call) != 0) {                                 \
            fprintf(stderr, "%s\n", tmb_last_error());     \
            return 1;                                      \
        }                                                  \
    } while (0)

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s KERNEL_FOLDER IN OUT\n", argv[0]);
        return 2;
    }
    tmb_card *card;
    tmb_space *space;
    TRY(tmb_card_open_functional(NULL, &card));
    TRY(tmb_space_create(card, NULL, &space));
    TRY(fsrf_tombolo_attach(card, space));

    /* Figure 3's calls. */
    int in, out;
    void *from, *to;
    struct stat size;
    TRY(fsrf_open(&in, argv[2], PROT_READ, 0));
    TRY(fsrf_open(&out, argv[3], PROT_READ | PROT_WRITE, 0644));
    if (fstat(in, &size) != 0 || ftruncate(out, size.st_size) != 0) {
        perror(argv[3]);
        return 1;
    }
    size_t len = (size_t)size.st_size;
    TRY(fsrf_mmap(&from, len, PROT_READ, MAP_SHARED, in, 0));
    TRY(fsrf_mmap(&to, len, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0));
    TRY(fsrf_close(in));
    TRY(fsrf_close(out));
    TRY(fsrf_madvise(from, len, FSRF_ADV_STREAM | FSRF_ADV_LOWUSE));

    TRY(fsrf_tombolo_load(0, argv[1]));
    TRY(fsrf_tombolo_set(0, "input", (uint64_t)(uintptr_t)from));
    TRY(fsrf_tombolo_set(0, "output", (uint64_t)(uintptr_t)to));
    TRY(fsrf_tombolo_set(0, "bytes", len));
    TRY(fsrf_tombolo_start(0));
    TRY(fsrf_tombolo_wait(0, 0));

    TRY(fsrf_msync(to, len, MS_SYNC));
    TRY(fsrf_munmap(from, len));
    TRY(fsrf_munmap(to, len));
    TRY(fsrf_tombolo_detach());
    TRY(tmb_space_close(space));
    TRY(tmb_card_close(card));
    return 0;
}
