/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target as a test: replay ROUNDS FILE|FOLDER… runs each file, and ROUNDS changed copies of it. The changes come
 * from a generator with a fixed seed: every run is the same.
 */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Exact size on the heap, so that a sanitizer or valgrind sees each byte too far. */
static void run_one(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + (size == 0));

    if (copy == NULL) exit(2);
    if (size > 0) memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

/* A few bytes changed, left out, doubled, or taken from elsewhere. */
static size_t change(uint8_t *data, size_t size, uint64_t *state)
{
    static const char words[] = "->;\n\"\\*?$19#+/:\t kernel nvtx step begin request load";

    for (uint32_t n = next_random(state) % 4 + 1; n > 0 && size > 0; n--) {
        size_t at = next_random(state) % size, length = next_random(state) % (size - at) % 16 + 1;

        switch (next_random(state) % 4) {
        case 0:
            data[at] = (uint8_t)next_random(state);
            break;
        case 1:
            memmove(data + at, data + at + length, size - at - length);
            size -= length;
            break;
        case 2:
            if (size + length > MOST_BYTES) break;
            memmove(data + at + length, data + at, size - at);
            size += length;
            break;
        default:
            if (length > sizeof(words) - 1) length = sizeof(words) - 1;
            memcpy(data + at, words + next_random(state) % (sizeof(words) - length), length);
            break;
        }
    }
    return size;
}

static void run_file(const char *path, long rounds)
{
    static uint8_t original[MOST_BYTES], changed[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    uint64_t state = 1;
    size_t size;

    if (file == NULL) {
        perror(path);
        exit(2);
    }
    size = fread(original, 1, sizeof(original), file);
    fclose(file);
    run_one(original, size);
    for (long i = 0; i < rounds; i++) {
        memcpy(changed, original, size);
        run_one(changed, change(changed, size, &state));
    }
}

static void run_folder(DIR *folder, const char *path, long rounds)
{
    const struct dirent *entry;
    char file[PATH_MAX];

    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        run_file(file, rounds);
    }
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        DIR *folder = opendir(argv[i]);

        if (folder == NULL) {
            run_file(argv[i], atol(argv[1]));
        } else {
            run_folder(folder, argv[i], atol(argv[1]));
            closedir(folder);
        }
    }
    printf("%lu inputs\n", inputs);
    return inputs > 0 ? 0 : 2;
}
