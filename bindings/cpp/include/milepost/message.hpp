// What goes in: transactions as they are signed, and block messages out of the host's own views.
//
// For hosts that read transactions before they are asked about, or that have no block message of a known form.
#ifndef MILEPOST_MESSAGE_HPP
#define MILEPOST_MESSAGE_HPP

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// What is told of a transaction; it belongs to the transaction
struct TransactionView {
    Hash hash;                        ///< by which it is asked for
    std::string_view signer_id;       ///< account that signed and pays
    std::string_view receiver_id;     ///< account that the actions are applied to
    std::uint64_t nonce = 0;          ///< of the key it was signed with
    std::size_t actions = 0;          ///< number of its actions
    bool signature_is_valid = false;  ///< whether the signature is that of its public key
    std::string_view json;            ///< the transaction as answers show it
};

/// A signed transaction
class Transaction : public Handle<milepost_transaction, milepost_transaction_free> {
public:
    using Handle::Handle;

    /// Reads one from its borsh encoding, and checks its signature
    static Result<Transaction> decode(std::string_view bytes) noexcept {
        milepost_transaction *transaction = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_transaction_decode(data(bytes), bytes.size(), &transaction, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Transaction(transaction);
    }

    /// Reads one from the base64 of its borsh encoding, as requests carry it
    static Result<Transaction> decode_base64(std::string_view text) noexcept {
        milepost_transaction *transaction = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_transaction_decode_base64(data(text), text.size(), &transaction, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Transaction(transaction);
    }

    /// What is told of it
    Result<TransactionView> read() const noexcept {
        milepost_transaction_view raw;
        milepost_status_t status = milepost_transaction_read(get(), &raw);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        TransactionView transaction;
        transaction.hash = raw.hash;
        transaction.signer_id = view(raw.signer_id);
        transaction.receiver_id = view(raw.receiver_id);
        transaction.nonce = raw.nonce;
        transaction.actions = raw.actions;
        transaction.signature_is_valid = raw.signature_is_valid != 0;
        transaction.json = view(raw.json);
        return transaction;
    }
};

/// The header of a block message
struct Header {
    std::uint64_t height = 0;            ///< of the block
    Hash hash;                           ///< of the block
    Hash prev_hash;                      ///< of the block before it
    Hash epoch_id;                       ///< of its epoch
    Hash last_final_hash;                ///< its `last_final_block`; all zero for none
    std::uint32_t protocol_version = 0;  ///< its `latest_protocol_version`
};

/// A block message in the making
class Message : public Handle<milepost_message, milepost_message_free> {
public:
    using Handle::Handle;

    /// Begins the message of a block
    static Result<Message> begin(const Header &header) noexcept {
        milepost_message *message = nullptr;
        milepost_status_t status =
            milepost_message_new(header.height, &header.hash, &header.prev_hash, &header.epoch_id,
                                 &header.last_final_hash, header.protocol_version, &message);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return Message(message);
    }

    /// Adds a transaction, as answers show it; `outcome` is empty when it comes with a later block
    Result<void> add_transaction(std::string_view transaction, std::string_view outcome = {}) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_add_transaction(get(), data(transaction), transaction.size(),
                                                                    data(outcome), outcome.size(), &error);
        return done(status, error);
    }

    /// Adds the outcome with id of a receipt that the block executed; `receipt` is empty when it is not at hand
    Result<void> add_outcome(std::string_view outcome, std::string_view receipt = {}) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_add_outcome(get(), data(outcome), outcome.size(), data(receipt),
                                                                receipt.size(), &error);
        return done(status, error);
    }

    /// Adds a receipt that came into being, and is executed in this block or later
    Result<void> add_receipt(std::string_view receipt) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_message_add_receipt(get(), data(receipt), receipt.size(), &error);
        return done(status, error);
    }

    /// The text of the message, which is good until something is added
    Result<std::string_view> text() noexcept {
        milepost_bytes text;
        milepost_status_t status = milepost_message_text(get(), &text);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return view(text);
    }
};

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
