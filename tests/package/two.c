/*
 * Two Rust libraries in one program: both allocate, both handle a panic, and both still work.
 */
#include <milepost.h>
#include <stdio.h>
#include <string.h>

int other_doubles(int number);

int main(void) {
    const char *request =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"EXPERIMENTAL_protocol_config\",\"params\":{}}";
    milepost_engine *engine;
    milepost_response *response;
    milepost_bytes body;
    if (other_doubles(21) != -1 || other_doubles(4) != 8) {
        return 1;
    }
    if (milepost_engine_new(NULL, &engine, NULL) != MILEPOST_STATUS_OK ||
        milepost_engine_respond(engine, (const uint8_t *)request, strlen(request), NULL, 0,
                                &response, NULL) != MILEPOST_STATUS_OK ||
        milepost_response_body(response, &body, NULL) != MILEPOST_STATUS_OK) {
        return 2;
    }
    printf("%.*s\n", (int)body.len, (const char *)body.data);
    milepost_response_free(response);
    milepost_engine_free(engine);
    return other_doubles(23) == -1 ? 0 : 3;
}
