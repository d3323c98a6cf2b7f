// Runs: arguments by index and by name, start, wait with a time, states, callbacks, and what is refused. argv: vadd.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "check.h"
#include "experimental/xrt_bo.h"
#include "experimental/xrt_device.h"
#include "experimental/xrt_kernel.h"

namespace {

const std::size_t count = 20000;
const std::size_t bytes = count * sizeof(std::uint32_t);

struct arrays {
    xrt::bo a, b, c;

    arrays(const xrt::device &device, const xrt::kernel &vadd)
        : a(device, bytes, vadd.group_id(0)), b(device, bytes, xrt::bo::flags::normal, vadd.group_id(1)),
          c(device, bytes, vadd.group_id(2)) {
        auto left = a.map<std::uint32_t *>();
        auto right = b.map<std::uint32_t *>();
        for (std::uint32_t i = 0; i < count; ++i) {
            left[i] = i * 2654435761u;
            right[i] = i;
        }
        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    }

    /* How many sums the card has that are right. */
    std::size_t right() {
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        auto left = a.map<std::uint32_t *>(), other = b.map<std::uint32_t *>(), sums = c.map<std::uint32_t *>();
        std::size_t found = 0;
        for (std::size_t i = 0; i < count; ++i) {
            found += sums[i] == left[i] + other[i];
        }
        return found;
    }
};

void called(const void *, ert_cmd_state state, void *data) {
    *static_cast<std::atomic<int> *>(data) = static_cast<int>(state);
}

/* A run that its callback starts again. */
struct chained {
    static constexpr int calls = 20;
    xrt::run run;
    std::atomic<int> count;
    std::thread::id thread{};
    bool one_thread = true;

    chained(xrt::run of, int from) : run(std::move(of)), count(from) {}
};

void again(const void *, ert_cmd_state, void *data) {
    auto &chain = *static_cast<chained *>(data);
    if (chain.count == 0) {
        chain.thread = std::this_thread::get_id();
    }
    chain.one_thread = chain.one_thread && chain.thread == std::this_thread::get_id();
    if (chain.count + 1 < chained::calls) {
        chain.run.start();
    }
    ++chain.count;
}

} // namespace

int main(int, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        auto uuid = device.load_xclbin(argv[1]);
        xrt::kernel vadd(device, uuid, "vadd");
        arrays of(device, vadd);

        // One that was never started.
        xrt::run run(vadd);
        EXPECT(run && !xrt::run() && run.state() == ERT_CMD_STATE_NEW);
        REFUSED(EINVAL, "never started", run.wait());
        REFUSED(EINVAL, "argument 4", run.set_arg(4, 1));
        REFUSED(EINVAL, "it has 0 a, 1 b, 2 c, 3 length", run.set_arg("d", 1));
        REFUSED(EINVAL, "it is a number", run.set_arg(3, of.a));
        REFUSED(EINVAL, "it is empty", run.set_arg(0, xrt::bo()));

        run.set_arg(0, of.a);
        run.set_arg("b", of.b);
        run.set_arg(2, of.c);
        run.set_arg(3, static_cast<std::uint64_t>(count));
        run.start();
        // It is under way: nothing has let time pass.
        REFUSED(EBUSY, "under way", run.start());
        int looks = 0;
        while (run.state() == ERT_CMD_STATE_RUNNING) {
            ++looks;
        }
        EXPECT(looks > 0 && run.state() == ERT_CMD_STATE_COMPLETED);
        EXPECT(run.wait() == ERT_CMD_STATE_COMPLETED);
        EXPECT(of.right() == count);

        // The same run again, with half of the numbers; what is set keeps.
        std::fill_n(of.c.map<std::uint32_t *>(), count, 0);
        of.c.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        run.set_arg(3, count / 2);
        std::atomic<int> state(0);
        run.add_callback(ERT_CMD_STATE_COMPLETED, called, &state);
        run.start();
        EXPECT(run.wait(std::chrono::milliseconds(1000)) == ERT_CMD_STATE_COMPLETED);
        EXPECT(run.wait2(std::chrono::milliseconds(1000)) == std::cv_status::no_timeout);
        while (state == 0) {
        }
        EXPECT(state == ERT_CMD_STATE_COMPLETED);
        // 0 + 0 is right as well.
        EXPECT(of.right() == count / 2 + (count / 2 == 0));

        // A value shorter than its argument is stored byte by byte: what is above keeps.
        run.set_arg(3, static_cast<std::uint64_t>(1) << 32 | count);
        run.set_arg(3, static_cast<std::uint32_t>(7));
        const std::uint64_t whole = count;
        run.set_arg(3, &whole, sizeof whole);
        run();
        EXPECT(run.wait() == ERT_CMD_STATE_COMPLETED);
        EXPECT(of.right() == count);

        // An array's bytes are the value; the pointer to it is not.
        const std::uint32_t parts[2] = {static_cast<std::uint32_t>(count), 0};
        std::fill_n(of.c.map<std::uint32_t *>(), count, 0);
        of.c.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        run.set_arg(3, parts);
        run();
        EXPECT(run.wait() == ERT_CMD_STATE_COMPLETED);
        EXPECT(of.right() == count);

        // All at once, in both ways.
        std::fill_n(of.c.map<std::uint32_t *>(), count, 0);
        of.c.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        auto other = vadd(of.a, of.b, of.c, count);
        EXPECT(other != run && other == other);
        other.wait2();
        EXPECT(other.return_code() == 0 && of.right() == count);

        // A time that is too short: the run goes on. The functional card counts steps, so ask for many numbers.
        const std::size_t many = std::size_t(1) << 21;
        xrt::bo large(device, many * 4, vadd.group_id(0)), sums(device, many * 4, vadd.group_id(2));
        large.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        auto slow = vadd(large, large, sums, many);
        int waits = 1;
        while (slow.wait(1) == ERT_CMD_STATE_TIMEOUT) {
            ++waits;
        }
        EXPECT(waits > 1 && slow.state() == ERT_CMD_STATE_COMPLETED);

        // Stopped.
        auto stopped = vadd(large, large, sums, many);
        EXPECT(stopped.abort() == ERT_CMD_STATE_ABORT);
        THROWS(xrt::run::command_error, stopped.wait2());
        try {
            stopped.wait2();
        } catch (const xrt::run::command_error &error) {
            EXPECT(error.get_command_state() == ERT_CMD_STATE_ABORT);
        }
        // Calls that start their run again: one thread makes them all.
        chained chain{xrt::run(vadd), 0};
        chain.run.set_arg(0, of.a);
        chain.run.set_arg(1, of.b);
        chain.run.set_arg(2, of.c);
        chain.run.set_arg(3, std::uint64_t(16));
        chain.run.add_callback(ERT_CMD_STATE_COMPLETED, again, &chain);
        chain.run.start();
        while (chain.count < chained::calls) {
        }
        EXPECT(chain.one_thread);

        // A call that drops the last copy of its run.
        std::atomic<bool> dropped(false);
        auto *last = new xrt::run(vadd);
        for (int index = 0; index < 3; ++index) {
            last->set_arg(index, index == 0 ? of.a : index == 1 ? of.b : of.c);
        }
        last->set_arg(3, std::uint64_t(16));
        last->add_callback(
            ERT_CMD_STATE_COMPLETED,
            [last](const void *, ert_cmd_state, void *data) {
                delete last;
                *static_cast<std::atomic<bool> *>(data) = true;
            },
            &dropped);
        last->start();
        while (!dropped) {
        }

        // The unit is usable again.
        EXPECT(vadd(of.a, of.b, of.c, count).wait() == ERT_CMD_STATE_COMPLETED);
    });
}
