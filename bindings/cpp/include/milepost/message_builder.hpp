// Block messages built from a host's own views, for node software without a NEAR Lake feed.
#ifndef MILEPOST_MESSAGE_BUILDER_HPP
#define MILEPOST_MESSAGE_BUILDER_HPP

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Header of a block message
struct BlockHeader {
    std::uint64_t height = 0;            ///< height of the block
    Hash hash;                           ///< hash of the block
    Hash prev_hash;                      ///< hash of the previous block
    Hash epoch_id;                       ///< id of its epoch
    Hash last_final_hash;                ///< its `last_final_block`; all zero for none
    std::uint32_t protocol_version = 0;  ///< its `latest_protocol_version`
};

/// Builder of a block message
class MessageBuilder : public Handle<milepost_message_builder, milepost_message_builder_free> {
public:
    using Handle::Handle;

    /// Creates a builder for the message of a block
    static Result<MessageBuilder> create(const BlockHeader &header) noexcept {
        milepost_message_builder *builder = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_builder_new(
            header.height, &header.hash, &header.prev_hash, &header.epoch_id,
            &header.last_final_hash, header.protocol_version, &builder, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return MessageBuilder(builder);
    }

    /// Adds a transaction, as JSON; `outcome` is empty if a later block brings it
    Result<void> add_transaction(std::string_view transaction,
                                 std::string_view outcome = {}) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_builder_add_transaction(
            get(), data(transaction), transaction.size(), data(outcome), outcome.size(), &error);
        return to_result(status, error);
    }

    /// Adds the outcome with id of a receipt that the block executed; `receipt` may be empty
    Result<void> add_outcome(std::string_view outcome, std::string_view receipt = {}) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_builder_add_outcome(
            get(), data(outcome), outcome.size(), data(receipt), receipt.size(), &error);
        return to_result(status, error);
    }

    /// Adds a receipt that the block created; it is executed in this block or later
    Result<void> add_receipt(std::string_view receipt) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_message_builder_add_receipt(get(), data(receipt), receipt.size(), &error);
        return to_result(status, error);
    }

    /// The text of the message; valid until something is added
    Result<std::string_view> text() noexcept {
        milepost_bytes text;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_builder_text(get(), &text, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return view(text);
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
