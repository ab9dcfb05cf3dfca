/*
 * Calls every function with everything that is wrong: NULL, lengths that nothing has, numbers that mean nothing, handles
 * that were freed or are of another kind, from inside a callback. Each time a status comes back, and outputs are zero.
 *
 * What there is to call, and with what, stands in functions.inc, which the test writes from the sources of the library;
 * so no function is forgotten. Prints what was wrong, and how many calls were made.
 */
#include "hostile.h"

/* One call: its arguments, and where its outputs go */
typedef struct call {
    const function *function;
    slot slots[MOST];
    uint8_t outputs[MOST][LARGEST];
} call;

static void fill(call *self, fixture *fixture, const function *function) {
    self->function = function;
    memset(self->outputs, 0xaa, sizeof self->outputs);
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        slot *slot = &self->slots[i];
        memset(slot, 0, sizeof *slot);
        switch (parameter->kind) {
        case HANDLE:
            slot->pointer = fixture->handles[parameter->handle];
            break;
        case BYTES: {
            const char *text = good_bytes(function->name, parameter->name);
            slot->pointer = text;
            self->slots[i + 1].number = strlen(text);
            i++;
            break;
        }
        case ROWS:
            slot->pointer = fixture->rows;
            self->slots[i + 1].number = strcmp(function->name, "milepost_ingest_supply") == 0 ? fixture->rows_len : 0;
            i++;
            break;
        case NUMBER:
            slot->number = strcmp(parameter->name, "ticket") == 0 ? fixture->ticket : 1;
            break;
        case CHOICE:
            slot->number = 1;
            break;
        case HASH:
            slot->pointer = &fixture->hash;
            break;
        case STORAGE:
            slot->pointer = &fixture->functions;
            break;
        case SINK:
            slot->pointer = &fixture->hash;
            break;
        case MAKER:
            slot->make = make_none;
            break;
        case CONTEXT:
            slot->pointer = &fixture->hash;
            break;
        case OUT:
        case OUT_HANDLE:
            slot->pointer = self->outputs[i];
            break;
        case LENGTH:
        case INDEX:
            break;
        }
    }
}

/* Makes the call and looks at its outputs; what comes out is freed */
static milepost_status_t make(call *self, const char *where) {
    const function *function = self->function;
    milepost_status_t status = function->call(self->slots);
    calls++;
    if (!is_known(status) || status == MILEPOST_STATUS_PANIC) {
        complain(function->name, where, "returned", status);
    }
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        void *handle;
        if (self->slots[i].pointer != self->outputs[i] || (parameter->kind != OUT && parameter->kind != OUT_HANDLE)) {
            continue;
        }
        for (size_t j = 0; status != MILEPOST_STATUS_OK && parameter->handle != ERROR && j < parameter->size; j++) {
            if (self->outputs[i][j] != 0) {
                complain(function->name, where, "did not zero an output", status);
                break;
            }
        }
        if (parameter->kind == OUT_HANDLE) {
            memcpy(&handle, self->outputs[i], sizeof handle);
            if (parameter->handle == ERROR && (handle == NULL) != (status == MILEPOST_STATUS_OK)) {
                complain(function->name, where, "has no error to a refusal, or one without", status);
            }
            free_handle(parameter->handle, handle);
        }
    }
    return status;
}

static void expect(call *self, const char *where, milepost_status_t expected) {
    milepost_status_t status = make(self, where);
    if (status != expected) {
        complain(self->function->name, where, "returned", status);
    }
}

/* Runs one hostile call on handles of its own */
#define WITH(function, body)                \
    do {                                    \
        fixture fixture_;                   \
        call call_;                         \
        set_up(&fixture_);                  \
        fill(&call_, &fixture_, (function)); \
        body;                               \
        tear_down(&fixture_);               \
    } while (0)

static void sound(const function *function) {
    if (function->in_callback) {
        WITH(function, expect(&call_, "no callback", MILEPOST_STATUS_STALE));
    } else {
        WITH(function, expect(&call_, "all good", good_status(function->name)));
    }
}

static void null_pointers(const function *function) {
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->kind == LENGTH || parameter->kind == NUMBER || parameter->kind == CHOICE ||
            parameter->kind == INDEX) {
            continue;
        }
        WITH(function, {
            int empty = (parameter->kind == BYTES || parameter->kind == ROWS) && call_.slots[i + 1].number == 0;
            milepost_status_t expected = MILEPOST_STATUS_NULL;
            if (parameter->optional || empty || parameter->kind == CONTEXT) {
                expected = function->in_callback ? MILEPOST_STATUS_STALE : good_status(function->name);
                if (parameter->handle == ENGINE) {
                    expected = MILEPOST_STATUS_OK;
                }
            }
            call_.slots[i].pointer = NULL;
            if (parameter->kind == MAKER) {
                call_.slots[i].make = NULL;
            }
            expect(&call_, parameter->name, expected);
        });
    }
}

static void lengths(const function *function) {
    static const uint64_t TOO_LONG[] = {SIZE_MAX, (uint64_t)SIZE_MAX - 1, (uint64_t)SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->kind != BYTES && parameter->kind != ROWS) {
            continue;
        }
        for (size_t j = 0; j < sizeof TOO_LONG / sizeof *TOO_LONG; j++) {
            WITH(function, {
                call_.slots[i + 1].number = TOO_LONG[j];
                call_.slots[i].pointer = fixture_.rows;
                expect(&call_, parameter->name, MILEPOST_STATUS_LENGTH);
            });
        }
        /* Nothing at NULL, and nothing at an address that is none */
        WITH(function, {
            call_.slots[i].pointer = NULL;
            call_.slots[i + 1].number = 0;
            make(&call_, parameter->name);
        });
        WITH(function, {
            call_.slots[i].pointer = (const void *)(uintptr_t)1;
            call_.slots[i + 1].number = 0;
            make(&call_, parameter->name);
        });
        if (parameter->kind == ROWS) {
            WITH(function, {
                call_.slots[i].pointer = (const uint8_t *)fixture_.rows + 1;
                call_.slots[i + 1].number = 1;
                expect(&call_, "an odd address", MILEPOST_STATUS_LENGTH);
            });
            WITH(function, {
                fixture_.rows[0].present = 2;
                call_.slots[i + 1].number = 1;
                expect(&call_, "a row that is 2", MILEPOST_STATUS_ENUM);
            });
            WITH(function, {
                fixture_.rows[0].present = 1;
                fixture_.rows[0].bytes.len = SIZE_MAX;
                fixture_.rows[0].bytes.data = bytes(BLOCK);
                call_.slots[i + 1].number = 1;
                expect(&call_, "a row without end", MILEPOST_STATUS_LENGTH);
            });
        }
    }
}

/* Every byte of what is read made another one, and every shorter text: foreign input is refused or taken */
static void damaged(const function *function) {
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        const char *good;
        size_t len;
        if (parameter->kind != BYTES) {
            continue;
        }
        good = good_bytes(function->name, parameter->name);
        len = strlen(good);
        for (size_t at = 0; at < len; at += len < 64 ? 1 : len / 32) {
            uint8_t text[4096];
            if (len > sizeof text) {
                break;
            }
            memcpy(text, good, len);
            text[at] ^= 0xff;
            WITH(function, {
                call_.slots[i].pointer = text;
                make(&call_, "a damaged text");
            });
            WITH(function, {
                call_.slots[i + 1].number = at;
                make(&call_, "a text that ends early");
            });
        }
    }
}

static void numbers(const function *function) {
    static const int32_t NONE[] = {0, -1, 127, 1000, INT32_MAX, INT32_MIN};
    static const uint64_t ANY[] = {0, 1, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        for (size_t j = 0; parameter->kind == CHOICE && j < sizeof NONE / sizeof *NONE; j++) {
            WITH(function, {
                call_.slots[i].number = (uint64_t)(int64_t)NONE[j];
                expect(&call_, parameter->name, MILEPOST_STATUS_ENUM);
            });
        }
        for (size_t j = 0; parameter->kind == INDEX && j < 2; j++) {
            WITH(function, {
                call_.slots[i].number = j == 0 ? SIZE_MAX : 1000;
                milepost_status_t status = make(&call_, parameter->name);
                if (status != MILEPOST_STATUS_INDEX && status != MILEPOST_STATUS_USAGE) {
                    complain(function->name, parameter->name, "returned", status);
                }
            });
        }
        for (size_t j = 0; parameter->kind == NUMBER && j < sizeof ANY / sizeof *ANY; j++) {
            WITH(function, {
                call_.slots[i].number = ANY[j];
                make(&call_, parameter->name);
            });
        }
    }
}

/* Handles that were freed, and handles of another kind; told in debug builds, and tried only there */
static void stale(const function *function) {
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->kind != HANDLE) {
            continue;
        }
        WITH(function, {
            free_handle(parameter->handle, fixture_.handles[parameter->handle]);
            expect(&call_, "freed", MILEPOST_STATUS_STALE);
        });
        for (int kind = ANSWER; kind < HANDLES; kind++) {
            if ((handle)kind != parameter->handle) {
                WITH(function, {
                    call_.slots[i].pointer = fixture_.handles[kind];
                    expect(&call_, "of another kind", MILEPOST_STATUS_STALE);
                });
            }
        }
        WITH(function, {
            call_.slots[i].pointer = &fixture_;
            expect(&call_, "no handle at all", MILEPOST_STATUS_STALE);
        });
    }
}

/* What is called from inside a callback */
typedef struct inside {
    fixture fixture;
    call call;
} inside;

static void call_inside(void *context) {
    inside *self = (inside *)context;
    expect(&self->call, "inside a callback", MILEPOST_STATUS_REENTRANT);
    for (int kind = ANSWER; kind < HANDLES; kind++) {
        /* Left alone: they are used afterwards. */
        free_handle((handle)kind, self->fixture.handles[kind]);
    }
}

static void reentrant(const function *function) {
    int reached = !function->in_callback;
    for (size_t at = 1; reached; at++) {
        inside inside;
        milepost_engine *engine;
        milepost_storage functions;
        store store;
        memset(&store, 0, sizeof store);
        store.fault = STORE_REENTERS;
        store.fault_at = at;
        store.reenter = call_inside;
        store.reenter_context = &inside;
        set_up(&inside.fixture);
        fill(&inside.call, &inside.fixture, function);
        functions = store_functions(&store, 1);
        must(milepost_engine_new_over(&functions, NULL, &engine, NULL), "engine");
        must(milepost_engine_ingest(engine, bytes(BLOCK), sizeof BLOCK - 1, NULL, NULL), "a block with a guest");
        /* Errors that were made inside could not be freed there. */
        for (size_t i = 0; i < function->len; i++) {
            void *error;
            if (function->parameters[i].kind == OUT_HANDLE && function->parameters[i].handle == ERROR) {
                memcpy(&error, inside.call.outputs[i], sizeof error);
                free_handle(ERROR, error);
            }
        }
        fill(&inside.call, &inside.fixture, function);
        expect(&inside.call, "after the callback", good_status(function->name));
        milepost_engine_free(engine);
        reached = store.calls > at;
        store_clear(&store);
        tear_down(&inside.fixture);
    }
}

static void structures(void) {
    fixture fixture;
    milepost_engine *engine;
    set_up(&fixture);
    for (size_t size = 0; size < 2 * sizeof(milepost_storage); size++) {
        milepost_storage other = fixture.functions;
        other.size = size;
        calls++;
        if (size != sizeof other && milepost_engine_new_over(&other, NULL, &engine, NULL) != MILEPOST_STATUS_LENGTH) {
            complain("milepost_engine_new_over", "size", "took a structure of", (long)size);
        }
    }
    for (int missing = 0; missing < 2; missing++) {
        milepost_storage other = fixture.functions;
        if (missing == 0) {
            other.get = NULL;
        } else {
            other.commit = NULL;
        }
        calls++;
        if (milepost_engine_new_over(&other, NULL, &engine, NULL) != MILEPOST_STATUS_NULL || engine != NULL) {
            complain("milepost_engine_new_over", "function", "took a structure without", missing);
        }
    }
    if (fixture.store.finalized != 0) {
        complain("milepost_engine_new_over", "finalize", "finalized what it refused", (long)fixture.store.finalized);
    }
    tear_down(&fixture);
    for (size_t i = 0; i < sizeof FREEINGS / sizeof *FREEINGS; i++) {
        FREEINGS[i].call(NULL);
        calls++;
    }
}

int main(void) {
    size_t count = sizeof FUNCTIONS / sizeof *FUNCTIONS;
    for (size_t i = 0; i < count; i++) {
        const function *function = &FUNCTIONS[i];
        sound(function);
        null_pointers(function);
        lengths(function);
        damaged(function);
        numbers(function);
        reentrant(function);
        if (CHECKED) {
            stale(function);
        }
    }
    structures();
    printf("%zu calls, %zu wrong, %zu functions\n", calls, wrong, count);
    return wrong == 0 ? 0 : 1;
}
