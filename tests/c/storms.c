/*
 * A storage that misbehaves at its n-th call, for every n until it is never reached, in every way there is.
 *
 * Each time a status comes back, the engine goes on once the storage does, and the storage is finalized once. Prints what was
 * wrong, and how many calls and places were tried.
 */
#include "store.h"
#include "trial.h"

typedef struct text {
    uint8_t *bytes;
    size_t len;
} text;

/* A request, and the blocks that come in before and after it */
#define MOST_BLOCKS 16
static text request;
static text blocks[MOST_BLOCKS];
static size_t blocks_len;

static text read_file(const char *path) {
    text text = {NULL, 0};
    size_t room = 1 << 20;
    FILE *file = fopen(path, "rb");
    text.bytes = (uint8_t *)malloc(room);
    if (file == NULL || text.bytes == NULL) {
        must(MILEPOST_STATUS_USAGE, path);
        return text;
    }
    text.len = fread(text.bytes, 1, room, file);
    fclose(file);
    if (text.len == room) {
        must(MILEPOST_STATUS_LIMIT, path);
    }
    return text;
}

static milepost_status_t worse(milepost_status_t status, milepost_status_t worst, const char *what) {
    calls++;
    if (!is_known(status) || status == MILEPOST_STATUS_PANIC) {
        complain(what, "a storm", "returned", status);
    }
    return status > worst ? status : worst;
}

static milepost_status_t ask(const milepost_engine *engine) {
    milepost_answer *answer;
    milepost_status_t status =
        milepost_engine_answer(engine, request.bytes, request.len, NULL, 0, &answer, NULL);
    milepost_answer_free(answer);
    return status;
}

/* All that a node does, over a storage that may misbehave; the worst of all statuses */
static milepost_status_t work(store *store, int with_get_many, milepost_engine **engine) {
    milepost_storage functions = store_functions(store, with_get_many);
    milepost_status_t worst = MILEPOST_STATUS_OK;
    milepost_desk *desk;
    milepost_answer *answer;
    milepost_chain chain;
    uint64_t ticket;
    must(milepost_engine_new_over(&functions, NULL, engine, NULL), "engine");
    must(milepost_desk_new(*engine, NULL, &desk, NULL), "desk");
    worst = worse(milepost_desk_submit(desk, 0, request.bytes, request.len, NULL, 0, &ticket, &answer, NULL), worst, "submit");
    milepost_answer_free(answer);
    for (size_t i = 0; i < blocks_len; i++) {
        worst = worse(milepost_desk_ingest(desk, blocks[i].bytes, blocks[i].len, NULL, NULL), worst, "ingest");
        worst = worse(milepost_desk_poll_answer(desk, &ticket, &answer, NULL), worst, "poll");
        milepost_answer_free(answer);
    }
    worst = worse(ask(*engine), worst, "answer");
    worst = worse(milepost_engine_chain(*engine, &chain, NULL), worst, "chain");
    must(milepost_desk_handle_time(desk, 1000000), "time");
    worst = worse(milepost_desk_poll_answer(desk, &ticket, &answer, NULL), worst, "poll");
    milepost_answer_free(answer);
    milepost_desk_free(desk);
    return worst;
}

static void reenter_engine(void *context) {
    milepost_engine **engine = (milepost_engine **)context;
    calls++;
    if (ask(*engine) != MILEPOST_STATUS_REENTRANT) {
        complain("milepost_engine_answer", "its own callback", "did not return REENTRANT", 0);
    }
}

static size_t storms(int fault, int with_get_many) {
    for (size_t at = 1;; at++) {
        store store;
        milepost_engine *engine;
        milepost_status_t worst, after;
        size_t made;
        memset(&store, 0, sizeof store);
        store.fault = (store_fault)fault;
        store.fault_at = at;
        store.reenter = reenter_engine;
        store.reenter_context = &engine;
        worst = work(&store, with_get_many, &engine);
        made = store.calls;
        if (fault == STORE_REENTERS && worst != MILEPOST_STATUS_OK) {
            complain("work", "a re-entrant callback", "returned", worst);
        }
        /* The engine goes on once the storage does. */
        after = ask(engine);
        if (after != MILEPOST_STATUS_OK) {
            complain("milepost_engine_answer", "after a storm", "returned", after);
        }
        milepost_engine_free(engine);
        if (store.finalized != 1) {
            complain("milepost_engine_free", "after a storm", "finalized so often", (long)store.finalized);
        }
        store_clear(&store);
        if (made < at) {
            return at;
        }
    }
}

int main(int argc, char **argv) {
    size_t most = 0;
    if (argc < 3 || argc > 2 + MOST_BLOCKS) {
        must(MILEPOST_STATUS_USAGE, "a request and its blocks are expected");
    }
    request = read_file(argv[1]);
    for (blocks_len = 0; blocks_len + 2 < (size_t)argc; blocks_len++) {
        blocks[blocks_len] = read_file(argv[blocks_len + 2]);
    }
    for (int fault = 0; fault < STORE_FAULTS; fault++) {
        for (int with_get_many = 0; with_get_many < 2; with_get_many++) {
            size_t tried = storms(fault, with_get_many);
            most = tried > most ? tried : most;
        }
    }
    printf("%zu calls, %zu wrong, %zu places\n", calls, wrong, most);
    free(request.bytes);
    for (size_t i = 0; i < blocks_len; i++) {
        free(blocks[i].bytes);
    }
    return wrong == 0 ? 0 : 1;
}
