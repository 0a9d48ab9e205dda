// SPDX-License-Identifier: Apache-2.0
// printer_streams KIND: printer.h by iostreams.
#include "printer.h"

#include <cstring>
#include <iostream>

static void by_cout(const char *line)
{
    std::cout << line << "\n";
}

static void by_endl(const char *line)
{
    std::cout << line << std::endl;
}

static void by_cerr(const char *line) // a system call for each piece
{
    std::cerr << line << '\n';
}

static void by_clog(const char *line)
{
    std::clog << line << '\n';
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";

    std::ios::sync_with_stdio(std::strncmp(kind, "nosync", 6) != 0);
    if (!std::strcmp(kind, "cout") || !std::strcmp(kind, "nosync-late"))
        printer_run(by_cout);
    else if (!std::strcmp(kind, "endl") || !std::strcmp(kind, "nosync-endl"))
        printer_run(by_endl);
    else if (!std::strcmp(kind, "cerr"))
        printer_run(by_cerr);
    else if (!std::strcmp(kind, "clog"))
        printer_run(by_clog);
    else
        return 2;
    return 0;
}
