// An engine over an archive in C++, compared with one that keeps everything.
//
//     archive <file with the hash of a transaction in each line> <block>...
#include "../../bindings/cpp/examples/map_archive.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

using namespace milepost;

namespace {

int failures = 0;

void expect(bool condition, const char *text, int line) {
    if (!condition) {
        std::printf("archive.cpp:%d: %s\n", line, text);
        failures++;
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

std::string request_for(const std::string &hash) {
    return R"({"method":"tx","params":{"tx_hash":")" + hash +
           R"(","sender_account_id":"a.near","wait_until":"NONE"}})";
}

/// An archive that throws while `throws` is set, and counts its destructions
class ThrowingArchive : public MapArchive {
public:
    explicit ThrowingArchive(int *destroyed) : destroyed_(destroyed) {}
    ~ThrowingArchive() override { ++*destroyed_; }

    std::int32_t get_many(ByteStrings keys, Sink &sink) const override {
        if (throws) throw std::runtime_error("the disk is gone");
        return MapArchive::get_many(keys, sink);
    }

    std::int32_t put_many(ArchiveRows rows, Sink &sink) override {
        if (throws) throw std::runtime_error("the disk is gone");
        return MapArchive::put_many(rows, sink);
    }

    bool throws = false;

private:
    int *destroyed_;
};

Settings archive_settings(Archive &archive, ArchiveUse use) {
    Settings settings;
    EXPECT(settings.set_archive(archive, use).ok());
    EXPECT(settings.set(Setting::RetentionBlocks, 6).ok());
    EXPECT(settings.set(Setting::ArchiveBacklog, 100).ok());
    EXPECT(settings.set(Setting::Unknown, 1).ok());
    return settings;
}

void an_archive_is_owned_or_borrowed() {
    EXPECT(Settings().set_archive(std::unique_ptr<Archive>()).error().kind() == ErrorKind::Null);
    EXPECT(Engine::in_memory()->archive_status().error().kind() == ErrorKind::Usage);
    int destroyed = 0;
    {
        Settings settings;
        EXPECT(settings.set_archive(std::make_unique<ThrowingArchive>(&destroyed)).ok());
        Engine engine = Engine::in_memory(settings).value();
        settings = Settings();
        EXPECT(destroyed == 0 && engine.archive_status()->is_written);
    }
    EXPECT(destroyed == 1);
}

void forgotten_transactions_are_in_the_archive(const std::vector<std::string> &blocks,
                                               const std::vector<std::string> &hashes) {
    int destroyed = 0;
    ThrowingArchive archive(&destroyed);
    Engine whole = Engine::in_memory().value();
    Engine writer = Engine::in_memory(archive_settings(archive, ArchiveUse::Write)).value();
    Engine reader = Engine::in_memory(archive_settings(archive, ArchiveUse::Read)).value();
    for (std::size_t i = 0; i < blocks.size(); i++) {
        archive.throws = i >= 30 && i < 50;
        EXPECT(whole.import_block(blocks[i]).ok() && writer.import_block(blocks[i]).ok() &&
               reader.import_block(blocks[i]).ok());
        std::string failure = writer.archive_status()->failure;
        EXPECT(archive.throws ? failure.find("put_many returned -2147483648: the disk is gone") !=
                                    std::string::npos
                              : failure.empty());
    }
    EXPECT(writer.chain_status()->blocks < 30 && reader.chain_status()->blocks < 30);
    EXPECT(writer.archive_status()->archived_height == writer.chain_status()->last_final->height);
    EXPECT(writer.archive_status()->failures == 20 && writer.archive_status()->evicted_blocks == 0);
    EXPECT(writer.archive_status()->exported_transactions > 10);
    EXPECT(!writer.archive_status()->complete.empty());
    EXPECT(writer.archive_status()->complete.back().last <=
           writer.archive_status()->archived_height);
    EXPECT(!reader.archive_status()->is_written);
    for (const std::string &hash : hashes) {
        std::string request = request_for(hash);
        std::string expected(whole.respond(request)->body().value());
        EXPECT(writer.respond(request)->body().value() == expected);
        EXPECT(reader.respond(request)->body().value() == expected);
    }
    archive.throws = true;
    EXPECT(writer.respond(request_for(hashes[0]))->kind().value() == ResponseKind::Internal);
}

void the_check_accepts_conforming_archives_only() {
    EXPECT(check_archive([] { return std::make_unique<MapArchive>(); }).ok());
    EXPECT(check_archive([] { return std::unique_ptr<Archive>(); }).error().kind() ==
           ErrorKind::Storage);
    class OnlyRead : public MapArchive {
        std::int32_t put_many(ArchiveRows rows, Sink &sink) override {
            return Archive::put_many(rows, sink);
        }
    };
    Result<void> checked = check_archive([] { return std::make_unique<OnlyRead>(); });
    EXPECT(checked.error().message().find("put_many returned 1: the archive is only read") !=
           std::string_view::npos);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 42) return 2;
    std::ifstream list(argv[1]);
    std::vector<std::string> hashes(std::istream_iterator<std::string>(list), {}), blocks;
    for (int i = 2; i < argc; i++) {
        std::ifstream block(argv[i]);
        blocks.emplace_back(std::istreambuf_iterator<char>(block),
                            std::istreambuf_iterator<char>());
    }
    EXPECT(hashes.size() > 20);
    an_archive_is_owned_or_borrowed();
    forgotten_transactions_are_in_the_archive(blocks, hashes);
    the_check_accepts_conforming_archives_only();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
