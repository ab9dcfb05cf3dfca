// A feed thread that hands block messages in, while another thread owns the endpoint.
//
//     c++ -std=c++17 -pthread feed.cpp -lmilepost && ./a.out <request> <block>...
//
// The feed thread reads the messages in the order of the chain, here from files; a feed of a
// network is read in the same way. The queue between both threads has a bound, so that a feed that
// is faster than the endpoint waits. The response to the request is printed as soon as it is known.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <thread>

#include "map_storage.hpp"

namespace {

/// Messages on their way from the feed to the endpoint, at most this number
constexpr std::size_t MAX_MESSAGES = 16;

class Queue {
public:
    /// Waits until there is room; false if the queue is closed
    bool push(std::string message) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return messages_.size() < MAX_MESSAGES || is_closed_; });
        if (is_closed_) return false;
        messages_.push_back(std::move(message));
        changed_.notify_all();
        return true;
    }

    /// Waits for a message; none when the queue is closed and empty
    std::optional<std::string> pop() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !messages_.empty() || is_closed_; });
        if (messages_.empty()) return std::nullopt;
        std::string message = std::move(messages_.front());
        messages_.pop_front();
        changed_.notify_all();
        return message;
    }

    void close() {
        std::lock_guard<std::mutex> lock(mutex_);
        is_closed_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> messages_;
    bool is_closed_ = false;
};

/// Prints an error and returns its number
int report(const milepost::Error &error) {
    std::cerr << error.path() << (error.path().empty() ? "" : ": ") << error.message() << '\n';
    return static_cast<int>(error.kind());
}

std::optional<std::string> read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Prints the response once the endpoint has it
milepost::Result<void> send_responses(milepost::Endpoint &endpoint) {
    for (;;) {
        milepost::Result<milepost::Output> output = endpoint.poll_output();
        if (!output) return std::move(output).error();
        if (output->kind == milepost::OutputKind::Timeout) return {};
        std::cout << output->response.body().value() << '\n';
    }
}

/// Hands in the request, and then each message that comes
milepost::Result<void> run(milepost::Endpoint &endpoint, const std::string &request, Queue &queue) {
    milepost::Result<milepost::RequestResult> result = endpoint.handle_request(0, request);
    if (!result) return std::move(result).error();
    if (!result->is_pending()) std::cout << result->response.body().value() << '\n';
    while (std::optional<std::string> message = queue.pop()) {
        milepost::Result<milepost::BlockResult> block = endpoint.handle_block(*message);
        if (!block) return std::move(block).error();
        milepost::Result<void> sent = send_responses(endpoint);
        if (!sent) return sent;
    }
    return {};
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 2) {
        std::cerr << "usage: feed REQUEST BLOCK...\n";
        return 2;
    }
    std::optional<std::string> request = read(arguments[1]);
    if (!request) {
        std::perror(arguments[1]);
        return 1;
    }
    milepost::Result<milepost::Engine> engine =
        milepost::Engine::over(std::make_unique<MapStorage>());
    if (!engine) return report(engine.error());
    milepost::Result<milepost::Endpoint> endpoint = milepost::Endpoint::create(*engine);
    if (!endpoint) return report(endpoint.error());

    Queue queue;
    bool is_read = true;
    std::thread feed([&] {
        for (int index = 2; index < count; ++index) {
            std::optional<std::string> message = read(arguments[index]);
            if (!message) {
                std::perror(arguments[index]);
                is_read = false;
                break;
            }
            if (!queue.push(*std::move(message))) break;
        }
        queue.close();
    });
    milepost::Result<void> handled = run(*endpoint, *request, queue);
    // After an error the feed may wait for room in the queue.
    queue.close();
    feed.join();
    if (!handled) return report(handled.error());
    return is_read ? 0 : 1;
}
