#!/usr/bin/env python3
"""All pairs, matching and clusters of what simdb exports, on Apache Spark.

    simdb-cli export news.simdb --format parquet -o news
    spark-submit simdb_spark.py pairs    news pairs           # all pairs within 3 bits
    spark-submit simdb_spark.py match    today news found     # new documents beside old ones
    spark-submit simdb_spark.py clusters pairs clusters       # each document, and the one to keep

    simdb-cli export news.simdb --format parquet --similar -o texts
    spark-submit --files simdb-cli simdb_spark.py similar-pairs texts similar --simdb-cli ./simdb-cli
    spark-submit simdb_spark.py similar-clusters similar kept # texts that another text says

Plain Spark SQL over Parquet, by PySpark 3.5 or 4. The workers need Spark only, no Python; for `similar-pairs` they
also run the binary simdb-cli. Paths are Hadoop paths (hdfs://, s3a://, ...), or local paths if all workers have
the same disk. One run at a time may write to an OUTPUT.

# Input and output

INPUT, QUERIES and CORPUS are folders of Parquet files (or one file): `doc_id` INT64 and `fingerprint`
INT64, both bit-cast from u64, one row a document, no id twice. With a third column `reliable` BOOLEAN,
documents that are not reliable are left out. Files of other programs are read too: repeated ids are
then looked for, and a warning says that the recipe is not known. The footers of simdb say both.

An id is a u64, bit-cast to BIGINT in Parquet and Spark: id 2^63 is -2^63 there. Ids are ordered as u64:
a is the smaller id of a pair, a keeper the smallest id of its cluster.

    pairs     a BIGINT, b BIGINT, distance INT     a < b, each pair once, in no order
    match     query BIGINT, document BIGINT, distance INT
    clusters  doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT
    similar-pairs      a BIGINT, b BIGINT, distance INT, verdict STRING, edit_similarity DOUBLE,
                       jaccard DOUBLE, is_copy BOOLEAN, a_first BOOLEAN
    similar-clusters   the columns of clusters

Pairs are those of `simdb-cli pairs --format csv`: documents with one fingerprint are a star, the
smallest id with each of the others at distance 0, and a pair of different fingerprints has the
smallest id of each. `--expand` writes every pair of documents instead: n copies are then n² / 2 rows.

The output folder has `_simdb_manifest.json` (command, parameters, files and finished steps) and, once
it is complete, `_SUCCESS`. The same command continues an interrupted run behind its finished steps. A
folder of other files, other parameters or another version of this program is refused.

# All pairs, each once

Cut 64 bits into m blocks. Two fingerprints within radius k differ in at most k of them, so some m - k
blocks are equal in both: one join for each of the C(m, k) sets of m - k blocks, on the fingerprint
masked to them (Manku, Jain, Das Sarma, WWW 2007, section 3). Sets are in lexicographic order, and a
pair is written by the first set that is equal in both: of the blocks before the last one of this set,
those outside the set differ. So a join needs nothing of another join.

All fingerprints with one key are compared with each other. A key with very many is cut again: the bits
outside the key are cut into k + 1 sub-blocks, of which one is equal, and the first equal one writes
the pair. Keys that are still crowded are cut a second time. Crowded keys are estimated from every
64th fingerprint; they change the cost, never the answer. Equal fingerprints are joined once, and their
documents are added afterwards.

# Clusters

`star`: documents in order of id; a document in no cluster yet becomes a keeper, and all documents within
the radius of it that are in no cluster yet join it. That rule is sequential. These rounds are not, and
decide the same: each undecided document without a smaller undecided neighbour becomes a keeper, and
its undecided neighbours become members; at the end each member joins its smallest neighbour that is a
keeper. Proof by induction over the rounds: all documents that are decided before a round are decided
as by the sequential rule. Let d be undecided, without a smaller undecided neighbour. Its smaller
neighbours are decided, and none is a keeper, or d would be a member. So the sequential rule makes d a
keeper too. An undecided neighbour v of d is larger than d, so the sequential rule puts v into the
cluster of d or of an earlier keeper: v is a member there too. The smallest undecided document is
decided in each round, so the rounds end. By the sequential rule, v joins the first keeper that is its
neighbour, which is the smallest. (Such rounds: Blelloch, Fineman, Shun, SPAA 2012.) Copies of a
fingerprint have the same neighbours, so they are decided together, by the smallest id. A long chain
takes a round for every two links; once few edges are left, the driver decides by the sequential rule.

`connected`: connected components, by alternating large-star and small-star (Kiveris et al., SoCC
2014). Members of a long chain need not be near each other. The keeper is the smallest id; `distance` is
null for members that are in no pair with it.

A document without a near-duplicate is not written. `cluster` is the smallest id of the cluster.

# Similar texts

The answer of `similar-pairs` is the set of pairs that one machine finds by a search for each document
(`simdb-cli query --similar`, `Snapshot::similar`) in a database of the same documents, loaded at once. check.py
tests it. Equal texts are one row, the smallest id, and stars around it.

The search of one machine descends in each of 24 trees of minima to the first node that has few entries, at most 32
to 4,096, with the text's own minima and with one or two second minima (`SearchKeys` of the library says it exactly). It
depends on other texts by the entries of nodes alone, and these are counts: GROUP BY, level by level, below large
nodes only. So each text is an entry of one or two nodes a tree, and a query of some nodes more, by joins with
the large nodes, which go to every worker (up to 4 million of a level). The rows of entries and queries are shuffled by
node, and sorted. A join in SQL would evaluate its condition for each query and entry in a node, which was most of
the time among millions of texts. So the JVM of each task pipes its rows through `simdb-cli compare --nodes`, lines
of JSON in and out, which compares two sketches in some 3 ns, and the packed wordings of the few that are near, and
prints the texts that are alike: the candidates. Texts with one wording meet in the same way; texts whose
fingerprints differ in at most 3 bits are candidates too (`pairs`). A step joins one to eight trees, with some 4 GiB
of rows for each core, or one tree. A process beside each task holds the wordings of a cell, see below, outside of
the memory of the executor (spark.executor.memoryOverhead).

With `--narrow` the answer is that of narrow searches (`simdb-cli query --similar --narrow`, `TextQuery::narrow`), which
search as inserts do: in 16 trees, to nodes of at most 16 to 1,024 entries.

A node where more than `--hot` times `--hot` queries and entries meet is cut into c parts of the queries and d parts of
the entries by a hash of the id, and each of the c d pairs of parts is a cell of its own, with about `--hot` queries
and entries. That happens to a node of five minima, which may have any number of entries (a template of a
million documents), and to a node that very many second minima lead to. Candidates are made distinct.

The decision is an alignment of both texts: `simdb-cli compare --pairs --search`, piped in the same way. A step
decides a part of the candidates, at most 4 GiB of texts for each core. `--files simdb-cli` puts the binary into the
working folder of each executor; a statically linked one runs on any Linux. A pair is written if its texts are alike
by the default thresholds and one contains the other. `verdict` is of a and b, as the search for a decides if it
finds b, otherwise as that for b.

`similar-clusters` removes a text if a kept text before it says all of it, the text with more letters and
digits first, then the smaller id (`a_first`). It is the star rule above on these pairs, so what is kept
equals the sequential rule on the same pairs exactly. The keeper is the smallest id among the kept texts
that say it. `simdb-cli clusters --similar` is another join, with lower thresholds and fewer trees.

N texts are at most 216 N rows in the shuffles of nodes, with `--narrow` 80 N. A row has some 150 bytes and the
packed wording, which takes two times the bytes of an English text, four times those of a Chinese text. A text takes
some 65 us of CPU in a tree, with `--narrow` 45 us. A candidate takes some 20 us of CPU and both of its texts in a
shuffle: 64,000 package summaries have 58,000, a million texts with `--narrow` 1.3 million, 8 million 31 million.
n texts of one template are n * n / 2 candidates, which are balanced over all tasks.

# When to use it

One machine is enough for most collections: simdb takes 32 to 42 bytes a document, so 10^9 documents take 32
to 42 GB, and `simdb-cli pairs` needs no copy of them. It also takes far less time: 2 seconds of CPU for
all pairs of 8 million documents, Spark on two workers 117 in its tasks, 232 in all of its processes,
and 98 bytes a document shuffled. Use Spark if the fingerprints are on a cluster already, if they do not
fit one machine, or if the answer is needed beside other tables there.

N distinct fingerprints cost about N (0.95 us T + 2.5 ns N T / 2^b) of CPU in the joins, T = C(m, k)
joins on b = 64 (m - k) / m bits; finding equal fingerprints and crowded keys is about as much as two
joins more. `--blocks auto` takes the m for which that is least: within radius 3, 4 blocks below 4 *
10^7 fingerprints, 5 up to 2 * 10^10, 6 above. Up to 8 million were measured (twice the formula, on a
busy machine); the formula gives 3.3 hours of CPU for 10^9, 46 for 10^10.

# On a shared cluster

Authentication and encryption are off by default in Spark, and fingerprints tell something about their texts.
Enable spark.authenticate (with spark.authenticate.secret on standalone clusters),
spark.network.crypto.enabled, spark.io.encryption.enabled for spilled data, spark.ssl.*, and
spark.acls.enable with spark.ui.view.acls for the UI; give file systems credentials of their own
(Kerberos, roles), and disable the standalone REST port (spark.master.rest.enabled).
"""

import argparse
import concurrent.futures
import functools
import itertools
import json
import math
import re
import sys
import time
from collections import namedtuple

VERSION = 2
MANIFEST = "_simdb_manifest.json"
SUCCESS = "_SUCCESS"
WORK = "_work"
# What simdb-cli export says of itself in the footers of its files.
FORMAT_KEY = "simdb.format"
DOCUMENTS_KEY = "simdb.documents"
KNOWN_FORMATS = ("1",)
RECIPE_KEYS = "simdb.recipe"

# Seconds of CPU for a row in a join, and for two fingerprints that share a key.
ROW_SECONDS = 0.95e-6
COMPARISON_SECONDS = 2.5e-9
ROWS_IN_A_PARTITION = 2_000_000
# One of so many fingerprints is looked at to find crowded keys.
SAMPLED = 64
# How often a crowded key is cut again.
CUTS = 2
ALL_BITS = (1 << 64) - 1
# What is sent to every worker: some 100 MB there.
BROADCAST_ROWS = 1_000_000
LARGE_NODES = 4_000_000

# The tables that steps leave.
PAIR = "a BIGINT, b BIGINT, distance INT"
EDGE = "u BIGINT, v BIGINT, distance INT"
FOUND = "l BIGINT, r BIGINT, distance INT"
CLUSTER = "doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT"
TEXT = ("doc BIGINT, fingerprint BIGINT, reliable BOOLEAN, letters INT, classes INT, max_entries INT, "
        "max_seconds INT, max_sketch_distance INT, characters INT, sketch_1 BIGINT, sketch_2 BIGINT, other_1 BIGINT, "
        "other_2 BIGINT, wording BINARY, text STRING, keys ARRAY<BIGINT>, seconds ARRAY<BIGINT>, others ARRAY<BIGINT>")
NODE = "node BIGINT, entries BIGINT"
HOT = "node BIGINT, query_parts INT, entry_parts INT"
CANDIDATE = "query BIGINT, document BIGINT"
DECIDED = ("query BIGINT, document BIGINT, distance INT, a_first BOOLEAN, verdict STRING, "
           "edit_similarity DOUBLE, jaccard DOUBLE")
SIMILAR_PAIR = ("a BIGINT, b BIGINT, distance INT, verdict STRING, edit_similarity DOUBLE, jaccard DOUBLE, "
                "is_copy BOOLEAN, a_first BOOLEAN")

# The forest, as in SearchKeys, whose description the footers have: the lowest bit of each of the five minima in a
# key, and the levels that have second minima.
SHIFTS = (27, 17, 10, 6, 4)
PROBED_LEVELS = 3
# A search: its trees, the most entries of a small node of one or two minima (of long and of short texts) and of
# three or four, and the most second minima of a prefix.
Search = namedtuple("Search", "trees shallow_entries deep_entries max_seconds")
WIDE, NARROW = Search(24, (32, 128), 4096, 2), Search(16, (16,), 1024, 1)
# Columns of a narrow search, which replace those of an export.
NARROW_COLUMNS = {"max_entries": f"{NARROW.shallow_entries[0]}", "max_seconds": f"{NARROW.max_seconds}",
                  "max_sketch_distance": "IF(characters < 30, 50, 46)"}
# The bytes of texts or wordings that a step takes for each core, and a partition of it: the disk must hold them.
BYTES_OF_A_STEP, BYTES_OF_A_PARTITION = 4 << 30, 512 << 20
# The rows of most texts in a tree (a short text has up to 9), and the bytes of a row beside its wording.
ROWS_OF_A_TREE, ROW_BYTES = 6, 150
SEARCH_RADIUS = 3
# Shorter texts are compared by shorter shingles.
LONG_CHARACTERS = 100
# What decides about two texts that meet in a node.
NODE_TEXT = "document, class, classes, max_sketch_distance, is_long, sketch_1, sketch_2, other_1, other_2, wording"
SEARCH_KEYS = "simdb.recipe.search_keys"
SEARCH_KEYS_VERSION = "search keys v5:"
# simdb-cli refuses to compare no pairs, and a partition may have none.
SEARCH_PAIRS = """IFS= read -r first || exit 0
{ printf '%s\\n' "$first"; cat; } | "$0" compare --pairs - --search --json"""


class Refusal(Exception):
    """What cannot be done, why, and what to do about it."""


def say(text):
    print(text, file=sys.stderr, flush=True)


# How fingerprints are cut -----------------------------------------------------------------------

# One thing to join on: the bits that must be equal, and the groups of bits before them that must
# differ, since otherwise an earlier one has the pair. `code` tells the cuts of one key apart.
Cut = namedtuple("Cut", "code mask differ")


def split(bits, count):
    """Positions of bits as so many masks of neighbours, whose sizes differ by one at most."""
    size, more = divmod(len(bits), count)
    masks, start = [], 0
    for number in range(count):
        end = start + size + (number < more)
        masks.append(sum(1 << bit for bit in bits[start:end]))
        start = end
    return masks


def joins(radius, blocks):
    """The joins that find each pair within the radius: one for each set of blocks."""
    masks = split(range(63, -1, -1), blocks)
    for chosen in itertools.combinations(range(blocks), blocks - radius):
        before = [masks[b] for b in range(max(chosen)) if b not in chosen]
        yield Cut(0, sum(masks[b] for b in chosen), before)


def cut_again(cut, radius):
    """The cuts that find each pair within the radius among fingerprints that are equal in the bits of `cut`."""
    masks = split([bit for bit in range(63, -1, -1) if not cut.mask >> bit & 1], radius + 1)
    for number, mask in enumerate(masks):
        yield Cut(
            cut.code * (radius + 1) + number + 1, cut.mask | mask, cut.differ + masks[:number]
        )


def cost_seconds(fingerprints, radius, blocks):
    """An estimate of the CPU time of all pairs, measured up to 8 million fingerprints."""
    every = list(joins(radius, blocks))
    shared = sum(2.0 ** -bin(cut.mask).count("1") for cut in every)
    # Reading the documents and finding their copies takes as long as two joins.
    return fingerprints * (ROW_SECONDS * (len(every) + 2) + COMPARISON_SECONDS * fingerprints * shared)


def cheapest_blocks(fingerprints, radius):
    return min(
        range(radius + 1, radius + 4),
        key=lambda blocks: cost_seconds(fingerprints, radius, blocks),
    )


def literal(bits):
    """64 bits as an SQL literal, which is signed."""
    if bits == 1 << 63:
        return "shiftleft(1L, 63)"
    return f"({bits - (1 << 64) if bits >> 63 else bits}L)"


def reorder(column):
    """An id of u64, bit-cast to BIGINT, as a BIGINT in the order of u64; and back."""
    return f"({column} ^ {literal(1 << 63)})"


# Files in Hadoop's file systems ------------------------------------------------------------------


class Files:
    """Hadoop's file systems, by the classes of the driver's JVM: the same code for local paths,
    hdfs:// and s3a://."""

    def __init__(self, spark):
        self.jvm = spark._jvm
        self.conf = spark.sparkContext._jsc.hadoopConfiguration()

    def _path(self, path):
        return self.jvm.org.apache.hadoop.fs.Path(path)

    def _at(self, path):
        path = self._path(path)
        return path.getFileSystem(self.conf), path

    def full_name(self, path):
        fs, path = self._at(path)
        return fs.makeQualified(path).toString()

    def exists(self, path):
        fs, path = self._at(path)
        return fs.exists(path)

    def names(self, folder):
        fs, path = self._at(folder)
        return sorted(status.getPath().getName() for status in fs.listStatus(path))

    def remove(self, path):
        fs, path = self._at(path)
        fs.delete(path, True)

    def make_folder(self, path):
        fs, path = self._at(path)
        fs.mkdirs(path)

    def move(self, source, target):
        fs, path = self._at(source)
        if not fs.rename(path, self._path(target)):
            raise Refusal(f"cannot move {source} to {target}: the file system refuses; "
                          "look whether something has that name, and run the same command again")

    def read(self, path):
        """The content that `replace` wrote last, also if a `replace` was interrupted."""
        if not self.exists(path) and self.exists(path + ".new"):
            path += ".new"
        fs, path = self._at(path)
        stream = fs.open(path)
        try:
            return self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()

    def replace(self, path, text):
        """Replaces a file. Some file systems cannot rename over a file, so for a moment only the new file
        exists, complete under another name; `read` and `is_there` look there too."""
        new = path + ".new"
        fs, target = self._at(new)
        stream = fs.create(target, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.remove(path)
        self.move(new, path)

    def is_there(self, path):
        return self.exists(path) or self.exists(path + ".new")

    def parquet_files(self, root):
        """The files that Spark would read there."""
        fs, path = self._at(root)
        if not fs.exists(path):
            raise Refusal(f"cannot read {root}: it does not exist; `simdb-cli export DATABASE "
                          "--format parquet` writes what is wanted here")
        top = fs.makeQualified(path).toString()
        found, walk = [], fs.listFiles(path, True)
        while walk.hasNext():
            status = walk.next()
            name = status.getPath().toString()
            below = name[len(top):]
            if name.endswith(".parquet") and not re.search(r"(^|/)[._]", below):
                found.append({
                    "path": name,
                    "length": status.getLen(),
                    "modified": status.getModificationTime(),
                })
        if not found:
            raise Refusal(f"cannot read {root}: no file *.parquet is in it; "
                          "name a folder that `simdb-cli export --format parquet` wrote")
        return found

    def footer(self, path):
        """The metadata of documents in the footer of a Parquet file, which Spark does not return."""
        parquet = self.jvm.org.apache.parquet.hadoop
        file = parquet.util.HadoopInputFile.fromPath(self._path(path), self.conf)
        reader = parquet.ParquetFileReader.open(file)
        try:
            footer = reader.getFooter()
            schema = footer.getFileMetaData().getSchema()
            required = all(self._is_required(path, schema, name) for name in ("doc_id", "fingerprint"))
            ranges = []
            for group in footer.getBlocks():
                for column in group.getColumns():
                    if column.getPath().toDotString() == "doc_id":
                        seen = column.getStatistics()
                        known = seen is not None and seen.hasNonNullValue()
                        ranges.append((seen.genericGetMin(), seen.genericGetMax()) if known else None)
            return {
                "metadata": dict(footer.getFileMetaData().getKeyValueMetaData()),
                "rows": sum(group.getRowCount() for group in footer.getBlocks()),
                "required": required,
                "ranges": ranges,
                "reliable": schema.containsField("reliable"),
            }
        finally:
            reader.close()

    @staticmethod
    def _is_required(path, schema, name):
        wanted = "wanted are doc_id and fingerprint, INT64, bit-cast from u64"
        if not schema.containsField(name):
            raise Refusal(f"cannot read {path}: it has no column {name}; {wanted}")
        column = schema.getType(name)
        kind, annotation = "a group", None
        if column.isPrimitive():
            kind = column.asPrimitiveType().getPrimitiveTypeName().toString()
            annotation = column.getLogicalTypeAnnotation()
            annotation = annotation and annotation.toString()
        if kind != "INT64" or annotation not in (None, "INTEGER(64,true)"):
            described = f"{kind} {annotation or ''}".strip()
            raise Refusal(f"cannot read {path}: its column {name} is {described}; {wanted}")
        return column.getRepetition().toString() == "REQUIRED"


# Input ------------------------------------------------------------------------------------------


def listed(files, roots):
    """The files of all inputs, in order of their names."""
    found = [file for root in roots for file in files.parquet_files(root)]
    return sorted(found, key=lambda file: file["path"])


class Documents:
    """Folders of documents: their files and the metadata of the footers."""

    def __init__(self, files, roots):
        self.roots = roots
        self.files = listed(files, roots)
        names = [file["path"] for file in self.files]
        if len(set(names)) < len(names):
            raise Refusal(f"cannot read {' and '.join(roots)}: they have files in common; "
                          "name each folder once")
        # Each footer is a round trip to the file system, and of a large corpus there are thousands.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            footers = list(pool.map(files.footer, names))
        self.rows = sum(footer["rows"] for footer in footers)
        self.reliable = any(footer["reliable"] for footer in footers)
        self.recipe = self._recipe(names, [footer["metadata"] for footer in footers])
        self.proved = self._are_proved(footers)

    def _recipe(self, names, metadata):
        first = None
        for name, pairs in zip(names, metadata):
            if pairs.get(FORMAT_KEY, KNOWN_FORMATS[0]) not in KNOWN_FORMATS:
                raise Refusal(f"cannot read {name}: its {FORMAT_KEY} is {pairs[FORMAT_KEY]}, this "
                              f"program reads {', '.join(KNOWN_FORMATS)}; use the simdb_spark.py of "
                              "the simdb that exported it")
            recipe = {key: value for key, value in pairs.items() if key.startswith(RECIPE_KEYS)}
            if first is None:
                first = name, recipe
            same_recipe(first[0], first[1], name, recipe)
        if not first[1]:
            say(f"note: {' and '.join(self.roots)}: no file says by which recipe its fingerprints "
                "were made; only fingerprints of one recipe can be compared")
        return first[1]

    @staticmethod
    def _are_proved(footers):
        """True if the footers prove that no id is repeated. simdb writes a file in the order of u64 ids,
        each once, so it is enough that the ranges of ids of two files do not overlap."""
        ranges = []
        for footer in footers:
            groups, metadata = footer["ranges"], footer["metadata"]
            if FORMAT_KEY not in metadata or not footer["required"] or None in groups:
                return False
            # A file that another program merged keeps the metadata of one of its parts.
            if metadata.get(DOCUMENTS_KEY) != str(footer["rows"]):
                return False
            for least, most in groups:
                # Statistics are signed: in a group with both signs, the range as u64 is not known.
                mixed = least < 0 <= most
                ranges.append((0, ALL_BITS) if mixed else (least & ALL_BITS, most & ALL_BITS))
        ranges.sort()
        return all(before[1] < after[0] for before, after in zip(ranges, ranges[1:]))

    def frame(self, spark):
        """Columns `fingerprint` and `doc`, the id in the order of u64."""
        frame = (
            spark.read.option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.parquet")
            .schema("doc_id BIGINT, fingerprint BIGINT" + (", reliable BOOLEAN" if self.reliable else ""))
            .parquet(*self.roots)
        )
        if self.reliable:
            # In a file without the column all documents are reliable.
            frame = frame.where("coalesce(reliable, true)")
        return frame.selectExpr("fingerprint", f"{reorder('doc_id')} AS doc")


class Texts(Documents):
    """Folders of documents with their texts and search keys."""

    def __init__(self, files, roots):
        super().__init__(files, roots)
        if not self.recipe.get(SEARCH_KEYS, "").startswith(SEARCH_KEYS_VERSION):
            raise Refusal(f"cannot read {' and '.join(roots)}: texts and {SEARCH_KEYS_VERSION[:-1]} are wanted; "
                          "`simdb-cli export DATABASE --format parquet --similar` of the simdb of this "
                          "program writes them")

    def frame(self, spark):
        """The columns of TEXT, the id in the order of u64."""
        frame = (
            spark.read.option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.parquet")
            .schema(TEXT.replace("doc ", "doc_id ", 1))
            .parquet(*self.roots)
        )
        return frame.selectExpr(f"{reorder('doc_id')} AS doc", *frame.columns[1:])


def same_recipe(one_name, one, other_name, other):
    if one == other or (not one and not other):
        return
    differing = [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]
    shown = "; ".join(
        f"{key} is {one.get(key, 'missing')!r:.200} and {other.get(key, 'missing')!r:.200}"
        for key in differing
    )
    raise Refusal(f"cannot compare {one_name} with {other_name}: their fingerprints are of different "
                  f"recipes ({shown}); export both from databases of one recipe")


# The output folder and its steps ----------------------------------------------------------------


class Job:
    """An output folder with its manifest and its finished steps."""

    def __init__(self, spark, options, parameters, inputs, recipe):
        self.spark, self.options = spark, options
        self.files = Files(spark)
        self.out = options.OUTPUT.rstrip("/")
        self.began = time.time()
        self.views = 0
        self.manifest = {
            "program": "simdb_spark.py", "version": VERSION, "verb": options.verb,
            "parameters": parameters, "inputs": inputs, "recipe": recipe,
            "state": "unfinished", "finished": {},
        }
        self._take_up()
        self.partitions(0)

    def _take_up(self):
        at = f"{self.out}/{MANIFEST}"
        if not self.files.is_there(at):
            if self.files.exists(self.out) and self.files.names(self.out):
                raise Refusal(f"cannot write {self.out}: it has files in it that this program did not "
                              "write; name a new folder")
            self.files.make_folder(self.out)
            self._save()
            return
        try:
            before = json.loads(self.files.read(at))
            differing = [
                self._difference(key, before[key], self.manifest[key])
                for key in ("program", "version", "verb", "parameters", "inputs", "recipe")
                if before[key] != self.manifest[key]
            ]
            finished, state = before["finished"], before["state"]
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(f"cannot go on in {self.out}: its {MANIFEST} is no manifest of this program "
                          f"({error}); delete the folder, or name another") from error
        if differing:
            raise Refusal(f"cannot go on in {self.out}: it was begun with other {'; '.join(differing)}. "
                          "Repeat the command it was begun with, or delete the folder, or name another")
        self.manifest = before
        if state == "whole":
            say(f"{self.out} is whole already")
        elif finished:
            say(f"going on in {self.out}, behind {len(finished)} finished steps")

    @staticmethod
    def _difference(key, before, now):
        if key != "inputs":
            return f"{key} ({json.dumps(before)}, now {json.dumps(now)})"
        old = {file["path"]: file for file in before}
        new = {file["path"]: file for file in now}
        changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
        which = "was changed" if changed[0] in old and changed[0] in new else (
            "is gone" if changed[0] in old else "is new")
        return f"input ({changed[0]} {which}, {len(changed)} files differ)"

    def _save(self):
        self.files.replace(f"{self.out}/{MANIFEST}", json.dumps(self.manifest, indent=1))

    @property
    def is_whole(self):
        return self.manifest["state"] == "whole"

    @property
    def cores(self):
        return self.spark.sparkContext.defaultParallelism

    def partitions(self, rows, size=0):
        """Sets the number of partitions of a shuffle of so many rows and bytes."""
        self.parts = self.options.partitions or max(
            self.cores, math.ceil(rows / ROWS_IN_A_PARTITION), math.ceil(size / BYTES_OF_A_PARTITION))
        self.spark.conf.set("spark.sql.shuffle.partitions", self.parts)

    def view(self, frame):
        """A name for a frame in SQL."""
        self.views += 1
        name = f"simdb_{self.views}"
        frame.createOrReplaceTempView(name)
        return name

    def fact(self, name, find):
        """The value of a step, computed once and kept in the manifest."""
        if name not in self.manifest["finished"]:
            start = time.time()
            value = find()
            self._finish(name, value=value, seconds=round(time.time() - start, 2))
        return self.manifest["finished"][name]["value"]

    def step(self, name, schema, make):
        """The table of a step, written unless the step is finished, and read back."""
        at = f"{self.out}/{WORK}/{name}"
        if name not in self.manifest["finished"]:
            start = time.time()
            self.spark.sparkContext.setJobDescription(f"simdb {self.options.verb}: {name}")
            make().write.mode("overwrite").parquet(at)
            # A table without rows has a file too, unless driver and workers have different disks.
            if not any(part.startswith("part-") for part in self.files.names(at)):
                raise Refusal(f"cannot write {at}: nothing that the workers wrote is there; name an "
                              "OUTPUT that the driver and all workers see (hdfs://, s3a://, a shared disk)")
            self._finish(name, seconds=round(time.time() - start, 2))
            # Spark deletes the files of a shuffle once the driver has collected its objects.
            self.spark._jvm.System.gc()
        return self.spark.read.schema(schema).parquet(at)

    def rows(self, name, rows, schema):
        """Rows of the driver as a table, by way of a file: a table of a Python list may need Python on the
        workers."""
        at = f"{self.out}/{WORK}/{name}"
        self.files.replace(at, "".join(",".join(map(str, row)) + "\n" for row in rows))
        return self.spark.read.schema(schema).csv(at)

    def _finish(self, name, **what):
        self.manifest["finished"][name] = what
        self._save()
        say(f"{time.time() - self.began:7.1f} s  {name}"
            + (f": {what['value']}" if "value" in what else ""))

    def finish(self, tables, summarize, inputs_now):
        """Moves the tables of steps into the output folder, and marks it as complete."""
        if not self.is_whole:
            if inputs_now() != self.manifest["inputs"]:
                raise Refusal(f"cannot finish {self.out}: the input was changed meanwhile; delete the "
                              "folder, and run the command again on files that stay as they are")
            for table in tables:
                folder = f"{self.out}/{WORK}/{table}"
                for part in self.files.names(folder):
                    if part.startswith("part-"):
                        short = table.replace("=", "-")
                        target = f"{self.out}/part-{short}-{part[5:]}"
                        # Where a move is a copy, an interrupted run may have left both files.
                        self.files.remove(target)
                        self.files.move(f"{folder}/{part}", target)
            self.manifest["summary"] = summarize()
            self.manifest["state"] = "whole"
            self._save()
        if not self.files.exists(f"{self.out}/{SUCCESS}"):
            self.files.replace(f"{self.out}/{SUCCESS}", "")
        self.files.remove(f"{self.out}/{WORK}")
        return self.manifest["summary"]


def begin_documents(job, name, documents):
    """The documents of an input, after its checks."""
    frame = documents.frame(job.spark)

    def look():
        if documents.proved:
            return "sound by the footers"
        nulls, = job.spark.sql(
            f"SELECT count_if(doc IS NULL OR fingerprint IS NULL) FROM {job.view(frame)}"
        ).first()
        if nulls:
            raise Refusal(f"cannot read {' and '.join(documents.roots)}: {nulls} rows have no doc_id or "
                          "no fingerprint; leave them out")
        twice = job.spark.sql(
            f"SELECT doc FROM {job.view(frame)} GROUP BY doc HAVING count(*) > 1 LIMIT 1"
        ).first()
        if twice:
            raise Refusal(f"cannot read {' and '.join(documents.roots)}: document "
                          f"{twice[0] + (1 << 63)} is there more than once; an id names one document, "
                          "so give those of several databases different ids")
        return "sound, every row looked at"

    job.fact(f"{name}-looked-at", look)
    return frame


def distinct(job, name, documents):
    """Each fingerprint once, with its smallest document; and its other documents as stars around
    that one."""
    once = job.step(
        f"{name}-distinct", "fingerprint BIGINT, doc BIGINT, documents BIGINT",
        lambda: job.spark.sql(
            f"SELECT fingerprint, min(doc) AS doc, count(*) AS documents FROM {job.view(documents)} "
            "GROUP BY fingerprint"),
    )
    several = once.where("documents > 1").selectExpr("fingerprint AS f", "doc AS first")
    # Usually they are few, and then the documents need no shuffle.
    few = job.fact(f"{name}-shared", several.count) <= BROADCAST_ROWS
    copies = job.step(
        f"{name}-copies", PAIR,
        lambda: job.spark.sql(
            f"SELECT {'/*+ BROADCAST(s) */' if few else ''} {reorder('first')} AS a, "
            f"{reorder('doc')} AS b, 0 AS distance FROM {job.view(documents)} "
            f"JOIN {job.view(several)} s ON fingerprint = f WHERE doc <> first"),
    )
    return once.select("fingerprint", "doc"), copies


# Joins ------------------------------------------------------------------------------------------


def find_crowded(job, cuts, frame):
    """The keys of each join that more than `--hot` rows share, by a sample; how many of each."""
    keys = ", ".join(
        f"struct({number} AS number, fingerprint & {literal(cut.mask)} AS key)"
        for number, cut in enumerate(cuts)
    )
    crowded = job.step(
        "crowded", "number INT, key BIGINT",
        lambda: job.spark.sql(
            "SELECT number, key FROM "
            f"(SELECT inline(array({keys})) FROM {job.view(frame)} "
            f"WHERE (xxhash64(fingerprint) & {SAMPLED - 1}) = 0) "
            f"GROUP BY number, key HAVING count(*) * {SAMPLED} > {job.options.hot}"),
    )
    counts = job.fact("crowded-keys", lambda: {
        str(row["number"]): row["count"] for row in crowded.groupBy("number").count().collect()
    })
    return crowded, counts


def near(job, number, cut, left, right, crowded, count, broadcast):
    """SQL of the pairs (left document, right document, distance) that one join writes.

    left and right have columns `fingerprint` and `doc`. Where they are the same, each pair comes
    once, and no fingerprint with itself.
    """
    from pyspark.sql import functions

    radius = job.options.radius
    x = "(l.fingerprint ^ r.fingerprint)"
    alone = left is right
    found, cuts = [], [cut]
    hot = job.view(crowded.where(f"number = {number}")) if count else None
    for level in range(CUTS + 1):
        if level == 0:
            keys = [f"(fingerprint & {literal(cut.mask)})"]
            on = f"(l.fingerprint & {literal(cut.mask)}) = (r.fingerprint & {literal(cut.mask)})"
            is_hot = f"(fingerprint & {literal(cut.mask)}) = {{hot}}.key"
        else:
            keys = ["code", "key"]
            on = "l.code = r.code AND l.key = r.key"
            is_hot = "{rows}.code = {hot}.code AND {rows}.key = {hot}.key"
            if level < CUTS:
                rows = job.view(right)
                counted = job.step(
                    f"crowded-{number:02d}-{level}", "code INT, key BIGINT",
                    lambda: job.spark.sql(f"SELECT code, key FROM {rows} GROUP BY code, key "
                                          f"HAVING count(*) > {job.options.hot}"),
                )
                hot = job.view(counted) if not counted.isEmpty() else None
            else:
                hot = None

        def where(side, how):
            rows = job.view(side)
            condition = is_hot.format(rows=rows, hot=hot)
            return job.spark.sql(f"SELECT * FROM {rows} LEFT {how} JOIN {hot} ON {condition}")

        sides = [right] if alone else [left, right]
        cold = [where(side, "ANTI") if hot else side for side in sides]
        if not broadcast:
            cold = [side.repartition(job.parts, *map(functions.expr, keys)) for side in cold]
        names = [job.view(side) for side in cold]
        owned = " ".join(
            f"WHEN {c.code} THEN " + (" AND ".join(
                f"({x} & {literal(mask)}) <> 0" for mask in c.differ) or "true")
            for c in cuts
        )
        found.append(
            f"SELECT /*+ {'BROADCAST(l)' if broadcast else 'MERGE(r)'} */ "
            f"l.doc AS l, r.doc AS r, bit_count{x} AS distance "
            f"FROM {names[0]} l JOIN {names[-1]} r ON {on} WHERE bit_count{x} <= {radius} "
            + ("AND l.fingerprint < r.fingerprint " if alone else "")
            + f"AND CASE {'l.code' if level else '0'} {owned} END"
        )
        if not hot:
            break
        # The rows of crowded keys, once for each cut of the key.
        arrays = " ".join(
            f"WHEN {c.code} THEN array(" + ", ".join(
                f"struct({again.code} AS code, fingerprint & {literal(again.mask)} AS key)"
                for again in cut_again(c, radius)) + ")"
            for c in cuts
        )
        again = [
            where(side, "SEMI").selectExpr(
                f"inline(CASE {'code' if level else '0'} {arrays} END)", "fingerprint", "doc")
            for side in sides
        ]
        left, right = again[0], again[-1]
        cuts = [again for c in cuts for again in cut_again(c, radius)]
    return " UNION ALL ".join(found)


def plan(job, fingerprints):
    """The joins; none at radius 0. Their number is chosen for all pairs, and used for a match too."""
    radius, blocks = job.options.radius, job.options.blocks
    if radius == 0:
        return 1, []
    if blocks == "auto":
        blocks = job.fact("blocks", lambda: cheapest_blocks(fingerprints, radius))
    cuts = list(joins(radius, blocks))
    if not job.is_whole:
        hours = cost_seconds(fingerprints, radius, blocks) / 3600
        cost = f", about {hours:.2g} hours of CPU" if job.options.verb == "pairs" else ""
        say(f"           {fingerprints} fingerprints, {blocks} blocks, {len(cuts)} joins in {job.parts} "
            f"parts{cost}")
    return blocks, cuts


def members(job, copies):
    """first, doc: each document of a group of copies, in the order of u64."""
    stars = job.view(copies)
    return job.spark.sql(
        f"SELECT {reorder('a')} AS first, {reorder('b')} AS doc FROM {stars} UNION ALL "
        f"SELECT DISTINCT {reorder('a')}, {reorder('a')} FROM {stars}")


# Commands ---------------------------------------------------------------------------------------


def pairs(spark, options):
    files = Files(spark)
    documents = Documents(files, options.INPUT)
    job = Job(spark, options, {
        "radius": options.radius, "blocks": options.blocks, "expand": options.expand,
        "hot": options.hot,
    }, documents.files, documents.recipe)
    if job.is_whole:
        return job.finish([], None, None)
    job.partitions(documents.rows)
    rows = begin_documents(job, "input", documents)
    tables, copies, fingerprints, blocks = near_documents(job, "input", rows)
    if options.expand:
        job.step("expanded", PAIR, lambda: expanded_pairs(job, tables, copies))
        tables = ["expanded"]

    def summarize():
        found = count_by_distance(spark, job.out)
        return {
            "documents": job.fact("documents", rows.count), "fingerprints": fingerprints,
            "radius": options.radius, "blocks": blocks, "expanded": options.expand,
            "rows": sum(found.values()), "rows_at_distance": found,
        }

    return job.finish(tables, summarize, lambda: listed(files, options.INPUT))


def near_documents(job, name, rows):
    """The names of the tables of all pairs within the radius, the first of them of copies; the copies, the number of
    fingerprints, and the blocks."""
    once, copies = distinct(job, name, rows)
    fingerprints = job.fact("fingerprints", once.count)
    job.partitions(fingerprints)
    blocks, cuts = plan(job, fingerprints)
    tables = [f"{name}-copies"]
    if cuts:
        crowded, counts = find_crowded(job, cuts, once)
    for number, cut in enumerate(cuts):
        tables.append(f"join={number:02d}")
        job.step(tables[-1], PAIR, lambda: job.spark.sql(
            f"SELECT {reorder('least(l, r)')} AS a, {reorder('greatest(l, r)')} AS b, distance FROM ("
            + near(job, number, cut, once, once, crowded, counts.get(str(number), 0), False) + ")"))
    return tables, copies, fingerprints, blocks


def expanded_pairs(job, tables, copies):
    """Every pair of documents, from the pairs and stars of fingerprints."""
    found = job.view(job.spark.read.schema(PAIR).parquet(
        *(f"{job.out}/{WORK}/{table}" for table in tables)).where("distance > 0"))
    of = job.view(members(job, copies))
    return job.spark.sql(
        f"SELECT {reorder('least(x, y)')} AS a, {reorder('greatest(x, y)')} AS b, distance FROM ("
        f"SELECT coalesce(m.doc, {reorder('p.a')}) AS x, coalesce(n.doc, {reorder('p.b')}) AS y, distance "
        f"FROM {found} p LEFT JOIN {of} m ON {reorder('p.a')} = m.first "
        f"LEFT JOIN {of} n ON {reorder('p.b')} = n.first "
        f"UNION ALL SELECT m.doc, n.doc, 0 FROM {of} m JOIN {of} n ON m.first = n.first "
        "WHERE m.doc < n.doc)")


def match(spark, options):
    files = Files(spark)
    asked, held = Documents(files, [options.QUERIES]), Documents(files, [options.CORPUS])
    same_recipe(options.QUERIES, asked.recipe, options.CORPUS, held.recipe)
    job = Job(spark, options, {
        "queries": files.full_name(options.QUERIES), "corpus": files.full_name(options.CORPUS),
        "radius": options.radius, "blocks": options.blocks, "firsts": options.firsts,
        "hot": options.hot, "broadcast": options.broadcast,
    }, listed(files, [options.QUERIES, options.CORPUS]), held.recipe)
    if job.is_whole:
        return job.finish([], None, None)
    job.partitions(asked.rows)
    queries, query_copies = distinct(
        job, "queries", begin_documents(job, "queries", asked))
    job.partitions(held.rows)
    corpus = begin_documents(job, "corpus", held)
    # Few queries are sent to every worker, and the corpus is not shuffled.
    broadcast = asked.rows <= options.broadcast
    once = options.firsts or not broadcast
    corpus_copies = None
    if once:
        corpus, corpus_copies = distinct(job, "corpus", corpus)
    fingerprints = job.fact("fingerprints", corpus.count)
    tables = []
    if options.radius == 0:
        cuts, blocks = [Cut(0, ALL_BITS, [])], 1
    else:
        blocks, cuts = plan(job, fingerprints)
    crowded, counts = find_crowded(job, cuts, corpus)
    for number, cut in enumerate(cuts):
        tables.append(f"join={number:02d}")
        count = counts.get(str(number), 0) if options.radius else 0
        job.step(tables[-1], FOUND, lambda: spark.sql(
            near(job, number, cut, queries, corpus, crowded, count, broadcast)))

    def answer():
        found = job.view(spark.read.schema(FOUND).parquet(
            *(f"{job.out}/{WORK}/{table}" for table in tables)))
        copies = job.view(members(job, query_copies))
        sql = (f"SELECT coalesce(m.doc, l) AS l, r, distance FROM {found} "
               f"LEFT JOIN {copies} m ON l = m.first")
        if once and not options.firsts:
            others = job.view(members(job, corpus_copies))
            sql = (f"SELECT l, coalesce(n.doc, r) AS r, distance FROM ({sql}) "
                   f"LEFT JOIN {others} n ON r = n.first")
        return spark.sql(f"SELECT {reorder('l')} AS query, {reorder('r')} AS document, distance "
                         f"FROM ({sql})")

    job.step("answer", "query BIGINT, document BIGINT, distance INT", answer)

    def summarize():
        found = count_by_distance(spark, job.out)
        matched, = spark.read.schema("query BIGINT").parquet(job.out).selectExpr(
            "count(DISTINCT query)").first()
        return {
            "queries": asked.rows, "corpus": held.rows, "radius": options.radius, "blocks": blocks,
            "queries_matched": matched, "rows": sum(found.values()), "rows_at_distance": found,
        }

    return job.finish(["answer"], summarize, lambda: listed(
        files, [options.QUERIES, options.CORPUS]))


def clusters(spark, options):
    files = Files(spark)
    of_pairs = {}
    manifest = f"{options.PAIRS.rstrip('/')}/{MANIFEST}"
    inputs = listed(files, [options.PAIRS])
    if files.is_there(manifest):
        of_pairs = json.loads(files.read(manifest))
        if of_pairs.get("verb") != "pairs" or of_pairs.get("state") != "whole":
            raise Refusal(f"cannot read {options.PAIRS}: its {MANIFEST} says that it is no whole output "
                          "of `pairs`; repeat the command that makes it until it ends")
    found_within = of_pairs.get("parameters", {}).get("radius")
    if options.radius is not None and found_within is not None and options.radius > found_within:
        raise Refusal(f"cannot use pairs within {options.radius} bits: {options.PAIRS} has pairs "
                      f"only within {found_within} bits; run `pairs --radius {options.radius}` first")
    job = Job(spark, options, {
        "shape": options.shape, "radius": options.radius, "driver_edges": options.driver_edges,
    }, inputs, of_pairs.get("recipe"))
    if job.is_whole:
        return job.finish([], None, None)
    held = (spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet")
            .schema(PAIR).parquet(options.PAIRS))
    # A column that is not there is read as nulls.
    if held.where("a IS NULL OR b IS NULL OR distance IS NULL").limit(1).count():
        raise Refusal(f"cannot read {options.PAIRS}: it has not the columns a, b and distance, or "
                      "nulls in them; name what `pairs` or `simdb-cli pairs --format parquet` wrote")
    if options.radius is not None:
        held = held.where(f"distance <= {options.radius}")
    rows = job.fact("pairs", held.count)
    job.partitions(rows)
    all_pairs = job.view(held)
    stars = job.step("copies", PAIR, lambda: spark.sql(
        # A group that is not a star yet becomes one.
        f"SELECT {reorder('min(least(u, v))')} AS a, {reorder('w')} AS b, 0 AS distance FROM (SELECT "
        f"{reorder('a')} AS u, {reorder('b')} AS v, greatest({reorder('a')}, {reorder('b')}) AS w "
        f"FROM {all_pairs} WHERE distance = 0) GROUP BY w"))
    edges = job.step("edges", EDGE, lambda: edges_of_firsts(
        job, all_pairs, stars, of_pairs.get("parameters", {}).get("expand") is not False))
    count = job.fact("edge-count", edges.count)
    find = star if options.shape == "star" else connected
    assigned = find(job, edges, count)
    job.step("answer", CLUSTER, lambda: written_clusters(job, assigned, stars))

    def summarize():
        return count_clusters(job, {"shape": options.shape, "pairs": rows})

    return job.finish(["answer"], summarize, lambda: listed(files, [options.PAIRS]))


def edges_of_firsts(job, all_pairs, stars, expanded):
    """Pairs of different fingerprints, u < v in the order of u64, each side named by the first
    document that has it. Pairs that are not expanded name it already."""
    u, v = reorder("a"), reorder("b")
    sql = (f"SELECT least({u}, {v}) AS u, greatest({u}, {v}) AS v, distance FROM {all_pairs} "
           "WHERE distance > 0")
    if expanded:
        first = job.view(job.spark.sql(
            f"SELECT {reorder('a')} AS first, {reorder('b')} AS doc FROM {job.view(stars)}"))
        sql = (f"SELECT coalesce(m.first, u) AS u, coalesce(n.first, v) AS v, distance "
               f"FROM ({sql}) LEFT JOIN {first} m ON u = m.doc LEFT JOIN {first} n ON v = n.doc")
        sql = f"SELECT DISTINCT least(u, v) AS u, greatest(u, v) AS v, distance FROM ({sql})"
    return job.spark.sql(sql)


def star(job, edges, count):
    """doc, keeper, distance of the members, by the rounds that the docstring of the module proves. Edges lead
    from the earlier to the later document, in any order of the documents."""
    spark, dropped, left, number = job.spark, [], edges.select("u", "v"), 0
    while count > job.options.driver_edges:
        e = job.view(left)
        now = job.step(f"dropped-{number:03d}", "doc BIGINT", lambda: spark.sql(
            f"SELECT DISTINCT v AS doc FROM {e} LEFT ANTI JOIN (SELECT DISTINCT v AS larger FROM {e}) "
            "ON u = larger"))
        dropped.append(now)
        d = job.view(now)
        left = job.step(f"left-{number:03d}", "u BIGINT, v BIGINT", lambda: spark.sql(
            f"SELECT u, v FROM {e} LEFT ANTI JOIN {d} x ON u = x.doc LEFT ANTI JOIN {d} y ON v = y.doc"))
        count = job.fact(f"left-{number:03d}-count", left.count)
        number += 1
    if count:
        def by_the_driver():
            taken, later, waits = set(), {}, {}
            for u, v in left.collect():
                later.setdefault(u, []).append(v)
                waits[v] = waits.get(v, 0) + 1
            # All neighbours before a document are decided before it.
            ready = [u for u in later if u not in waits]
            while ready:
                u = ready.pop()
                for v in later.get(u, ()):
                    if u not in taken:
                        taken.add(v)
                    waits[v] -= 1
                    if not waits[v]:
                        ready.append(v)
            return job.rows("taken.csv", ((doc,) for doc in sorted(taken)), "doc BIGINT")
        dropped.append(job.step("dropped-by-driver", "doc BIGINT", by_the_driver))
    if not dropped:
        return job.rows("none.csv", [], "doc BIGINT, keeper BIGINT, distance INT")
    gone = dropped[0]
    for more in dropped[1:]:
        gone = gone.unionAll(more)
    return spark.sql(
        f"SELECT v AS doc, min(struct(u, distance)) AS first FROM {job.view(edges)} "
        f"LEFT ANTI JOIN {job.view(gone)} g ON u = g.doc GROUP BY v"
    ).selectExpr("doc", "first.u AS keeper", "first.distance AS distance")


def connected(job, edges, count):
    """doc, keeper, distance of the documents of a component, except its smallest document."""
    spark = job.spark
    if count <= job.options.driver_edges:
        def by_the_driver():
            root = {}

            def find(doc):
                while root.setdefault(doc, doc) != doc:
                    root[doc] = root[root[doc]]
                    doc = root[doc]
                return doc

            for u, v, _ in edges.collect():
                u, v = sorted((find(u), find(v)))
                root[v] = u
            return job.rows(
                "found.csv", ((doc, find(doc)) for doc in sorted(root) if find(doc) != doc),
                "u BIGINT, v BIGINT")
        forest = job.step("components", "u BIGINT, v BIGINT", by_the_driver)
    else:
        # Edges point to the smaller end here: u > v.
        forest, number = edges.selectExpr("v AS u", "u AS v"), 0
        while not (number and job.fact(f"stars-{number:03d}", lambda: is_stars(job, forest))):
            number += 1
            e = job.view(forest)
            forest = job.step(f"round-{number:03d}", "u BIGINT, v BIGINT", lambda: one_round(job, e))
    f, e = job.view(forest), job.view(edges)
    return spark.sql(
        f"SELECT f.u AS doc, f.v AS keeper, e.distance FROM {f} f LEFT JOIN {e} e "
        "ON e.u = f.v AND e.v = f.u")


def one_round(job, edges):
    # Large-star: all larger neighbours of a node to the smallest of it and its neighbours.
    large = job.view(job.spark.sql(
        f"WITH both AS (SELECT u, v FROM {edges} UNION ALL SELECT v, u FROM {edges}) "
        "SELECT DISTINCT both.v AS u, m AS v FROM both JOIN (SELECT u, least(u, min(v)) AS m FROM both "
        "GROUP BY u) least_of ON both.u = least_of.u WHERE both.v > both.u"))
    # Small-star: a node and its smaller neighbours to the smallest of these.
    return job.spark.sql(
        f"WITH least_of AS (SELECT u, min(v) AS m FROM {large} GROUP BY u) "
        f"SELECT DISTINCT u, v FROM (SELECT l.v AS u, m AS v FROM {large} l JOIN least_of "
        "ON l.u = least_of.u WHERE l.v <> m UNION ALL SELECT u, m FROM least_of)")


def is_stars(job, forest):
    """True if every edge leads to the smallest node of its component: each node has one edge, and no edge
    leads on from its end."""
    f = job.view(forest)
    more, = job.spark.sql(f"SELECT count(*) - count(DISTINCT u) FROM {f}").first()
    on, = job.spark.sql(
        f"SELECT count(*) FROM {f} a LEFT SEMI JOIN {f} b ON a.v = b.u").first()
    return more == 0 and on == 0


def written_clusters(job, assigned, stars):
    """The lines of all documents of clusters. Copies are in the cluster of the first document with their
    fingerprint."""
    a, s = job.view(assigned), job.view(stars)
    # Copies of a document in no pair with the keeper are in no pair with it, and copies of the keeper are at 0.
    distance = "CASE WHEN a.doc IS NULL THEN 0 ELSE a.distance END"
    lines = (
        f"SELECT doc, keeper, distance FROM {a} UNION ALL "
        f"SELECT {reorder('s.b')}, coalesce(a.keeper, {reorder('s.a')}), {distance} "
        f"FROM {s} s LEFT JOIN {a} a ON {reorder('s.a')} = a.doc")
    return job.spark.sql(
        f"WITH line AS ({lines}) SELECT {reorder('doc')} AS doc_id, {reorder('keeper')} AS keeper, "
        f"{reorder('keeper')} AS cluster, CAST(distance AS INT) AS distance FROM ("
        "SELECT * FROM line UNION ALL SELECT DISTINCT keeper, keeper, 0 FROM line)")


# Similar texts ----------------------------------------------------------------------------------


def similar_pairs(spark, options):
    from pyspark.sql.functions import expr

    files = Files(spark)
    texts = Texts(files, options.INPUT)
    job = Job(spark, options, {"hot": options.hot, "narrow": options.narrow}, texts.files, texts.recipe)
    if job.is_whole:
        return job.finish([], None, None)
    job.partitions(texts.rows)
    rows = begin_documents(job, "input", texts)
    if options.narrow:
        rows = rows.withColumns({name: expr(value) for name, value in NARROW_COLUMNS.items()})
    once, copies = distinct_texts(job, rows)
    search = NARROW if options.narrow else WIDE
    tables = [*forest_tables(job, once, search, texts.rows), same_wordings(job, once), *near_texts(job, once)]
    found = job.fact("found", lambda: sum(table.count() for table in tables))
    text_bytes = job.fact("mean-text-bytes", lambda: mean_bytes(once, "text"))
    parts = job.fact("parts", lambda: math.ceil(found * 2 * text_bytes / (BYTES_OF_A_STEP * job.cores)) or 1)
    job.partitions(found / parts)
    decided, candidates = decide_all(job, once, union(tables), parts)
    # A pair that both searches decide is there as the search for its smaller id decides it.
    best = job.view(spark.sql(
        "SELECT least(query, document) AS u, greatest(query, document) AS v, min_by(d, query) AS d "
        f"FROM (SELECT *, struct(*) AS d FROM {job.view(decided)}) "
        "GROUP BY least(query, document), greatest(query, document)"))
    job.step("answer", SIMILAR_PAIR, lambda: spark.sql(
        f"SELECT {reorder('u')} AS a, {reorder('v')} AS b, d.distance, "
        "IF(d.query = u OR d.verdict = 'same', d.verdict, IF(d.verdict = 'a_in_b', 'b_in_a', 'a_in_b')) "
        "AS verdict, d.edit_similarity, d.jaccard, false AS is_copy, (d.query = u) = d.a_first AS a_first "
        f"FROM {best} "
        f"UNION ALL SELECT a, b, distance, 'same', 1D, 1D, true, true FROM {job.view(copies)}"))

    def summarize():
        found = spark.read.schema(SIMILAR_PAIR).parquet(job.out).groupBy("verdict").count().collect()
        found = {row["verdict"]: row["count"] for row in sorted(found)}
        return {"documents": texts.rows, "copies": copies.count(),
                "candidates": candidates, "rows": sum(found.values()),
                "rows_of_verdict": found}

    return job.finish(["answer"], summarize, lambda: listed(files, options.INPUT))


def distinct_texts(job, rows):
    """Each text once, with its smallest document and the number of its documents; and its other documents as
    stars around that one."""
    several = job.step(
        "several", "text STRING, first BIGINT, copies BIGINT",
        lambda: job.spark.sql(f"SELECT text, min(doc) AS first, count(*) AS copies FROM {job.view(rows)} "
                              "GROUP BY text HAVING count(*) > 1"))
    copies = job.step(
        "copies", PAIR,
        lambda: job.spark.sql(
            f"SELECT {reorder('first')} AS a, {reorder('doc')} AS b, 0 AS distance FROM {job.view(rows)} r "
            f"JOIN {job.view(several)} s ON r.text = s.text WHERE doc <> first"))
    left_out = job.view(copies.selectExpr(f"{reorder('b')} AS copy"))
    once = job.step("texts", f"{TEXT}, copies BIGINT", lambda: job.spark.sql(
        f"SELECT r.*, coalesce(s.copies, 1) AS copies FROM {job.view(rows)} r "
        f"LEFT ANTI JOIN {left_out} ON doc = copy LEFT JOIN {job.view(several)} s ON doc = s.first"))
    return once, copies


def node(key, level):
    """SQL of the node of a key on a level, 0 to 4. The place of the length class has the level."""
    return f"({key} & {literal(ALL_BITS << SHIFTS[level] & ALL_BITS)} | {level + 1})"


def mean_bytes(rows, column):
    from pyspark.sql.functions import expr

    return rows.agg(expr(f"avg(octet_length({column}))")).first()[0] or 0


def forest_tables(job, once, search, rows):
    """The candidates of searches, query and document, of some trees a table."""
    large = large_nodes(job, once, search)
    rows_of_a_tree = rows * ROWS_OF_A_TREE
    bytes_of_a_tree = rows_of_a_tree * (ROW_BYTES + job.fact("mean-wording-bytes", lambda: mean_bytes(once, "wording")))
    most = BYTES_OF_A_STEP * job.cores / max(bytes_of_a_tree, 1)
    # Divisors of the number of trees.
    together = job.fact("trees-of-a-step", lambda: next((trees for trees in (8, 4, 2) if trees <= most), 1))
    job.partitions(rows_of_a_tree * together, bytes_of_a_tree * together)
    return [
        near_in_nodes(job, f"trees={first:02d}", lambda texts, trees=f"{first + 1}, {together}": forest_rows(
            job, texts, search, large, trees), once)
        for first in range(0, search.trees, together)]


def large_nodes(job, once, search):
    """The nodes of each level but the last that have more entries than a small node."""
    keys = job.view(job.spark.sql(
        f"SELECT explode(slice(keys, 1, {search.trees})) AS key, copies FROM {job.view(once)} WHERE size(keys) > 1"))
    large = []
    shallow, deep = search.shallow_entries[0], search.deep_entries
    for level, most in enumerate((shallow, shallow, deep, deep)):
        inside = (f"LEFT SEMI JOIN {job.view(large[-1])} ON node = {node('key', level - 1)}" if large else "")
        large.append(job.step(f"large-{level + 1}", NODE, lambda: job.spark.sql(
            f"SELECT node, sum(copies) AS entries FROM (SELECT {node('key', level)} AS node, copies "
            f"FROM {keys} {inside}) GROUP BY node HAVING sum(copies) > {most}")))
    counts = job.fact("large-node-counts", lambda: [nodes.count() for nodes in large])
    return [nodes.hint("broadcast") if count <= LARGE_NODES else nodes for nodes, count in zip(large, counts)]


def forest_rows(job, texts, search, large, trees):
    """Texts in nodes of some trees, as entries, as queries, or both. `trees` is SQL of the first tree, from 1 on, and
    of their number."""
    from pyspark.sql import functions

    rows = job.view(texts.where("size(keys) > 1 OR size(others) > 0"))
    # A text without keys of trees is searched by the shingles of the other length alone.
    own, other = "size(keys) > 1", "size(others) > 0"

    # The sketch of the entries, and the other one of a query; the same twice if there is one.
    sketches = ", ".join(f"IF({condition}, {one}, {two}) AS {name}" for condition, one, two, name in (
        (own, "sketch_1", "other_1", "sketch_1"), (own, "sketch_2", "other_2", "sketch_2"),
        (other, "other_1", "sketch_1", "other_1"), (other, "other_2", "sketch_2", "other_2")))
    columns = (f"doc AS document, CAST(keys[0] & 15 AS INT) AS class, classes, max_sketch_distance, characters >= "
               f"{LONG_CHARACTERS} AS is_long, {sketches}, wording, max_entries, max_seconds")
    names = f"{NODE_TEXT}, max_entries, max_seconds"
    own_keys = job.spark.sql(
        f"SELECT {columns}, {own} AS has_entries, inline(arrays_zip("
        f"slice(IF({own}, keys, others), {trees}), slice(seconds, {trees}))) AS (key, second) FROM {rows}")
    other_keys = job.spark.sql(
        f"SELECT {columns}, explode(slice(others, {trees})) AS key FROM {rows} WHERE {own} AND {other}")

    def with_counts(frame):
        """With e1 to e4, the entries of the nodes of a key if these are large."""
        for level, nodes in enumerate(large):
            nodes = nodes.select(functions.col("node").alias(f"n{level}"),
                                 functions.col("entries").alias(f"e{level + 1}"))
            frame = frame.join(nodes, functions.expr(node("key", level)) == functions.col(f"n{level}"), "left")
        return frame

    def small_node(most):
        """SQL of the first small node of a key, after `with_counts`."""
        return (f"CASE WHEN coalesce(e1, 0) <= {most} THEN {node('key', 0)} "
                f"WHEN coalesce(e2, 0) <= {most} THEN {node('key', 1)} "
                f"WHEN e3 IS NULL THEN {node('key', 2)} WHEN e4 IS NULL THEN {node('key', 3)} "
                f"ELSE {node('key', 4)} END")

    # A path has `probes` second minima, on levels before `level`. It reaches the levels below its large nodes.
    masks = [(1 << high) - (1 << low) for high, low in zip((SHIFTS[0] + 15, *SHIFTS), SHIFTS[:PROBED_LEVELS])]
    reached = "IF(coalesce(e1, 0) <= max_entries, 0, IF(coalesce(e2, 0) <= max_entries, 1, 2))"
    path = "STRUCT<key: BIGINT, probes: INT, level: INT>"
    counted = with_counts(own_keys.selectExpr("*", "0 AS probes", "0 AS level"))
    for probes in range(search.max_seconds):
        probed = ", ".join(
            f"CAST(struct(key & {literal(ALL_BITS ^ mask)} | second & {literal(mask)}, {probes + 1}, {level + 1}) "
            f"AS {path})"
            for level, mask in enumerate(masks))
        # Each path itself, and the paths with one more second minimum on a level that it reaches.
        paths = job.spark.sql(
            f"SELECT {names}, has_entries, second, path.* FROM (SELECT *, explode(concat(array(CAST(struct(key, "
            f"probes, level) AS {path})), filter(array({probed}), p -> probes = {probes} AND probes < max_seconds AND "
            f"p.level > level AND p.level <= {reached} + 1))) AS path FROM {job.view(counted)})")
        counted = with_counts(paths)
    # The path without second minima leads to the entries of a text, for searches with each bound of entries.
    own_node, entry_nodes = small_node("max_entries"), ", ".join(map(small_node, search.shallow_entries))
    return job.spark.sql(
        f"SELECT {NODE_TEXT}, inline(transform(IF(is_own, array_distinct(array(own_node, {entry_nodes})), "
        "array(own_node)), n -> struct(n AS node, is_own AS is_entry, n = own_node AS is_query))) "
        f"FROM (SELECT *, has_entries AND probes = 0 AS is_own, {own_node} AS own_node FROM {job.view(counted)}) "
        f"UNION ALL SELECT {NODE_TEXT}, {own_node} AS node, false AS is_entry, true AS is_query "
        f"FROM {job.view(with_counts(other_keys))}")


def near_in_nodes(job, name, rows_of, texts):
    """The step of the candidates, among queries and entries that meet in a node, that are near-duplicates. `rows_of`
    makes the rows of texts in nodes.

    A hot node, in which more than `--hot` times `--hot` of them meet by a sample, is cut into parts of the queries and
    parts of the entries by a hash of the document, and each pair of parts is a cell of its own."""
    hot = job.options.hot

    def find_hot():
        sampled = job.view(rows_of(texts.where(f"(xxhash64(doc) & {SAMPLED - 1}) = 0")))
        return job.spark.sql(
            f"SELECT node, CAST(ceil(queries / {hot}) AS INT) AS query_parts, "
            f"CAST(ceil(entries / {hot}) AS INT) AS entry_parts FROM (SELECT node, "
            f"greatest(count_if(is_query), 1) * {SAMPLED} AS queries, greatest(count_if(is_entry), 1) * {SAMPLED} "
            f"AS entries FROM {sampled} GROUP BY node) WHERE queries * entries > {hot}L * {hot}L")

    hot_nodes = job.step(f"hot-nodes-{name}", HOT, find_hot)
    hot_count = job.fact(f"hot-node-count-{name}", hot_nodes.count)

    def find_near():
        rows = rows_of(texts).selectExpr("*", "0L AS cell")
        if hot_count:
            # Other bits of the hash than those of the sample.
            part = "pmod(shiftright(xxhash64(document), 8), {})"
            rows = job.spark.sql(
                f"SELECT r.node, {NODE_TEXT}, inline(IF(h.node IS NULL, array(struct(cell, is_entry, is_query)), "
                "concat(transform(filter(sequence(0, query_parts - 1), n -> is_entry), n -> struct(CAST(n AS BIGINT) * "
                f"entry_parts + {part.format('entry_parts')} AS cell, true AS is_entry, false AS is_query)), "
                "transform(filter(sequence(0, entry_parts - 1), n -> is_query), n -> struct("
                f"{part.format('query_parts')} * entry_parts + n AS cell, false AS is_entry, true AS is_query))))) "
                f"FROM {job.view(rows)} r LEFT JOIN {job.view(hot_nodes.hint('broadcast'))} h ON r.node = h.node")
        lines = job.spark.sql(
            f"SELECT * FROM {job.view(rows)} DISTRIBUTE BY node, cell SORT BY node, cell, is_entry DESC")
        command = [job.options.simdb_cli, "compare", "--nodes", "-", "--json"]
        return piped(job, lines, CANDIDATE, command).distinct()

    return job.step(name, CANDIDATE, find_near)


def piped(job, lines, schema, command):
    """The rows that a command makes of rows, as lines of JSON. PySpark's own pipe needs Python on the workers, that
    of the JVM does not."""
    from pyspark.sql import DataFrame

    jvm = job.spark._jvm
    made = lines._jdf.toJSON().javaRDD().pipe(command, jvm.java.util.HashMap(), False, 1 << 16, "UTF-8")
    made = job.spark._jsparkSession.createDataset(made.rdd(), jvm.org.apache.spark.sql.Encoders.STRING())
    # Not by a view, which would keep the files of the shuffle.
    return DataFrame(made.toDF(), job.spark).selectExpr(f"from_json(value, '{schema}') AS c").select("c.*")


def same_wordings(job, once):
    """The candidates with the same key of the wording."""
    key = "element_at(keys, -1)"

    def rows_of(texts):
        texts = job.view(texts)
        return job.spark.sql(
            f"SELECT {key} AS node, true AS is_entry, true AS is_query, doc AS document, 0 AS class, "
            f"{(1 << 16) - 1} AS classes, 128 AS max_sketch_distance, characters >= {LONG_CHARACTERS} AS is_long, "
            f"sketch_1, sketch_2, other_1, other_2, wording FROM {texts} LEFT SEMI JOIN (SELECT {key} AS several "
            f"FROM {texts} GROUP BY 1 HAVING count(*) > 1) ON {key} = several")

    return near_in_nodes(job, "wordings", rows_of, once)


def near_texts(job, once):
    """The candidates by fingerprints."""
    reliable = once.where("reliable").select("fingerprint", "doc")
    tables, copies, _, _ = near_documents(job, "texts", reliable)
    pairs = job.step("near-texts", PAIR, lambda: expanded_pairs(job, tables, copies))
    a, b = reorder("a"), reorder("b")
    return [pairs.selectExpr(f"{a} AS query", f"{b} AS document"),
            pairs.selectExpr(f"{b} AS query", f"{a} AS document")]


def union(tables):
    return functools.reduce(lambda one, other: one.unionAll(other), tables)


def decide_all(job, once, found, parts):
    """The candidates that searches find, and the number of all candidates. Candidates are decided in parts, by a hash
    of the query, because each of them takes two texts in a shuffle."""
    decided, count = [], 0
    for part in range(parts):
        def in_part(column):
            return f"pmod(xxhash64({column}), {parts}) = {part}"

        candidates = job.step(f"candidates={part:02d}", CANDIDATE, lambda: job.spark.sql(
            f"SELECT DISTINCT query, document FROM {job.view(found)} WHERE {in_part('query')}"))
        count += job.fact(f"candidate-count={part:02d}", candidates.count)
        decided.append(job.step(
            f"decided={part:02d}", DECIDED, lambda: decide(job, once, once.where(in_part("doc")), candidates)))
    return union(decided), count


def decide(job, documents, queries, candidates):
    """The candidates that a search finds: they are alike, and one contains the other."""
    queries, documents = (
        job.view(texts.select("doc", "fingerprint", "letters", "text")) for texts in (queries, documents))
    # The last join sorts by the text that is searched for, which is prepared once then.
    lines = job.spark.sql(
        "SELECT /*+ MERGE(x) */ query, document, bit_count(x.fingerprint ^ fingerprint_b) AS distance, "
        "x.letters > letters_b OR x.letters = letters_b AND query < document AS a_first, x.text AS a, b "
        "FROM (SELECT c.*, fingerprint AS fingerprint_b, letters AS letters_b, text AS b "
        f"FROM {job.view(candidates)} c JOIN {documents} y ON document = y.doc) "
        f"JOIN {queries} x ON query = x.doc")
    return piped(job, lines, DECIDED, ["sh", "-c", SEARCH_PAIRS, job.options.simdb_cli])


def similar_clusters(spark, options):
    files = Files(spark)
    manifest = f"{options.PAIRS.rstrip('/')}/{MANIFEST}"
    of_pairs = json.loads(files.read(manifest)) if files.is_there(manifest) else {}
    if of_pairs.get("verb") != "similar-pairs" or of_pairs.get("state") != "whole":
        raise Refusal(f"cannot read {options.PAIRS}: it is no whole output of `similar-pairs`")
    inputs = listed(files, [options.PAIRS])
    job = Job(spark, options, {"driver_edges": options.driver_edges}, inputs, of_pairs.get("recipe"))
    if job.is_whole:
        return job.finish([], None, None)
    held = spark.read.schema(SIMILAR_PAIR).parquet(options.PAIRS)
    rows = job.fact("pairs", held.count)
    job.partitions(rows)
    stars = held.where("is_copy").select("a", "b", "distance")
    a, b = reorder("a"), reorder("b")
    edges = job.step("edges", EDGE, lambda: spark.sql(
        f"SELECT IF(a_first, {a}, {b}) AS u, IF(a_first, {b}, {a}) AS v, distance FROM {job.view(held)} "
        "WHERE NOT is_copy AND verdict IN ('same', IF(a_first, 'b_in_a', 'a_in_b'))"))
    assigned = star(job, edges, job.fact("edge-count", edges.count))
    lines = job.view(written_clusters(job, assigned, stars))
    job.step("answer", CLUSTER, lambda: spark.sql(
        f"SELECT doc_id, l.keeper, s.cluster, distance FROM {lines} l JOIN (SELECT keeper, "
        f"{reorder('min(' + reorder('doc_id') + ')')} AS cluster FROM {lines} GROUP BY keeper) s "
        "ON l.keeper = s.keeper"))
    return job.finish(["answer"], lambda: count_clusters(job, {"pairs": rows}), lambda: listed(
        files, [options.PAIRS]))


def count_clusters(job, summary):
    """The summary of clusters."""
    written = job.spark.read.schema(CLUSTER).parquet(job.out)
    sizes = job.view(written.groupBy("cluster").count())
    number, documents, largest = job.spark.sql(
        f"SELECT count(*), coalesce(sum(count), 0), coalesce(max(count), 0) FROM {sizes}").first()
    return {**summary, "clusters": number, "rows": documents, "largest": largest,
            "removable": documents - number}


def count_by_distance(spark, folder):
    counted = spark.read.schema("distance INT").parquet(folder).groupBy("distance").count().collect()
    return {str(row["distance"]): row["count"] for row in sorted(counted)}


# The command line -------------------------------------------------------------------------------


def parser():
    top = argparse.ArgumentParser(
        prog="simdb_spark.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="All pairs, matching and clusters of what simdb exports, on Apache Spark.",
        epilog="""Exit codes: 0 found; 1 nothing found; 2 error.

Run it by spark-submit, or by python with pyspark 3.5 or 4 installed. Progress goes to standard
error. The head of the file says how it works, what it costs, and what to enable on a
shared cluster.

Examples:
  simdb-cli export news.simdb --format parquet -o news
  spark-submit simdb_spark.py pairs news pairs
  spark-submit --master spark://head:7077 simdb_spark.py pairs hdfs:///news hdfs:///pairs --blocks 5
  spark-submit simdb_spark.py match today news found --json
  spark-submit simdb_spark.py clusters pairs clusters --shape connected""")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, summary, detail):
        made = verbs.add_parser(name, help=summary, description=f"{summary}.\n\n{detail}",
                                formatter_class=argparse.RawDescriptionHelpFormatter)
        return made

    def common(made):
        made.add_argument("--json", action="store_true",
                          help="print what was found, counted, as one line of JSON")
        made.add_argument("--partitions", type=positive, metavar="N",
                          help="shuffle in so many parts (default: the cores there are, or one for "
                               f"{ROWS_IN_A_PARTITION} rows)")
        made.add_argument("--master", metavar="URL",
                          help="the cluster (default: what spark-submit says, or local[*])")
        made.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE",
                          help="a setting of Spark's, as for spark-submit; may come several times")
        made.add_argument("--debug", action="store_true",
                          help="show Spark's warnings, and where in the program an error came up")

    def joining(made):
        made.add_argument("--radius", type=radius, default=3, metavar="K",
                          help="the most bits in which two fingerprints differ, 0 to 6 (default: 3)")
        made.add_argument("--blocks", type=blocks, default="auto", metavar="auto|M",
                          help="in how many blocks to cut fingerprints, more than K; auto: what is "
                               "least work, within 3 bits 4, from 4e7 fingerprints on 5, from 2e10 on 6")
        made.add_argument("--hot", type=positive, default=4096, metavar="N",
                          help="cut a key again that more than N fingerprints share (default: 4096)")

    def driver_edges(made):
        made.add_argument("--driver-edges", type=natural, default=500_000, metavar="N",
                          help="decide the last N pairs in the driver's memory, 300 bytes each (default: "
                               "500000)")

    made = verb("pairs", "Finds all pairs of documents within a radius",
                "OUTPUT: a BIGINT, b BIGINT, distance INT; a < b as u64; each pair once. Documents with\n"
                "one fingerprint are a star: the smallest id with each other one, at distance 0; that one\n"
                "stands for them in all other pairs.")
    made.add_argument("INPUT", nargs="+", help="a folder of documents, or several")
    made.add_argument("OUTPUT", help="a new folder, or one that this command began")
    joining(made)
    made.add_argument("--expand", action="store_true",
                      help="write every pair of documents: n copies are n * n / 2 rows")
    common(made)
    made = verb("match", "Finds for each document of QUERIES those of CORPUS within a radius",
                "OUTPUT: query BIGINT, document BIGINT, distance INT. No pairs within QUERIES or within\n"
                "CORPUS; an id may be in both, and names two documents then.")
    made.add_argument("QUERIES", help="a folder of documents")
    made.add_argument("CORPUS", help="a folder of documents")
    made.add_argument("OUTPUT", help="a new folder, or one that this command began")
    joining(made)
    made.add_argument("--firsts", action="store_true",
                      help="of documents of CORPUS that have one fingerprint, name only the smallest id")
    made.add_argument("--broadcast", type=natural, default=BROADCAST_ROWS, metavar="N",
                      help="send up to N queries to every worker, rather than shuffle CORPUS (default: "
                           "1000000, some 100 MB there)")
    common(made)
    made = verb("clusters", "Groups documents by pairs that were found",
                "OUTPUT: doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT (to the keeper).\n"
                "Documents without any near-duplicate are not written. star: every member is within the\n"
                "radius of its keeper, the smallest id that nobody before took. connected: whoever is\n"
                "linked, however far; distance is null for who is in no pair with the keeper.")
    made.add_argument("PAIRS", help="what `pairs` wrote, or Parquet files with a, b and distance")
    made.add_argument("OUTPUT", help="a new folder, or one that this command began")
    made.add_argument("--shape", choices=("star", "connected"), default="star",
                      help="what a cluster is (default: star)")
    made.add_argument("--radius", type=radius, metavar="K",
                      help="use only pairs within K bits (default: all)")
    driver_edges(made)
    common(made)
    made = verb("similar-pairs", "Finds all pairs of texts of which one contains the other",
                "OUTPUT: a BIGINT, b BIGINT, distance INT (of the fingerprints), verdict STRING (same, a_in_b,\n"
                "b_in_a), edit_similarity DOUBLE, jaccard DOUBLE, is_copy BOOLEAN (equal texts: the smallest\n"
                "id with each of the others), a_first BOOLEAN (a is tried as the keeper before b).")
    made.add_argument("INPUT", nargs="+", help="a folder that `simdb-cli export --similar` wrote, or several")
    made.add_argument("OUTPUT", help="a new folder, or one that this command began")
    made.add_argument("--simdb-cli", default="simdb-cli", metavar="PATH",
                      help="the program on the workers; with `spark-submit --files simdb-cli` it is "
                           "./simdb-cli (default: simdb-cli)")
    made.add_argument("--hot", type=positive, default=4096, metavar="N",
                      help="cut a node into cells of about N queries and N entries, if more than N * N of them "
                           "meet in it (default: 4096); a process beside each task holds the wordings of a cell")
    made.add_argument("--narrow", action="store_true",
                      help="fewer trees and smaller nodes, as inserts search and `simdb-cli query --similar --narrow`: "
                           "of 64,000 summaries 99 %% of the pairs, in less time")
    made.set_defaults(radius=SEARCH_RADIUS, blocks="auto")
    common(made)
    made = verb("similar-clusters", "Groups documents around the texts that say all of them",
                "OUTPUT: doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT (to the keeper).\n"
                "Documents that are in no cluster with another are not written.")
    made.add_argument("PAIRS", help="what `similar-pairs` wrote")
    made.add_argument("OUTPUT", help="a new folder, or one that this command began")
    driver_edges(made)
    common(made)
    return top


def whole_number(text, least, most=None):
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        limits = f"from {least} to {most}" if most is not None else f"from {least} on"
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number {limits}")
    return number


def natural(text):
    return whole_number(text, 0)


def positive(text):
    return whole_number(text, 1)


def radius(text):
    return whole_number(text, 0, 6)


def blocks(text):
    return text if text == "auto" else whole_number(text, 1, 10)


def start(options):
    """Spark, and True if this call started it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise Refusal("cannot find pyspark; run this by spark-submit, or `pip install pyspark`") from error
    running = SparkSession.getActiveSession()
    if running is not None:
        return running, False
    builder = SparkSession.builder.appName(f"simdb {options.verb}")
    if not sys.stderr.isatty():
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    if options.master:
        builder = builder.master(options.master)
    for setting in options.conf:
        key, equals, value = setting.partition("=")
        if not equals:
            raise Refusal(f"cannot understand --conf {setting}: wanted is KEY=VALUE")
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if not hasattr(spark, "_jvm"):
        raise Refusal("cannot work over Spark Connect: manifests and footers need the driver's JVM; run "
                      "this by spark-submit")
    if not options.debug:
        spark.sparkContext.setLogLevel("ERROR")
    return spark, True


def first_line(error):
    """The message of an error, without the stack trace of Java."""
    text = str(error).strip()
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    head = text.splitlines()[0] if text else type(error).__name__
    return f"{head} ({causes[-1]})" if causes else head


def main(arguments=None):
    options = parser().parse_args(arguments)
    if options.verb in ("pairs", "match") and options.radius and options.blocks != "auto" and not (
        options.radius < options.blocks <= options.radius + 4
    ):
        say(f"simdb_spark.py: --blocks {options.blocks} does not suit --radius {options.radius}: it must "
            f"be from {options.radius + 1} to {options.radius + 4}")
        return 2
    spark, ours = None, False
    try:
        spark, ours = start(options)
        verbs = {"pairs": pairs, "match": match, "clusters": clusters, "similar-pairs": similar_pairs,
                 "similar-clusters": similar_clusters}
        summary = verbs[options.verb](spark, options)
        print(json.dumps(summary) if options.json else
              ", ".join(f"{key} {value}" for key, value in summary.items()))
        return 0 if summary["rows"] else 1
    except Refusal as refusal:
        say(f"simdb_spark.py: {refusal}")
        return 2
    except KeyboardInterrupt:
        say("simdb_spark.py: interrupted; the same command goes on behind the finished steps")
        return 2
    except Exception as error:
        if options.debug:
            raise
        say(f"simdb_spark.py: cannot finish {options.verb} into {options.OUTPUT}: {first_line(error)}. "
            "The same command goes on behind the finished steps; --debug shows more")
        return 2
    finally:
        if ours:
            spark.stop()


if __name__ == "__main__":
    sys.exit(main())
