"""PDF documents made by hand: the few objects of the format that the tests are about."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 595, 842
_LEFT, _TOP = 72, 770
_PITCH = 14


@dataclass(frozen=True)
class Run:
    """A line of text at a place of a page."""

    text: str
    down: float = _PITCH
    left: float = _LEFT
    size: int = 11


def content(lines: Iterable[str | Run]) -> bytes:
    """Return what draws lines on a page, from its top down; an empty line is a gap."""
    y: float = _TOP
    drawn = []
    for line in lines:
        run = line if isinstance(line, Run) else Run(line)
        if run.text:
            text = run.text.translate({40: r"\(", 41: r"\)", 92: r"\\"})
            drawn.append(f"BT /F1 {run.size} Tf {run.left} {y} Td ({text}) Tj ET")
        y -= run.down
    return "\n".join(drawn).encode("cp1252")


IMAGE = b"q 400 0 0 400 72 72 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"
"""What draws a grey square: a page that was scanned."""

UNKNOWN_CHARACTERS = b"BT /F2 11 Tf 72 700 Td <0003000400050006000700080009000a> Tj ET"
"""What draws letters of a font that says nowhere which letters they are."""


def document(
    pages: Sequence[bytes], *, title: str = "", encrypted: bool = False, compressed: bool = False
) -> bytes:
    """Return a document whose pages are drawn by these content streams."""
    fonts = (
        "<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
        " /F2 << /Type /Font /Subtype /Type0 /BaseFont /None /Encoding /Identity-H"
        " /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /None"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
        " /FontDescriptor << /Type /FontDescriptor /FontName /None /Flags 4 >> >>] >> >>"
    )
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        f"<< /Title ({title}) >>".encode("cp1252"),
    ]
    for i, page in enumerate(pages):
        data = zlib.compress(page) if compressed else page
        how = "/Filter /FlateDecode " if compressed else ""
        objects += [
            (
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}]"
                f" /Resources << /Font {fonts} >> /Contents {5 + 2 * i} 0 R >>"
            ).encode(),
            f"<< {how}/Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream",
        ]
    trailer = f"/Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R"
    if encrypted:  # keys that no password opens
        key = "<" + "5a" * 32 + ">"
        trailer += (
            f" /Encrypt << /Filter /Standard /V 1 /R 2 /O {key} /U {key} /P -4 >>"
            " /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]"
        )
    return _file(objects, trailer)


def _file(objects: Sequence[bytes], trailer: str) -> bytes:
    data = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        data += b"%010d 00000 n \n" % offset
    data += f"trailer\n<< {trailer} >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(data)
