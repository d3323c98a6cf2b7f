/* xrt::queue */
#ifndef TOMBOLO_XRT_QUEUE_H
#define TOMBOLO_XRT_QUEUE_H

#ifdef __cplusplus

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace xrt {

/* Calls that one thread makes, one after the other. */
class queue {
  public:
    /* The end of a call, without its result. */
    class event {
      public:
        event() = default;
        template <typename Result>
        event(std::shared_future<Result> of) : wait_([of] { of.wait(); }) {}
        void wait() const {
            if (wait_) {
                wait_();
            }
        }
        explicit operator bool() const { return static_cast<bool>(wait_); }

      private:
        std::function<void()> wait_;
    };

    queue() : thread_([this] { work(); }) {}

    /* Waits for what was enqueued. */
    ~queue() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            open_ = false;
        }
        changed_.notify_one();
        thread_.join();
    }

    queue(const queue &) = delete;
    queue &operator=(const queue &) = delete;

    template <typename Call> auto enqueue(Call &&call) -> std::shared_future<decltype(call())> {
        using result = decltype(call());
        auto task = std::make_shared<std::packaged_task<result()>>(std::forward<Call>(call));
        std::shared_future<result> future = task->get_future().share();
        add([task] { (*task)(); });
        return future;
    }

    /* Later entries wait for an event of another queue. */
    event enqueue(const event &before) {
        return event(enqueue([before] { before.wait(); }));
    }
    template <typename Result> event enqueue(const std::shared_future<Result> &before) {
        return enqueue(event(before));
    }

  private:
    void add(std::function<void()> call) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            calls_.push_back(std::move(call));
        }
        changed_.notify_one();
    }

    void work() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (open_ || !calls_.empty()) {
            if (calls_.empty()) {
                changed_.wait(lock);
                continue;
            }
            const std::function<void()> call = std::move(calls_.front());
            calls_.pop_front();
            lock.unlock();
            call();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> calls_;
    bool open_ = true;
    std::thread thread_;
};

} // namespace xrt

#endif
#endif
