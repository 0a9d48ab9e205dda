# SPDX-License-Identifier: Apache-2.0
"""Every function of tests/data/api_table.txt is a row of calls.def. Arguments: calls.def, api_table.txt."""
import re
import sys

import prototypes

WANTED = {'driver': (162, 311), 'runtime': (123, 184)}    # names, exported variants


def base_name(name):
    return re.sub(r'(_v\d+)?(_pt[sd][sz])?$', '', name)


def main():
    rows, table = prototypes.rows_of(sys.argv[1]), prototypes.api_table(sys.argv[2])
    failed = 0
    for layer, (bases, variants) in WANTED.items():
        listed = [name for where, name in table if where == layer]
        names = {name for where, name in rows if where == layer}
        missing = [name for name in listed if name not in names]
        extra = sorted(names - set(listed))
        counts = len({base_name(name) for name in listed}), len(listed)
        print(f'{layer}: {counts[0]} names, {counts[1]} variants; {len(missing)} without a row; '
              f'{len(extra)} further rows')
        for name in missing:
            print(f'  no row: {name}')
        print('  further:', ' '.join(extra) or 'none')
        failed += len(missing) + (counts != (bases, variants))
        if counts != (bases, variants):
            print(f'  api_table.txt should have {bases} names in {variants} variants')
    sys.exit(1 if failed else 0)


main()
