"""News feed: articles are known by their guid, and expire after two days.

A repeated article is refused and counted, and stored again once the article that it repeats has expired. The
feed goes on after a restart. The twin of tools/examples/feed.rs.

    python3 tools/python/examples/feed.py tests/data/quotes_and_news.jsonl
"""

import json
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any, Dict

import simdb

HOUR_MS = 60 * 60 * 1000
# At one article an hour, the window holds 48 articles and the latest.
WINDOW_HOURS = 48


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as lines:
        texts = [json.loads(line) for line in lines]
    stored = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feed.simdb"
        # The second round repeats all texts, after a restart and the expiry of the first round.
        for start in (0, len(texts)):
            with open_feed(path) as feed:
                stored += sum(store(feed, hour, line) for hour, line in enumerate(texts, start))
        with simdb.open(path) as feed:
            live = [document.key or "" for document in feed.documents()]
    print(f"{stored} articles stored, {len(live)} live")
    first = 2 * len(texts) - 1 - WINDOW_HOURS
    assert live and all(int(key.rpartition(":")[2]) >= first for key in live)
    # More articles than one round are stored, so the second round met no expired article.
    assert stored > len(texts)


def open_feed(path: Path) -> simdb.Database:
    window = timedelta(hours=WINDOW_HOURS)
    return simdb.open(path, "c", keys=True, fields=True, copies=16, retention=window)


def store(feed: simdb.Database, hour: int, line: Dict[str, Any]) -> bool:
    """Stores an article unless it repeats another one."""
    fields = {"lang": line["lang"], "source": line["source"]}
    outcome = feed.insert_unique(
        f"urn:article:{hour}", line["text"], arrival=hour * HOUR_MS, fields=fields
    )
    if outcome.kind == "duplicate" and isinstance(outcome.of, simdb.Match):
        repeated = feed.get(outcome.of.id)
        if repeated is not None:
            copies = feed.copies(repeated.id)
            count = copies.count if copies else 0
            print(f"article {hour} repeats {repeated.key} {repeated.fields}, copy {count}")
    return outcome.inserted


if __name__ == "__main__":
    main()
