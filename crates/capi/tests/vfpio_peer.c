/* RDMA_MEM of vfpio.h: vfpio_peer KERNEL_FOLDER ADDRESS HOW. The kernel sends back what it gets. HOW:
 * `works`: the peer has 200,000 bytes, of which 90,001 go from 7 to 100,050 over the card's own network interface;
 * `stuck`: likewise, over the host, and the kernel sends nothing for a while; `alone`: the card has no such interface;
 * `nobody`: no such peer; else the peer lies, and this is what is said of it. */
#include "vfpio_check.h"

enum { BYTES = 400000, MOVED = 90001 };

static int over_the_network(int slot, unsigned char *memory)
{
    int fd = vfpio_open(RDMA_MEM, ASYNC_RDWR, slot, -1);
    const int both[] = {fd, -1};
    CHECK(fd >= 0);
    CHECK(vfpio_write(fd, memory + 100050, MOVED) == MOVED);
    CHECK(vfpio_read(fd, memory + 7, MOVED) == MOVED);
    CHECK(vfpio_sync(both) == 0);
    /* Past the host. */
    for (int i = 0; i < BYTES; i++)
        CHECK(memory[i] == 0);
    /* More than the peer has; then the same ports work again. */
    CHECK(vfpio_read(fd, memory + 300000, 10) == 10);
    CHECK(vfpio_sync(both) == -1 && strstr(vfpio_error(), "port in") != NULL);
    CHECK(vfpio_close(fd) == 0);
    fd = vfpio_open(HOST_MEM, ASYNC_RDWR, slot, -1);
    CHECK(fd >= 0 && vfpio_close(fd) == 0);
    return 0;
}

/* The second of two transfers to the peer waits for a kernel that sends nothing more: the first is with the peer all the
 * same, and the second when it is over. */
static int one_is_stuck(int slot, unsigned char *memory)
{
    int fd = vfpio_open(RDMA_MEM, ASYNC_RDWR, slot, -1);
    const int both[] = {fd, -1};
    CHECK(fd >= 0);
    CHECK(vfpio_write(fd, memory + 100000, 100) == 100 && vfpio_write(fd, memory + 100500, 200) == 200);
    CHECK(vfpio_read(fd, memory, 100) == 100);
    CHECK(vfpio_sync(both) == -1 && errno == ETIMEDOUT && strstr(vfpio_error(), "port out") != NULL);
    CHECK(vfpio_read(fd, memory + 1000, 200) == 200);
    CHECK(vfpio_sync(both) == 0);
    /* More than the peer has. */
    CHECK(vfpio_read(fd, memory + 199999, 2) == 0 && errno == EINVAL && strstr(vfpio_error(), "it has 200000 bytes") != NULL);
    CHECK(vfpio_close(fd) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    if (strcmp(argv[3], "nobody") == 0) {
        CHECK(vfpio_peer(argv[2]) == -1 && strstr(vfpio_error(), "no `tombolo serve`") != NULL);
        return 0;
    }
    CHECK(vfpio_peer(argv[2]) == 0);
    int slot = vfpio_init(argv[1]);
    unsigned char *memory = (unsigned char *)vfpio_huge_alloc(BYTES);
    CHECK(slot >= 0 && memory != NULL);
    if (strcmp(argv[3], "works") == 0) {
        if (over_the_network(slot, memory) != 0) return 1;
        return vfpio_detach();
    }
    if (strcmp(argv[3], "stuck") == 0) {
        if (one_is_stuck(slot, memory) != 0) return 1;
        return vfpio_detach();
    }
    int fd = vfpio_open(RDMA_MEM, ASYNC_RDWR, slot, -1);
    if (strcmp(argv[3], "alone") == 0) {
        CHECK(fd == -1 && strstr(vfpio_error(), "network interface") != NULL);
        return vfpio_detach();
    }
    CHECK(fd >= 0);
    CHECK(vfpio_read(fd, memory, 10) == 0 && errno == EIO);
    CHECK(strstr(vfpio_error(), argv[3]) != NULL);
    CHECK(vfpio_close(fd) == 0);
    /* Nothing else is harmed. */
    fd = vfpio_open(HOST_MEM, ASYNC_RDWR, slot, -1);
    const int both[] = {fd, -1};
    memset(memory, 7, 1000);
    CHECK(vfpio_write(fd, memory + 5000, 1000) == 1000 && vfpio_read(fd, memory, 1000) == 1000);
    CHECK(vfpio_sync(both) == 0 && memory[5999] == 7 && memory[6000] == 0);
    return vfpio_detach();
}
