/* XRT's interface for C: all supported calls, and their failures. argv: vadd, once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xclbin.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"
#include "experimental/xrt_xclbin.h"

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\nTEST FAILED\n", __LINE__, #condition);                                                \
            fflush(stdout);                                                                                            \
            return EXIT_FAILURE;                                                                                       \
        }                                                                                                              \
    } while (0)

static void called(xrtRunHandle run, enum ert_cmd_state state, void *data) {
    (void)run;
    *(int *)data = (int)state;
}

/* Starts the run again until enough have ended. */
static void again(xrtRunHandle run, enum ert_cmd_state state, void *data) {
    _Atomic int *left = (_Atomic int *)data;
    if (state == ERT_CMD_STATE_COMPLETED && *left > 1 && xrtRunStart(run) != 0) {
        abort();
    }
    --*left;
}

static int wrong(const uint32_t *sums, uint32_t factor, uint32_t count) {
    int found = 0;
    for (uint32_t i = 0; i < count; ++i) {
        found += sums[i] != factor * i;
    }
    return found;
}

int main(int argc, char **argv) {
    enum { COUNT = 4800, BYTES = 4 * COUNT };
    const uint64_t count = COUNT;
    EXPECT(argc == 2);

    xrtXclbinHandle file = xrtXclbinAllocFilename(argv[1]);
    char name[8];
    int needed = 0;
    xuid_t own, uuid;
    EXPECT(file != NULL && xrtXclbinGetXSAName(file, name, sizeof name, &needed) == 0);
    EXPECT(needed == 3 && strcmp(name, "f1") == 0);
    EXPECT(xrtXclbinGetNumKernels(file) == 1 && xrtXclbinGetNumKernelComputeUnits(file) == 1);
    EXPECT(xrtXclbinGetUUID(file, own) == 0);
    int size = 0;
    EXPECT(xrtXclbinGetData(file, NULL, 0, &size) == 0 && size > (int)sizeof(struct axlf));
    char *data = (char *)malloc((size_t)size);
    EXPECT(data != NULL && xrtXclbinGetData(file, data, size, NULL) == 0);
    const struct axlf *axlf = (const struct axlf *)(const void *)data;
    EXPECT(axlf->m_header.m_length == (uint64_t)size && memcmp(axlf->m_header.uuid, own, sizeof own) == 0);
    xrtXclbinHandle same = xrtXclbinAllocAxlf(axlf);
    EXPECT(same != NULL && xrtXclbinGetUUID(same, uuid) == 0 && memcmp(uuid, own, sizeof own) == 0);
    EXPECT(xrtXclbinFreeHandle(same) == 0);
    free(data);

    errno = 0;
    EXPECT(xrtDeviceOpen(9) == NULL && errno == ENODEV);
    EXPECT(xrtDeviceOpenByBDF("nothing") == NULL);
    xrtDeviceHandle device = xrtDeviceOpen(0);
    EXPECT(device != NULL);
    EXPECT(xrtDeviceLoadXclbinFile(device, "there is none") == -1 && errno == ENOENT);
    EXPECT(xrtBOAlloc(device, BYTES, 0, 0) == NULL && errno == ENODEV);
    EXPECT(xrtDeviceLoadXclbinHandle(device, file) == 0 && xrtXclbinFreeHandle(file) == 0);
    EXPECT(xrtDeviceLoadXclbinFile(device, argv[1]) == 0);
    EXPECT(xrtDeviceGetXclbinUUID(device, uuid) == 0 && memcmp(uuid, own, sizeof uuid) == 0);

    EXPECT(xrtPLKernelOpen(device, uuid, "vsub") == NULL && errno == ENOENT);
    xrtKernelHandle vadd = xrtPLKernelOpenExclusive(device, uuid, "vadd:{vadd_1}");
    EXPECT(vadd != NULL && xrtPLKernelOpen(device, uuid, "vadd") == NULL && errno == EBUSY);
    EXPECT(xrtKernelArgOffset(vadd, 1) == 0x18 && xrtKernelArgOffset(vadd, 7) == UINT32_MAX);
    uint32_t word = 0;
    EXPECT(xrtKernelWriteRegister(vadd, 0x10, 77) == 0 && xrtKernelReadRegister(vadd, 0x10, &word) == 0 && word == 77);
    EXPECT(xrtKernelReadRegister(vadd, 2, &word) == -1 && errno == EINVAL);

    xrtBufferHandle a = xrtBOAlloc(device, BYTES, XRT_BO_FLAGS_NONE, (xrtMemoryGroup)xrtKernelArgGroupId(vadd, 0));
    void *user = aligned_alloc(4096, (BYTES + 4095) / 4096 * 4096);
    xrtBufferHandle b = xrtBOAllocUserPtr(device, user, BYTES, 0, (xrtMemoryGroup)xrtKernelArgGroupId(vadd, 1));
    xrtBufferHandle whole = xrtBOAlloc(device, 2 * BYTES, 0, (xrtMemoryGroup)xrtKernelArgGroupId(vadd, 2));
    xrtBufferHandle sums = xrtBOSubAlloc(whole, BYTES, BYTES);
    EXPECT(a != NULL && b != NULL && sums != NULL && xrtBOSize(sums) == BYTES);
    EXPECT(xrtBOAddress(sums) == xrtBOAddress(whole) + BYTES && xrtBOSubAlloc(whole, BYTES, BYTES + 4) == NULL);
    uint32_t *values = (uint32_t *)malloc(BYTES);
    EXPECT(values != NULL);
    for (uint32_t i = 0; i < COUNT; ++i) {
        values[i] = i;
        ((uint32_t *)user)[i] = 2 * i;
    }
    EXPECT(xrtBOWrite(a, values, BYTES, 0) == 0 && xrtBOWrite(a, values, BYTES, 4) == -1 && errno == EINVAL);
    EXPECT(xrtBOSync(a, XCL_BO_SYNC_BO_TO_DEVICE, BYTES, 0) == 0 && xrtBOSync(b, XCL_BO_SYNC_BO_TO_DEVICE, BYTES, 0) == 0);

    /* All arguments at once. */
    xrtRunHandle run = xrtKernelRun(vadd, a, b, sums, count);
    EXPECT(run != NULL && xrtRunWait(run) == ERT_CMD_STATE_COMPLETED && xrtRunState(run) == ERT_CMD_STATE_COMPLETED);
    EXPECT(xrtBOSync(sums, XCL_BO_SYNC_BO_FROM_DEVICE, BYTES, 0) == 0);
    EXPECT(wrong((uint32_t *)xrtBOMap(sums), 3, COUNT) == 0);
    EXPECT(xrtBORead(sums, values, 8, 4 * 9) == 0 && values[0] == 27 && values[1] == 30);
    EXPECT(xrtRunClose(run) == 0 && xrtRunClose(NULL) == -1);
    EXPECT(xrtKernelRun(vadd, a, b, NULL, count) == NULL);

    /* One by one, with a callback; the same run again. */
    int state = 0;
    run = xrtRunOpen(vadd);
    EXPECT(run != NULL && xrtRunSetArg(run, 0, a) == 0 && xrtRunSetArg(run, 1, a) == 0);
    EXPECT(xrtRunSetArg(run, 2, sums) == 0 && xrtRunSetArg(run, 3, count) == 0 && xrtRunSetArg(run, 4, 1) == -1);
    EXPECT(xrtRunSetCallback(run, ERT_CMD_STATE_ERROR, called, &state) == -1);
    EXPECT(xrtRunSetCallback(run, ERT_CMD_STATE_COMPLETED, called, &state) == 0);
    for (int round = 0; round < 2; ++round) {
        EXPECT(xrtRunStart(run) == 0 && xrtRunWaitFor(run, 1000) == ERT_CMD_STATE_COMPLETED);
        EXPECT(xrtBOSync(sums, XCL_BO_SYNC_BO_FROM_DEVICE, BYTES, 0) == 0);
        EXPECT(wrong((uint32_t *)xrtBOMap(sums), 2, COUNT) == 0);
        memset(xrtBOMap(sums), 0, BYTES);
        EXPECT(xrtBOSync(sums, XCL_BO_SYNC_BO_TO_DEVICE, BYTES, 0) == 0);
    }
    EXPECT(xrtRunClose(run) == 0 && state == ERT_CMD_STATE_COMPLETED);

    /* A callback that starts its run again. */
    _Atomic int left = 5;
    run = xrtRunOpen(vadd);
    EXPECT(run != NULL && xrtRunSetArg(run, 0, a) == 0 && xrtRunSetArg(run, 1, a) == 0);
    EXPECT(xrtRunSetArg(run, 2, sums) == 0 && xrtRunSetArg(run, 3, count) == 0);
    EXPECT(xrtRunSetCallback(run, ERT_CMD_STATE_COMPLETED, again, (void *)&left) == 0 && xrtRunStart(run) == 0);
    while (left > 0) {
    }
    EXPECT(xrtRunClose(run) == 0);

    /* By a handle, in the same process. */
    int exported = xrtBOExport(a);
    xrtBufferHandle twin = xrtBOImport(device, exported);
    EXPECT(exported >= 0 && twin != NULL && xrtBOMap(twin) == xrtBOMap(a) && xrtBOFree(twin) == 0 && close(exported) == 0);
    EXPECT(xrtBOImport(device, -1) == NULL);

    /* On the card. */
    EXPECT(xrtBOCopy(sums, a, 400, 8, 4) == 0 && xrtBOCopy(sums, a, 0, 0, 0) == -1);
    EXPECT(xrtBOSync(sums, XCL_BO_SYNC_BO_FROM_DEVICE, BYTES, 0) == 0);
    EXPECT(((uint32_t *)xrtBOMap(sums))[2] == 1 && ((uint32_t *)xrtBOMap(sums))[101] == 100);

    EXPECT(xrtBOFree(sums) == 0 && xrtBOFree(whole) == 0 && xrtBOFree(a) == 0 && xrtBOFree(b) == 0);
    EXPECT(xrtBOFree(a) == -1 && xrtBOMap(a) == NULL);
    EXPECT(xrtKernelClose(vadd) == 0 && xrtDeviceClose(device) == 0 && xrtDeviceClose(device) == -1);
    free(values);
    free(user);
    printf("TEST PASSED\n");
    return EXIT_SUCCESS;
}
