/* vfpio.h in C: bytes through one kernel, two kernels behind each other, files, and mistakes.
 * vfpio KERNEL_FOLDER IN OUT WITHOUT_WIDTH ODD_WIDTH. The kernel sends back what it gets; the last two are kernels whose
 * manifests say no width of a stream, and 12 bits. */
#include "vfpio_check.h"

#define REFUSED(call, number, word)                                                                \
    do {                                                                                           \
        errno = 0;                                                                                 \
        CHECK((call) == -1 && errno == (number));                                                  \
        CHECK(strstr(vfpio_error(), word) != NULL);                                                \
    } while (0)

enum { BYTES = 300001 };

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    /* Before there is a card; none is opened for it. */
    const int none[] = {3, -1};
    REFUSED(vfpio_release(0), EBADF, "no slot");
    REFUSED(vfpio_open(HOST_MEM, ASYNC_RD, 0, 0), EBADF, "no slot");
    REFUSED(vfpio_connect(0, 1, 1, 0), EBADF, "no slot");
    REFUSED(vfpio_sync(none), EBADF, "3 is no dev_fd");
    CHECK(vfpio_read(3, NULL, 3) == 0 && errno == EBADF);
    REFUSED(vfpio_detach(), ENODEV, "no card");
    REFUSED(vfpio_peer("nonsense"), EINVAL, "write HOST:PORT");
    REFUSED(vfpio_peer("127.0.0.1:1"), ECONNREFUSED, "tombolo serve");
    REFUSED(vfpio_init("/dev/null"), ENOTDIR, "/dev/null");
    CHECK(vfpio_huge_alloc(SIZE_MAX) == NULL && errno == ENOMEM);

    int a = vfpio_init(argv[1]), b = vfpio_init(argv[1]);
    CHECK(a >= 0 && b >= 0 && a != b);
    unsigned char *from = (unsigned char *)vfpio_huge_alloc(BYTES);
    unsigned char *to = (unsigned char *)vfpio_huge_alloc(BYTES + 7);
    CHECK(from != NULL && to != NULL);
    for (int i = 0; i < BYTES; i++)
        from[i] = (unsigned char)((unsigned)i * 2654435761u >> 24);

    /* A device each way, at odd addresses. */
    int in = vfpio_open(FPGA_MEM, ASYNC_RD, a, 0);
    int out = vfpio_open(HOST_MEM, ASYNC_WR, a, 1);
    CHECK(in >= 0 && out >= 0);
    REFUSED(vfpio_open(HOST_MEM, ASYNC_RD, a, 0), EBUSY, "taken");
    CHECK(vfpio_write(out, to + 7, BYTES) == BYTES);
    REFUSED(vfpio_close(out), EBUSY, "under way");
    REFUSED(vfpio_free((uint64_t *)(void *)to), EBUSY, "vfpio_sync first");
    CHECK(vfpio_read(in, from + 1, BYTES - 1) == BYTES - 1);
    const int both[] = {in, out, -1};
    CHECK(vfpio_sync(both) == 0);
    CHECK(memcmp(to + 7, from + 1, BYTES - 1) == 0);
    CHECK(vfpio_close(in) == 0 && vfpio_close(out) == 0);

    /* Two kernels, one behind the other, between two files; then the ports are free for memory. */
    int between = vfpio_connect(a, 1, b, 0);
    in = vfpio_open_file(argv[2], ASYNC_RD, a, 0, 0);
    out = vfpio_open_file(argv[3], ASYNC_WR, b, 1, 5000);
    CHECK(between >= 0 && in >= 0 && out >= 0);
    CHECK(vfpio_write(out, NULL, 3000) == 3000 && vfpio_write(out, NULL, 2000) == 2000);
    CHECK(vfpio_read(in, NULL, 3000) == 3000 && vfpio_read(in, NULL, 2000) == 2000);
    const int files[] = {in, out, -1};
    CHECK(vfpio_sync(files) == 0);
    CHECK(vfpio_close(in) == 0 && vfpio_close(out) == 0 && vfpio_close(between) == 0);

    /* One dev_fd for both ways. A packet that is shorter than the range ends it. */
    int all = vfpio_open(HOST_MEM, ASYNC_RDWR, b, -1);
    CHECK(all >= 0);
    CHECK(vfpio_read(all, from, 100) == 100);
    memset(to, 0, 200);
    CHECK(vfpio_write(all, to, 200) == 200);
    const int one[] = {all, -1};
    CHECK(vfpio_sync(one) == 0);
    CHECK(memcmp(to, from, 100) == 0 && to[100] == 0);
    CHECK(vfpio_close(all) == 0);

    /* The output of a kernel is not consumed, so it stalls: the error names the port, the other slot continues, and no
     * byte is lost. */
    in = vfpio_open(HOST_MEM, ASYNC_RD, a, 0);
    out = vfpio_open(HOST_MEM, ASYNC_WR, a, 1);
    all = vfpio_open(HOST_MEM, ASYNC_RDWR, b, -1);
    const int stuck[] = {in, -1}, other[] = {all, -1}, taken[] = {out, in, -1}, dry[] = {out, -1};
    CHECK(vfpio_read(in, from, BYTES) == BYTES);
    REFUSED(vfpio_sync(stuck), ETIMEDOUT, "does not take");
    CHECK(strstr(vfpio_error(), "port in") != NULL);
    memset(to, 0, BYTES);
    CHECK(vfpio_write(all, to, 500) == 500 && vfpio_read(all, from + 3, 500) == 500);
    CHECK(vfpio_sync(other) == 0 && memcmp(to, from + 3, 500) == 0);
    REFUSED(vfpio_close(in), EBUSY, "under way");
    CHECK(vfpio_write(out, to, BYTES) == BYTES);
    CHECK(vfpio_sync(taken) == 0 && memcmp(to, from, BYTES) == 0);
    /* A kernel that sends nothing, as nothing comes. */
    CHECK(vfpio_write(out, to, 100) == 100);
    REFUSED(vfpio_sync(dry), ETIMEDOUT, "sends nothing");
    REFUSED(vfpio_sync_within(dry, 1000000), ETIMEDOUT, "sends nothing");
    CHECK(strstr(vfpio_error(), "port out") != NULL);
    CHECK(vfpio_read(in, from + 9, 100) == 100);
    CHECK(vfpio_sync(taken) == 0 && memcmp(to, from + 9, 100) == 0);
    CHECK(vfpio_close(in) == 0 && vfpio_close(out) == 0 && vfpio_close(all) == 0);

    /* Closed in the middle of one way: nothing is closed, and nothing lost. Closed without a sync: what is over is there. */
    all = vfpio_open(HOST_MEM, ASYNC_RDWR, b, -1);
    const int middle[] = {all, -1};
    memset(to, 0, 2000);
    CHECK(vfpio_write(all, to, 100) == 100 && vfpio_read(all, from, 100) == 100 && vfpio_sync(middle) == 0);
    CHECK(vfpio_write(all, to + 1000, 77) == 77);
    REFUSED(vfpio_close(all), EBUSY, "under way");
    CHECK(vfpio_read(all, from + 5, 77) == 77 && vfpio_sync_within(middle, 1000000000) == 0);
    CHECK(memcmp(to, from, 100) == 0 && memcmp(to + 1000, from + 5, 77) == 0);
    CHECK(vfpio_close(all) == 0);

    /* The calls of tombolo.h on the slot. */
    CHECK(tmb_slot_set(vfpio_slot(b), "nothing", 1) == TMB_ERROR_NO_SUCH_ARGUMENT);
    errno = 0;
    CHECK(vfpio_slot(77) == NULL && errno == EBADF);

    /* Mistakes, each by its name. */
    REFUSED(vfpio_open(RDMA_MEM, ASYNC_RDWR, a, -1), ENODEV, "RDMA_MEM");
    REFUSED(vfpio_open((IODev)9, ASYNC_RDWR, a, -1), EINVAL, "HOST_MEM");
    REFUSED(vfpio_open(HOST_MEM, 0, a, -1), EINVAL, "ASYNC_RDWR");
    REFUSED(vfpio_open(HOST_MEM, ASYNC_RD, a, 2), EINVAL, "port 2");
    REFUSED(vfpio_open(HOST_MEM, ASYNC_WR, a, 0), EINVAL, "into the kernel");
    REFUSED(vfpio_open(HOST_MEM, ASYNC_RD, 77, 0), EBADF, "77");
    REFUSED(vfpio_close(all), EBADF, "closed");
    REFUSED(vfpio_sync(NULL), EINVAL, "null");
    REFUSED(vfpio_connect(a, 0, b, 0), EINVAL, "into the kernel");
    REFUSED(vfpio_connect(a, 1, b, 7), EINVAL, "port 7");
    REFUSED(vfpio_init("/nowhere"), ENOENT, "/nowhere");
    REFUSED(vfpio_init(NULL), EINVAL, "null");
    CHECK(vfpio_huge_alloc(0) == NULL && errno == EINVAL);
    in = vfpio_open(HOST_MEM, ASYNC_RD, a, 0);
    int here = 0;
    CHECK(vfpio_read(in, &here, 4) == 0 && errno == EINVAL);
    /* More than the memory has, and than the file. */
    CHECK(vfpio_read(in, from, BYTES + 1) == 0 && errno == EINVAL);
    CHECK(vfpio_read(in, from + 1, BYTES) == 0 && errno == EINVAL);
    CHECK(vfpio_read(in, from, SIZE_MAX) == 0 && errno == EINVAL);
    CHECK(vfpio_read(in, from, 0) == 0 && errno == EINVAL);
    CHECK(vfpio_read(in, NULL, 4) == 0 && errno == EINVAL);
    int file = vfpio_open_file(argv[2], ASYNC_RD, b, 0, 0);
    CHECK(file >= 0 && vfpio_read(file, NULL, 5001) == 0 && errno == EINVAL);
    CHECK(strstr(vfpio_error(), "has 5000 bytes") != NULL && vfpio_close(file) == 0);
    REFUSED(vfpio_open_file("/nowhere/in", ASYNC_RD, b, 0, 0), ENOENT, "/nowhere/in");
    REFUSED(vfpio_open_file(argv[2], ASYNC_RDWR, b, -1, 0), EINVAL, "one way");
    CHECK(vfpio_write(in, to, 4) == 0 && errno == EINVAL);
    REFUSED(vfpio_attach(NULL), EBUSY, "vfpio_detach");

    /* Priorities; those out of range change nothing. */
    tmb_schedule_options schedule = TMB_SCHEDULE_OPTIONS;
    schedule.priority = TMB_PRIORITY_URGENT;
    CHECK(vfpio_set_schedule(a, &schedule) == 0);
    schedule.priority = 4;
    REFUSED(vfpio_set_schedule(a, &schedule), EINVAL, "TMB_PRIORITY_LOW");
    schedule.priority = TMB_PRIORITY_HIGH;
    schedule.weight = 16;
    REFUSED(vfpio_set_schedule(a, &schedule), EINVAL, "weight 16");
    CHECK(vfpio_set_schedule(a, NULL) == 0);
    REFUSED(vfpio_set_schedule(77, NULL), EBADF, "77");

    /* A width that the manifest does not declare, and one that no stream has; then the slot is as free as before. */
    REFUSED(vfpio_init(argv[4]), EINVAL, "has `data_width`");
    REFUSED(vfpio_init(argv[5]), EINVAL, "12 bits: a stream's data width");
    int c = vfpio_init(argv[1]), d = vfpio_init(argv[1]);
    CHECK(c >= 0 && d >= 0);
    REFUSED(vfpio_init(argv[1]), EBUSY, "all 4 slots");

    CHECK(vfpio_release(a) == 0);
    REFUSED(vfpio_release(a), EBADF, "released");
    REFUSED(vfpio_close(in), EBADF, "closed");
    CHECK(vfpio_free((uint64_t *)(void *)from) == 0);
    REFUSED(vfpio_free((uint64_t *)(void *)from), EINVAL, "freed");
    CHECK(vfpio_detach() == 0);
    return 0;
}
