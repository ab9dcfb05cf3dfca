/*
 * Calls every function with every kind of invalid argument: NULL, impossible lengths, undefined
 * numbers, handles that were freed or have another type, calls inside a callback. Each call must
 * return the right status and zero its outputs. All is done twice: with an endpoint over an engine,
 * and with one whose host supplies rows and commits.
 *
 * The list of functions and parameters is functions.inc, which the test generates from the sources
 * of the library, so it is complete. Prints failures, and the numbers of calls and functions.
 */
#include "adversarial_calls.h"

/* One call: its arguments, and the memory for its outputs */
typedef struct call {
    const function *function;
    argument arguments[MAX_PARAMETERS];
    uint8_t outputs[MAX_PARAMETERS][MAX_OUTPUT];
} call;

static void fill(call *self, fixture *fixture, const function *function) {
    int is_commit = strcmp(function->name, "milepost_endpoint_handle_commit_result") == 0;
    self->function = function;
    memset(self->outputs, 0xaa, sizeof self->outputs);
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        argument *argument = &self->arguments[i];
        memset(argument, 0, sizeof *argument);
        switch (parameter->form) {
            case HANDLE:
                argument->pointer = fixture->handles[parameter->handle];
                break;
            case BYTES: {
                const char *text = valid_bytes(function->name, parameter->name);
                argument->pointer = text;
                self->arguments[i + 1].number = strlen(text);
                i++;
                break;
            }
            case ROWS:
                argument->pointer = fixture->rows;
                self->arguments[i + 1].number = fixture->rows_len;
                i++;
                break;
            case NUMBER:
                argument->number = 1;
                if (strcmp(parameter->name, "handle") == 0) {
                    argument->number = is_commit ? fixture->import_handle : fixture->request_handle;
                }
                break;
            case CHOICE:
                /* A setting, and the kind of an error. */
                argument->number = 3;
                break;
            case HASH:
                argument->pointer = &fixture->hash;
                break;
            case STORAGE:
                argument->pointer = &fixture->functions;
                break;
            case ARCHIVE:
                argument->pointer = &fixture->archive_functions;
                break;
            case SINK:
                argument->pointer = &fixture->hash;
                break;
            case FACTORY:
                argument->create = create_none;
                break;
            case ARCHIVE_FACTORY:
                argument->create_archive = create_no_archive;
                break;
            case CONTEXT:
                argument->pointer = &fixture->hash;
                break;
            case SIZED_OUTPUT:
                memcpy(self->outputs[i], &parameter->size, sizeof parameter->size);
                argument->pointer = self->outputs[i];
                break;
            case OUTPUT:
            case OUTPUT_HANDLE:
                argument->pointer = self->outputs[i];
                break;
            case LENGTH:
            case INDEX:
                break;
        }
    }
}

/* Makes the call, checks its outputs, and frees handles that it created */
static milepost_status_t run(call *self, const char *where) {
    const function *function = self->function;
    milepost_status_t status = function->call(self->arguments);
    calls++;
    if (!is_known(status) || status == MILEPOST_STATUS_PANIC) {
        report(function->name, where, "returned", status);
    }
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        void *handle;
        if (self->arguments[i].pointer != self->outputs[i] ||
            (parameter->form != OUTPUT && parameter->form != SIZED_OUTPUT &&
             parameter->form != OUTPUT_HANDLE)) {
            continue;
        }
        for (size_t j = parameter->form == SIZED_OUTPUT ? sizeof parameter->size : 0;
             status != MILEPOST_STATUS_OK && parameter->handle != ERROR && j < parameter->size;
             j++) {
            if (self->outputs[i][j] != 0) {
                report(function->name, where, "did not zero an output", status);
                break;
            }
        }
        if (strcmp(parameter->name, "output") == 0) {
            milepost_output output = {.size = sizeof output};
            memcpy(&output, self->outputs[i], sizeof output);
            milepost_response_free(output.response);
            milepost_import_summary_free(output.summary);
            milepost_chain_status_free(output.chain_status);
            milepost_json_free(output.proof);
            milepost_error_free(output.error);
        }
        if (parameter->form == OUTPUT_HANDLE) {
            memcpy(&handle, self->outputs[i], sizeof handle);
            /* Inside a callback it could not be freed. */
            int is_error = status != MILEPOST_STATUS_OK && status != MILEPOST_STATUS_REENTRANT;
            if (parameter->handle == ERROR && (handle != NULL) != is_error) {
                report(function->name, where, "returned an error object, or none", status);
            }
            free_handle(parameter->handle, handle);
        }
    }
    return status;
}

static void expect(call *self, const char *where, milepost_status_t expected) {
    milepost_status_t status = run(self, where);
    if (status != expected) {
        report(self->function->name, where, "returned", status);
    }
}

/* Runs statements with a new fixture and a valid call */
#define WITH(function, body)                 \
    do {                                     \
        fixture fixture_;                    \
        call call_;                          \
        set_up(&fixture_);                   \
        fill(&call_, &fixture_, (function)); \
        body;                                \
        tear_down(&fixture_);                \
    } while (0)

static void valid_arguments(const function *function) {
    if (function->in_callback) {
        WITH(function, expect(&call_, "outside a callback", MILEPOST_STATUS_STALE));
    } else {
        WITH(function, expect(&call_, "valid arguments", valid_status(function->name)));
    }
}

static void null_pointers(const function *function) {
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->form == LENGTH || parameter->form == NUMBER || parameter->form == CHOICE ||
            parameter->form == INDEX) {
            continue;
        }
        WITH(function, {
            int empty = (parameter->form == BYTES || parameter->form == ROWS) &&
                        call_.arguments[i + 1].number == 0;
            milepost_status_t expected = MILEPOST_STATUS_NULL;
            if (parameter->optional || empty || parameter->form == CONTEXT) {
                expected =
                    function->in_callback ? MILEPOST_STATUS_STALE : valid_status(function->name);
                if (parameter->handle == ENGINE) {
                    expected = MILEPOST_STATUS_OK;
                }
            }
            call_.arguments[i].pointer = NULL;
            if (parameter->form == FACTORY) {
                call_.arguments[i].create = NULL;
            }
            if (parameter->form == ARCHIVE_FACTORY) {
                call_.arguments[i].create_archive = NULL;
            }
            expect(&call_, parameter->name, expected);
        });
    }
}

static void invalid_lengths(const function *function) {
    static const uint64_t TOO_LONG[] = {SIZE_MAX, (uint64_t)SIZE_MAX - 1,
                                        (uint64_t)SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->form != BYTES && parameter->form != ROWS) {
            continue;
        }
        for (size_t j = 0; j < sizeof TOO_LONG / sizeof *TOO_LONG; j++) {
            WITH(function, {
                call_.arguments[i + 1].number = TOO_LONG[j];
                call_.arguments[i].pointer = fixture_.rows;
                expect(&call_, parameter->name, MILEPOST_STATUS_LENGTH);
            });
        }
        /* With length 0 NULL and an invalid address are accepted. */
        WITH(function, {
            call_.arguments[i].pointer = NULL;
            call_.arguments[i + 1].number = 0;
            run(&call_, parameter->name);
        });
        WITH(function, {
            call_.arguments[i].pointer = (const void *)(uintptr_t)1;
            call_.arguments[i + 1].number = 0;
            run(&call_, parameter->name);
        });
        if (parameter->form == ROWS) {
            WITH(function, {
                call_.arguments[i].pointer = (const uint8_t *)fixture_.rows + 1;
                call_.arguments[i + 1].number = 1;
                expect(&call_, "a misaligned address", MILEPOST_STATUS_LENGTH);
            });
            WITH(function, {
                fixture_.rows[0].present = 2;
                call_.arguments[i + 1].number = 1;
                expect(&call_, "a row with present 2", MILEPOST_STATUS_ENUM);
            });
            WITH(function, {
                fixture_.rows[0].present = 1;
                fixture_.rows[0].bytes.len = SIZE_MAX;
                fixture_.rows[0].bytes.data = bytes(BLOCK);
                call_.arguments[i + 1].number = 1;
                expect(&call_, "a row that is too long", MILEPOST_STATUS_LENGTH);
            });
        }
    }
}

/* Flips bytes of the input, and truncates it; each call must return some status */
static void damaged_inputs(const function *function) {
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        const char *valid;
        size_t len;
        if (parameter->form != BYTES) {
            continue;
        }
        valid = valid_bytes(function->name, parameter->name);
        len = strlen(valid);
        for (size_t at = 0; at < len; at += len < 64 ? 1 : len / 32) {
            uint8_t text[4096];
            if (len > sizeof text) {
                break;
            }
            memcpy(text, valid, len);
            text[at] ^= 0xff;
            WITH(function, {
                call_.arguments[i].pointer = text;
                run(&call_, "a flipped byte");
            });
            WITH(function, {
                call_.arguments[i + 1].number = at;
                run(&call_, "a truncated text");
            });
        }
    }
}

static void invalid_numbers(const function *function) {
    static const int32_t UNDEFINED[] = {0, -1, 127, 1000, INT32_MAX, INT32_MIN};
    static const uint64_t ANY[] = {0, 1, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        for (size_t j = 0; parameter->form == CHOICE && j < sizeof UNDEFINED / sizeof *UNDEFINED;
             j++) {
            WITH(function, {
                call_.arguments[i].number = (uint64_t)(int64_t)UNDEFINED[j];
                expect(&call_, parameter->name, MILEPOST_STATUS_ENUM);
            });
        }
        for (size_t j = 0; parameter->form == INDEX && j < 2; j++) {
            WITH(function, {
                call_.arguments[i].number = j == 0 ? SIZE_MAX : 1000;
                milepost_status_t status = run(&call_, parameter->name);
                if (status != MILEPOST_STATUS_INDEX && status != MILEPOST_STATUS_USAGE) {
                    report(function->name, parameter->name, "returned", status);
                }
            });
        }
        for (size_t j = 0; parameter->form == NUMBER && j < sizeof ANY / sizeof *ANY; j++) {
            WITH(function, {
                call_.arguments[i].number = ANY[j];
                run(&call_, parameter->name);
            });
        }
    }
}

/* Sizes that no version of a structure has, and those of versions with fewer and more members */
static void sizes_of_structures(const function *function) {
    static const size_t INVALID[] = {0, 1, sizeof(size_t), 20, 4097, SIZE_MAX};
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->form != SIZED_OUTPUT) {
            continue;
        }
        for (size_t j = 0; j < sizeof INVALID / sizeof *INVALID; j++) {
            WITH(function, {
                memcpy(call_.outputs[i], &INVALID[j], sizeof INVALID[j]);
                milepost_status_t status = call_.function->call(call_.arguments);
                if (status != MILEPOST_STATUS_LENGTH || call_.outputs[i][sizeof(size_t)] != 0xaa) {
                    report(function->name, "an invalid size", "returned", status);
                }
            });
        }
        for (size_t size = 2 * sizeof(size_t); size <= parameter->size + 16;
             size += sizeof(size_t)) {
            WITH(function, {
                memcpy(call_.outputs[i], &size, sizeof size);
                milepost_status_t status = call_.function->call(call_.arguments);
                if (status != valid_status(function->name)) {
                    report(function->name, "another size", "returned", status);
                }
                for (size_t j = parameter->size; j < size; j++) {
                    if (call_.outputs[i][j] != 0) {
                        report(function->name, "a larger size", "did not zero the rest", (long)j);
                    }
                }
                if (call_.outputs[i][size] != 0xaa) {
                    report(function->name, "another size", "wrote beyond it", (long)size);
                }
            });
        }
    }
}

/* Handles that were freed or have another type; only checked builds detect them */
static void stale_handles(const function *function) {
    for (size_t i = 0; i < function->len; i++) {
        const parameter *parameter = &function->parameters[i];
        if (parameter->form != HANDLE) {
            continue;
        }
        WITH(function, {
            free_handle(parameter->handle, fixture_.handles[parameter->handle]);
            expect(&call_, "a freed handle", MILEPOST_STATUS_STALE);
        });
        for (int type = NO_HANDLE + 1; type < HANDLES; type++) {
            if ((handle)type != parameter->handle) {
                WITH(function, {
                    call_.arguments[i].pointer = fixture_.handles[type];
                    expect(&call_, "a handle of another type", MILEPOST_STATUS_STALE);
                });
            }
        }
        WITH(function, {
            call_.arguments[i].pointer = &fixture_;
            expect(&call_, "not a handle", MILEPOST_STATUS_STALE);
        });
    }
}

/* A call to make inside a callback */
typedef struct inside {
    fixture fixture;
    call call;
} inside;

static void call_inside(void *context) {
    inside *self = (inside *)context;
    expect(&self->call, "inside a callback", MILEPOST_STATUS_REENTRANT);
    for (int type = NO_HANDLE + 1; type < HANDLES; type++) {
        /* Frees nothing: they are used afterwards. */
        free_handle((handle)type, self->fixture.handles[type]);
    }
}

static void reentrant_calls(const function *function) {
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
        must(milepost_engine_import_block(engine, bytes(BLOCK), sizeof BLOCK - 1, NULL, NULL),
             "a block with a re-entrant callback");
        /* Error objects of calls inside the callback could not be freed there. */
        for (size_t i = 0; i < function->len; i++) {
            void *error;
            if (function->parameters[i].form == OUTPUT_HANDLE &&
                function->parameters[i].handle == ERROR) {
                memcpy(&error, inside.call.outputs[i], sizeof error);
                free_handle(ERROR, error);
            }
        }
        fill(&inside.call, &inside.fixture, function);
        expect(&inside.call, "after the callback", valid_status(function->name));
        milepost_engine_free(engine);
        reached = store.calls > at;
        store_clear(&store);
        tear_down(&inside.fixture);
    }
}

static void invalid_structures(void) {
    fixture fixture;
    milepost_engine *engine;
    set_up(&fixture);
    for (size_t size = 0; size < 2 * sizeof(milepost_storage); size++) {
        struct {
            milepost_storage known;
            uint8_t unknown[sizeof(milepost_storage)];
        } other = {fixture.functions, {1}};
        /* Members were added after `commit`, one at a time. */
        int is_of_a_release = size > offsetof(milepost_storage, commit) &&
                              size <= sizeof other.known && size % sizeof(void *) == 0;
        milepost_status_t expected = is_of_a_release ? MILEPOST_STATUS_OK : MILEPOST_STATUS_LENGTH;
        other.known.size = size;
        other.known.finalize = NULL;
        calls++;
        if (milepost_engine_new_over(&other.known, NULL, &engine, NULL) != expected) {
            report("milepost_engine_new_over", "size", "accepted a structure of", (long)size);
        }
        milepost_engine_free(engine);
    }
    for (int missing = 0; missing < 2; missing++) {
        milepost_storage other = fixture.functions;
        if (missing == 0) {
            other.get = NULL;
        } else {
            other.commit = NULL;
        }
        calls++;
        if (milepost_engine_new_over(&other, NULL, &engine, NULL) != MILEPOST_STATUS_NULL ||
            engine != NULL) {
            report("milepost_engine_new_over", "function", "accepted a structure without", missing);
        }
    }
    for (size_t size = 0; size < 2 * sizeof(milepost_archive); size++) {
        struct {
            milepost_archive known;
            uint8_t unknown[sizeof(milepost_archive)];
        } other = {fixture.archive_functions, {1}};
        int is_of_a_release = size > offsetof(milepost_archive, scan) &&
                              size <= sizeof other.known && size % sizeof(void *) == 0;
        /* Some of the functions that write, and not all of them */
        int is_torn = size > offsetof(milepost_archive, put_many) + sizeof(void *) - 1 &&
                      size <= offsetof(milepost_archive, remove_many);
        milepost_status_t expected = MILEPOST_STATUS_LENGTH;
        if (is_of_a_release) {
            expected = is_torn ? MILEPOST_STATUS_NULL : MILEPOST_STATUS_OK;
        }
        other.known.size = size;
        calls++;
        if (milepost_settings_set_archive((milepost_settings *)fixture.handles[SETTINGS],
                                          &other.known, NULL) != expected) {
            report("milepost_settings_set_archive", "size", "accepted a structure of", (long)size);
        }
    }
    for (milepost_isolation_t isolation = -1; isolation <= 2; isolation += 3) {
        milepost_storage other = fixture.functions;
        other.isolation = isolation;
        calls++;
        if (milepost_engine_new_over(&other, NULL, &engine, NULL) != MILEPOST_STATUS_ENUM) {
            report("milepost_engine_new_over", "isolation", "accepted isolation", isolation);
        }
    }
    if (fixture.store.finalized != 0) {
        report("milepost_engine_new_over", "finalize", "finalized a rejected storage",
               (long)fixture.store.finalized);
    }
    tear_down(&fixture);
    for (size_t i = 0; i < sizeof DESTRUCTORS / sizeof *DESTRUCTORS; i++) {
        DESTRUCTORS[i].call(NULL);
        calls++;
    }
}

int main(void) {
    size_t count = sizeof FUNCTIONS / sizeof *FUNCTIONS;
    for (size_t i = 0; i < 2 * count; i++) {
        const function *function = &FUNCTIONS[i / 2];
        with_engine = i % 2 == 0;
        valid_arguments(function);
        null_pointers(function);
        invalid_lengths(function);
        damaged_inputs(function);
        sizes_of_structures(function);
        invalid_numbers(function);
        reentrant_calls(function);
        if (CHECKED) {
            stale_handles(function);
        }
    }
    invalid_structures();
    printf("%zu calls, %zu failures, %zu functions\n", calls, failures, count);
    return failures == 0 ? 0 : 1;
}
