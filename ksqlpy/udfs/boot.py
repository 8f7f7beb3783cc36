"""What Python is started with, as ``-c``: it runs the files that come over its standard input, in one namespace.

The file ``declare`` becomes a module: it is what users' files import as ``ksqlpy``, whether or not that is installed.

First comes a line with their number, then of each a line with its name and its length, and its text. What follows
belongs to the files: nothing is read beyond them.
"""

import os
import sys
import types


def _take(length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = os.read(0, length - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def _line() -> str:
    data = b""
    while not data.endswith(b"\n"):
        data += _take(1)
    return data.decode()


for _ in range(int(_line()) if __name__ == "__main__" else 0):
    _name, _length = _line().split()
    _space = globals()
    if _name == "declare":
        sys.modules["ksqlpy"] = types.ModuleType("ksqlpy")
        _space = vars(sys.modules["ksqlpy"])
    exec(compile(_take(int(_length)), f"<ksqlpy {_name}>", "exec"), _space)
