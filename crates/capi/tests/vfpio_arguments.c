/* A kernel with an argument and a start, behind vfpio.h: vfpio_arguments KERNEL_FOLDER. The kernel is sha3. */
#include "vfpio_check.h"

int main(int argc, char **argv)
{
    /* SHA3-256 of "abc": FIPS 202, the examples of NIST. */
    static const unsigned char digest[32] = {
        0x3a, 0x98, 0x5d, 0xa7, 0x4f, 0xe2, 0x25, 0xb2, 0x04, 0x5c, 0x17, 0x2d, 0x6b, 0xd3, 0x90, 0xbd,
        0x85, 0x5f, 0x08, 0x6e, 0x3e, 0x9d, 0x52, 0x5b, 0x46, 0xbf, 0xe2, 0x45, 0x11, 0x43, 0x15, 0x32,
    };
    CHECK(argc == 2);
    int slot = vfpio_init(argv[1]);
    CHECK(slot >= 0);
    tmb_slot *kernel = vfpio_slot(slot);
    CHECK(kernel != NULL && tmb_slot_set(kernel, "mode", 1) == TMB_OK);
    unsigned char *memory = (unsigned char *)vfpio_huge_alloc(64);
    CHECK(memory != NULL);
    memcpy(memory, "abc", 3);
    int fd = vfpio_open(HOST_MEM, ASYNC_RDWR, slot, -1);
    const int list[] = {fd, -1};
    CHECK(fd >= 0);
    CHECK(tmb_slot_start(kernel) == TMB_OK);
    CHECK(vfpio_write(fd, memory + 32, 32) == 32 && vfpio_read(fd, memory, 3) == 3);
    CHECK(vfpio_sync(list) == 0 && tmb_slot_wait(kernel, NULL) == TMB_OK);
    CHECK(memcmp(memory + 32, digest, 32) == 0);
    CHECK(vfpio_close(fd) == 0 && vfpio_release(slot) == 0);
    CHECK(tmb_slot_start(kernel) == TMB_ERROR_GONE);
    /* One that the program has closed itself. */
    slot = vfpio_init(argv[1]);
    CHECK(tmb_slot_close(vfpio_slot(slot)) == TMB_OK);
    errno = 0;
    CHECK(vfpio_open(HOST_MEM, ASYNC_RDWR, slot, -1) == -1 && errno == EBADF);
    CHECK(vfpio_release(slot) == 0);
    return vfpio_detach();
}
