/* Listing 2 of vFPIO's paper, word for word but for what a text extraction broke ("uint64 t", "RDMA MEM:"):
 * vfpio_listing2 KERNEL_FOLDER [HOST:PORT]. The kernel sends back what it gets. RDMA memory is what `tombolo serve`
 * exports there; without it host memory stands in. */
#include <vfpio_ext.h>

#include <cerrno>
#include <cstdio>

#define DATA_SIZE 100000

void exec_sha256(void* bitstream) {
    int vfpga = vfpio_init(bitstream);
    int dev_fd;
    uint64_t
      *fMem = (uint64_t *)vfpio_huge_alloc(DATA_SIZE);
    IODev dev1 = IODevs::RDMA_MEM;
    IODev dev2 = IODevs::FPGA_MEM;

    /* Configure kernel to use RDMA memory */
    dev_fd = vfpio_open(dev1, ASYNC_RDWR, vfpga);

    /* Transfer data and run kernel code */
    vfpio_read(dev_fd, fMem, DATA_SIZE);
    vfpio_write(dev_fd, fMem, DATA_SIZE);

    vfpio_sync(dev_fd);
    vfpio_close(dev_fd);

    /* Configure kernel to use FPGA memory */
    dev_fd = vfpio_open(dev2, ASYNC_RDWR, vfpga);

    /* Transfer data and run kernel code */
    vfpio_read(dev_fd, fMem, DATA_SIZE);
    vfpio_write(dev_fd, fMem, DATA_SIZE);
    vfpio_sync(dev_fd);

    vfpio_close(dev_fd);

}

/* The first 1000 bytes of the peer's memory go through the kernel to 50,000 bytes further behind. */
static bool copy_at_peer(void *bitstream)
{
    int slot = vfpio_init(bitstream);
    uint64_t *memory = vfpio_huge_alloc(DATA_SIZE);
    int dev_fd = vfpio_open(RDMA_MEM, ASYNC_RDWR, slot);
    if (slot < 0 || memory == nullptr || dev_fd < 0) {
        return false;
    }
    return vfpio_read(dev_fd, memory, 1000) == 1000 && vfpio_write(dev_fd, memory + 50000 / 8, 1000) == 1000 &&
           vfpio_sync(dev_fd) == 0 && vfpio_close(dev_fd) == 0 && vfpio_release(slot) == 0;
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr, "usage: %s KERNEL_FOLDER [HOST:PORT]\n", argv[0]);
        return 2;
    }
    int slot = vfpio_init(argv[1]);
    if (slot < 0 || vfpio_open(RDMA_MEM, ASYNC_RDWR, slot) != -1 || errno != ENODEV) {
        std::fprintf(stderr, "a network: %s\n", vfpio_error());
        return 1;
    }
    std::printf("as it must: %s\n", vfpio_error());
    int found = argc == 3 ? vfpio_peer(argv[2]) : vfpio_stand_in(RDMA_MEM, HOST_MEM);
    if (found != 0 || vfpio_release(slot) != 0) {
        std::fprintf(stderr, "%s\n", vfpio_error());
        return 1;
    }
    errno = 0;
    exec_sha256(argv[1]);
    if (errno != 0) {
        std::fprintf(stderr, "listing 2: %s\n", vfpio_error());
        return 1;
    }
    if (argc == 3 && !copy_at_peer(argv[1])) {
        std::fprintf(stderr, "at the peer: %s\n", vfpio_error());
        return 1;
    }
    return vfpio_detach();
}
