# /// script
# dependencies = ["deflate>=0.9,<1"]
# ///
"""Packs the wheels that are named as small as can be: what maturin packs is 5 % larger.

`uv run --no-project --script python/pack.py WHEEL…` replaces each, and fails if one is too large.
"""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import deflate

MOST = 20_000_000
"""Bytes of a wheel."""

DEFLATED, UTF8, UNIX, VERSION = 8, 1 << 11, 3 << 8, 20


def packed(wheel: Path) -> bytes:
    """Return the same archive, packed again."""
    body, central = bytearray(), bytearray()
    with zipfile.ZipFile(wheel) as archive:
        members = archive.infolist()
        for one in members:
            data = archive.read(one)
            small = deflate.deflate_compress(data, 12)
            name = one.filename.encode()
            year, month, day, hour, minute, second = one.date_time
            # What the header before a member and that in the directory have in common.
            common = struct.pack(
                "<5H3LH",
                *(VERSION, UTF8, DEFLATED),
                *(hour << 11 | minute << 5 | second // 2, year - 1980 << 9 | month << 5 | day),
                *(one.CRC, len(small), len(data), len(name)),
            )
            place = struct.pack("<4H2L", 0, 0, 0, 0, one.external_attr, len(body))
            central += b"PK\x01\x02" + struct.pack("<H", UNIX | VERSION) + common + place + name
            body += b"PK\x03\x04" + common + struct.pack("<H", 0) + name + small
    count = len(members)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(central), len(body), 0)
    return bytes(body + central + end)


def main() -> None:
    for wheel in map(Path, sys.argv[1:]):
        before = wheel.stat().st_size
        made = wheel.with_suffix(".packed")
        made.write_bytes(packed(wheel))
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made) as new:
            if old.namelist() != new.namelist() or new.testzip() is not None:
                sys.exit(f"{wheel.name} was not packed right")
        made.replace(wheel)
        size = wheel.stat().st_size
        print(f"{wheel.name}: {before} bytes, packed again {size}")
        if size > MOST:
            sys.exit(f"{wheel.name} has {size} bytes, and may have {MOST}")


if __name__ == "__main__":
    main()
