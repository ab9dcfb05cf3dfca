// Watches a transaction while blocks are imported, and prints each of its states as JSON.
//
//     c++ -std=c++17 watch.cpp -lmilepost && ./a.out <hash> <block>...
//
// The watch is an object, and ends with it or at the final state. Nothing waits here: a host polls
// after each call that hands something in, from its own loop. States that were not polled in
// between are left out.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "map_storage.hpp"

namespace {

/// Prints an error and returns its number
int report(const milepost::Error &error) {
    std::cerr << error.path() << (error.path().empty() ? "" : ": ") << error.message() << '\n';
    return static_cast<int>(error.kind());
}

/// Prints what the watch reports; whether that was its last event
milepost::Result<bool> print_events(milepost::Endpoint &endpoint) {
    bool is_over = false;
    for (;;) {
        milepost::Result<milepost::Output> output = endpoint.poll_output();
        if (!output) return std::move(output).error();
        switch (output->kind) {
            case milepost::OutputKind::Timeout:
                return is_over;
            case milepost::OutputKind::Failed:
                return *std::move(output->error);  // The watch has ended.
            case milepost::OutputKind::Watch:
                if (output->watch_event == milepost::WatchEvent::UnIncluded)
                    std::cout << "reverted: ";
                std::cout << output->compact_status << '\n';
                is_over = output->watch_event == milepost::WatchEvent::Reached ||
                          output->watch_event == milepost::WatchEvent::Forgotten;
                break;
            default:
                break;
        }
    }
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 2) {
        std::cerr << "usage: watch HASH BLOCK...\n";
        return 2;
    }
    milepost::Result<milepost::Hash> hash = milepost::parse_hash(arguments[1]);
    if (!hash) return report(hash.error());
    milepost::Result<milepost::Engine> engine =
        milepost::Engine::over(std::make_unique<MapStorage>());
    if (!engine) return report(engine.error());
    milepost::Result<milepost::Endpoint> endpoint = milepost::Endpoint::create(*engine);
    if (!endpoint) return report(endpoint.error());

    milepost::Result<milepost::Watch> watch = milepost::Watch::start(*endpoint, *hash);
    if (!watch) return report(watch.error());
    milepost::Result<bool> is_over = print_events(*endpoint);
    for (int index = 2; index < count && is_over && !*is_over; ++index) {
        std::ifstream file(arguments[index], std::ios::binary);
        if (!file) {
            std::perror(arguments[index]);
            return 1;
        }
        std::string message(std::istreambuf_iterator<char>(file), {});
        milepost::Result<milepost::BlockResult> block = endpoint->handle_block(message);
        if (!block) return report(block.error());
        is_over = print_events(*endpoint);
    }
    return is_over ? 0 : report(is_over.error());
}
