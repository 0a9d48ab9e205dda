/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs of the stage map and the expansion of $1 … $9. Pure functions of their arguments: any thread,
 * no allocation, no locale. Patterns come from the user, texts from the program under test; both are
 * walked byte by byte, and `?` takes a whole UTF-8 character.
 */
#include "config/map.h"

#include <string.h>

static const char *next_character(const char *at)
{
    at++;
    while (((unsigned char)*at & 0xC0) == 0x80) at++;
    return at;
}

/*
 * Only the last star is ever widened: what the stars before it took is the shortest that could match, and
 * a longer take there can never make a later part match that does not match now.
 */
bool st_map_glob(const char *pattern, const char *text, struct st_map_capture *ret_captures)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES] = {{0}};
    const char *after_star = NULL; /* pattern behind the last star */
    const char *star_begin = NULL; /* what that star matches: [star_begin, star_end) */
    const char *star_end = NULL;
    int star = -1;

    for (;;) {
        if (*pattern == '*') {
            if (star >= 0 && star < ST_MAP_MAX_CAPTURES)
                captures[star] = (struct st_map_capture){star_begin, (size_t)(star_end - star_begin)};
            star++;
            after_star = ++pattern;
            star_begin = star_end = text;
        } else if (*text != '\0' && *pattern == '?') {
            pattern++;
            text = next_character(text);
        } else if (*text != '\0' && *pattern == *text) {
            pattern++;
            text++;
        } else if (*text == '\0' && *pattern == '\0') {
            break;
        } else if (after_star == NULL || *star_end == '\0') {
            return false;
        } else {
            pattern = after_star;
            text = ++star_end;
        }
    }
    if (star >= 0 && star < ST_MAP_MAX_CAPTURES)
        captures[star] = (struct st_map_capture){star_begin, (size_t)(star_end - star_begin)};
    if (ret_captures != NULL) memcpy(ret_captures, captures, sizeof(captures));
    return true;
}

/*
 * As a match of `other` as a text in which a star of `pattern` may take anything, and a star of `other` can be taken by
 * nothing else.
 */
bool st_map_covers(const char *pattern, const char *other)
{
    const char *after_star = NULL, *star_end = NULL;

    for (;;) {
        if (*pattern == '*') {
            after_star = ++pattern;
            star_end = other;
        } else if (*other != '\0' && *other != '*' && *pattern == '?') {
            pattern++;
            other = next_character(other);
        } else if (*other != '\0' && *other != '*' && *other != '?' && *pattern == *other) {
            pattern++;
            other++;
        } else if (*other == '\0' && *pattern == '\0') {
            return true;
        } else if (after_star == NULL || *star_end == '\0') {
            return false;
        } else {
            pattern = after_star;
            other = ++star_end;
        }
    }
}

size_t st_map_expand(const char *name, const struct st_map_capture *captures, char *ret, size_t size)
{
    size_t used = 0;

    if (size == 0) return 0;
    while (*name != '\0') {
        const char *piece = name;
        size_t length = 1;
        if (name[0] == '$' && name[1] >= '1' && name[1] <= '9') {
            const struct st_map_capture *capture = &captures[name[1] - '1'];
            piece = capture->begin;
            length = piece != NULL ? capture->length : 0;
            name++;
        }
        name++;
        if (length > size - 1 - used) length = size - 1 - used;
        if (length > 0) memcpy(ret + used, piece, length);
        used += length;
    }
    ret[used] = '\0';
    return used;
}
