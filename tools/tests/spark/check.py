#!/usr/bin/env python3
"""Tests tools/spark/simdb_spark on a real cluster: a master, two workers, executors that are killed.

    tools/tests/spark/check.py --simdb-cli target/release/simdb-cli --simdb-load target/release/simdb-load

A database of 50,000 documents (copies, neighbours at distances 0 to 4, a clique, chains, a hot
block, ids on both sides of 2^63, unreliable documents) is exported as Parquet. The answers of Spark
must equal the answers of simdb. Similar pairs of 6,800 texts must be the pairs that one machine
finds by a search for each text, and their clusters the clusters of the plain rule. The workers
cannot start Python. All processes listen on 127.0.0.1 only and end with this program.

Needs Linux, Java 17 or later, and Python 3.9 or later; pyspark comes from requirements.txt into a
virtual environment of its own (--venv; pip must reach its index). Takes about three minutes on two
slow cores. Prints `N passed, N failed` at its end, and exits with 1 if a check failed.
"""

import argparse
import csv
import glob
import gzip
import io
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "..", "spark")
PROGRAM = os.path.join(SOURCES, "simdb_spark")
LABELLED = os.path.join(HERE, "..", "..", "..", "tests", "data", "labelled")
sys.path[:0] = [HERE, SOURCES]
sys.dont_write_bytecode = True

import cluster as standalone  # noqa: E402
from simdb_spark import cli, forest, job, pairs, similar  # noqa: E402

TOP = 1 << 63
ALL = (1 << 64) - 1
# Settings of the drivers: a quick start, since jobs are small, and local addresses only.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "900m",
    "spark.executor.cores": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


# Documents --------------------------------------------------------------------------------------


def flipped(bits, count, rng):
    for bit in rng.sample(range(64), count):
        bits ^= 1 << bit
    return bits


def make_documents(count, rng):
    """(id, fingerprint, reliable), in no order."""
    fingerprints = [rng.getrandbits(64) for _ in range(count * 3 // 4)]
    # One in twenty documents shares a block; some of these share the next block too.
    crowded = [rng.getrandbits(48) for _ in range(count // 20)]
    crowded += [rng.getrandbits(32) for _ in range(count // 100)]
    fingerprints += crowded
    for bits in rng.sample(fingerprints, count // 10) + rng.sample(crowded, 300):
        fingerprints.append(flipped(bits, rng.randrange(5), rng))
    base = rng.getrandbits(64)
    fingerprints += [flipped(base, rng.randrange(3), rng) for _ in range(150)]
    fingerprints += [rng.getrandbits(64)] * 200
    bits = rng.getrandbits(64)
    scattered_chain = [bits := flipped(bits, 3, rng) for _ in range(300)]
    fingerprints += scattered_chain
    ids = set()
    while len(ids) < count:
        ids.add(rng.choice([rng.getrandbits(64), rng.getrandbits(20), TOP + rng.getrandbits(20)]))
    ids = sorted(ids)
    # A chain of ascending ids across 2^63: each link but the first depends on the previous one.
    start = next(n for n, id in enumerate(ids) if id >= TOP) - 7
    chain_ids, ids = ids[start:start + 14], ids[:start] + ids[start + 14:]
    rng.shuffle(ids)
    documents = [(id, bits, True) for id, bits in zip(ids, fingerprints)]
    bits = rng.getrandbits(64)
    for id in chain_ids:
        documents.append((id, bits := flipped(bits, 2, rng), True))
    for id in ids[len(fingerprints):len(fingerprints) + 100]:
        documents.append((id, flipped(rng.choice(fingerprints), rng.randrange(3), rng), False))
    rest = ids[len(fingerprints) + 100:]
    documents += [(id, rng.getrandbits(64), True) for id in rest]
    return documents


def write_jsonl(path, documents):
    with open(path, "w") as file:
        for id, bits, reliable in documents:
            line = {"id": id, "fingerprint": f"{bits:016x}", "reliable": reliable}
            file.write(json.dumps(line) + "\n")


def signed(number):
    return number - (1 << 64) if number >= TOP else number


def plain_star(pairs):
    """(document, keeper, distance) by the plain rule: in order of id, a document without keeper
    becomes one."""
    neighbours = {}
    for a, b, distance in pairs:
        neighbours.setdefault(a, []).append((b, distance))
        neighbours.setdefault(b, []).append((a, distance))
    taken, lines = set(), set()
    for document in sorted(neighbours):
        if document in taken:
            continue
        taken.add(document)
        members = [(m, document, d) for m, d in neighbours[document] if m not in taken]
        taken.update(m for m, _, _ in members)
        if members:
            lines.update(members, [(document, document, 0)])
    return lines


def plain_components(pairs):
    neighbours, direct = {}, {}
    for a, b, distance in pairs:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
        direct[a, b] = distance
    lines, seen = set(), set()
    for document in sorted(neighbours):
        if document not in seen:
            seen.add(document)
            stack = [document]
            while stack:
                at = stack.pop()
                distance = 0 if at == document else direct.get((document, at))
                lines.add((at, document, distance))
                fresh = [n for n in neighbours[at] if n not in seen]
                seen.update(fresh)
                stack += fresh
    return lines


# The checks -------------------------------------------------------------------------------------


class Checks:
    def __init__(self):
        self.passed, self.failed, self.began = 0, 0, time.time()

    def that(self, sentence, holds, detail=""):
        self.passed += bool(holds)
        self.failed += not holds
        mark = "ok    " if holds else "FAILED"
        print(f"{time.time() - self.began:6.1f} s  {mark} {sentence}", *([] if holds else [detail]),
              flush=True)

    def equal(self, sentence, got, wanted):
        wanted = set(wanted)
        twice = len(got) - len(set(got))
        missing, extra = wanted - set(got), set(got) - wanted
        self.that(
            f"{sentence} ({len(wanted)})", wanted and not (twice or missing or extra),
            f"{len(missing)} missing {sorted(missing, key=str)[:3]}, {len(extra)} too many "
            f"{sorted(extra, key=str)[:3]}, {twice} twice")


def ownership(checks):
    """Without Spark: every pair within the radius belongs to one join, and to one part of it."""
    rng = random.Random(7)

    def owners(cuts, x):
        return [c for c in cuts
                if x & c.mask == 0 and all(x & mask for mask in c.differ)]

    for radius, more in itertools.product(range(1, 7), (1, 2, 3)):
        joins = list(pairs.joins(radius, radius + more))
        good = True
        for _ in range(400):
            x = flipped(0, rng.randint(0, radius), rng)
            found = owners(joins, x)
            for _ in range(pairs.CUTS + 1):
                good &= len(found) == 1
                found = owners([a for c in found for a in pairs.cut_again(c, radius)], x)
        checks.that(f"one join owns each pair: radius {radius}, {radius + more} blocks", good)
    for fingerprints, wanted in ((10**6, 4), (10**8, 5), (10**9, 5), (10**11, 6)):
        got = pairs.cheapest_blocks(fingerprints, 3)
        checks.that(f"{fingerprints} fingerprints are cut into {wanted} blocks", got == wanted, got)


class Run:
    """The folders and programs of one run of the checks."""

    def __init__(self, options, folder, checks):
        self.options, self.folder, self.checks = options, folder, checks

    def at(self, name):
        return os.path.join(self.folder, name)

    def simdb(self, program, *arguments, codes=(0,)):
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=300, text=True)
        if done.returncode not in codes:
            raise RuntimeError(f"{program} {arguments} said {done.returncode}: {done.stderr}")
        return done.stdout

    def database(self, name, documents, *more):
        write_jsonl(self.at(f"{name}.jsonl"), documents)
        self.simdb(self.options.simdb_load, self.at(f"{name}.simdb"), self.at(f"{name}.jsonl"),
                   "--fingerprint", "fingerprint", *more)

    def export(self, spark, name):
        database, out = self.at(f"{name}.simdb"), self.at(f"{name}-files")
        if spark is None:
            # With unreliable documents, which Spark must skip.
            more = ["--with-unreliable"] if name == "corpus" else []
            self.simdb(self.options.simdb_cli, "export", database, "--format", "parquet", "-o", out, *more)
            return
        table = self.at(f"{name}.csv")
        self.simdb(self.options.simdb_cli, "export", database, "--format", "csv", "-o", table)
        spark.read.option("header", "true").csv(table).where("reliable = 'true'").selectExpr(
            "CAST(conv(id, 10, -10) AS BIGINT) AS doc_id",
            "CAST(conv(fingerprint, 16, -10) AS BIGINT) AS fingerprint").write.parquet(out)

    def spark(self, *arguments, code=0):
        """Runs a verb in this process: (summary, standard error)."""
        out, error = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(error):
            got = cli.run([*map(str, arguments), "--json", "--debug"])
        said = error.getvalue()
        self.checks.that(f"`{' '.join(os.path.basename(str(a)) for a in arguments)}` exits with {code}",
                         got == code, f"got {got}: {said}")
        return (json.loads(out.getvalue()) if out.getvalue() else None), said

    def pairs_of_simdb(self, name, *more):
        text = self.simdb(self.options.simdb_cli, "pairs", self.at(f"{name}.simdb"), "--format", "csv",
                          *more)
        return [tuple(map(int, row)) for row in list(csv.reader(io.StringIO(text)))[1:]]


def rows(spark, folder, columns):
    """Rows of an answer, with ids as u64."""
    ids = {"a", "b", "query", "document", "doc_id", "keeper", "cluster"}
    return [tuple(value & ALL if name in ids else value for name, value in zip(columns, row))
            for row in spark.read.parquet(folder).select(*columns).collect()]


def steps_of(folder):
    for name in ("_simdb_manifest.json", "_simdb_manifest.json.new"):
        try:
            with open(os.path.join(folder, name)) as file:
                return list(json.load(file)["finished"])
        except (OSError, ValueError):
            continue
    return []


def wait_for_step(folder, step, goes_on=lambda: True, seconds=900):
    """Waits for a step: seconds on an idle machine, minutes on a busy one."""
    end = time.time() + seconds
    while time.time() < end and goes_on():
        if step in steps_of(folder):
            return True
        time.sleep(0.02)
    return False


def helps(checks):
    """Without Spark: the package runs as a folder, and has help for each verb."""
    for verb in cli.VERBS:
        done = subprocess.run([sys.executable, "-B", PROGRAM, verb, "--help"], stdout=subprocess.PIPE,
                              timeout=60, text=True)
        checks.that(f"`{verb} --help` shows its options", done.returncode == 0 and "--partitions" in done.stdout)


def killed_driver(run, cluster):
    """`pairs` with 5 blocks by spark-submit, in one file, until its driver is killed. The steps
    that it finished."""
    checks, out, one_file = run.checks, run.at("pairs-5"), run.at("simdb_spark.py")
    run.simdb(sys.executable, "-m", "zipapp", SOURCES, "-m", "simdb_spark.cli:main", "-o", one_file)
    command = [f"{cluster.home}/bin/spark-submit", "--master", cluster.url]
    for key, value in SETTINGS.items():
        command += ["--conf", f"{key}={value}"]
    command += [one_file, "pairs", run.at("corpus-files"), out, "--blocks", "5", "--hot", "256"]
    with open(run.at("driver.log"), "wb") as log:
        driver = subprocess.Popen(command, stdout=log, stderr=log, env=cluster.environment())
        try:
            reached = wait_for_step(out, "join=02", lambda: driver.poll() is None)
        finally:
            for pid in standalone.descendants(driver.pid):
                standalone.end(pid)
            standalone.end(driver.pid)
            driver.wait()
    before = steps_of(out)
    with open(run.at("driver.log"), errors="replace") as log:
        checks.that("a driver is killed when some joins are done", reached and "answer" not in before
                    and "join=09" not in before and not os.path.exists(f"{out}/_SUCCESS"),
                    f"{before} {log.read()[-2000:]}")
    return before


@contextmanager
def killed_executor(run, spark, cluster, folder, step, piping=None):
    """Kills an executor in the job after a step, or while one of its tasks pipes rows through this
    command."""
    killed, ended = [], threading.Event()

    def is_piping(executor):
        return any(piping in standalone.command_line(child) for child in standalone.descendants(executor))

    def kill_an_executor():
        if wait_for_step(folder, step, lambda: not ended.is_set()):
            tracker = spark.sparkContext.statusTracker()
            while not (killed or ended.is_set()):
                if tracker.getActiveStageIds():
                    executors = cluster.executors(0)
                    killed.extend(executors if piping is None else filter(is_piping, executors))
                time.sleep(0.005)
            for pid in killed:
                standalone.end(pid)

    killer = threading.Thread(target=kill_an_executor, daemon=True)
    killer.start()
    try:
        yield
    finally:
        ended.set()
    killer.join()
    run.checks.that("an executor was killed in the middle of a job", len(killed) == 1, killed)


def check_pairs(run, spark, cluster, stars, finished):
    checks, corpus = run.checks, run.at("corpus-files")
    # Steps finished by the killed driver are not repeated.
    kept = glob.glob(run.at("pairs-5/_work/join=00/part-*.parquet"))
    summary, said = run.spark("pairs", corpus, run.at("pairs-5"), "--blocks", 5, "--hot", 256)
    checks.that("the same command goes on behind what the killed driver had finished",
                kept and f"behind {len(finished)} finished steps" in said
                and "s  join=00" not in said and "s  join=09" in said, said)
    checks.equal("pairs in 5 blocks, after the driver was killed, are simdb's",
                 rows(spark, run.at("pairs-5"), ("a", "b", "distance")), stars)
    checks.that("a whole output has _SUCCESS and no steps any more",
                os.path.exists(run.at("pairs-5/_SUCCESS")) and not os.path.exists(run.at("pairs-5/_work")))
    checks.that("the summary counts pairs by distance", summary["rows_at_distance"] == {
        str(d): sum(1 for p in stars if p[2] == d) for d in range(4)}, summary)

    with killed_executor(run, spark, cluster, run.at("pairs-4"), "input-distinct"):
        run.spark("pairs", corpus, run.at("pairs-4"), "--blocks", 4)
    checks.equal("pairs in 4 blocks, after an executor was killed, are simdb's",
                 rows(spark, run.at("pairs-4"), ("a", "b", "distance")), stars)


def check_match(run, spark, queries):
    lines = run.simdb(run.options.simdb_cli, "query", run.at("corpus.simdb"), "--file",
                      run.at("asked.jsonl"), "--json", "--radius", "3", codes=(0, 1)).splitlines()
    asked = [query for query in queries if query[2]]
    wanted = {(query[0], found["id"], found["distance"])
              for query, line in zip(asked, lines) for found in json.loads(line)["matches"]}
    columns = ("query", "document", "distance")
    for more in (["--hot", 256], ["--broadcast", 0, "--blocks", 4]):
        out = run.at(f"match{len(more)}")
        run.spark("match", run.at("queries-files"), run.at("corpus-files"), out, *more)
        run.checks.equal(f"match {more} is what `simdb-cli query` finds", rows(spark, out, columns), wanted)


def check_clusters(run, spark, everything):
    checks, columns = run.checks, ("doc_id", "keeper", "distance")
    stars, components = plain_star(everything), plain_components(everything)
    # Stars run in rounds until few edges are left, then on the driver; components run on either.
    for shape, edges, wanted in (("star", 10, stars), ("connected", 0, components),
                                 ("connected", 500_000, components)):
        out = run.at(f"{shape}-{edges}")
        run.spark("clusters", run.at("pairs-4"), out, "--shape", shape, "--driver-edges", edges)
        checks.equal(f"{shape} clusters, {edges} edges at most in the driver, are the clusters of the rule",
                     rows(spark, out, columns), wanted)
        if shape == "star":
            steps = json.load(open(f"{out}/_simdb_manifest.json"))["finished"]
            checks.that("some rounds were needed, and the driver at the end",
                        "dropped-001" in steps and "dropped-by-driver" in steps, list(steps))
    cli = run.options.simdb_cli
    text = run.simdb(cli, "clusters", run.at("corpus.simdb"), "--format", "csv")
    lines = [tuple(int(line[name]) for name in ("doc_id", "keeper", "distance"))
             for line in csv.DictReader(io.StringIO(text))]
    checks.equal("star clusters are the clusters of `simdb-cli clusters`", lines, stars)
    run.simdb(cli, "backup", run.at("corpus.simdb"), run.at("kept.simdb"))
    told = run.simdb(cli, "remove", run.at("kept.simdb"), "--clusters", run.at("star-10"), "--json")
    left_out = [document for document, keeper, _ in stars if document != keeper]
    told = json.loads(told)
    counts = [told["removed"], told["without_keeper"], told["not_stored"]]
    checks.that("`simdb-cli remove --clusters` removes what clusters of Spark leave out",
                counts == [len(left_out), 0, 0], (counts, len(left_out)))
    left = run.simdb(cli, "clusters", run.at("kept.simdb"), codes=(0, 1))
    checks.that("none is near another then", left == "", left[:300])


def make_texts(rng):
    """(id, text): real texts and edited ones, a template, copies, more of them than a small node
    has entries, with edits, and texts with too little content."""
    texts = []
    for name in ("edits_en", "edits_zh"):
        with gzip.open(os.path.join(LABELLED, f"{name}.docs.jsonl.gz"), "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in itertools.islice(lines, 700)]
    texts += rng.sample(texts, 60) + ["Hello!", "hello", "hello", "hallo", "13800138000", "13800138000.", ""]
    texts += [f"Dataclass for boto3 {''.join(rng.choices('abcdefgh', k=5))}, generated" for _ in range(1000)]
    copied = ("The ferry to the islands was cancelled because of fog, and the harbour stays closed until "
              "noon; trains and buses run as usual")
    texts += [copied] * (forest.WIDE.deep_entries + 100)
    words = copied.split()
    for at in range(len(words)):
        texts += [" ".join(words[:at] + words[at + 1:]), " ".join([*words[:at], "slowly", *words[at:]]),
                  " ".join(words[:at]), copied.replace(words[at], words[at].upper())]
    ids = rng.sample([*range(1, 1000), *(TOP + n for n in range(1, 20_000))], len(texts))
    return list(zip(ids, texts))


def found_by_searches(run, documents, *more):
    """What one machine finds by a search for each text, a row for two texts, named by their
    smallest ids: (a, b, distance, verdict, edit similarity, jaccard). A search that does not find
    all copies of a text is a row of its own."""
    copies = {}
    for id, text in sorted(documents):
        copies.setdefault(text, []).append(id)
    first = {id: ids[0] for ids in copies.values() for id in ids}
    counts = {ids[0]: len(ids) for ids in copies.values()}
    with open(run.at("asked-texts.jsonl"), "w") as file:
        for text in copies:
            file.write(json.dumps({"text": text}) + "\n")
    lines = run.simdb(run.options.simdb_cli, "query", run.at("texts.simdb"), "--file", run.at("asked-texts.jsonl"),
                      "--similar", "--json", *more)
    rows = {}
    for (text, ids), line in zip(copies.items(), lines.splitlines()):
        found = {}
        for match in json.loads(line)["matches"]:
            found.setdefault(first[match["id"]], []).append(match)
        # An empty text has no duplicates.
        if [match["id"] for match in found.pop(ids[0], [])] != (ids if text.strip() else []):
            rows[ids[0], ids[0]] = ("misses its copies",)
        for other, matches in found.items():
            a, b = sorted((ids[0], other))
            verdict = matches[0]["containment"]
            if a == other:
                verdict = {"a_in_b": "b_in_a", "b_in_a": "a_in_b"}.get(verdict, verdict)
            row = (matches[0]["distance"], verdict, matches[0]["edit_similarity"], matches[0]["jaccard"])
            if len(matches) != counts[other]:
                row = ("misses copies",)
            # The search for the smaller id counts if both find each other.
            if a == ids[0] or (a, b) not in rows:
                rows[a, b] = row
    return {(*pair, *row) for pair, row in rows.items()}


def plain_similar_clusters(pairs, letters):
    """(document, keeper, cluster): the most letters first, a text joins the smallest kept id that
    covers it."""
    covers, keeper = {}, {}
    for a, b, _, verdict, _, _, is_copy, _ in pairs:
        if not is_copy:
            if verdict != "a_in_b":
                covers.setdefault(b, []).append(a)
            if verdict != "b_in_a":
                covers.setdefault(a, []).append(b)
    order = {document: (-letters[document], document) for pair in pairs for document in pair[:2]}
    for document in sorted({d for a, b, *_, is_copy, _ in pairs for d in ((a,) if is_copy else (a, b))},
                           key=order.get):
        kept = [other for other in covers.get(document, ())
                if order[other] < order[document] and keeper[other] == other]
        keeper[document] = min(kept, default=document)
    for first, copy, *_, is_copy, _ in pairs:
        if is_copy:
            keeper[copy] = keeper[first]
    members = {}
    for document, kept in keeper.items():
        members.setdefault(kept, []).append(document)
    return {(document, kept, min(members[kept])) for kept, star in members.items() if len(star) > 1
            for document in star}


def check_similar(run, spark, cluster, rng):
    checks, cli = run.checks, run.options.simdb_cli
    documents = make_texts(rng)
    with open(run.at("texts.jsonl"), "w") as file:
        for id, text in documents:
            file.write(json.dumps({"id": id, "text": text}) + "\n")
    run.simdb(run.options.simdb_load, run.at("texts.simdb"), run.at("texts.jsonl"), "--similar")
    run.simdb(cli, "export", run.at("texts.simdb"), "--format", "parquet", "--similar", "-o", run.at("texts"))
    # As `spark-submit --files` does.
    spark.sparkContext.addFile(cli)
    out, name = run.at("similar"), os.path.basename(cli)
    with killed_executor(run, spark, cluster, out, "candidate-count=00", "compare --pairs"):
        wide, _ = run.spark("similar-pairs", run.at("texts"), out, "--simdb-cli", f"./{name}", "--hot", 128)
    columns = ("a", "b", "distance", "verdict", "edit_similarity", "jaccard", "is_copy", "a_first")
    found = rows(spark, out, columns)
    checks.equal("similar pairs, after an executor was killed, are the pairs of a search for each text",
                 [pair[:6] for pair in found if not pair[6]], found_by_searches(run, documents))
    smallest = {}
    for id, text in sorted(documents):
        smallest.setdefault(text, id)
    checks.equal("copies are stars", [pair[:2] for pair in found if pair[6]],
                 [(smallest[text], id) for id, text in documents if smallest[text] != id])
    letters = {id: sum(map(str.isalnum, text)) for id, text in documents}
    checks.that("the text with more letters is first", all(
        a_first == ((-letters[a], a) < (-letters[b], b)) for a, b, *_, a_first in found))
    facts = json.load(open(f"{out}/_simdb_manifest.json"))["finished"]
    checks.that("nodes of all levels are large, and some are hot", all(facts["large-node-counts"]["value"])
                and any(facts[f]["value"] for f in facts if f.startswith("hot-node-count")), facts)
    narrow = run.at("similar-narrow")
    # Some parts of the candidates, and four trees a step.
    text_bytes, wording_bytes = (facts[f"mean-{column}-bytes"]["value"] for column in ("text", "wording"))
    cores = spark.sparkContext.defaultParallelism
    step_bytes = facts["found"]["value"] * text_bytes / 2
    tree_bytes = len(documents) * (wording_bytes + similar.ROW_BYTES)
    with (mock.patch.object(job, "BYTES_OF_A_STEP", step_bytes / cores),
          mock.patch.object(similar, "ROWS_OF_A_TREE", step_bytes / tree_bytes / 5),
          killed_executor(run, spark, cluster, narrow, "hot-node-count-trees=04", "compare --nodes")):
        few, _ = run.spark("similar-pairs", run.at("texts"), narrow, "--simdb-cli", f"./{name}", "--narrow",
                           "--hot", 128)
    narrow_found = rows(spark, narrow, columns)
    checks.equal("similar pairs of narrow searches are the pairs of a narrow search for each text",
                 [pair[:6] for pair in narrow_found if not pair[6]], found_by_searches(run, documents, "--narrow"))
    checks.that("narrow searches find no other pairs",
                {pair[:2] for pair in narrow_found} <= {pair[:2] for pair in found}, (len(narrow_found), len(found)))
    narrow_facts = json.load(open(f"{narrow}/_simdb_manifest.json"))["finished"]
    checks.that("narrow searches have fewer candidates, in several parts, and join few trees a step",
                narrow_facts["parts"]["value"] > 1 and narrow_facts["trees-of-a-step"]["value"] < 8
                and few["candidates"] < wide["candidates"], (few, wide, narrow_facts))
    run.spark("similar-clusters", out, run.at("similar-stars"), "--driver-edges", 10)
    run.spark("similar-clusters", out, run.at("similar-stars-driver"))
    stars = plain_similar_clusters(found, letters)
    for name in ("similar-stars", "similar-stars-driver"):
        checks.equal(f"{name} are the clusters of the rule",
                     rows(spark, run.at(name), ("doc_id", "keeper", "cluster")), stars)
    _, said = run.spark("similar-pairs", run.at("corpus-files"), run.at("new"), code=2)
    checks.that("an export without texts is refused", "--similar" in said, said)
    _, said = run.spark("similar-pairs", run.at("texts"), run.at("lacking"), "--simdb-cli", "./nowhere", code=2)
    checks.that("a program that the workers lack is named before texts are read",
                "--simdb-cli ./nowhere" in said and "--files" in said and not steps_of(run.at("lacking")), said)


def check_refusals(run, with_metadata):
    checks, corpus = run.checks, run.at("corpus-files")

    def refused(words, *arguments):
        _, said = run.spark(*arguments, code=2)
        checks.that(f"it says why: {words}", words in said, said)

    refused("other parameters", "pairs", corpus, run.at("pairs-4"), "--blocks", 4, "--radius", 2)
    refused("only within 3 bits", "clusters", run.at("pairs-4"), run.at("new"), "--radius", 4)
    refused("does not exist", "pairs", run.at("nowhere"), run.at("new"))
    refused("no column doc_id", "pairs", run.at("pairs-4"), run.at("new"))
    refused("did not write", "pairs", corpus, run.at("corpus-files"))
    refused("does not suit", "pairs", corpus, run.at("new"), "--blocks", 3)
    part = glob.glob(run.at("queries-files/**/*.parquet"), recursive=True)[0]
    shutil.copytree(run.at("queries-files"), run.at("touched-files"))
    run.spark("match", run.at("touched-files"), run.at("touched-files"), run.at("touched"), "--radius", 0)
    os.utime(os.path.join(run.at("touched-files"), os.path.relpath(part, run.at("queries-files"))), (1, 1))
    refused("was changed", "match", run.at("touched-files"), run.at("touched-files"), run.at("touched"),
            "--radius", 0)
    refused("more than once", "pairs", run.at("queries-files"), run.at("touched-files"), run.at("twice"))
    run.spark("pairs", run.at("other-files"), run.at("nothing"), "--radius", 0, code=1)
    if with_metadata:
        refused("different recipes", "match", run.at("other-files"), corpus, run.at("new"))


# The whole run ----------------------------------------------------------------------------------


def session(cluster):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(cluster.url).appName("simdb check")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def export_all(run, cluster, names):
    """The databases as Parquet, written by simdb, or by Spark from CSV if this simdb-cli cannot
    write Parquet."""
    with_metadata = "parquet" in run.simdb(run.options.simdb_cli, "export", "--help")
    spark = None if with_metadata else session(cluster)
    for name in names:
        run.export(spark, name)
    if spark is not None:
        spark.stop()
        print("this simdb-cli writes no Parquet, so recipes are not checked")
    return with_metadata


def end_session(spark):
    """Stops Spark and its JVM, which otherwise runs until this program ends."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(300)
    except subprocess.TimeoutExpired:
        # The time a JVM takes to end is not tested.
        gateway.proc.kill()
        gateway.proc.wait()


def check(options, folder):
    import pyspark

    checks = Checks()
    run = Run(options, folder, checks)
    ownership(checks)
    helps(checks)
    rng = random.Random(options.seed)
    documents = make_documents(options.documents, rng)
    rng.shuffle(documents)
    run.database("corpus", documents)
    stars = run.pairs_of_simdb("corpus")
    everything = run.pairs_of_simdb("corpus", "--expand")
    # With some documents of the corpus, under the same ids and under other ids.
    queries = [(n * 3, flipped(bits, rng.randrange(5), rng), reliable)
               for n, (_, bits, reliable) in enumerate(rng.sample(documents, 2500))]
    queries += [(TOP + n, bits, reliable) for n, (_, bits, reliable) in enumerate(documents[:300])]
    queries += [(ALL - n, queries[n][1], True) for n in range(200)]
    run.database("queries", queries)
    write_jsonl(run.at("asked.jsonl"), [query for query in queries if query[2]])
    run.database("other", queries[:100], "--recipe", "weighted")

    home = os.path.dirname(pyspark.__file__)
    spark = None
    with standalone.Cluster(home, run.at("cluster")) as cluster:
        try:
            os.environ.update(cluster.environment())
            checks.that(f"a cluster of two workers runs, pyspark {pyspark.__version__}", True)
            with_metadata = export_all(run, cluster, ["corpus", "queries", "other"])
            finished = killed_driver(run, cluster)
            spark = session(cluster)
            check_pairs(run, spark, cluster, stars, finished)
            addresses = standalone.listening([os.getpid(), *standalone.descendants(os.getpid())])
            checks.that("all sockets listen on this machine only",
                        len(addresses) > 4 and all(
                            a.startswith("127.") or a in ("::1",) or a.startswith("::ffff:127.")
                            for a in addresses), addresses)
            run.spark("pairs", run.at("corpus-files"), run.at("expanded"), "--expand", "--hot", 256)
            checks.equal("--expand writes every pair of documents",
                         rows(spark, run.at("expanded"), ("a", "b", "distance")), everything)
            check_match(run, spark, queries)
            check_clusters(run, spark, everything)
            check_similar(run, spark, cluster, rng)
            check_refusals(run, with_metadata)
        finally:
            if spark is not None:
                end_session(spark)
    left = [standalone.command_line(pid) for pid in standalone.descendants(os.getpid())]
    checks.that("nothing that was started is left running", not left, left)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.time() - checks.began:.0f} s, and {used.ru_utime + used.ru_stime:.0f} s of CPU in processes "
          "that were started")
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


def into_environment(options, program):
    """Runs this program in the virtual environment, creating the environment if it is missing."""
    python = os.path.join(options.venv, "bin", "python")
    if not os.path.exists(os.path.join(options.venv, "requirements.txt")):
        # Replace an incomplete environment.
        subprocess.run([sys.executable, "-m", "venv", "--clear", options.venv], check=True)
    with open(options.requirements) as wanted, open(
            os.path.join(options.venv, "requirements.txt"), "a+") as installed:
        wanted = wanted.read()
        installed.seek(0)
        if installed.read() != wanted:
            subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", options.requirements],
                           check=True)
            installed.truncate(0)
            installed.write(wanted)
    os.execv(python, [python, os.path.abspath(program), *sys.argv[1:], "--inside"])


def add_arguments(parser):
    parser.add_argument("--simdb-cli", required=True, metavar="PATH", type=os.path.abspath)
    parser.add_argument("--simdb-load", required=True, metavar="PATH", type=os.path.abspath)
    parser.add_argument("--venv", metavar="FOLDER", type=os.path.abspath,
                        default=os.path.join(HERE, "..", "..", "..", "target", "spark-venv"),
                        help="where pyspark is, or is put (default: target/spark-venv)")
    parser.add_argument("--requirements", metavar="FILE", default=os.path.join(HERE, "requirements.txt"),
                        help="which pyspark (default: requirements.txt beside this)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--documents", type=int, default=50_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--prepare", action="store_true",
                        help="only make the virtual environment, which needs the network")
    parser.add_argument("--keep", metavar="FOLDER", help="work in this new folder, and leave it there")
    options = parser.parse_args()
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("check.py: cannot find java: install a Java runtime, 17 or later", file=sys.stderr)
        return 2
    # Exit by an exception, so that all started processes end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    if not options.inside:
        into_environment(options, __file__)
    if options.prepare:
        return 0
    if options.keep:
        os.makedirs(options.keep)
        return check(options, os.path.abspath(options.keep))
    with tempfile.TemporaryDirectory(prefix="simdb-spark-") as folder:
        return check(options, folder)


if __name__ == "__main__":
    sys.exit(main())
