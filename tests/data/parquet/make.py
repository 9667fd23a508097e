"""Makes the files of this folder anew, with pyarrow 26.0.1: python make.py"""

import datetime
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent

TEXTS = [
    "The quick brown fox jumps over the lazy dog near the river bank this morning.",
    "the quick  brown fox jumps over the lazy dog, near the river bank this morning",
    "生活就像一盒巧克力,你永远不知道下一颗是什么味道。明天又是新的一天。",
    "A database of fingerprints finds in microseconds what a scan would find in seconds.",
    None,
    "",
    "Where many texts say the same a dictionary keeps each of them once.",
    "Where many texts say the same a dictionary keeps each of them once.",
]
IDS = list(range(1, 9))
START = datetime.datetime(2024, 5, 31, 12, 0, 0)
META = [
    {"lang": "en", "tags": ["a", "b"]},
    {"lang": "en", "tags": []},
    None,
    {"lang": None, "tags": None},
    {"lang": "zh", "tags": ["c", None, "d"]},
    {"lang": "x", "tags": ["e"]},
    {"lang": "y", "tags": ["f"] * 3},
    {"lang": "z", "tags": None},
]

table = pa.table(
    {
        "id": pa.array(IDS, pa.int64()),
        "text": pa.array(TEXTS, pa.large_string()),
        "category": pa.array(
            ["news", "news", "quote", "docs", None, "docs", "docs", "news"]
        ).dictionary_encode(),
        "posted": pa.array(
            [START + datetime.timedelta(seconds=i) for i in range(8)],
            pa.timestamp("us", tz="UTC"),
        ),
        "digits": pa.array([str(i) for i in IDS]),
        "small": pa.array(IDS, pa.uint32()),
        "score": pa.array([i / 2 for i in IDS], pa.float64()),
        "meta": pa.array(
            META, pa.struct([("lang", pa.string()), ("tags", pa.list_(pa.string()))])
        ),
        "price": pa.array([Decimal("1.50")] * 8, pa.decimal128(10, 2)),
    }
)

pq.write_table(table, HERE / "snappy.parquet", compression="snappy", row_group_size=5)
pq.write_table(
    table,
    HERE / "zstd_v2.parquet",
    compression="zstd",
    data_page_version="2.0",
    row_group_size=5,
    use_dictionary=False,
    column_encoding={
        "text": "DELTA_BYTE_ARRAY",
        "id": "DELTA_BINARY_PACKED",
        "digits": "DELTA_LENGTH_BYTE_ARRAY",
    },
    write_page_checksum=True,
)
pq.write_table(table, HERE / "gzip.parquet", compression="gzip", store_schema=False, data_page_size=64)
# Refused.
pq.write_table(table, HERE / "brotli.parquet", compression="brotli")
pq.write_table(table, HERE / "lz4.parquet", compression="lz4")

with open(HERE / "expected.jsonl", "w", encoding="utf-8") as lines:
    for place, text in enumerate(TEXTS):
        if text is not None:
            line = {"id": place + 1, "text": text, "posted": f"2024-05-31T12:00:{place:02}Z"}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")

local = [START + datetime.timedelta(seconds=i) for i in range(3)]
table = pa.table(
    {
        "id": pa.array(IDS[:3], pa.int64()),
        "text": pa.array(TEXTS[:3], pa.string()),
        "ms": pa.array(local, pa.timestamp("ms")),
        "us": pa.array(local, pa.timestamp("us")),
        "ns": pa.array(local, pa.timestamp("ns")),
    }
)
pq.write_table(table, HERE / "local.parquet")
