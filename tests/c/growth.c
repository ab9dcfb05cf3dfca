/*
 * Reads every output structure that may grow, and passes a storage, with the sizes of the header
 * that it is compiled with: that of the library, one whose structures lack their last member, or
 * one whose structures have a member more. Prints the checks that fail, and exits with 0 if there
 * are none.
 */
#include "check.h"
#include "test_archive.h"
#include "test_storage.h"

#ifdef MEMBER_ADDED
#define ADDED(structure) (structure).added == 0
#else
#define ADDED(structure) 1
#endif

/* A structure with bytes after it that must stay as they are */
#define GUARDED(type, name)           \
    struct {                          \
        milepost_##type value;        \
        uint8_t after[64];            \
    } name;                           \
    memset(&name, 0xaa, sizeof name); \
    name.value.size = sizeof name.value

#define UNTOUCHED(name)                                                   \
    do {                                                                  \
        for (size_t i_ = 0; i_ < sizeof name.after; i_++) {               \
            CHECK(name.after[i_] == 0xaa);                                \
        }                                                                 \
        CHECK(name.value.size == sizeof name.value && ADDED(name.value)); \
    } while (0)

#define TRANSACTION_BASE64                                                                         \
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2" \
    "ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03" \
    "xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="

static void responses_are_read(const milepost_engine *engine) {
    milepost_response *response;
    GUARDED(transaction_status, status);
    GUARDED(outcome, outcome);
    GUARDED(rpc_error, rpc_error);
    OK(milepost_engine_respond(engine, TEXT(REQUEST), NULL, 0, &response, NULL));
    OK(milepost_response_transaction_status(response, &status.value, NULL));
    CHECK(status.value.milestone == MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC);
    CHECK(status.value.outcomes == 2);
    UNTOUCHED(status);
    OK(milepost_response_outcome(response, 1, &outcome.value, NULL));
    CHECK(outcome.value.gas_burnt == UINT64_MAX && outcome.value.logs_len == 2);
    UNTOUCHED(outcome);
    milepost_response_free(response);
    OK(milepost_engine_respond(engine, TEXT("{}"), NULL, 0, &response, NULL));
    OK(milepost_response_rpc_error(response, &rpc_error.value, NULL));
    CHECK(same(rpc_error.value.name, "REQUEST_VALIDATION_ERROR"));
    UNTOUCHED(rpc_error);
    milepost_response_free(response);
}

static void outputs_are_taken(const milepost_engine *engine) {
    milepost_endpoint *endpoint;
    uint64_t handle;
    GUARDED(output, output);
    GUARDED(chain_status_view, chain_status);
    OK(milepost_endpoint_new(engine, NULL, &endpoint, NULL));
    OK(milepost_endpoint_handle_chain_query(endpoint, &handle, NULL));
    OK(milepost_endpoint_poll_output(endpoint, &output.value, NULL));
    CHECK(output.value.kind == MILEPOST_OUTPUT_COMPLETED && output.value.handle == handle);
    UNTOUCHED(output);
    OK(milepost_chain_status_read(output.value.chain_status, &chain_status.value, NULL));
    CHECK(chain_status.value.head.height == 100 && chain_status.value.generation == 1);
    UNTOUCHED(chain_status);
    milepost_chain_status_free(output.value.chain_status);
    milepost_endpoint_free(endpoint);
}

static void archives_are_taken(void) {
    archive archive;
    milepost_archive functions;
    milepost_archive_status *archive_status;
    milepost_settings *settings;
    milepost_engine *engine;
    GUARDED(archive_status_view, view);
    archive_new(&archive);
    functions = archive_functions(&archive);
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_settings_set_archive(settings, &functions, NULL));
    OK(milepost_engine_new(settings, &engine, NULL));
    OK(milepost_engine_archive_status(engine, &archive_status, NULL));
    OK(milepost_archive_status_read(archive_status, &view.value, NULL));
    CHECK(view.value.is_written == 1 && view.value.failure.len == 0);
    UNTOUCHED(view);
    milepost_archive_status_free(archive_status);
    milepost_engine_free(engine);
#ifdef MEMBER_ADDED
    functions.added = 1;
    CHECK(milepost_settings_set_archive(settings, &functions, NULL) == MILEPOST_STATUS_LENGTH);
#endif
    milepost_settings_free(settings);
    archive_clear(&archive);
}

int main(void) {
    store store;
    milepost_storage functions;
    milepost_engine *engine;
    milepost_message_builder *builder = new_builder(100, 3, 2);
    milepost_transaction *transaction;
    milepost_import_summary *summary;
    milepost_error *error;
    milepost_bytes bytes;
    GUARDED(import_summary_view, summary_view);
    GUARDED(type_mismatches, type_mismatches);
    GUARDED(verification, verification);
    GUARDED(transaction_view, transaction_view);
    GUARDED(error_view, error_view);
    memset(&store, 0, sizeof store);
    functions = store_functions(&store, 1);
    OK(milepost_engine_new_over(&functions, NULL, &engine, NULL));
    add_views(builder);
    OK(milepost_message_builder_text(builder, &bytes, NULL));
    OK(milepost_engine_import_block(engine, bytes.data, bytes.len, &summary, NULL));
    milepost_message_builder_free(builder);
    OK(milepost_import_summary_read(summary, &summary_view.value, NULL));
    CHECK(summary_view.value.block.height == 100 && summary_view.value.outcomes == 2);
    UNTOUCHED(summary_view);
    OK(milepost_import_summary_type_mismatches(summary, &type_mismatches.value, NULL));
    CHECK(type_mismatches.value.count == 0 && type_mismatches.value.first_path.len == 0);
    UNTOUCHED(type_mismatches);
    OK(milepost_import_summary_verification(summary, &verification.value, NULL));
    CHECK(verification.value.result == MILEPOST_VERIFICATION_RESULT_NONE &&
          verification.value.path.len == 0);
    UNTOUCHED(verification);
    milepost_import_summary_free(summary);
    OK(milepost_transaction_decode_base64(TEXT(TRANSACTION_BASE64), &transaction, NULL));
    OK(milepost_transaction_read(transaction, &transaction_view.value, NULL));
    CHECK(transaction_view.value.nonce == 15 && transaction_view.value.signature_is_valid == 1);
    UNTOUCHED(transaction_view);
    milepost_transaction_free(transaction);
    CHECK(milepost_engine_import_block(engine, TEXT("{"), NULL, &error) == MILEPOST_STATUS_SYNTAX);
    OK(milepost_error_read(error, &error_view.value));
    CHECK(error_view.value.status == MILEPOST_STATUS_SYNTAX && error_view.value.has_offset == 1);
    UNTOUCHED(error_view);
    milepost_error_free(error);
    responses_are_read(engine);
    outputs_are_taken(engine);
    archives_are_taken();
#ifdef MEMBER_ADDED
    /* A storage that needs what the library does not know is refused. */
    milepost_engine *other;
    functions.added = 1;
    CHECK(milepost_engine_new_over(&functions, NULL, &other, NULL) == MILEPOST_STATUS_LENGTH);
#endif
    milepost_engine_free(engine);
    CHECK(store.finalized == 1);
    store_clear(&store);
    return failed;
}
