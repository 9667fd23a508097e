"""`similar-pairs` and `similar-clusters`: texts of which one contains the other.

The answer of `similar-pairs` is the set of pairs that one machine finds by a search for each
document (`simdb-cli query --similar`, `Snapshot::similar`) in a database of the same documents,
loaded at once. check.py tests it. Equal texts are one row, the smallest id, and stars around it.

# Candidates

forest.py brings texts, as entries and as queries, to the nodes in which they meet. A join in SQL
would evaluate its condition for each query and entry of a node, which was most of the time among
millions of texts. So the rows are shuffled by node and sorted, and the JVM of each task pipes them
through `simdb-cli compare --nodes`, lines of JSON in and out. This program compares two sketches in
some 3 ns, and the packed wordings of the few texts that are near. It prints the texts that are
alike: the candidates. Texts with one wording meet in the same way. Texts whose fingerprints differ
in at most 3 bits are candidates too.

A step joins one to eight trees, with some 4 GiB of rows for each core. A process beside each task
holds the wordings of a cell, outside of the memory of the executor (spark.executor.memoryOverhead).

A node is hot if more than `--hot` times `--hot` queries and entries meet in it. It is cut into c
parts of the queries and d parts of the entries by a hash of the id. Each of the c d pairs of parts
is a cell of its own, with about `--hot` queries and entries. Two kinds of nodes become hot: nodes of
five minima, which may have any number of entries (a template of a million documents), and nodes to
which very many second minima lead.

# Decisions

The decision is an alignment of both texts: `simdb-cli compare --pairs --search`, piped in the same
way. A step decides a part of the candidates, at most 4 GiB of texts for each core. `--files
simdb-cli` puts the binary into the working folder of each executor. A statically linked binary runs
on any Linux. A pair is written if its texts are alike by the default thresholds and one contains
the other. `verdict` is of a and b: as the search for a decides, or as the search for b decides if
the search for a does not find b.

`similar-clusters` removes a text if a kept text before it covers it. The text with more letters and
digits is first, then the smaller id (`a_first`). It is the star rule of clusters.py on these pairs,
so the kept texts are the kept texts of the sequential rule. The keeper is the smallest id among the
kept texts that cover a text. `simdb-cli clusters --similar` is another join, with lower thresholds
and fewer trees.

# Cost

N texts are at most 216 N rows in the shuffles of nodes, with `--narrow` 80 N. A row has some 150
bytes and the packed wording, which takes two times the bytes of an English text, four times the
bytes of a Chinese text. A text takes some 65 us of processor time in a tree, with `--narrow` 45 us.
A candidate takes some 20 us and both of its texts in a shuffle. 64,000 package summaries have
58,000 candidates, a million texts with `--narrow` 1.3 million, 8 million texts 31 million. n texts
of one template are n * n / 2 candidates, which are balanced over all tasks.
"""

import math

from .clusters import CLUSTER, EDGE, all_members, made_pairs, star, summary_of_clusters
from .files import TEXT, Folders, Refusal, Texts, first_line, in_order
from .forest import LONG_CHARACTERS, NARROW, NARROW_COLUMNS, NODE_TEXT, WIDE, large_nodes, texts_in_nodes
from .pairs import PAIR, SAMPLED, expanded_pairs, near_documents, sound

CANDIDATE = "query BIGINT, document BIGINT"
SCORES = "verdict STRING, edit_similarity DOUBLE, jaccard DOUBLE"
DECIDED = f"query BIGINT, document BIGINT, distance INT, a_first BOOLEAN, {SCORES}"
SIMILAR_PAIR = f"{PAIR}, {SCORES}, is_copy BOOLEAN, a_first BOOLEAN"
# The rows of most texts in a tree (a short text has up to 9), and the bytes of a row without its
# wording.
ROWS_OF_A_TREE, ROW_BYTES = 6, 150
# The radius by fingerprints, as in a search of one machine.
SEARCH_RADIUS = 3
# simdb-cli refuses to compare no pairs, and a partition may have none.
SEARCH_PAIRS = """IFS= read -r first || exit 0
{ printf '%s\\n' "$first"; cat; } | "$0" compare --pairs - --search --json"""


def similar_pairs(job):
    options = job.options
    texts = Texts(job.files, options.INPUT)
    if not job.begin({"hot": options.hot, "narrow": options.narrow}, [texts], texts.recipe):
        return
    try_program(job, options.simdb_cli)
    job.set_partitions(texts.rows)
    rows = sound(job, "input", texts)
    if options.narrow:
        rows = rows.selectExpr(*(f"{NARROW_COLUMNS.get(name, name)} AS {name}" for name in rows.columns))
    once, copies = distinct_texts(job, rows)
    search = NARROW if options.narrow else WIDE
    tables = [*near_in_forest(job, once, search, texts.rows), same_wordings(job, once), *near_by_bits(job, once)]
    found = job.fact("found", lambda: sum(table.count() for table in tables))
    parts = job.fact("parts", lambda: math.ceil(found * 2 * mean_bytes(job, once, "text") / job.step_bytes) or 1)
    job.set_partitions(found / parts)
    decided, candidates = decide_all(job, once, job.union(tables), parts)
    job.step("answer", SIMILAR_PAIR, lambda: both_ways(job, decided).unionAll(
        copies.selectExpr("*", "'same'", "1D", "1D", "true", "true")))

    def summarize():
        verdicts = job.count_by("verdict STRING")
        return {"documents": texts.rows, "copies": copies.count(), "candidates": candidates,
                "rows": sum(verdicts.values()), "rows_of_verdict": verdicts}

    job.finish(["answer"], summarize)


def try_program(job, path):
    """Refuses a program that the workers cannot run, before texts are read."""
    jvm = job.spark._jvm
    # Empty partitions, one for each core, because the program reads no line of them.
    empty = job.spark.sparkContext._jsc.parallelize(jvm.java.util.ArrayList(), job.parts)
    try:
        empty.pipe([path, "--version"]).count()
    except Exception as error:
        raise Refusal(f"cannot run --simdb-cli {path} on the workers: {first_line(error)}; name the path of the "
                      "program on each worker, or ship it: `spark-submit --files simdb-cli`, and --simdb-cli "
                      "./simdb-cli") from error


def similar_clusters(job):
    made_by = made_pairs(job, "similar-pairs", True)
    folder = Folders(job.files, [job.options.PAIRS])
    if not job.begin({"driver_edges": job.options.driver_edges}, [folder], made_by.get("recipe")):
        return
    held = in_order(folder.read(job.spark, SIMILAR_PAIR), "a", "b")
    rows = job.fact("pairs", held.count)
    job.set_partitions(rows)
    edges = job.step("edges", EDGE, lambda: held.where(
        "NOT is_copy AND verdict IN ('same', IF(a_first, 'b_in_a', 'a_in_b'))").selectExpr(
        "IF(a_first, a, b) AS u", "IF(a_first, b, a) AS v", "distance"))
    assigned = star(job, edges, job.fact("edge-count", edges.count))
    lines = job.view(all_members(job, assigned, held.where("is_copy").select("a", "b", "distance")))
    # A keeper has the most letters, and need not be the smallest id of its cluster.
    job.step("answer", CLUSTER, lambda: in_order(job.sql(
        f"SELECT doc_id, l.keeper, s.cluster, distance FROM {lines} l JOIN (SELECT keeper, min(doc_id) AS cluster "
        f"FROM {lines} GROUP BY keeper) s ON l.keeper = s.keeper"), "doc_id", "keeper", "cluster"))
    job.finish(["answer"], lambda: summary_of_clusters(job, rows))


def distinct_texts(job, rows):
    """Each text once, with its smallest document and the number of its documents; and its other
    documents as stars around the smallest one."""
    r = job.view(rows)
    several = job.view(job.step("several", "text STRING, first BIGINT, copies BIGINT", lambda: job.sql(
        f"SELECT text, min(doc) AS first, count(*) AS copies FROM {r} GROUP BY text HAVING count(*) > 1")))
    copies = job.step("copies", PAIR, lambda: in_order(job.sql(
        f"SELECT first AS a, doc AS b, 0 AS distance FROM {r} r JOIN {several} s ON r.text = s.text "
        "WHERE doc <> first"), "a", "b"))
    once = job.step("texts", f"{TEXT}, copies BIGINT", lambda: job.sql(
        f"SELECT r.*, coalesce(s.copies, 1) AS copies FROM {r} r LEFT ANTI JOIN {job.view(in_order(copies, 'b'))} "
        f"ON doc = b LEFT JOIN {several} s ON doc = s.first"))
    return once, copies


def mean_bytes(job, rows, column):
    return job.fact(f"mean-{column}-bytes", lambda: rows.selectExpr(f"avg(octet_length({column}))").first()[0] or 0)


# Candidates -------------------------------------------------------------------------------------


def near_in_forest(job, once, search, rows):
    """The candidates of searches, query and document, of some trees a table."""
    large = large_nodes(job, once, search)
    rows_of_a_tree = rows * ROWS_OF_A_TREE
    bytes_of_a_tree = rows_of_a_tree * (ROW_BYTES + mean_bytes(job, once, "wording"))
    most = job.step_bytes / max(bytes_of_a_tree, 1)
    # Divisors of the number of trees.
    together = job.fact("trees-of-a-step", lambda: next((trees for trees in (8, 4, 2) if trees <= most), 1))
    job.set_partitions(rows_of_a_tree * together, bytes_of_a_tree * together)
    return [near_in_nodes(job, f"trees={first:02d}", once, lambda texts: texts_in_nodes(
        job, texts, search, large, first, together)) for first in range(0, search.trees, together)]


def same_wordings(job, once):
    """The candidates with the same key of the wording."""
    key = "element_at(keys, -1)"

    def rows_of(texts):
        # Texts of any class and sketch are compared, but a text alone need not be shuffled.
        texts = job.view(texts)
        return job.sql(
            f"SELECT {key} AS node, true AS is_entry, true AS is_query, doc AS document, 0 AS class, "
            f"{(1 << 16) - 1} AS classes, 128 AS max_sketch_distance, characters >= {LONG_CHARACTERS} AS is_long, "
            f"sketch_1, sketch_2, other_1, other_2, wording FROM {texts} LEFT SEMI JOIN (SELECT {key} AS several "
            f"FROM {texts} GROUP BY 1 HAVING count(*) > 1) ON {key} = several")

    return near_in_nodes(job, "wordings", once, rows_of)


def near_by_bits(job, once):
    """The candidates by fingerprints, once for each of both texts as the query."""
    reliable = once.where("reliable").select("fingerprint", "doc")
    tables, copies, _, _ = near_documents(job, "texts", reliable)
    pairs = in_order(job.step("near-texts", PAIR, lambda: expanded_pairs(job, tables, copies)), "a", "b")
    return [pairs.selectExpr(f"{query} AS query", f"{document} AS document") for query, document in ("ab", "ba")]


def near_in_nodes(job, name, texts, rows_of):
    """The step of the candidates: of queries and entries that meet in a node, the texts that are
    alike. `rows_of` makes the rows of texts in nodes. Hot nodes are found by a sample."""
    hot = job.options.hot

    def find_hot():
        sampled = job.view(rows_of(texts.where(f"(xxhash64(doc) & {SAMPLED - 1}) = 0")))
        return job.sql(
            f"SELECT node, CAST(ceil(queries / {hot}) AS INT) AS query_parts, "
            f"CAST(ceil(entries / {hot}) AS INT) AS entry_parts FROM (SELECT node, "
            f"greatest(count_if(is_query), 1) * {SAMPLED} AS queries, greatest(count_if(is_entry), 1) * {SAMPLED} "
            f"AS entries FROM {sampled} GROUP BY node) WHERE queries * entries > {hot}L * {hot}L")

    hot_nodes = job.step(f"hot-nodes-{name}", "node BIGINT, query_parts INT, entry_parts INT", find_hot)
    hot_count = job.fact(f"hot-node-count-{name}", hot_nodes.count)

    def cells(side, parts, other_parts, cell):
        """SQL of the cells of a row on one side: its part of this side with each part of the other side."""
        # Other bits of the hash than the bits of the sample.
        part = f"pmod(shiftright(xxhash64(document), 8), {parts})"
        return (f"transform(filter(sequence(0, {other_parts} - 1), n -> is_{side}), n -> struct("
                f"{cell.format(part=part)} AS cell, {side == 'entry'} AS is_entry, {side == 'query'} AS is_query))")

    def find_near():
        rows = rows_of(texts).selectExpr("*", "0L AS cell")
        if hot_count:
            entries = cells("entry", "entry_parts", "query_parts", "CAST(n AS BIGINT) * entry_parts + {part}")
            queries = cells("query", "query_parts", "entry_parts", "{part} * entry_parts + n")
            rows = job.sql(
                f"SELECT r.node, {NODE_TEXT}, inline(IF(h.node IS NULL, array(struct(cell, is_entry, is_query)), "
                f"concat({entries}, {queries}))) FROM {job.view(rows)} r "
                f"LEFT JOIN {job.view(hot_nodes.hint('broadcast'))} h ON r.node = h.node")
        # simdb-cli reads the entries of a cell before its queries.
        lines = job.sql(f"SELECT * FROM {job.view(rows)} DISTRIBUTE BY node, cell SORT BY node, cell, is_entry DESC")
        # Two texts may meet in several nodes of a step.
        return piped(job, lines, CANDIDATE, [job.options.simdb_cli, "compare", "--nodes", "-", "--json"]).distinct()

    return job.step(name, CANDIDATE, find_near)


def piped(job, lines, schema, command):
    """The rows that a command makes of rows, as lines of JSON."""
    from pyspark.sql import DataFrame

    # The pipe of PySpark needs Python on the workers, the pipe of the JVM does not.
    jvm = job.spark._jvm
    made = lines._jdf.toJSON().javaRDD().pipe(command, jvm.java.util.HashMap(), False, 1 << 16, "UTF-8")
    made = job.spark._jsparkSession.createDataset(made.rdd(), jvm.org.apache.spark.sql.Encoders.STRING())
    # Without a view, which would keep the files of the shuffle until the driver ends.
    return DataFrame(made.toDF(), job.spark).selectExpr(f"from_json(value, '{schema}') AS c").select("c.*")


# Decisions --------------------------------------------------------------------------------------


def decide_all(job, once, found, parts):
    """The candidates that searches find, and the number of all candidates."""
    decided, count = [], 0
    # In parts, by a hash of the query, because each candidate takes two texts in a shuffle.
    for part in range(parts):
        in_part = f"pmod(xxhash64({{}}), {parts}) = {part}"
        candidates = job.step(f"candidates={part:02d}", CANDIDATE, lambda: found.where(
            in_part.format("query")).distinct())
        count += job.fact(f"candidate-count={part:02d}", candidates.count)
        decided.append(job.step(f"decided={part:02d}", DECIDED, lambda: decide(
            job, candidates, once.where(in_part.format("doc")), once)))
    return job.union(decided), count


def decide(job, candidates, queries, documents):
    """The candidates that a search finds: they are alike, and one contains the other."""
    # The last join sorts by the query, so its text is prepared once for all its candidates.
    lines = job.sql(
        "SELECT /*+ MERGE(x) */ query, document, bit_count(x.fingerprint ^ y.fingerprint) AS distance, "
        "x.letters > y.letters OR x.letters = y.letters AND query < document AS a_first, x.text AS a, y.text AS b "
        f"FROM {job.view(candidates)} JOIN {job.view(documents)} y ON document = y.doc "
        f"JOIN {job.view(queries)} x ON query = x.doc")
    return piped(job, lines, DECIDED, ["sh", "-c", SEARCH_PAIRS, job.options.simdb_cli])


def both_ways(job, decided):
    """Decided candidates as pairs. A pair that both searches find is as the search for its smaller
    id decides."""
    best = job.view(job.sql(
        "SELECT least(query, document) AS a, greatest(query, document) AS b, min_by(d, query) AS d "
        f"FROM (SELECT *, struct(*) AS d FROM {job.view(decided)}) GROUP BY 1, 2"))
    return in_order(job.sql(
        "SELECT a, b, d.distance, "
        "IF(d.query = a OR d.verdict = 'same', d.verdict, IF(d.verdict = 'a_in_b', 'b_in_a', 'a_in_b')) "
        "AS verdict, d.edit_similarity, d.jaccard, false AS is_copy, (d.query = a) = d.a_first AS a_first "
        f"FROM {best}"), "a", "b")
