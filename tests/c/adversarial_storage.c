/*
 * Injects a fault at the n-th call of a storage, for every n until it is not reached, and for every
 * kind of fault.
 *
 * Each call must return a status, the engine must work again once the storage does, and the storage
 * must be finalized once. An endpoint without an engine must end all that it was asked, whatever
 * rows it gets. Prints failures, and the numbers of calls and positions.
 */
#include "remote_host.h"
#include "report.h"

typedef struct text {
    uint8_t *bytes;
    size_t len;
} text;

/* A request, and the blocks that are imported before and after it */
#define MAX_BLOCKS 16
static text request;
static text blocks[MAX_BLOCKS];
static size_t blocks_len;

static text read_file(const char *path) {
    text text = {NULL, 0};
    size_t capacity = 1 << 20;
    FILE *file = fopen(path, "rb");
    text.bytes = (uint8_t *)malloc(capacity);
    if (file == NULL || text.bytes == NULL) {
        must(MILEPOST_STATUS_USAGE, path);
        return text;
    }
    text.len = fread(text.bytes, 1, capacity, file);
    fclose(file);
    if (text.len == capacity) {
        must(MILEPOST_STATUS_LIMIT, path);
    }
    return text;
}

static milepost_status_t worst_of(milepost_status_t worst, milepost_status_t status,
                                  const char *what) {
    calls++;
    if (!is_known(status) || status == MILEPOST_STATUS_PANIC) {
        report(what, "a faulty storage", "returned", status);
    }
    return status > worst ? status : worst;
}

static milepost_status_t respond(const milepost_engine *engine) {
    milepost_response *response;
    milepost_status_t status =
        milepost_engine_respond(engine, request.bytes, request.len, NULL, 0, &response, NULL);
    milepost_response_free(response);
    return status;
}

static milepost_status_t poll_output(milepost_endpoint *endpoint) {
    milepost_output output = {.size = sizeof output};
    milepost_status_t status = milepost_endpoint_poll_output(endpoint, &output, NULL);
    milepost_response_free(output.response);
    return status;
}

/* Does all that a node does, over a storage that may be faulty; returns the worst status */
static milepost_status_t run_node(store *store, int with_get_many, milepost_engine **engine) {
    milepost_storage functions = store_functions(store, with_get_many);
    milepost_status_t status, worst = MILEPOST_STATUS_OK;
    milepost_endpoint *endpoint;
    milepost_response *response;
    milepost_chain_status *chain_status;
    uint64_t handle;
    must(milepost_engine_new_over(&functions, NULL, engine, NULL), "engine");
    must(milepost_endpoint_new(*engine, NULL, &endpoint, NULL), "endpoint");
    status = milepost_endpoint_handle_request(endpoint, 0, MILEPOST_TIMEOUT_DEFAULT, request.bytes,
                                              request.len, NULL, 0, &handle, &response, NULL);
    worst = worst_of(worst, status, "handle_request");
    milepost_response_free(response);
    for (size_t i = 0; i < blocks_len; i++) {
        status = milepost_endpoint_handle_block(endpoint, blocks[i].bytes, blocks[i].len, &handle,
                                                NULL, NULL);
        worst = worst_of(worst, status, "handle_block");
        worst = worst_of(worst, poll_output(endpoint), "poll_output");
    }
    worst = worst_of(worst, respond(*engine), "respond");
    status = milepost_engine_chain_status(*engine, &chain_status, NULL);
    worst = worst_of(worst, status, "chain_status");
    milepost_chain_status_free(chain_status);
    must(milepost_endpoint_handle_timeout(endpoint, 1000000, NULL), "handle_timeout");
    worst = worst_of(worst, poll_output(endpoint), "poll_output");
    milepost_endpoint_free(endpoint);
    return worst;
}

static void reenter_engine(void *context) {
    milepost_engine **engine = (milepost_engine **)context;
    milepost_response *response;
    milepost_error *error;
    calls++;
    if (milepost_engine_respond(*engine, request.bytes, request.len, NULL, 0, &response, &error) !=
        MILEPOST_STATUS_REENTRANT) {
        report("milepost_engine_respond", "its own callback", "did not return REENTRANT", 0);
    }
    /* It could not be freed here. */
    if (error != NULL) {
        report("milepost_engine_respond", "its own callback", "created an error object", 0);
    }
}

/* Returns the number of positions at which the fault was injected */
static size_t inject(int fault, int with_get_many) {
    for (size_t at = 1;; at++) {
        store store;
        milepost_engine *engine;
        milepost_status_t worst, after;
        size_t reached;
        memset(&store, 0, sizeof store);
        store.fault = (store_fault)fault;
        store.fault_at = at;
        store.reenter = reenter_engine;
        store.reenter_context = &engine;
        worst = run_node(&store, with_get_many, &engine);
        reached = store.calls;
        if (fault == STORE_REENTERS && worst != MILEPOST_STATUS_OK) {
            report("run_node", "a re-entrant callback", "returned", worst);
        }
        /* The engine works again once the storage does. */
        after = respond(engine);
        if (after != MILEPOST_STATUS_OK) {
            report("milepost_engine_respond", "after a fault", "returned", after);
        }
        milepost_engine_free(engine);
        if (store.finalized != 1) {
            report("milepost_engine_free", "after a fault", "finalized", (long)store.finalized);
        }
        store_clear(&store);
        if (reached < at) {
            return at;
        }
    }
}

/* A storage that calls the library has no callback here: rows are supplied twice instead */
static void reenter_nothing(void *context) { (void)context; }

/* Hands in a request and all blocks at once, and serves what is needed; returns the number of
 * operations that did not end */
static size_t run_remote(remote_host *host, uint64_t timeout) {
    size_t open = 1;
    uint64_t handle;
    milepost_response *response;
    must(milepost_endpoint_handle_request(host->endpoint, 0, timeout, request.bytes, request.len,
                                          NULL, 0, &handle, &response, NULL),
         "handle_request");
    for (size_t i = 0; i < blocks_len; i++, open++) {
        must(milepost_endpoint_handle_block(host->endpoint, blocks[i].bytes, blocks[i].len, &handle,
                                            NULL, NULL),
             "handle_block");
    }
    for (int expired = 0;;) {
        milepost_output output = remote_next(host);
        calls++;
        if (output.kind == MILEPOST_OUTPUT_TIMEOUT) {
            if (expired) {
                return open;
            }
            expired = 1;
            must(milepost_endpoint_handle_timeout(host->endpoint, 1000000, NULL), "handle_timeout");
        } else if (output.kind != MILEPOST_OUTPUT_PENDING) {
            open--;
        }
        milepost_response_free(output.response);
        milepost_import_summary_free(output.summary);
        milepost_error_free(output.error);
    }
}

/* Returns the number of positions at which the fault was injected */
static size_t inject_remote(int fault) {
    for (size_t at = 1;; at++) {
        store store;
        remote_host host;
        size_t open, reached;
        memset(&store, 0, sizeof store);
        memset(&host, 0, sizeof host);
        store.fault = (store_fault)fault;
        store.fault_at = at;
        store.reenter = reenter_nothing;
        host.store = &store;
        host.random = at;
        must(milepost_endpoint_new(NULL, NULL, &host.endpoint, NULL), "endpoint");
        open = run_remote(&host, MILEPOST_TIMEOUT_DEFAULT);
        reached = store.calls;
        /* The endpoint works again once the storage does. */
        open += run_remote(&host, 0);
        if (open != 0) {
            report("run_remote", "a faulty storage", "did not end", (long)open);
        }
        milepost_endpoint_free(host.endpoint);
        store_clear(&store);
        if (reached < at) {
            return at;
        }
    }
}

int main(int argc, char **argv) {
    size_t max_positions = 0;
    if (argc < 3 || argc > 2 + MAX_BLOCKS) {
        must(MILEPOST_STATUS_USAGE, "expected a request and its blocks");
    }
    request = read_file(argv[1]);
    for (blocks_len = 0; blocks_len + 2 < (size_t)argc; blocks_len++) {
        blocks[blocks_len] = read_file(argv[blocks_len + 2]);
    }
    for (int fault = 0; fault < STORE_FAULTS; fault++) {
        for (int with_get_many = 0; with_get_many < 2; with_get_many++) {
            size_t positions = inject(fault, with_get_many);
            max_positions = positions > max_positions ? positions : max_positions;
        }
        if (inject_remote(fault) < 8) {
            report("inject_remote", "all", "reached too few positions", fault);
        }
    }
    printf("%zu calls, %zu failures, %zu positions\n", calls, failures, max_positions);
    free(request.bytes);
    for (size_t i = 0; i < blocks_len; i++) {
        free(blocks[i].bytes);
    }
    return failures == 0 ? 0 : 1;
}
