# SPDX-License-Identifier: Apache-2.0
"""The first extension module is imported inside a function that a rule names."""


def work():
    from launching import launch
    from studio.pipe import Pipe

    launch()
    Pipe()()


if __name__ == '__main__':
    work()
