// Answers a request from recorded blocks, one on each line: ./answer blocks.jsonl
#include <fstream>
#include <iostream>
#include <milepost.hpp>
#include <string>

int main(int argc, char **argv) {
    std::ifstream blocks(argc > 1 ? argv[1] : "blocks.jsonl");
    milepost::Result<milepost::Engine> engine = milepost::Engine::in_memory();
    if (!blocks || !engine) return 1;
    for (std::string block; std::getline(blocks, block);) {
        if (auto imported = engine->import_block(block); !imported) {
            std::cerr << imported.error().message() << '\n';
            return 1;
        }
    }
    auto response =
        engine->respond(R"({"jsonrpc": "2.0", "id": 1, "method": "EXPERIMENTAL_tx_status",
        "params": ["SLRXdgh3pFS4jqMjxHCpU71fc1pT5EZgxaaT1Ghumxq", "y.test.near"]})");
    if (!response) return 1;
    std::cout << response->body().value() << '\n';
}
