// Proofs of answers: checked here, without an engine; Engine::prove makes them.
#ifndef MILEPOST_PROOF_HPP
#define MILEPOST_PROOF_HPP

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// A JSON text
class Json : public Handle<milepost_json, milepost_json_free> {
public:
    using Handle::Handle;

    /// Returns the text, which belongs to this object
    Result<std::string_view> text() const noexcept {
        milepost_bytes raw = {nullptr, 0};
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_json_text(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return view(raw);
    }
};

/// What is proven about a transaction
struct ProvenAnswer {
    bool is_complete = false;  ///< whether the outcomes of all receipts are proven
    Json json;                 ///< the values that are proven, and the names of what is not
};

/// Checks an answer about a transaction by its proof
///
/// `transaction` is the hash that was asked about, and `block` that of the block in which the
/// headers of the proof end, which the host trusts. MILEPOST_STATUS_CHAIN says that the answer is
/// wrong; any other error that nothing is known. milepost_verify_answer in milepost.h documents the
/// texts.
inline Result<ProvenAnswer> verify_answer(std::string_view answer, std::string_view proof,
                                          const Hash &transaction, const Hash &block) noexcept {
    std::int32_t is_complete = 0;
    milepost_json *json = nullptr;
    milepost_error *error = nullptr;
    milepost_status_t status =
        milepost_verify_answer(data(answer), answer.size(), data(proof), proof.size(), &transaction,
                               &block, &is_complete, &json, &error);
    if (status != MILEPOST_STATUS_OK) return to_error(status, error);
    ProvenAnswer proven;
    proven.is_complete = is_complete != 0;
    proven.json = Json(json);
    return proven;
}

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
