/*
 * Proves the answer about a transaction from checked blocks, and verifies it as a client does.
 *
 *     proofs <hash of the transaction> <hash of the trusted block> <block>...
 */
#include <stdlib.h>

#include "check.h"
#include "remote_host.h"

static uint8_t content[1 << 20];

static size_t read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    size_t len = file == NULL ? 0 : fread(content, 1, sizeof content, file);
    CHECK(len > 0 && len < sizeof content);
    if (file != NULL) {
        fclose(file);
    }
    return len;
}

static milepost_engine *new_engine(uint64_t verify, int blocks, char **paths) {
    milepost_settings *settings;
    milepost_engine *engine;
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_settings_set(settings, MILEPOST_SETTING_VERIFY, verify, NULL));
    OK(milepost_engine_new(settings, &engine, NULL));
    milepost_settings_free(settings);
    for (int i = 0; i < blocks; i++) {
        OK(milepost_engine_import_block(engine, content, read_file(paths[i]), NULL, NULL));
    }
    return engine;
}

/* The end of an operation over rows of the host */
static milepost_output complete(remote_host *host, uint64_t handle) {
    milepost_output output = remote_next(host);
    CHECK(output.handle == handle);
    CHECK(remote_next(host).kind == MILEPOST_OUTPUT_TIMEOUT);
    return output;
}

/* Makes the same proof without an engine, over rows of the host */
static void prove_over_rows(const milepost_hash *transaction, const milepost_hash *unknown,
                            const char *end, milepost_bytes expected, int blocks, char **paths) {
    static remote_host host;
    static store rows;
    milepost_settings *settings;
    milepost_output output;
    milepost_bytes json;
    uint64_t handle;
    OK(milepost_settings_new(&settings, NULL));
    OK(milepost_settings_set(settings, MILEPOST_SETTING_VERIFY, MILEPOST_VERIFY_STRICT, NULL));
    OK(milepost_endpoint_new(NULL, settings, &host.endpoint, NULL));
    milepost_settings_free(settings);
    host.store = &rows;
    for (int i = 0; i < blocks; i++) {
        milepost_import_summary *summary;
        OK(milepost_endpoint_handle_block(host.endpoint, content, read_file(paths[i]), &handle,
                                          &summary, NULL));
        output = complete(&host, handle);
        CHECK(output.kind == MILEPOST_OUTPUT_COMPLETED && output.proof == NULL);
        milepost_import_summary_free(output.summary);
    }
    OK(milepost_endpoint_handle_proof_query(host.endpoint, transaction, TEXT(end), &handle, NULL));
    output = complete(&host, handle);
    CHECK(output.kind == MILEPOST_OUTPUT_COMPLETED && output.proof != NULL);
    OK(milepost_json_text(output.proof, &json, NULL));
    CHECK(json.len == expected.len && memcmp(json.data, expected.data, json.len) == 0);
    milepost_json_free(output.proof);

    OK(milepost_endpoint_handle_proof_query(host.endpoint, unknown, NULL, 0, &handle, NULL));
    output = complete(&host, handle);
    CHECK(output.kind == MILEPOST_OUTPUT_COMPLETED && output.proof == NULL);
    CHECK(milepost_endpoint_handle_proof_query(host.endpoint, transaction, TEXT("last"), &handle,
                                               NULL) == MILEPOST_STATUS_VALUE);
    /* A block that is not in the chain. */
    OK(milepost_endpoint_handle_proof_query(
        host.endpoint, transaction, TEXT("11111111111111111111111111111111"), &handle, NULL));
    output = complete(&host, handle);
    CHECK(output.kind == MILEPOST_OUTPUT_FAILED && output.error != NULL);
    milepost_error_free(output.error);
    milepost_endpoint_free(host.endpoint);
    store_clear(&rows);
}

int main(int argc, char **argv) {
    milepost_hash transaction, block;
    milepost_engine *engine, *unchecked;
    milepost_response *response;
    milepost_json *proof, *proven;
    milepost_bytes answer, json;
    milepost_error *error;
    milepost_error_view view = {.size = sizeof view};
    char request[512];
    uint8_t *changed, *gas;
    int32_t is_complete;
    if (argc < 4) {
        return 2;
    }
    OK(milepost_hash_parse(TEXT(argv[1]), &transaction, NULL));
    OK(milepost_hash_parse(TEXT(argv[2]), &block, NULL));
    engine = new_engine(MILEPOST_VERIFY_STRICT, argc - 3, argv + 3);
    snprintf(request, sizeof request,
             "{\"method\":\"EXPERIMENTAL_tx_status\",\"params\":{\"tx_hash\":\"%s\","
             "\"sender_account_id\":\"a.near\",\"wait_until\":\"NONE\"}}",
             argv[1]);
    OK(milepost_engine_respond(engine, TEXT(request), NULL, 0, &response, NULL));
    OK(milepost_response_body(response, &answer, NULL));
    OK(milepost_engine_prove(engine, &transaction, TEXT(argv[2]), &proof, NULL));
    OK(milepost_json_text(proof, &json, NULL));
    OK(milepost_verify_answer(answer.data, answer.len, json.data, json.len, &transaction, &block,
                              &is_complete, &proven, NULL));
    CHECK(is_complete == 1);
    OK(milepost_json_text(proven, &json, NULL));
    CHECK(contains(json, "\"is_complete\":true") && contains(json, "\"unproven_outcomes\":[]"));
    CHECK(contains(json, "{\"member\":\"receipt_bodies\"}"));
    milepost_json_free(proven);

    /* A digit of the gas burnt is another one. */
    OK(milepost_json_text(proof, &json, NULL));
    changed = malloc(answer.len + 1);
    memcpy(changed, answer.data, answer.len);
    changed[answer.len] = 0;
    gas = (uint8_t *)strstr((char *)changed, "\"gas_burnt\":") + strlen("\"gas_burnt\":");
    *gas = *gas == '9' ? '8' : (uint8_t)(*gas + 1);
    CHECK(milepost_verify_answer(changed, answer.len, json.data, json.len, &transaction, &block,
                                 &is_complete, &proven, &error) == MILEPOST_STATUS_CHAIN);
    CHECK(proven == NULL && is_complete == 0);
    OK(milepost_error_read(error, &view));
    CHECK(contains(view.path, "outcome "));
    milepost_error_free(error);
    free(changed);
    CHECK(milepost_verify_answer(answer.data, answer.len, json.data, json.len, &block, &block,
                                 &is_complete, &proven, NULL) == MILEPOST_STATUS_CHAIN);
    CHECK(milepost_verify_answer(answer.data, answer.len, TEXT("{}"), &transaction, &block,
                                 &is_complete, &proven, NULL) == MILEPOST_STATUS_SCHEMA);
    prove_over_rows(&transaction, &block, argv[2], json, argc - 3, argv + 3);
    milepost_json_free(proof);

    OK(milepost_engine_prove(engine, &transaction, TEXT("final"), &proof, NULL));
    milepost_json_free(proof);
    OK(milepost_engine_prove(engine, &transaction, NULL, 0, &proof, NULL));
    milepost_json_free(proof);
    OK(milepost_engine_prove(engine, &block, NULL, 0, &proof, NULL));
    CHECK(proof == NULL);
    CHECK(milepost_engine_prove(engine, &transaction, TEXT(argv[1]), &proof, NULL) ==
          MILEPOST_STATUS_VALUE);
    unchecked = new_engine(MILEPOST_VERIFY_OFF, argc - 3, argv + 3);
    CHECK(milepost_engine_prove(unchecked, &transaction, NULL, 0, &proof, NULL) ==
          MILEPOST_STATUS_USAGE);
    milepost_engine_free(unchecked);
    milepost_response_free(response);
    milepost_engine_free(engine);
    return failed;
}
