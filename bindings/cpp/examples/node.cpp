// An event loop over a std::map in which requests wait for their milestones.
//
//     c++ -std=c++17 node.cpp -lmilepost && ./a.out < events
//
// Events are lines, as they would come from a feed, from sockets and from a clock: `block <file>`,
// `request <file>`, `time <milliseconds>`. Each response is printed as a line as soon as it is
// known: the number of its request, the milestone, and the body.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "map_storage.hpp"

namespace {

const char *name(milepost::Milestone milestone) {
    switch (milestone) {
        case milepost::Milestone::None:
            return "NONE";
        case milepost::Milestone::Included:
            return "INCLUDED";
        case milepost::Milestone::ExecutedOptimistic:
            return "EXECUTED_OPTIMISTIC";
        case milepost::Milestone::IncludedFinal:
            return "INCLUDED_FINAL";
        case milepost::Milestone::Executed:
            return "EXECUTED";
        case milepost::Milestone::Final:
            return "FINAL";
    }
    return "?";
}

/// Prints an error and returns its number
int report(const milepost::Error &error) {
    std::cerr << error.path() << (error.path().empty() ? "" : ": ") << error.message() << '\n';
    return static_cast<int>(error.kind());
}

class Node {
public:
    explicit Node(milepost::Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

    milepost::Result<void> request(std::string_view body) {
        std::size_t number = ++requests_;
        milepost::Result<milepost::RequestResult> result = endpoint_.handle_request(now_, body);
        if (!result) return std::move(result).error();
        if (result->is_pending()) {
            pending_[result->handle] = number;
        } else {
            send(number, result->response);
        }
        return send_responses();
    }

    milepost::Result<void> block(std::string_view message) {
        milepost::Result<milepost::BlockResult> result = endpoint_.handle_block(message);
        if (!result) return std::move(result).error();
        return send_responses();
    }

    milepost::Result<void> time(std::uint64_t now) {
        now_ = now;
        // A host with a clock sleeps until the timeout; here the time is an event.
        if (!timeout_.has_value() || *timeout_ > now) return {};
        milepost::Result<void> handled = endpoint_.handle_timeout(now);
        if (!handled) return handled;
        return send_responses();
    }

private:
    milepost::Result<void> send_responses() {
        for (;;) {
            milepost::Result<milepost::Output> output = endpoint_.poll_output();
            if (!output) return std::move(output).error();
            if (output->kind == milepost::OutputKind::Timeout) {
                timeout_ = output->timeout;
                return {};
            }
            std::map<milepost::RequestHandle, std::size_t>::node_type request =
                pending_.extract(output->handle);
            if (request) send(request.mapped(), output->response);
        }
    }

    static void send(std::size_t number, const milepost::Response &response) {
        std::cout << number << ' ';
        if (milepost::Result<milepost::TransactionStatus> status = response.transaction_status()) {
            std::cout << name(status->milestone);
        } else if (milepost::Result<milepost::RpcError> error = response.rpc_error()) {
            std::cout << error->cause;
        } else {
            std::cout << '-';
        }
        std::cout << ' ' << response.body().value() << '\n' << std::flush;
    }

    milepost::Endpoint endpoint_;
    std::map<milepost::RequestHandle, std::size_t> pending_;
    std::optional<std::uint64_t> timeout_;
    std::size_t requests_ = 0;
    std::uint64_t now_ = 0;
};

std::optional<std::string> read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main() {
    milepost::Result<milepost::Engine> engine =
        milepost::Engine::over(std::make_unique<MapStorage>());
    if (!engine) return report(engine.error());
    milepost::Result<milepost::Endpoint> endpoint = milepost::Endpoint::create(*engine);
    if (!endpoint) return report(endpoint.error());
    Node node(*std::move(endpoint));

    for (std::string event, argument; std::cin >> event >> argument;) {
        milepost::Result<void> handled;
        if (event == "time") {
            handled = node.time(std::strtoull(argument.c_str(), nullptr, 10));
        } else if (std::optional<std::string> text = read(argument)) {
            handled = event == "block" ? node.block(*text) : node.request(*text);
        } else {
            std::perror(argument.c_str());
            return 1;
        }
        if (!handled) return report(handled.error());
    }
    return 0;
}
