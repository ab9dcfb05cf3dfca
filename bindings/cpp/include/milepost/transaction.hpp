// Signed transactions, decoded from the bytes that a wallet sends.
#ifndef MILEPOST_TRANSACTION_HPP
#define MILEPOST_TRANSACTION_HPP

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Members of a transaction; bytes belong to it
struct TransactionView {
    Hash hash;                        ///< hash of the transaction
    std::string_view signer_id;       ///< account that signed and pays
    std::string_view receiver_id;     ///< account that the actions apply to
    std::uint64_t nonce = 0;          ///< nonce of the access key
    std::size_t actions = 0;          ///< number of actions
    bool signature_is_valid = false;  ///< whether the signature matches the public key
    std::string_view json;            ///< the JSON of SignedTransactionView, as in responses
};

/// A signed transaction
class Transaction : public Handle<milepost_transaction, milepost_transaction_free> {
public:
    using Handle::Handle;

    /// Decodes one from borsh, and verifies its signature
    static Result<Transaction> decode(std::string_view bytes) noexcept {
        milepost_transaction *transaction = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_transaction_decode(data(bytes), bytes.size(), &transaction, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Transaction(transaction);
    }

    /// Decodes one from the base64 of its borsh, as in `signed_tx_base64`
    static Result<Transaction> decode_base64(std::string_view text) noexcept {
        milepost_transaction *transaction = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_transaction_decode_base64(data(text), text.size(), &transaction, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Transaction(transaction);
    }

    /// Returns its members
    Result<TransactionView> read() const noexcept {
        milepost_transaction_view raw = sized<milepost_transaction_view>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_transaction_read(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
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

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
