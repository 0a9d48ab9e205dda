// SPDX-License-Identifier: Apache-2.0
// hidden_stages: two pictures whose stage functions are in no symbol table and partly in no call: hidden, inlined, stripped.
// Only what they print tells of them, as printer.h says it; the stages throw and recurse.
#include "printer.h"

#include <iostream>
#include <stdexcept>
#include <string>

namespace {

struct latents {
    double values[8];
};

[[gnu::noinline]] latents encode(const std::string &prompt)
{
    std::cout << "encode " << prompt << std::endl;
    printer_launch(3);
    return {};
}

inline void step(int at, int of)
{
    printer_launch(2);
    std::cout << "step " << at << "/" << of << std::endl;
}

[[gnu::noinline]] void sample(int at, latents &x)
{
    if (at > PRINTER_STEPS)
        throw std::runtime_error("sampled");
    step(at, PRINTER_STEPS);
    sample(at + 1, x);
}

[[gnu::always_inline]] inline void decode()
{
    std::cout << "decode" << std::endl;
    printer_launch(5);
}

} // namespace

int main()
{
    for (int picture = 1; picture <= PRINTER_PICTURES; picture++) {
        std::cout << "picture " << picture << std::endl;
        latents x = encode("a cat");
        std::cout << "sample" << std::endl;
        try {
            sample(1, x);
        } catch (const std::runtime_error &) {
            decode();
        }
        std::cout << "saved" << std::endl;
    }
    return 0;
}
