"""PDF files for tests."""

from __future__ import annotations

import io


def pdf(*pages: str, password: str = "", a_stands_for: str = "") -> bytes:
    """A PDF with a line of text on each page. `a_stands_for` is the UTF-16, in hexadecimal digits,
    that its font gives as the meaning of the letter A."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    if a_stands_for:
        meanings = DecodedStreamObject()
        codes = "1 begincodespacerange <00> <ff> endcodespacerange"
        one = f"1 beginbfchar <41> <{a_stands_for}> endbfchar"
        meanings.set_data(f"begincmap {codes} {one} endcmap".encode())
        font[NameObject("/ToUnicode")] = writer._add_object(meanings)
    for line in pages:
        page = writer.add_blank_page(200, 200)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({line}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def heavy_pdf(pages: int, operators: int) -> bytes:
    """A small PDF that is much work: its pages share one long stream."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import DecodedStreamObject, NameObject

    writer = PdfWriter(PdfReader(io.BytesIO(pdf("tea"))))
    fonts = writer.pages[0][NameObject("/Resources")]
    stream = DecodedStreamObject()
    stream.set_data(b"BT /F1 12 Tf 10 100 Td (tea) Tj ET\n" * (operators // 5))
    shared = writer._add_object(stream.flate_encode())
    for _ in range(pages):
        page = writer.add_blank_page(200, 200)
        page[NameObject("/Resources")] = fonts
        page[NameObject("/Contents")] = shared
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()
