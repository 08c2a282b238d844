"""From the number of a collation to its character set, and from bytes in it to text.

The numbers are those of MariaDB 10.11 (information_schema.COLLATIONS) and, for utf8mb4 from 255 on and gb18030, of MySQL 8.4.
"""

import codecs
from collections.abc import Callable

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.values.single_byte import TABLES

BINARY = "binary"

_COLLATIONS = """
armscii8 32 64 1056 1088
ascii 11 65 1035 1089
big5 1 84 1025 1108
binary 63
cp1250 26 34 44 66 99 1050 1090
cp1251 14 23 50-52 1074-1075
cp1256 57 67 1081 1091
cp1257 29 58-59 1082-1083
cp850 4 80 1028 1104
cp852 40 81 1064 1105
cp866 36 68 1060 1092
cp932 95-96 1119-1120
dec8 3 69 1027 1093
eucjpms 97-98 1121-1122
euckr 19 85 1043 1109
gb2312 24 86 1048 1110
gbk 28 87 1052 1111
geostd8 92-93 1116-1117
greek 25 70 1049 1094
hebrew 16 71 1040 1095
hp8 6 72 1030 1096
keybcs2 37 73 1061 1097
koi8r 7 74 1031 1098
koi8u 22 75 1046 1099
latin1 5 8 15 31 47-49 94 1032 1071
latin2 2 9 21 27 77 1033 1101
latin5 30 78 1054 1102
latin7 20 41-42 79 1065 1103
macce 38 43 1062 1067
macroman 39 53 1063 1077
sjis 13 88 1037 1112
swe7 10 82 1034 1106
tis620 18 89 1042 1113
ucs2 35 90 128-151 159 640-642 1059 1114 1152 1174 2560-2727 2744-2759
ujis 12 91 1036 1115
utf16 54-55 101-124 672-674 1078-1079 1125 1147 2816-2983 3000-3015
utf16le 56 62 1080 1086
utf32 60-61 160-183 736-738 1084-1085 1184 1206 3072-3239 3256-3271
utf8mb3 33 83 192-215 223 576-578 1057 1107 1216 1238 2048-2215 2232-2247 76
utf8mb4 45-46 224-247 608-610 1069-1070 1248 1270 2304-2471 2488-2503 255-323
gb18030 248-250
"""

_CODECS = {
    "ascii": "ascii",
    "big5": "big5",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "koi8r": "koi8_r",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "ucs2": "utf_16_be",
    "ujis": "euc_jp",
    "utf16": "utf_16_be",
    "utf16le": "utf_16_le",
    "utf32": "utf_32_be",
    "utf8mb3": "utf_8",
    "utf8mb4": "utf_8",
}

_MOST_BYTES = {
    "utf8mb4": 4,
    **dict.fromkeys(("gb18030", "utf16", "utf16le", "utf32"), 4),
    **dict.fromkeys(("eucjpms", "ujis", "utf8", "utf8mb3"), 3),
    **dict.fromkeys(("big5", "cp932", "euckr", "gb2312", "gbk", "sjis", "ucs2"), 2),
    **dict.fromkeys(("ascii", "cp850", "cp852", "koi8r", "latin2", "latin5", "latin7", "macce", "macroman"), 1),
}
"""Of a character; of those in TABLES one."""


def _numbers(ranges: str) -> list[int]:
    numbers: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


_BY_COLLATION = {
    number: name
    for name, _, ranges in (line.partition(" ") for line in _COLLATIONS.strip().splitlines())
    for number in _numbers(ranges)
}


def charset_of(collation: int) -> str:
    """The name of the character set that a collation is of; `binary` stands for bytes.

    Raises:
        MalformedEvent: there is no such collation.
    """
    try:
        return _BY_COLLATION[collation]
    except KeyError:
        msg = f"a column has the collation number {collation}, which is of no known character set"
        raise MalformedEvent(msg) from None


def most_bytes(charset: str) -> int:
    """How many bytes a character has at most, as the lengths of columns are counted; 0: not known."""
    return 1 if charset in TABLES else _MOST_BYTES.get(charset, 0)


def is_utf8(charset: str) -> bool:
    """Whether text in it is UTF-8."""
    return _CODECS.get(charset) == "utf_8"


def text_of(charset: str) -> Callable[[bytes], str]:
    """Turns bytes in a character set into text.

    Raises:
        MalformedEvent: the character set is unknown.
        UnicodeDecodeError: from the function that it gives: bytes are no text in it.
    """
    if (table := TABLES.get(charset)) is not None:
        return lambda raw: codecs.charmap_decode(raw, "strict", table)[0]
    # utf8 is what MySQL before 8.0.24 calls utf8mb3.
    codec = _CODECS.get("utf8mb3" if charset == "utf8" else charset)
    if codec is None:
        msg = f"a column has the character set {charset!r}, which is unknown"
        raise MalformedEvent(msg)
    return lambda raw: raw.decode(codec)
