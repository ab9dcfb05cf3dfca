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
 *     view                                  contents of the last response, without a JSON parser
 *
 * Replies are `ok`, `pending`, `response <kind> <len>` followed by the body, or `error <status>
 * <text>`. The argument is the storage: `memory`, `get`, `get_many`, or `remote`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "test_storage.h"

typedef struct host {
    const char *mode;
    store store;
    milepost_settings *settings;
    milepost_engine *engine;
    milepost_endpoint *endpoint;
    milepost_response *last;
    uint64_t handle;
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

static int is_remote(const host *self) {
    return strcmp(self->mode, "remote") == 0;
}

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
    must(milepost_settings_new(&self->settings), "no settings");
}

static input read_input(size_t len) {
    input input = {(uint8_t *)malloc(len + 1), len};
    if (input.bytes == NULL || fread(input.bytes, 1, len, stdin) != len) {
        fail("the input ends early");
    }
    return input;
}

static void reply_error(milepost_status_t status, milepost_error *error) {
    milepost_error_view view;
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
    must(milepost_response_body(response, &body), "a response without a body");
    must(milepost_response_kind(response, &kind), "a response without a kind");
    printf("response %" PRId32 " %zu\n", kind, body.len);
    fwrite(body.data, 1, body.len, stdout);
}

/* Returns the rows of these keys, as a remote storage would */
static milepost_row *fetch(const host *self, const milepost_bytes *keys, size_t len) {
    milepost_row *rows = (milepost_row *)calloc(len + 1, sizeof *rows);
    for (size_t i = 0; i < len; i++) {
        const store_row *row = store_find(&self->store, keys[i].data, keys[i].len);
        if (row != NULL) {
            rows[i].present = 1;
            rows[i].bytes.data = row->row;
            rows[i].bytes.len = row->row_len;
        }
    }
    return rows;
}

/* Runs a request until it is answered, or until it waits: then it returns NULL */
static milepost_response *run(const host *self, milepost_pending_request *request) {
    for (;;) {
        milepost_step_t step;
        const milepost_bytes *keys;
        size_t keys_len;
        milepost_response *response;
        milepost_row *rows;
        must(milepost_pending_request_poll(request, &step, &keys, &keys_len, &response, NULL),
             "a request cannot be polled");
        if (step != MILEPOST_STEP_NEED_ROWS) {
            return response;
        }
        rows = fetch(self, keys, keys_len);
        must(milepost_pending_request_supply_rows(request, rows, keys_len, NULL),
             "a request does not accept its rows");
        free(rows);
    }
}

static void request_remote(host *self, uint64_t now, input body, input method) {
    milepost_pending_request *request;
    milepost_response *response;
    must(milepost_pending_request_new(self->settings, body.bytes, body.len, method.bytes,
                                      method.len, &request, NULL),
         "no request");
    while ((response = run(self, request)) == NULL) {
        milepost_request_state_t state;
        must(milepost_endpoint_suspend(self->endpoint, now, request, &state, &self->handle, NULL),
             "a request cannot be suspended");
        if (state == MILEPOST_REQUEST_STATE_WAITING) {
            milepost_pending_request_free(request);
            printf("pending\n");
            return;
        }
    }
    milepost_pending_request_free(request);
    reply_response(self, response);
}

static void request(host *self, uint64_t now, input body, input method) {
    milepost_response *response;
    milepost_error *error;
    milepost_status_t status;
    open_host(self);
    if (is_remote(self)) {
        request_remote(self, now, body, method);
        return;
    }
    status =
        milepost_endpoint_handle_request(self->endpoint, now, body.bytes, body.len, method.bytes,
                                         method.len, &self->handle, &response, &error);
    if (status != MILEPOST_STATUS_OK) {
        reply_error(status, error);
    } else if (response == NULL) {
        printf("pending\n");
    } else {
        reply_response(self, response);
    }
}

/* Replies with the response to the pending request, if there is one now */
static void poll_remote(host *self) {
    milepost_pending_request *request;
    uint64_t handle;
    while (milepost_endpoint_poll_request(self->endpoint, &handle, &request) ==
               MILEPOST_STATUS_OK &&
           request != NULL) {
        milepost_request_state_t state = MILEPOST_REQUEST_STATE_RETRY;
        milepost_response *response = NULL;
        while (state == MILEPOST_REQUEST_STATE_RETRY) {
            response = run(self, request);
            must(milepost_endpoint_resume(self->endpoint, handle, request, &state, NULL),
                 "a request cannot be resumed");
        }
        milepost_pending_request_free(request);
        if (state == MILEPOST_REQUEST_STATE_READY && handle == self->handle) {
            reply_response(self, response);
            return;
        }
        milepost_response_free(response);
    }
    printf("ok\n");
}

static void poll(host *self) {
    milepost_response *response;
    uint64_t handle;
    if (is_remote(self)) {
        poll_remote(self);
        return;
    }
    must(milepost_endpoint_poll_response(self->endpoint, &handle, &response, NULL),
         "an endpoint cannot be polled");
    if (response == NULL) {
        printf("ok\n");
        return;
    }
    if (handle != self->handle) {
        fail("a response with an unknown request handle");
    }
    reply_response(self, response);
}

/* Runs an import and commits its changes, as a host with remote storage does */
static milepost_status_t run_import(host *self, milepost_block_import *import,
                                    milepost_error **error) {
    milepost_step_t step = MILEPOST_STEP_NEED_ROWS;
    const milepost_change *changes;
    size_t changes_len;
    milepost_status_t status = MILEPOST_STATUS_OK;
    while (status == MILEPOST_STATUS_OK && step == MILEPOST_STEP_NEED_ROWS) {
        const milepost_bytes *keys;
        size_t keys_len;
        status = milepost_block_import_poll(import, &step, &keys, &keys_len, error);
        if (status == MILEPOST_STATUS_OK && step == MILEPOST_STEP_NEED_ROWS) {
            milepost_row *rows = fetch(self, keys, keys_len);
            status = milepost_block_import_supply_rows(import, rows, keys_len, error);
            free(rows);
        }
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_block_import_changes(import, &changes, &changes_len, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        store_commit(&self->store, changes, changes_len);
    }
    return status;
}

static milepost_status_t import_block_remote(host *self, input block, milepost_error **error) {
    milepost_block_import *import;
    milepost_import_summary *summary;
    milepost_status_t status =
        milepost_block_import_new(self->settings, block.bytes, block.len, &import, error);
    if (status == MILEPOST_STATUS_OK) {
        status = run_import(self, import, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_block_import_summary(import, &summary, error);
    }
    if (status == MILEPOST_STATUS_OK) {
        status = milepost_endpoint_handle_chain_update(self->endpoint, summary);
        milepost_import_summary_free(summary);
    }
    milepost_block_import_free(import);
    return status;
}

static void put_config(host *self, uint64_t height, input config) {
    milepost_block_import *import = NULL;
    milepost_error *error = NULL;
    milepost_status_t status;
    open_host(self);
    if (is_remote(self)) {
        status =
            milepost_block_import_new_config(height, config.bytes, config.len, &import, &error);
        if (status == MILEPOST_STATUS_OK) {
            status = run_import(self, import, &error);
        }
        milepost_block_import_free(import);
    } else {
        status = milepost_engine_put_config(self->engine, height, config.bytes, config.len, &error);
    }
    if (status == MILEPOST_STATUS_OK) {
        printf("ok\n");
    } else {
        reply_error(status, error);
    }
}

static void import_block(host *self, input block) {
    milepost_error *error = NULL;
    milepost_status_t status;
    open_host(self);
    if (is_remote(self)) {
        status = import_block_remote(self, block, &error);
    } else {
        status =
            milepost_endpoint_handle_block(self->endpoint, block.bytes, block.len, NULL, &error);
    }
    if (status != MILEPOST_STATUS_OK) {
        reply_error(status, error);
        return;
    }
    poll(self);
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
    if (milepost_hash_format(hash, &text) != MILEPOST_STATUS_OK ||
        milepost_hash_parse(text.bytes, text.len, &parsed, NULL) != MILEPOST_STATUS_OK ||
        memcmp(hash, &parsed, sizeof parsed) != 0) {
        fail("a hash does not survive formatting and parsing");
    }
    printf(" %.*s", (int)text.len, (const char *)text.bytes);
}

static void view_outcome(const milepost_response *response, size_t index) {
    milepost_outcome outcome;
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

/* Prints a line for the response and one for each of its parts; the last line is `.` */
static void view(const milepost_response *response) {
    milepost_transaction_status status;
    milepost_rpc_error rpc_error;
    milepost_bytes json;
    size_t len;
    must(milepost_response_batch_len(response, &len, NULL), "a response cannot be parsed");
    for (size_t i = 0; i < len; i++) {
        milepost_response *item;
        must(milepost_response_batch_item(response, i, &item, NULL), "an item is missing");
        must(milepost_response_body(item, &json), "an item has no body");
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
    char line[256];
    memset(&self, 0, sizeof self);
    self.mode = argc == 2 ? argv[1] : "memory";
    if (milepost_version_number() != MILEPOST_VERSION_NUMBER) {
        fail("the header has another version");
    }
    reset_host(&self);
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t number;
        size_t len, method_len;
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
            put_config(&self, number, config);
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
            must(milepost_endpoint_handle_timeout(self.endpoint, number),
                 "an endpoint does not accept the time");
            poll(&self);
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
