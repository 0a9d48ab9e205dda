# SPDX-License-Identifier: Apache-2.0
"""Functions as programs name, wrap and bind them. Each launches once and belongs to a rule of its own; what no rule can
name launches `none`."""

import contextlib
import functools
import operator

from launching import launch


def plain(turn=0):
    launch('named')


bound_early = functools.partial(plain, 1)


def told(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        launch('none')
        return function(*arguments, **named)

    return wrapper


@told
@told
def told_twice():
    launch('named')


@functools.lru_cache(maxsize=None)
def remembered():
    launch('named')


@functools.singledispatch
def dispatched(value):
    launch('named')


@contextlib.contextmanager
def managed():
    launch('named')
    yield
    launch('named')


def outer():
    def inner():
        launch('named')

    launch('none')
    inner()


def comprehended():
    return [launch('named') for _ in range(2)]


def patched(self):
    launch('named')


def größe():
    launch('named')


def renamed():
    launch('named')


renamed.__name__ = renamed.__qualname__ = 'other_name'
short = lambda: launch('named')  # noqa: E731


def by_number(number):
    launch('none')
    return number


class Meta(type):
    def made(cls):
        launch('named')

    def __call__(cls, *arguments):
        launch('named')
        return super().__call__(*arguments)


class Owner(metaclass=Meta):
    later = patched

    def __init__(self):
        launch('named')

    def __call__(self):
        launch('named')

    def __enter__(self):
        launch('named')

    def __exit__(self, *error):
        launch('named')

    def __getattr__(self, name):
        launch('named')

    def method(self):
        launch('named')

    @classmethod
    def of_class(cls):
        launch('named')

    @staticmethod
    def of_none():
        launch('named')

    @property
    def value(self):
        launch('named')

    @value.setter
    def value(self, new):
        launch('named')

    @value.deleter
    def value(self):
        launch('named')

    @functools.cached_property
    def once(self):
        launch('named')

    def _with(self, number):
        launch('named')

    with_one = functools.partialmethod(_with, 1)

    @classmethod
    @told
    def told_of_class(cls):
        launch('named')

    class Inner:
        def deep(self):
            launch('named')

        class Most:
            def deeper(self):
                launch('named')


def main():
    launch('none')
    bound_early()
    told_twice()
    remembered(), remembered()
    dispatched(1)
    with managed():
        launch('none')
    outer()
    comprehended()
    renamed()
    short()
    owner = Owner()
    owner()
    with owner:
        launch('none')
    owner.no_such
    bound = owner.method
    bound()
    operator.methodcaller('method')(owner)  # called by C
    Owner.of_class(), Owner.of_none(), Owner.made(), Owner.told_of_class()
    owner.value
    owner.value = 1
    del owner.value
    owner.once, owner.once
    owner.with_one()
    owner.later()
    Owner.Inner().deep()
    Owner.Inner.Most().deeper()
    größe()
    made = {'__name__': 'made', 'launch': launch}
    exec('def at_run_time():\n    launch("named")\n', made)
    made['at_run_time']()
    sorted([2, 1], key=by_number)
    launch('none')


main()
