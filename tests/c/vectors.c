/*
 * Answers requests for the driver of the vectors: commands on standard input, replies on standard
 * output.
 *
 *     new                                   resets everything
 *     set <setting> <value>                 one of MILEPOST_SETTING_..., first of all
 *     config <height> <len>                 a protocol configuration of <len> bytes after the line
 *     block <len>                           a block message
 *     request <now> <len> <url method len>  a request, then the method of its URL
 *     time <now>                            the time
 *     verify <answer len> <proof len> <transaction> <block>
 *                                           an answer, then its proof; needs no storage
 *     view                                  contents of the last response, without a JSON parser
 *
 * Replies are `ok`, `pending`, `response <kind> <len>` followed by the body, or `error <status>
 * <text>`. For `verify` the body is what is proven, and the kind is 1 if it is complete. The
 * argument is the storage: `memory`, `get`, `get_many`, or `remote`. With `remote` rows and commits
 * are served in random order, beside queries for the state of the chain.
 */
#include <inttypes.h>
#include <stdio.h>

#include "remote_host.h"

typedef struct host {
    const char *mode;
    store store;
    remote_host remote;
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_response *last;
    uint64_t handle; /* of the request */
    uint64_t chain_query;
} host;

typedef struct input {
    uint8_t *bytes;
    size_t len;
} input;

static void fail(const char *what) {
    fprintf(stderr, "vectors: %s\n", what);
    exit(2);
}

static void must(milepost_status_t status, const char *what) {
    if (status != MILEPOST_STATUS_OK) {
        fail(what);
    }
}

static int is_remote(const host *self) { return strcmp(self->mode, "remote") == 0; }

/* Creates the engine and the endpoint at the first command that needs them, after the settings */
static void open_host(host *self) {
    milepost_storage functions = store_functions(&self->store, strcmp(self->mode, "get_many") == 0);
    if (self->endpoint != NULL) {
        return;
    }
    if (strcmp(self->mode, "memory") == 0) {
        must(milepost_engine_new(self->settings, &self->engine, NULL), "no engine");
    } else if (!is_remote(self)) {
        must(milepost_engine_new_over(&functions, self->settings, &self->engine, NULL),
             "no engine");
    }
    must(milepost_endpoint_new(self->engine, self->settings, &self->endpoint, NULL), "no endpoint");
    self->remote.endpoint = self->endpoint;
    self->remote.store = &self->store;
}

static void reset_host(host *self) {
    int had_store = self->engine != NULL && strcmp(self->mode, "memory") != 0;
    milepost_response_free(self->last);
    milepost_settings_free(self->settings);
    /* The order of these two does not matter. */
    milepost_engine_free(self->engine);
    milepost_endpoint_free(self->endpoint);
    if (self->store.finalized != (size_t)had_store) {
        fail("the storage is not finalized once");
    }
    store_clear(&self->store);
    self->last = NULL;
    self->settings = NULL;
    self->engine = NULL;
    self->endpoint = NULL;
    self->chain_query = 0;
    must(milepost_settings_new(&self->settings, NULL), "no settings");
}

static input read_input(size_t len) {
    input input = {(uint8_t *)malloc(len + 1), len};
    if (input.bytes == NULL || fread(input.bytes, 1, len, stdin) != len) {
        fail("the input ends early");
    }
    return input;
}

static void reply_error(milepost_status_t status, milepost_error *error) {
    milepost_error_view view = {.size = sizeof view};
    if (milepost_error_read(error, &view) != MILEPOST_STATUS_OK || view.status != status) {
        fail("an error without its members");
    }
    printf("error %" PRId32 " %.*s: %.*s\n", status, (int)view.path.len,
           (const char *)view.path.data, (int)view.message.len, (const char *)view.message.data);
    milepost_error_free(error);
}

static void reply_response(host *self, milepost_response *response) {
    milepost_bytes body;
    milepost_response_kind_t kind = 0;
    milepost_response_free(self->last);
    self->last = response;
    must(milepost_response_body(response, &body, NULL), "a response without a body");
    must(milepost_response_kind(response, &kind, NULL), "a response without a kind");
    printf("response %" PRId32 " %zu\n", kind, body.len);
    fwrite(body.data, 1, body.len, stdout);
}

/* Serves and polls until nothing is left, and replies: an import that failed, the response to the
 * request, or else `otherwise` */
static void drain(host *self, const char *otherwise) {
    milepost_error *failure = NULL;
    milepost_response *response = NULL;
    milepost_error_view view = {.size = sizeof view};
    for (;;) {
        milepost_output output = remote_next(&self->remote);
        switch (output.kind) {
            case MILEPOST_OUTPUT_TIMEOUT:
                if (failure != NULL) {
                    must(milepost_error_read(failure, &view), "a failure without its members");
                    reply_error(view.status, failure);
                } else if (response != NULL) {
                    reply_response(self, response);
                } else {
                    printf("%s\n", otherwise);
                }
                return;
            case MILEPOST_OUTPUT_RESPONSE:
                if (output.handle != self->handle || response != NULL) {
                    fail("a response with an unknown request handle");
                }
                response = output.response;
                break;
            case MILEPOST_OUTPUT_COMPLETED:
                if (output.handle == self->chain_query) {
                    milepost_chain_status_view view = {.size = sizeof view};
                    if (output.summary != NULL ||
                        milepost_chain_status_read(output.chain_status, &view, NULL) !=
                            MILEPOST_STATUS_OK ||
                        (view.blocks == 0) != (view.has_head == 0)) {
                        fail("a wrong state of the chain");
                    }
                    milepost_chain_status_free(output.chain_status);
                }
                milepost_import_summary_free(output.summary);
                break;
            case MILEPOST_OUTPUT_FAILED:
                failure = output.error;
                break;
            case MILEPOST_OUTPUT_PENDING:
                break;
            default:
                fail("an output of unknown kind");
        }
    }
}

static void query_chain(host *self) {
    must(milepost_endpoint_handle_chain_query(self->endpoint, &self->chain_query, NULL),
         "no query for the state of the chain");
}

static void request(host *self, uint64_t now, input body, input method) {
    milepost_response *response;
    milepost_error *error;
    milepost_status_t status;
    open_host(self);
    query_chain(self);
    status = milepost_endpoint_handle_request(self->endpoint, now, MILEPOST_TIMEOUT_DEFAULT,
                                              body.bytes, body.len, method.bytes, method.len,
                                              &self->handle, &response, &error);
    if (status != MILEPOST_STATUS_OK) {
        reply_error(status, error);
    } else if (response == NULL) {
        drain(self, "pending");
    } else {
        reply_response(self, response);
    }
}

static void put_config(host *self, const milepost_hash *epoch_id, uint64_t height, input config) {
    milepost_error *error;
    milepost_status_t status;
    uint64_t handle;
    open_host(self);
    status = milepost_endpoint_handle_config(self->endpoint, epoch_id, height, config.bytes,
                                             config.len, &handle, &error);
    if (status != MILEPOST_STATUS_OK) {
        reply_error(status, error);
    } else if ((handle != 0) != is_remote(self)) {
        fail("an import with an engine continues");
    } else {
        drain(self, "ok");
    }
}

static void import_block(host *self, input block) {
    milepost_import_summary *summary;
    milepost_error *error;
    milepost_status_t status;
    uint64_t handle;
    open_host(self);
    query_chain(self);
    status = milepost_endpoint_handle_block(self->endpoint, block.bytes, block.len, &handle,
                                            &summary, &error);
    if (status != MILEPOST_STATUS_OK) {
        reply_error(status, error);
        return;
    }
    if ((handle != 0) != is_remote(self) || (summary == NULL) != is_remote(self)) {
        fail("an import with an engine continues");
    }
    milepost_import_summary_free(summary);
    drain(self, "ok");
}

static void print_hex(milepost_bytes bytes) {
    putchar(' ');
    for (size_t i = 0; i < bytes.len; i++) {
        printf("%02x", bytes.data[i]);
    }
    putchar('.');
}

static void print_text(milepost_bytes bytes) {
    putchar(' ');
    fwrite(bytes.data, 1, bytes.len, stdout);
}

static void print_hash(const milepost_hash *hash) {
    milepost_hash_text text;
    milepost_hash parsed;
    if (milepost_hash_format(hash, &text, NULL) != MILEPOST_STATUS_OK ||
        milepost_hash_parse(text.bytes, text.len, &parsed, NULL) != MILEPOST_STATUS_OK ||
        memcmp(hash, &parsed, sizeof parsed) != 0) {
        fail("a hash does not survive formatting and parsing");
    }
    printf(" %.*s", (int)text.len, (const char *)text.bytes);
}

static void view_outcome(const milepost_response *response, size_t index) {
    milepost_outcome outcome = {.size = sizeof outcome};
    must(milepost_response_outcome(response, index, &outcome, NULL), "an outcome is missing");
    printf("outcome");
    print_hash(&outcome.id);
    print_hash(&outcome.block_hash);
    print_text(outcome.executor_id);
    printf(" %" PRId32, outcome.execution_status);
    print_hex(outcome.payload);
    printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, outcome.gas_burnt, outcome.tokens_burnt_high,
           outcome.tokens_burnt_low);
    for (size_t i = 0; i < outcome.receipt_ids_len; i++) {
        print_hash(&outcome.receipt_ids[i]);
    }
    for (size_t i = 0; i < outcome.logs_len; i++) {
        print_hex(outcome.logs[i]);
    }
    print_text(outcome.json);
    putchar('\n');
}

static void verify(input answer, input proof, const char *transaction, const char *block) {
    milepost_hash hashes[2];
    milepost_json *proven;
    milepost_error *error;
    milepost_bytes json;
    milepost_status_t status;
    int32_t is_complete;
    must(milepost_hash_parse((const uint8_t *)transaction, strlen(transaction), &hashes[0], NULL),
         "no hash of a transaction");
    must(milepost_hash_parse((const uint8_t *)block, strlen(block), &hashes[1], NULL),
         "no hash of a block");
    status = milepost_verify_answer(answer.bytes, answer.len, proof.bytes, proof.len, &hashes[0],
                                    &hashes[1], &is_complete, &proven, &error);
    if (status != MILEPOST_STATUS_OK) {
        reply_error(status, error);
        return;
    }
    must(milepost_json_text(proven, &json, NULL), "what is proven has no text");
    printf("response %" PRId32 " %zu\n", is_complete, json.len);
    fwrite(json.data, 1, json.len, stdout);
    milepost_json_free(proven);
}

/* Prints a line for the response and one for each of its parts; the last line is `.` */
static void view(const milepost_response *response) {
    milepost_transaction_status status = {.size = sizeof status};
    milepost_rpc_error rpc_error = {.size = sizeof rpc_error};
    milepost_bytes json;
    size_t len;
    must(milepost_response_batch_len(response, &len, NULL), "a response cannot be parsed");
    for (size_t i = 0; i < len; i++) {
        milepost_response *item;
        must(milepost_response_batch_item(response, i, &item, NULL), "an item is missing");
        must(milepost_response_body(item, &json, NULL), "an item has no body");
        printf("item");
        print_text(json);
        putchar('\n');
        milepost_response_free(item);
    }
    if (milepost_response_rpc_error(response, &rpc_error, NULL) == MILEPOST_STATUS_OK) {
        printf("rpc_error");
        print_text(rpc_error.name);
        print_text(rpc_error.cause);
        print_text(rpc_error.info);
        putchar('\n');
    } else if (milepost_response_transaction_status(response, &status, NULL) ==
               MILEPOST_STATUS_OK) {
        printf("status %" PRId32 " %" PRId32, status.milestone, status.execution_status);
        print_hex(status.payload);
        print_text(status.transaction);
        putchar('\n');
        for (size_t i = 0; i < status.outcomes; i++) {
            view_outcome(response, i);
        }
        for (size_t i = 0; i < status.receipts; i++) {
            must(milepost_response_receipt(response, i, &json, NULL), "a receipt is missing");
            printf("receipt");
            print_text(json);
            putchar('\n');
        }
    } else if (milepost_response_result_json(response, &json, NULL) == MILEPOST_STATUS_OK) {
        printf("json");
        print_text(json);
        putchar('\n');
    }
    printf(".\n");
}

int main(int argc, char **argv) {
    host self;
    char line[256], transaction[64], block[64];
    memset(&self, 0, sizeof self);
    self.mode = argc == 2 ? argv[1] : "memory";
    if (milepost_version_number() != MILEPOST_VERSION_NUMBER) {
        fail("the header has another version");
    }
    reset_host(&self);
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t number;
        size_t len, method_len, proof_len;
        int setting;
        if (strcmp(line, "new\n") == 0) {
            reset_host(&self);
            printf("ok\n");
        } else if (sscanf(line, "set %d %" SCNu64, &setting, &number) == 2) {
            milepost_error *error;
            milepost_status_t status =
                milepost_settings_set(self.settings, setting, number, &error);
            if (status == MILEPOST_STATUS_OK) {
                printf("ok\n");
            } else {
                reply_error(status, error);
            }
        } else if (sscanf(line, "config %" SCNu64 " %zu", &number, &len) == 2) {
            input config = read_input(len);
            put_config(&self, NULL, number, config);
            free(config.bytes);
        } else if (sscanf(line, "epoch-config %63s %zu", block, &len) == 2) {
            input config = read_input(len);
            milepost_hash epoch_id;
            must(milepost_hash_parse((const uint8_t *)block, strlen(block), &epoch_id, NULL),
                 "the id of an epoch is no hash");
            put_config(&self, &epoch_id, 0, config);
            free(config.bytes);
        } else if (sscanf(line, "block %zu", &len) == 1) {
            input block = read_input(len);
            import_block(&self, block);
            free(block.bytes);
        } else if (sscanf(line, "request %" SCNu64 " %zu %zu", &number, &len, &method_len) == 3) {
            input body = read_input(len);
            input method = read_input(method_len);
            request(&self, number, body, method);
            free(body.bytes);
            free(method.bytes);
        } else if (sscanf(line, "time %" SCNu64, &number) == 1) {
            must(milepost_endpoint_handle_timeout(self.endpoint, number, NULL),
                 "an endpoint does not accept the time");
            drain(&self, "ok");
        } else if (sscanf(line, "verify %zu %zu %63s %63s", &len, &proof_len, transaction, block) ==
                   4) {
            input answer = read_input(len);
            input proof = read_input(proof_len);
            verify(answer, proof, transaction, block);
            free(answer.bytes);
            free(proof.bytes);
        } else if (strcmp(line, "view\n") == 0) {
            view(self.last);
        } else {
            fail(line);
        }
        fflush(stdout);
    }
    reset_host(&self);
    milepost_settings_free(self.settings);
    return 0;
}
