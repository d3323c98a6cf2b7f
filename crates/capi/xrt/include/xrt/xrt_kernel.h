/* xrt::kernel and xrt::run */
#ifndef TOMBOLO_XRT_KERNEL_H
#define TOMBOLO_XRT_KERNEL_H

#include "xrt/detail/ert.h"
#include "xrt/detail/watch.h"
#include "xrt/xrt.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_uuid.h"

#ifdef __cplusplus

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace xrt {

/* As the first argument of kernel(...): a run that restarts automatically, for `iterations` runs in total; 0: until stop. */
struct autostart {
    unsigned int iterations = 0;
};

class kernel;

/* A run of a kernel. Copies are the same run. */
class run {
  public:
    /* A run that did not complete, thrown by wait2. */
    class command_error : public std::runtime_error {
      public:
        command_error(ert_cmd_state state, const std::string &text) : std::runtime_error(text), state_(state) {}
        ert_cmd_state get_command_state() const { return state_; }

      private:
        ert_cmd_state state_;
    };

    using callback = std::function<void(const void *, ert_cmd_state, void *)>;

    run() = default;

    explicit run(const kernel &of);

    template <typename Value> void set_arg(int index, Value &&value) { set_at(index, std::forward<Value>(value)); }

    template <typename Value> void set_arg(const std::string &name, Value &&value) {
        set_at(index_of(name), std::forward<Value>(value));
    }

    void set_arg(int index, const void *value, std::size_t bytes) {
        detail::check(tmb_xrt_run_set_value(handle(), static_cast<std::uint32_t>(index), value, bytes));
    }
    void set_arg(const std::string &name, const void *value, std::size_t bytes) {
        set_arg(index_of(name), value, bytes);
    }

    /* Sets all arguments, and starts. */
    template <typename... Values> void operator()(Values &&...values) {
        set_all(0, std::forward<Values>(values)...);
        start();
    }

    void start() { start_with(tmb_xrt_run_start); }

    /* Restarts the kernel at its end, for `iterations` runs in total, or until stop. */
    void start(const autostart &times) {
        start_with([&times](tmb_xrt_object *of) { return tmb_xrt_run_start_repeated(of, times.iterations); });
    }

    /* Waits for the end of what it is doing, and lets it begin no more. */
    void stop() {
        std::uint32_t state = 0;
        detail::check(tmb_xrt_run_stop(handle(), &state));
    }

    ert_cmd_state abort() {
        std::uint32_t state = 0;
        detail::check(tmb_xrt_run_abort(handle(), &state));
        return static_cast<ert_cmd_state>(state);
    }

    /* Milliseconds of virtual time; 0: for ever. */
    ert_cmd_state wait(const std::chrono::milliseconds &time) const {
        std::uint32_t state = 0;
        detail::check(tmb_xrt_run_wait(handle(), static_cast<std::uint64_t>(time.count()), &state));
        return static_cast<ert_cmd_state>(state);
    }
    ert_cmd_state wait(unsigned int milliseconds = 0) const { return wait(std::chrono::milliseconds(milliseconds)); }

    std::cv_status wait2(const std::chrono::milliseconds &time) const {
        const ert_cmd_state state = wait(time);
        if (state == ERT_CMD_STATE_TIMEOUT) {
            return std::cv_status::timeout;
        }
        if (state != ERT_CMD_STATE_COMPLETED) {
            throw command_error(state, "run: it ended in state " + std::to_string(static_cast<int>(state)));
        }
        return std::cv_status::no_timeout;
    }
    void wait2() const { wait2(std::chrono::milliseconds(0)); }

    ert_cmd_state state() const {
        std::uint32_t state = 0;
        detail::check(tmb_xrt_run_state(handle(), &state));
        return static_cast<ert_cmd_state>(state);
    }

    /* Return value of a software kernel; always 0 for others. */
    std::uint32_t return_code() const { return 0; }

    /* Called in a thread of its own when the run has ended. */
    void add_callback(ert_cmd_state state, callback call, void *data) {
        if (state != ERT_CMD_STATE_COMPLETED) {
            detail::unsupported("run.add_callback", "only ERT_CMD_STATE_COMPLETED has callbacks");
        }
        callbacks_->add(object_, std::move(call), data);
    }

    explicit operator bool() const { return static_cast<bool>(object_); }
    bool operator==(const run &other) const { return object_ == other.object_; }
    bool operator!=(const run &other) const { return !(*this == other); }
    bool operator<(const run &other) const { return object_ < other.object_; }

    /* For the other headers. */
    tmb_xrt_object *handle() const { return object_.need("run"); }

  private:
    friend class kernel;
    friend class mailbox;

    /* Calls, and the thread that makes them; the last copy of the run waits for it. */
    class callback_list {
      public:
        callback_list() = default;
        callback_list(const callback_list &) = delete;
        callback_list &operator=(const callback_list &) = delete;
        ~callback_list() {
            if (watch_ != nullptr) {
                tmb_xrt_watch_close(watch_);
            }
        }

        void add(const detail::object &of, callback call, void *data) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (watch_ == nullptr) {
                of_ = of;
                watch_ = tmb_xrt_watch_open(of_.need("run"), ended, this);
                if (watch_ == nullptr) {
                    throw std::system_error(errno, std::generic_category(), "run: add_callback: no thread for it");
                }
            }
            calls_.emplace_back(std::move(call), data);
        }

        void started() {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (watch_ != nullptr) {
                tmb_xrt_watch_started(watch_);
            }
        }

      private:
        static void ended(void *pointer, ert_cmd_state state) {
            callback_list *const list = static_cast<callback_list *>(pointer);
            std::vector<std::pair<callback, void *>> calls;
            detail::object of;
            {
                const std::lock_guard<std::mutex> lock(list->mutex_);
                calls = list->calls_;
                of = list->of_;
            }
            // From here on a call may drop the last copy of the run, and so this list.
            for (const std::pair<callback, void *> &call : calls) {
                call.first(of.get(), state, call.second);
            }
        }

        std::mutex mutex_;
        detail::object of_;
        std::vector<std::pair<callback, void *>> calls_;
        tmb_xrt_watch *watch_ = nullptr;
    };

    template <typename Start> void start_with(Start begin);

    int index_of(const std::string &name) const {
        std::uint32_t index = 0;
        detail::check(tmb_xrt_run_index(handle(), name.c_str(), &index));
        return static_cast<int>(index);
    }

    void set_at(int index, const bo &buffer) {
        detail::check(tmb_xrt_run_set_bo(handle(), static_cast<std::uint32_t>(index), buffer.handle()));
    }
    void set_at(int index, bo &buffer) { set_at(index, static_cast<const bo &>(buffer)); }
    void set_at(int index, bo &&buffer) { set_at(index, static_cast<const bo &>(buffer)); }

    /* The bytes of a value; of an array, all of them. */
    template <typename Value> void set_at(int index, Value &&value) {
        using plain = typename std::remove_reference<Value>::type;
        static_assert(std::is_trivially_destructible<plain>::value, "arguments of kernels are numbers, structures or bo");
        set_arg(index, static_cast<const void *>(std::addressof(value)), sizeof(plain));
    }

    void set_all(int) {}
    template <typename Value, typename... Values> void set_all(int index, Value &&value, Values &&...values) {
        set_at(index, std::forward<Value>(value));
        set_all(index + 1, std::forward<Values>(values)...);
    }

    detail::object object_;
    std::shared_ptr<callback_list> callbacks_ = std::make_shared<callback_list>();
};

template <typename Start> void run::start_with(Start begin) {
    detail::check(begin(handle()));
    callbacks_->started();
}

/* A kernel: all of its compute units, or those that are named. Copies are the same one. */
class kernel {
  public:
    enum class cu_access_mode : std::uint8_t { exclusive = 0, shared = 1, none = 2 };

    kernel() = default;

    kernel(const device &on, const uuid &of, const std::string &name, cu_access_mode mode = cu_access_mode::shared) {
        tmb_xrt_object *opened = nullptr;
        detail::check(tmb_xrt_kernel_open(on.handle(), of.get(), name.c_str(), static_cast<std::uint32_t>(mode),
                                          &opened));
        object_ = detail::object(opened);
        device_ = on;
    }

    kernel(const device &on, const uuid &of, const std::string &name, bool exclusive)
        : kernel(on, of, name, exclusive ? cu_access_mode::exclusive : cu_access_mode::shared) {}

    kernel(const hw_context &in, const std::string &name)
        : kernel(in.get_device(), in.get_xclbin_uuid(), name) {}

    /* By a device's untyped handle. */
    kernel(xclDeviceHandle on, const uuid &of, const std::string &name, cu_access_mode mode = cu_access_mode::shared)
        : kernel(device(on), of, name, mode) {}

    /* Sets all arguments, and starts. */
    template <typename... Values> run operator()(Values &&...values) {
        run started(*this);
        started(std::forward<Values>(values)...);
        return started;
    }

    /* As above; the kernel begins anew at its end. */
    template <typename... Values> run operator()(autostart &&times, Values &&...values) {
        run started(*this);
        started.set_all(0, std::forward<Values>(values)...);
        started.start(times);
        return started;
    }

    int group_id(int index) const {
        int group = 0;
        detail::check(tmb_xrt_kernel_group(handle(), static_cast<std::uint32_t>(index), &group));
        return group;
    }

    std::uint32_t offset(int index) const {
        std::uint32_t offset = 0;
        detail::check(tmb_xrt_kernel_offset(handle(), static_cast<std::uint32_t>(index), &offset));
        return offset;
    }

    std::uint32_t read_register(std::uint32_t offset) const {
        std::uint32_t value = 0;
        detail::check(tmb_xrt_kernel_read_register(handle(), offset, &value));
        return value;
    }

    void write_register(std::uint32_t offset, std::uint32_t value) {
        detail::check(tmb_xrt_kernel_write_register(handle(), offset, value));
    }

    std::string get_name() const {
        char *name = nullptr;
        detail::check(tmb_xrt_kernel_name(handle(), &name));
        return detail::take(name);
    }

    xclbin get_xclbin() const { return device_.get_xclbin(device_.get_xclbin_uuid()); }

    explicit operator bool() const { return static_cast<bool>(object_); }
    bool operator==(const kernel &other) const { return object_ == other.object_; }
    bool operator!=(const kernel &other) const { return !(*this == other); }

    /* For the other headers. */
    tmb_xrt_object *handle() const { return object_.need("kernel"); }

  private:
    detail::object object_;
    device device_;
};

/* Byte offsets of registers that read_register reads although the kernel is shared. */
inline void set_read_range(const kernel &of, std::uint32_t start, std::uint32_t bytes) {
    detail::check(tmb_xrt_kernel_set_read_range(of.handle(), start, bytes));
}

inline run::run(const kernel &of) {
    tmb_xrt_object *made = nullptr;
    detail::check(tmb_xrt_run_create(of.handle(), &made));
    object_ = detail::object(made);
}

/* Runs that are executed one after the other. */
class runlist {
  public:
    runlist() = default;
    explicit runlist(const hw_context &) {}

    void add(const run &next) {
        require_idle("add");
        runs_.push_back(next);
    }

    /* Starts the first; wait and poll start the others. */
    void execute() {
        require_idle("execute");
        at_ = 0;
        executing_ = !runs_.empty();
        if (executing_) {
            runs_[0].start();
        }
    }

    /* Throws run::command_error if a run does not complete. */
    std::cv_status wait(const std::chrono::milliseconds &time) {
        while (executing_) {
            if (runs_[at_].wait2(time) == std::cv_status::timeout) {
                return std::cv_status::timeout;
            }
            next();
        }
        return std::cv_status::no_timeout;
    }
    void wait() { wait(std::chrono::milliseconds(0)); }

    /* 0 while it executes. */
    int poll() {
        if (executing_ && runs_[at_].state() == ERT_CMD_STATE_COMPLETED) {
            next();
        }
        return executing_ ? 0 : 1;
    }

    ert_cmd_state state() { return poll() == 0 ? ERT_CMD_STATE_RUNNING : ERT_CMD_STATE_COMPLETED; }

    void reset() {
        require_idle("reset");
        runs_.clear();
    }

  private:
    void next() {
        executing_ = ++at_ < runs_.size();
        if (executing_) {
            runs_[at_].start();
        }
    }

    void require_idle(const char *call) const {
        if (executing_) {
            throw std::system_error(EBUSY, std::generic_category(),
                                    std::string("runlist: ") + call + ": it executes; wait for it first");
        }
    }

    std::vector<run> runs_;
    std::size_t at_ = 0;
    bool executing_ = false;
};

} // namespace xrt

#endif

#include "xrt/detail/c_kernel.h"

#endif
