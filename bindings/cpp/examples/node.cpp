// A small node over a std::map: an event loop that lets requests wait for their milestones.
//
//     c++ -std=c++17 node.cpp -lmilepost && ./a.out < events
//
// Events are lines: `block <file>`, `ask <file>`, `time <milliseconds>`, as they would come from a feed, from sockets and
// from a clock. Each answer is a line as soon as it is known: the number of its question, how far along the transaction
// is, and the body to send.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "map_storage.hpp"

namespace {

const char *name(milepost::Milestone milestone) {
    switch (milestone) {
    case milepost::Milestone::None: return "NONE";
    case milepost::Milestone::Included: return "INCLUDED";
    case milepost::Milestone::ExecutedOptimistic: return "EXECUTED_OPTIMISTIC";
    case milepost::Milestone::IncludedFinal: return "INCLUDED_FINAL";
    case milepost::Milestone::Executed: return "EXECUTED";
    case milepost::Milestone::Final: return "FINAL";
    }
    return "?";
}

/// A refusal, told to whoever runs the node
int tell(const milepost::Error &error) {
    std::cerr << error.path() << (error.path().empty() ? "" : ": ") << error.message() << '\n';
    return static_cast<int>(error.kind());
}

class Node {
public:
    explicit Node(milepost::Desk desk) : desk_(std::move(desk)) {}

    milepost::Result<void> ask(std::string_view body) {
        std::size_t question = ++questions_;
        milepost::Result<milepost::Submitted> submitted = desk_.submit(now_, body);
        if (!submitted) return std::move(submitted).error();
        if (submitted->waits()) {
            waiting_[submitted->ticket] = question;
        } else {
            send(question, submitted->answer);
        }
        return {};
    }

    milepost::Result<void> block(std::string_view message) {
        milepost::Result<milepost::Ingested> ingested = desk_.ingest(message);
        if (!ingested) return std::move(ingested).error();
        return send_answers();
    }

    milepost::Result<void> time(std::uint64_t now) {
        now_ = now;
        milepost::Result<std::optional<std::uint64_t>> deadline = desk_.next_deadline();
        if (!deadline) return std::move(deadline).error();
        // A host with a clock sleeps until the deadline; this one is told the time, and looks whether it is due.
        if (!deadline->has_value() || **deadline > now) return {};
        milepost::Result<void> told = desk_.handle_time(now);
        if (!told) return told;
        return send_answers();
    }

private:
    milepost::Result<void> send_answers() {
        for (;;) {
            milepost::Result<std::optional<milepost::Answered>> answered = desk_.poll_answer();
            if (!answered) return std::move(answered).error();
            if (!answered->has_value()) return {};
            std::map<milepost::Ticket, std::size_t>::node_type question = waiting_.extract((*answered)->ticket);
            if (question) send(question.mapped(), (*answered)->answer);
        }
    }

    static void send(std::size_t question, const milepost::Answer &answer) {
        std::cout << question << ' ';
        if (milepost::Result<milepost::Status> status = answer.status()) {
            std::cout << name(status->milestone);
        } else if (milepost::Result<milepost::Failure> failure = answer.failure()) {
            std::cout << failure->cause;
        } else {
            std::cout << '-';
        }
        std::cout << ' ' << answer.body().value() << '\n' << std::flush;
    }

    milepost::Desk desk_;
    std::map<milepost::Ticket, std::size_t> waiting_;
    std::size_t questions_ = 0;
    std::uint64_t now_ = 0;
};

std::optional<std::string> read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main() {
    milepost::Result<milepost::Engine> engine = milepost::Engine::over(std::make_unique<MapStorage>());
    if (!engine) return tell(engine.error());
    milepost::Result<milepost::Desk> desk = milepost::Desk::at(*engine);
    if (!desk) return tell(desk.error());
    Node node(*std::move(desk));

    for (std::string event, what; std::cin >> event >> what;) {
        milepost::Result<void> done;
        if (event == "time") {
            done = node.time(std::strtoull(what.c_str(), nullptr, 10));
        } else if (std::optional<std::string> text = read(what)) {
            done = event == "block" ? node.block(*text) : node.ask(*text);
        } else {
            std::perror(what.c_str());
            return 1;
        }
        if (!done) return tell(done.error());
    }
    return 0;
}
