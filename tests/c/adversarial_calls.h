/*
 * Fixtures of the adversarial calls: forms of parameters, valid arguments, and one valid handle of
 * each type.
 *
 * functions.inc, which the test generates from the sources of the library, lists the functions.
 */
#ifndef MILEPOST_TESTS_ADVERSARIAL_CALLS_H
#define MILEPOST_TESTS_ADVERSARIAL_CALLS_H

#include "report.h"
#include "test_archive.h"
#include "test_storage.h"

/* Form of a parameter */
typedef enum form {
    HANDLE, /* a handle that is used */
    BYTES,  /* its length is the next parameter */
    ROWS,   /* its length is the next parameter */
    LENGTH,
    NUMBER,
    CHOICE, /* a number that must be one of its constants */
    INDEX,
    HASH, /* a plain value that is read */
    STORAGE,
    ARCHIVE,
    SINK,
    FACTORY, /* a function of the host */
    ARCHIVE_FACTORY,
    CONTEXT,      /* opaque to the library */
    OUTPUT,       /* a plain value that is written */
    SIZED_OUTPUT, /* a structure whose first member is its size */
    OUTPUT_HANDLE
} form;

typedef enum handle {
    NO_HANDLE,
    ARCHIVE_STATUS,
    CHAIN_STATUS,
    ENDPOINT,
    ENGINE,
    ERROR,
    IMPORT_SUMMARY,
    JSON,
    MESSAGE_BUILDER,
    REQUEST,
    RESPONSE,
    SETTINGS,
    TRANSACTION,
    HANDLES
} handle;

typedef struct parameter {
    const char *name;
    form form;
    handle handle;
    int optional;
    size_t size; /* of what an output writes */
} parameter;

typedef union argument {
    const void *pointer;
    uint64_t number;
    milepost_create_fn create;
    milepost_archive_create_fn create_archive;
} argument;

typedef struct function {
    const char *name;
    milepost_status_t (*call)(const argument *arguments);
    const parameter *parameters;
    size_t len;
    int in_callback; /* may be called inside a callback */
} function;

typedef struct destructor {
    const char *name;
    handle handle;
    void (*call)(void *handle);
} destructor;

#include "functions.inc"

#define MAX_PARAMETERS 12
#define MAX_OUTPUT 256 /* bytes */

static const char BLOCK[] =
    "{\"block\":{\"header\":{\"height\":7,\"hash\":\"11111111111111111111111111111117\","
    "\"prev_hash\":\"11111111111111111111111111111116\","
    "\"epoch_id\":\"11111111111111111111111111111111\"}},\"shards\":[]}";
static const char NEXT_BLOCK[] =
    "{\"block\":{\"header\":{\"height\":8,\"hash\":\"11111111111111111111111111111118\","
    "\"prev_hash\":\"11111111111111111111111111111117\","
    "\"epoch_id\":\"11111111111111111111111111111111\"}},\"shards\":[]}";
static const char PENDING[] =
    "{\"method\":\"tx_status\",\"params\":{\"tx_hash\":\"11111111111111111111111111111112\","
    "\"sender_account_id\":\"alice.near\",\"wait_until\":\"FINAL\"}}";

static const uint8_t *bytes(const char *text) { return (const uint8_t *)text; }

/* Returns a valid argument for a parameter of bytes */
static const char *valid_bytes(const char *function, const char *parameter) {
    static const struct {
        const char *name, *text;
    } TEXTS[] = {
        {"body", PENDING},       {"url_method", "tx_status"},
        {"message", NEXT_BLOCK}, {"config", "{}"},
        {"reason", "no rows"},   {"path", "rows.redb"},
        {"transaction", "{}"},   {"outcome", "{}"},
        {"receipt", "{}"},       {"row", "a row"},
        {"bytes", "borsh"},      {"answer", "{}"},
        {"proof", PROOF},        {"block", "final"},
        {"result", "{}"},        {"rpc_error", "{}"},
        {"key", "a key"},
    };
    if (strcmp(parameter, "text") == 0) {
        int is_hash = strcmp(function, "milepost_hash_parse") == 0;
        return is_hash ? "11111111111111111111111111111112" : TRANSACTION_BASE64;
    }
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        if (strcmp(TEXTS[i].name, parameter) == 0) {
            return TEXTS[i].text;
        }
    }
    fprintf(stderr, "adversarial_calls: no valid bytes for %s(%s)\n", function, parameter);
    exit(2);
}

/* Whether the endpoint of the fixture has an engine; if not, a request needs rows there and an
 * import is to be committed */
static int with_engine;

/* Returns the status of a function for valid arguments and the handles of the fixture */
static milepost_status_t valid_status(const char *function) {
    static const struct {
        const char *name;
        milepost_status_t status;
    } STATUSES[] = {
        {"milepost_archive_check", MILEPOST_STATUS_STORAGE},
        {"milepost_endpoint_handle_config", MILEPOST_STATUS_SCHEMA},
        {"milepost_engine_put_config", MILEPOST_STATUS_SCHEMA},
        {"milepost_import_summary_reapplied", MILEPOST_STATUS_INDEX},
        {"milepost_import_summary_reverted", MILEPOST_STATUS_INDEX},
        {"milepost_import_summary_transaction", MILEPOST_STATUS_INDEX},
        {"milepost_response_batch_item", MILEPOST_STATUS_INDEX},
        {"milepost_response_outcome", MILEPOST_STATUS_USAGE},
        {"milepost_response_receipt", MILEPOST_STATUS_USAGE},
        {"milepost_response_result_json", MILEPOST_STATUS_USAGE},
        {"milepost_response_transaction_status", MILEPOST_STATUS_USAGE},
        {"milepost_storage_check", MILEPOST_STATUS_STORAGE},
        {"milepost_transaction_decode", MILEPOST_STATUS_SYNTAX},
        {"milepost_verify_answer", MILEPOST_STATUS_CHAIN},
    };
    if (with_engine && strcmp(function, "milepost_endpoint_handle_commit_result") == 0) {
        return MILEPOST_STATUS_USAGE;
    }
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++) {
        if (strcmp(STATUSES[i].name, function) == 0) {
            return STATUSES[i].status;
        }
    }
    return MILEPOST_STATUS_OK;
}

/* Fails to create a storage */
static int32_t create_none(void *context, milepost_storage *storage, milepost_sink *sink) {
    (void)context;
    storage->get = NULL;
    milepost_sink_absent(sink);
    return 5;
}

/* Fails to create an archive */
static int32_t create_no_archive(void *context, milepost_archive *archive, milepost_sink *sink) {
    (void)context;
    archive->scan = NULL;
    milepost_sink_absent(sink);
    return 5;
}

/* One valid handle of each type */
typedef struct fixture {
    store store;
    void *handles[HANDLES];
    milepost_storage functions;
    archive archive;
    milepost_archive archive_functions;
    milepost_row rows[8];
    size_t rows_len;
    milepost_hash hash;
    uint64_t request_handle;
    uint64_t import_handle;
} fixture;

static void free_handle(handle type, void *handle) {
    for (size_t i = 0; i < sizeof DESTRUCTORS / sizeof *DESTRUCTORS; i++) {
        if (DESTRUCTORS[i].handle == type) {
            DESTRUCTORS[i].call(handle);
        }
    }
}

/* Returns the rows of these keys in the store of the fixture */
static void find_rows(fixture *self, const milepost_output *output) {
    memset(self->rows, 0, sizeof self->rows);
    self->rows_len = output->keys_len;
    if (self->rows_len > sizeof self->rows / sizeof *self->rows) {
        must(MILEPOST_STATUS_LIMIT, "more keys than the fixture has rows for");
    }
    for (size_t i = 0; i < self->rows_len; i++) {
        const store_row *row = store_find(&self->store, output->keys[i].data, output->keys[i].len);
        if (row != NULL) {
            self->rows[i].present = 1;
            self->rows[i].bytes.data = row->row;
            self->rows[i].bytes.len = row->row_len;
        }
    }
}

/* Polls until an output of this kind, and supplies rows in between; frees nothing */
static void poll_until(fixture *self, milepost_endpoint *endpoint, milepost_output_kind_t kind) {
    for (;;) {
        milepost_output output = {.size = sizeof output};
        must(milepost_endpoint_poll_output(endpoint, &output, NULL), "poll_output");
        if (output.kind == MILEPOST_OUTPUT_NEED_ROWS) {
            find_rows(self, &output);
        }
        if (output.kind == kind) {
            return;
        }
        must(milepost_endpoint_handle_rows(endpoint, output.handle, self->rows, self->rows_len,
                                           NULL),
             "handle_rows");
    }
}

static void set_up(fixture *self) {
    milepost_archive_status *archive_status;
    milepost_chain_status *chain_status;
    milepost_endpoint *endpoint;
    milepost_engine *engine;
    milepost_error *error;
    milepost_import_summary *summary;
    milepost_json *json;
    milepost_hash proof_block;
    int32_t is_complete;
    milepost_message_builder *builder;
    milepost_request *request;
    milepost_response *response;
    milepost_settings *settings;
    milepost_transaction *transaction;
    const size_t block_len = sizeof BLOCK - 1, next_len = sizeof NEXT_BLOCK - 1;
    const size_t pending_len = sizeof PENDING - 1, base64_len = sizeof TRANSACTION_BASE64 - 1;
    memset(self, 0, sizeof *self);
    self->functions = store_functions(&self->store, 1);
    archive_new(&self->archive);
    self->archive_functions = archive_functions(&self->archive);
    must(milepost_settings_new(&settings, NULL), "settings");
    must(milepost_settings_set_archive(settings, &self->archive_functions, NULL), "archive");
    must(milepost_engine_new_over(&self->functions, settings, &engine, NULL), "engine");
    must(milepost_engine_import_block(engine, bytes(BLOCK), block_len, &summary, NULL), "block");
    must(milepost_engine_chain_status(engine, &chain_status, NULL), "chain_status");
    must(milepost_engine_archive_status(engine, &archive_status, NULL), "archive_status");
    must(milepost_endpoint_new(with_engine ? engine : NULL, NULL, &endpoint, NULL), "endpoint");
    if (!with_engine) {
        must(milepost_endpoint_handle_block(endpoint, bytes(NEXT_BLOCK), next_len,
                                            &self->import_handle, NULL, NULL),
             "handle_block");
        poll_until(self, endpoint, MILEPOST_OUTPUT_COMMIT);
    }
    must(milepost_endpoint_handle_request(endpoint, 0, MILEPOST_TIMEOUT_DEFAULT, bytes(PENDING),
                                          pending_len, NULL, 0, &self->request_handle, &response,
                                          NULL),
         "handle_request");
    if (!with_engine) {
        poll_until(self, endpoint, MILEPOST_OUTPUT_NEED_ROWS);
    }
    must(milepost_engine_respond(engine, bytes(PENDING), pending_len, NULL, 0, &response, NULL),
         "respond");
    must(milepost_request_parse(NULL, bytes(PENDING), pending_len, NULL, 0, &request, NULL),
         "request");
    must(milepost_message_builder_new(7, &self->hash, &self->hash, &self->hash, &self->hash, 80,
                                      &builder, NULL),
         "builder");
    must(milepost_transaction_decode_base64(bytes(TRANSACTION_BASE64), base64_len, &transaction,
                                            NULL),
         "transaction");
    must(milepost_hash_parse(bytes(PROOF_BLOCK), sizeof PROOF_BLOCK - 1, &proof_block, NULL),
         "proof_block");
    must(milepost_verify_answer(bytes("{}"), 2, bytes(PROOF), sizeof PROOF - 1, &self->hash,
                                &proof_block, &is_complete, &json, NULL),
         "json");
    if (milepost_settings_set(settings, 0, 0, &error) != MILEPOST_STATUS_ENUM) {
        must(MILEPOST_STATUS_USAGE, "error");
    }
    self->handles[ARCHIVE_STATUS] = archive_status;
    self->handles[CHAIN_STATUS] = chain_status;
    self->handles[ENDPOINT] = endpoint;
    self->handles[ENGINE] = engine;
    self->handles[ERROR] = error;
    self->handles[IMPORT_SUMMARY] = summary;
    self->handles[JSON] = json;
    self->handles[MESSAGE_BUILDER] = builder;
    self->handles[REQUEST] = request;
    self->handles[RESPONSE] = response;
    self->handles[SETTINGS] = settings;
    self->handles[TRANSACTION] = transaction;
}

static void tear_down(fixture *self) {
    for (int type = NO_HANDLE + 1; type < HANDLES; type++) {
        free_handle((handle)type, self->handles[type]);
    }
    store_clear(&self->store);
    archive_clear(&self->archive);
}

#endif
