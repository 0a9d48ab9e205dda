/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of C++ functions as people write them, from their symbols (Itanium C++ ABI, "External Names"): what a
 * `symbol` rule is matched with. Used by the preloaded library inside the loader's lock, where neither malloc nor
 * __cxa_demangle may be called, and by the analyzer. No allocation, no state, no recursion without bound; any thread.
 *
 *     _ZN3vae6decodeERK6Tensori                  vae::decode
 *     _ZNSt6vectorIiSaIiEE9push_backERKi         std::vector::push_back        template arguments are dropped,
 *     _ZNK3net5ModelclEv                         net::Model::operator()        and parameters, and results
 *     _ZN12_GLOBAL__N_14stepEv                   (anonymous namespace)::step
 *     _ZZN3vae6decodeEiENKUliE0_clEi             vae::decode::{lambda#2}::operator()
 *     _ZN5ImageC2Ev, _ZN5ImageD0Ev               Image::Image, Image::~Image
 *     _ZThn16_N3net5Model3runEv                  net::Model::run               the way there by a base class
 */
#ifndef ST_CONFIG_CXX_NAME_H
#define ST_CONFIG_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "config/map.h"

#define ST_CXX_NAME_BYTES 1024

/* The qualified name of the function that `symbol` stands for; what follows a dot (.cold, .part.0) is ignored. False:
 * no C++ function, a form that is not known, or no room. */
bool st_cxx_name(const char *symbol, char *ret, size_t size);

/* Is `symbol` a C++ function that surely takes nothing but numbers and pointers: no class by value, nothing variable?
 * (Enumerations look like classes.) */
bool st_cxx_has_small_arguments(const char *symbol);

/* The longest piece of a pattern that every symbol contains which the pattern matches, as symbol or as name: for a
 * quick look before the name is made. Returns its length, 0: there is none. */
size_t st_cxx_pattern_key(const char *pattern, const char **ret_key);

/* Does the pattern match the symbol as it stands, or the C++ function's name? `name`: from st_cxx_name(), or NULL.
 * Captures as st_map_glob(). */
bool st_cxx_matches(const char *pattern, const char *symbol, const char *name, struct st_map_capture *ret_captures);

#endif
