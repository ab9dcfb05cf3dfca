/*
 * Two libraries in Rust in one program: both allocate, both fail, and both go on.
 */
#include <milepost.h>
#include <stdio.h>
#include <string.h>

int stranger_doubles(int number);

int main(void) {
    const char *request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"EXPERIMENTAL_protocol_config\",\"params\":{}}";
    milepost_engine *engine;
    milepost_answer *answer;
    milepost_bytes body;
    if (stranger_doubles(21) != -1 || stranger_doubles(4) != 8) {
        return 1;
    }
    if (milepost_engine_new(NULL, &engine, NULL) != MILEPOST_STATUS_OK ||
        milepost_engine_answer(engine, (const uint8_t *)request, strlen(request), NULL, 0, &answer, NULL) !=
            MILEPOST_STATUS_OK ||
        milepost_answer_body(answer, &body) != MILEPOST_STATUS_OK) {
        return 2;
    }
    printf("%.*s\n", (int)body.len, (const char *)body.data);
    milepost_answer_free(answer);
    milepost_engine_free(engine);
    return stranger_doubles(23) == -1 ? 0 : 3;
}
