/*
 * Programs with a defect, one for each kind that a tool has to detect:
 * `defects heap|inside|undefined|leak|race`. A tool that misses one would miss it in the library
 * too.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "milepost.h"

static int counter;

static void *count(void *unused) {
    for (int i = 0; i < 100000; i++) {
        counter++;
    }
    return unused;
}

int main(int argc, char **argv) {
    const char *defect = argc == 2 ? argv[1] : "";
    char *volatile text = (char *)malloc(64);
    memset(text, '[', 64);
    if (strcmp(defect, "heap") == 0) {
        free(text);
        return text[1] == '[';
    }
    if (strcmp(defect, "inside") == 0) {
        /* The library reads it. */
        milepost_request *request;
        free(text);
        return milepost_request_parse(NULL, (const uint8_t *)text, 64, NULL, 0, &request, NULL);
    }
    if (strcmp(defect, "undefined") == 0) {
        volatile int number = INT_MAX;
        free(text);
        number = number + argc;
        return number == 7;
    }
    if (strcmp(defect, "leak") == 0) {
        text = NULL;
        return text == NULL ? 0 : 1;
    }
    if (strcmp(defect, "race") == 0) {
        pthread_t threads[2];
        free(text);
        for (int i = 0; i < 2; i++) {
            if (pthread_create(&threads[i], NULL, count, NULL) != 0) {
                return 3;
            }
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
        }
        return 0;
    }
    free(text);
    return strcmp(defect, "none") == 0 ? 0 : 2;
}
