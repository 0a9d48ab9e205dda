/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scanner for declarations only; function bodies are skipped by counting braces.
 *   .version 8.0                                   must be there
 *   .visible .entry NAME ( .param .u64 NAME, .param .align 8 .b8 NAME[24] )
 *   .global .align 4 .f32 NAME[16];   .const .b8 NAME[4] = {...};
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

enum { TOKEN_BYTES = 1024 };

struct scanner {
    const char *at;
    char token[TOKEN_BYTES]; /* one word or one punctuation character; empty at the end */
};

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_blank(struct scanner *scanner)
{
    for (;;) {
        while (isspace((unsigned char)*scanner->at)) {
            scanner->at++;
        }
        if (strncmp(scanner->at, "//", 2) == 0) {
            scanner->at += strcspn(scanner->at, "\n");
        } else if (strncmp(scanner->at, "/*", 2) == 0) {
            const char *end = strstr(scanner->at + 2, "*/");

            scanner->at = end != NULL ? end + 2 : scanner->at + strlen(scanner->at);
        } else {
            return;
        }
    }
}

static const char *next(struct scanner *scanner)
{
    size_t length = 0;

    skip_blank(scanner);
    if (*scanner->at != '\0' && !word_character(*scanner->at)) {
        scanner->token[length++] = *scanner->at++;
    } else {
        for (; word_character(*scanner->at); scanner->at++) {
            if (length < TOKEN_BYTES - 1) {
                scanner->token[length++] = *scanner->at;
            }
        }
    }
    scanner->token[length] = '\0';
    return scanner->token;
}

static bool is(const struct scanner *scanner, const char *text)
{
    return strcmp(scanner->token, text) == 0;
}

/* Bytes of a type such as `.u64`; 0 for any other word. */
static unsigned type_bytes(const char *word)
{
    static const struct {
        const char *bits;
        unsigned bytes;
    } widths[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}, {"128", 16}};

    if (strcmp(word, ".texref") == 0 || strcmp(word, ".samplerref") == 0 || strcmp(word, ".surfref") == 0) {
        return 8;
    }
    if (word[0] != '.' || strchr("usbf", word[1]) == NULL || word[1] == '\0') {
        return 0;
    }
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        if (strcmp(word + 2, widths[i].bits) == 0) {
            return widths[i].bytes;
        }
    }
    return 0;
}

struct declaration {
    char name[TOKEN_BYTES];
    size_t bytes;
    unsigned align;
    bool managed;
};

/* `.align 8 .b8 NAME[24]` up to the first of , ) ; = which is left as the current token. */
static bool parse_declaration(struct scanner *scanner, struct declaration *out)
{
    unsigned element = 0;
    size_t count = 1;
    bool pointer = false;

    out->name[0] = '\0';
    out->align = 0;
    out->managed = false;
    for (;;) {
        const char *word = next(scanner);

        if (*word == '\0') {
            return false;
        }
        if (strchr(",);=", *word) != NULL) {
            break;
        }
        if (*word == '[') {
            next(scanner);
            count *= isdigit((unsigned char)scanner->token[0]) ? strtoul(scanner->token, NULL, 0) : 0;
            while (!is(scanner, "]") && *next(scanner) != '\0') {
            }
        } else if (strcmp(word, ".attribute") == 0) {
            while (!is(scanner, ")") && *next(scanner) != '\0') {
                out->managed = out->managed || is(scanner, ".managed");
            }
        } else if (strcmp(word, ".v2") == 0 || strcmp(word, ".v4") == 0) {
            count *= (size_t)(word[2] - '0');
        } else if (strcmp(word, ".align") == 0) {
            unsigned align = (unsigned)strtoul(next(scanner), NULL, 0);

            out->align = pointer ? out->align : align; /* after .ptr it speaks of what is pointed to */
        } else if (strcmp(word, ".ptr") == 0) {
            pointer = true;
        } else if (type_bytes(word) != 0) {
            element = type_bytes(word);
        } else if (*word != '.') {
            strcpy(out->name, word);
        }
    }
    out->bytes = element * count;
    out->align = out->align != 0 ? out->align : element;
    return out->name[0] != '\0' && element != 0 && (out->align & (out->align - 1)) == 0;
}

static bool parse_entry(struct scanner *scanner, struct sim_image *image)
{
    const char *name = next(scanner);
    struct sim_image_entry *entry;
    struct declaration param;
    size_t offset = 0;

    if (!word_character(*name)) {
        return false;
    }
    entry = sim_image_add_entry(image, name);
    if (entry == NULL) {
        return false;
    }
    entry->params_known = true;
    if (*next(scanner) != '(') {
        return true; /* no parameters; the body or the directives before it follow */
    }
    skip_blank(scanner);
    if (*scanner->at == ')') {
        next(scanner);
        return true;
    }
    do {
        if (entry->param_count == SIM_IMAGE_PARAMS_MAX || !parse_declaration(scanner, &param)) {
            return false;
        }
        offset = (offset + param.align - 1) & ~(size_t)(param.align - 1);
        if (!sim_image_set_param(entry, entry->param_count, (unsigned)param.bytes, (unsigned)offset)) {
            return false;
        }
        offset += param.bytes;
    } while (is(scanner, ","));
    return is(scanner, ")");
}

static bool parse_variable(struct scanner *scanner, struct sim_image *image)
{
    struct declaration variable;

    return parse_declaration(scanner, &variable) &&
           sim_image_add_variable(image, variable.name, variable.bytes, variable.managed);
}

bool sim_ptx_parse(struct sim_image *image, const char *text)
{
    struct scanner scanner = {.at = text};
    bool versioned = false;
    unsigned depth = 0;

    for (;;) {
        const char *token = next(&scanner);

        if (*token == '\0') {
            return versioned && depth == 0;
        }
        if (*token == '{') {
            depth++;
        } else if (*token == '}') {
            depth -= depth > 0;
        } else if (depth > 0) {
            continue;
        } else if (strcmp(token, ".version") == 0) {
            versioned = true;
        } else if (strcmp(token, ".entry") == 0) {
            if (!parse_entry(&scanner, image)) {
                return false;
            }
            depth += is(&scanner, "{"); /* the entry without parameters ended there */
        } else if ((strcmp(token, ".global") == 0 || strcmp(token, ".const") == 0) &&
                   !parse_variable(&scanner, image)) {
            return false;
        }
    }
}
