/* Listing 2 of vFPIO's paper, word for word but for what a text extraction broke ("uint64 t", "RDMA MEM:"):
 * vfpio_listing2 KERNEL_FOLDER. The kernel sends back what it gets. Here no network is on the card, so host memory
 * stands in for RDMA memory. */
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

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s KERNEL_FOLDER\n", argv[0]);
        return 2;
    }
    int slot = vfpio_init(argv[1]);
    if (slot < 0 || vfpio_open(RDMA_MEM, ASYNC_RDWR, slot) != -1 || errno != ENODEV) {
        std::fprintf(stderr, "a network: %s\n", vfpio_error());
        return 1;
    }
    std::printf("as it must: %s\n", vfpio_error());
    if (vfpio_stand_in(RDMA_MEM, HOST_MEM) != 0 || vfpio_release(slot) != 0) {
        std::fprintf(stderr, "%s\n", vfpio_error());
        return 1;
    }
    errno = 0;
    exec_sha256(argv[1]);
    if (errno != 0) {
        std::fprintf(stderr, "listing 2: %s\n", vfpio_error());
        return 1;
    }
    return vfpio_detach();
}
