"""`pairs` and `match`: the documents within a radius, by joins on blocks of fingerprints.

Pairs are the pairs of `simdb-cli pairs --format csv`. Documents with one fingerprint are a star:
the smallest id with each other id at distance 0. A pair of different fingerprints has the smallest
id of each. `--expand` writes every pair of documents instead: n copies are then n² / 2 rows.

# All pairs, each once

Cut 64 bits into m blocks. Two fingerprints within radius k differ in at most k blocks, so at
least m - k blocks are equal in both. There is one join for each of the C(m, k) sets of m - k
blocks, on the fingerprint masked to the set (Manku, Jain, Das Sarma, WWW 2007, section 3). Sets are in
lexicographic order, and a pair is written by the first set that is equal in both: the blocks before
the last block of this set and outside the set differ. So a join needs no result of another join.

All fingerprints with one key are compared with each other. A key that more than `--hot`
fingerprints share is cut again: the bits outside the key are cut into k + 1 sub-blocks, of which
one is equal, and the first equal one writes the pair. Keys that are still crowded are cut a second
time. Crowded keys are estimated from every 64th fingerprint. They change the cost, never the
answer. Equal fingerprints are joined once, and their documents are added afterwards.

# Cost

N distinct fingerprints cost about N (0.95 us T + 2.5 ns N T / 2^b) of processor time in T = C(m, k)
joins on b = 64 (m - k) / m bits. Finding equal fingerprints and crowded keys takes as long as two
joins more. `--blocks auto` takes the cheapest m: within radius 3, 4 blocks below 4 * 10^7
fingerprints, 5 up to 2 * 10^10, 6 above. Up to 8 million were measured (twice the formula, on a
busy machine). The formula gives 3.3 hours for 10^9 fingerprints, 46 for 10^10.
"""

import itertools
from collections import namedtuple

from .files import ALL_BITS, Documents, Refusal, in_order, literal, same_recipe, say

# Seconds of processor time for a row in a join, and for two fingerprints that share a key.
ROW_SECONDS = 0.95e-6
COMPARISON_SECONDS = 2.5e-9
# One in 64 fingerprints is looked at to find crowded keys.
SAMPLED = 64
# The number of times that a crowded key is cut again.
CUTS = 2
# The most rows that are sent to every worker: some 100 MB there.
BROADCAST_ROWS = 1_000_000

PAIR = "a BIGINT, b BIGINT, distance INT"
MATCH = "query BIGINT, document BIGINT, distance INT"

# A join: the bits that must be equal, and the groups of bits before them. Each of these groups must
# differ, since otherwise an earlier join has the pair. `code` tells the cuts of one key apart.
Cut = namedtuple("Cut", "code mask differ")


def pairs(job):
    options = job.options
    documents = Documents(job.files, options.INPUT)
    parameters = {name: getattr(options, name) for name in ("radius", "blocks", "expand", "hot")}
    if not job.begin(parameters, [documents], documents.recipe):
        return
    job.set_partitions(documents.rows)
    rows = sound(job, "input", documents)
    tables, copies, fingerprints, blocks = near_documents(job, "input", rows)
    if options.expand:
        job.step("expanded", PAIR, lambda: expanded_pairs(job, tables, copies))
        tables = ["expanded"]

    def summarize():
        found = job.count_by("distance INT")
        return {
            "documents": job.fact("documents", rows.count), "fingerprints": fingerprints, "radius": options.radius,
            "blocks": blocks, "expanded": options.expand, "rows": sum(found.values()), "rows_at_distance": found,
        }

    job.finish(tables, summarize)


def match(job):
    options = job.options
    asked, held = (Documents(job.files, [root]) for root in (options.QUERIES, options.CORPUS))
    same_recipe(options.QUERIES, asked.recipe, options.CORPUS, held.recipe)
    parameters = {name: getattr(options, name) for name in ("radius", "blocks", "firsts", "hot", "broadcast")}
    # The files of both inputs are in one list, so the manifest tells the two inputs apart by name.
    names = {"queries": job.files.full_name(options.QUERIES), "corpus": job.files.full_name(options.CORPUS)}
    if not job.begin({**names, **parameters}, [asked, held], held.recipe):
        return
    job.set_partitions(asked.rows)
    queries, query_copies = distinct(job, "queries", sound(job, "queries", asked))
    job.set_partitions(held.rows)
    corpus, corpus_copies = sound(job, "corpus", held), None
    # Few queries are sent to every worker, and the corpus is not shuffled.
    broadcast = asked.rows <= options.broadcast
    if options.firsts or not broadcast:
        corpus, corpus_copies = distinct(job, "corpus", corpus)
    blocks, cuts = plan(job, job.fact("fingerprints", corpus.count))
    tables = near_tables(job, cuts or [Cut(0, ALL_BITS, [])], queries, corpus, broadcast)

    def answer():
        found = job.view(in_order(job.tables(MATCH, tables), "query", "document"))
        sql = (f"SELECT coalesce(doc, query) AS query, document, distance FROM {found} "
               f"LEFT JOIN {job.view(members(job, query_copies))} ON query = first")
        if corpus_copies is not None and not options.firsts:
            sql = (f"SELECT query, coalesce(doc, document) AS document, distance FROM ({sql}) "
                   f"LEFT JOIN {job.view(members(job, corpus_copies))} ON document = first")
        return in_order(job.sql(sql), "query", "document")

    job.step("answer", MATCH, answer)

    def summarize():
        found = job.count_by("distance INT")
        return {
            "queries": asked.rows, "corpus": held.rows, "radius": options.radius, "blocks": blocks,
            "queries_matched": job.output("query BIGINT").distinct().count(), "rows": sum(found.values()),
            "rows_at_distance": found,
        }

    job.finish(["answer"], summarize)


def sound(job, name, documents):
    """The documents of an input without nulls and repeated ids, which are refused."""
    frame = documents.frame(job.spark)

    def look():
        if documents.proved:
            return "sound by the footers"
        rows = job.view(frame)
        nulls, = job.sql(f"SELECT count_if(doc IS NULL OR fingerprint IS NULL) FROM {rows}").first()
        if nulls:
            raise Refusal(f"cannot read {documents.name}: {nulls} rows have no doc_id or no fingerprint; "
                          "leave them out")
        twice = job.sql(f"SELECT doc FROM {rows} GROUP BY doc HAVING count(*) > 1 LIMIT 1").first()
        if twice:
            raise Refusal(f"cannot read {documents.name}: document {twice[0] + (1 << 63)} is there more than once; "
                          "an id names one document, so give documents of several databases different ids")
        return "sound, every row looked at"

    job.fact(f"{name}-looked-at", look)
    return frame


def distinct(job, name, documents):
    """Each fingerprint once, with its smallest document; and its other documents as stars around
    the smallest one."""
    once = job.step(f"{name}-distinct", "fingerprint BIGINT, doc BIGINT, documents BIGINT", lambda: job.sql(
        f"SELECT fingerprint, min(doc) AS doc, count(*) AS documents FROM {job.view(documents)} GROUP BY fingerprint"))
    several = once.where("documents > 1").selectExpr("fingerprint AS f", "doc AS first")
    # Usually they are few, and then the documents need no shuffle.
    few = job.fact(f"{name}-shared", several.count) <= BROADCAST_ROWS
    copies = job.step(f"{name}-copies", PAIR, lambda: in_order(job.sql(
        f"SELECT {'/*+ BROADCAST(s) */' if few else ''} first AS a, doc AS b, 0 AS distance "
        f"FROM {job.view(documents)} JOIN {job.view(several)} s ON fingerprint = f WHERE doc <> first"), "a", "b"))
    return once.select("fingerprint", "doc"), copies


def members(job, copies):
    """first, doc: each document of a group of copies, in the order of u64."""
    stars = job.view(in_order(copies, "a", "b"))
    return job.sql(f"SELECT a AS first, b AS doc FROM {stars} UNION ALL SELECT DISTINCT a, a FROM {stars}")


def expanded_pairs(job, tables, copies):
    """Every pair of documents, from the pairs and stars of fingerprints."""
    found = job.view(in_order(job.tables(PAIR, tables).where("distance > 0"), "a", "b"))
    of = job.view(members(job, copies))
    return in_order(job.sql(
        "SELECT least(x, y) AS a, greatest(x, y) AS b, distance FROM ("
        f"SELECT coalesce(m.doc, a) AS x, coalesce(n.doc, b) AS y, distance FROM {found} "
        f"LEFT JOIN {of} m ON a = m.first LEFT JOIN {of} n ON b = n.first "
        f"UNION ALL SELECT m.doc, n.doc, 0 FROM {of} m JOIN {of} n ON m.first = n.first WHERE m.doc < n.doc)"),
        "a", "b")


# Joins ------------------------------------------------------------------------------------------


def split(bits, count):
    """Masks of neighbouring bits, whose sizes differ by one at most."""
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
    """The cuts that find each pair within the radius among fingerprints that are equal in the bits
    of `cut`."""
    masks = split([bit for bit in range(63, -1, -1) if not cut.mask >> bit & 1], radius + 1)
    for number, mask in enumerate(masks):
        yield Cut(cut.code * (radius + 1) + number + 1, cut.mask | mask, cut.differ + masks[:number])


def cost_seconds(fingerprints, radius, blocks):
    """The estimated processor time of all pairs."""
    every = list(joins(radius, blocks))
    shared = sum(2.0 ** -bin(cut.mask).count("1") for cut in every)
    # Reading the documents and finding their copies takes as long as two joins.
    return fingerprints * (ROW_SECONDS * (len(every) + 2) + COMPARISON_SECONDS * fingerprints * shared)


def cheapest_blocks(fingerprints, radius):
    return min(range(radius + 1, radius + 4), key=lambda blocks: cost_seconds(fingerprints, radius, blocks))


def plan(job, fingerprints):
    """The number of blocks and the joins; no joins at radius 0."""
    radius, blocks = job.options.radius, job.options.blocks
    if radius == 0:
        return 1, []
    if blocks == "auto":
        # The cheapest number for all pairs. A match takes it too.
        blocks = job.fact("blocks", lambda: cheapest_blocks(fingerprints, radius))
    cuts = list(joins(radius, blocks))
    hours = cost_seconds(fingerprints, radius, blocks) / 3600
    cost = f", about {hours:.2g} hours of CPU" if job.options.verb == "pairs" else ""
    say(f"           {fingerprints} fingerprints, {blocks} blocks, {len(cuts)} joins in {job.parts} parts{cost}")
    return blocks, cuts


def near_documents(job, name, rows):
    """The names of the tables of all pairs within the radius, the first of copies; the copies, the
    number of fingerprints, and the number of blocks."""
    once, copies = distinct(job, name, rows)
    fingerprints = job.fact("fingerprints", once.count)
    job.set_partitions(fingerprints)
    blocks, cuts = plan(job, fingerprints)
    return [f"{name}-copies", *near_tables(job, cuts, once, once, False)], copies, fingerprints, blocks


def near_tables(job, cuts, left, right, broadcast):
    """The names of the tables of all joins: PAIR if both sides are one frame, otherwise MATCH."""
    schema, ids, columns = MATCH, ("query", "document"), "l AS query, r AS document"
    if left is right:
        schema, ids, columns = PAIR, ("a", "b"), "least(l, r) AS a, greatest(l, r) AS b"
    crowded, counts = find_crowded(job, cuts, right)
    tables = []
    for number, cut in enumerate(cuts):
        tables.append(f"join={number:02d}")
        hot = crowded.where(f"number = {number}") if str(number) in counts else None
        job.step(tables[-1], schema, lambda: in_order(job.sql(
            f"SELECT {columns}, distance FROM ({near(job, number, cut, left, right, hot, broadcast)})"), *ids))
    return tables


def find_crowded(job, cuts, frame):
    """The keys of each join that more than `--hot` rows share, by a sample; the number of keys of
    each join."""
    # Rows with one fingerprint cannot be told apart by another cut.
    if job.options.radius == 0:
        return None, {}
    keys = ", ".join(f"struct({number} AS number, fingerprint & {literal(cut.mask)} AS key)"
                     for number, cut in enumerate(cuts))
    crowded = job.step("crowded", "number INT, key BIGINT", lambda: job.sql(
        f"SELECT number, key FROM (SELECT inline(array({keys})) FROM {job.view(frame)} "
        f"WHERE (xxhash64(fingerprint) & {SAMPLED - 1}) = 0) "
        f"GROUP BY number, key HAVING count(*) * {SAMPLED} > {job.options.hot}"))
    counts = job.fact("crowded-keys", lambda: {
        str(row["number"]): row["count"] for row in crowded.groupBy("number").count().collect()})
    return crowded, counts


def near(job, number, cut, left, right, hot, broadcast):
    """SQL of the pairs (left document, right document, distance) that one join writes.

    left and right have columns `fingerprint` and `doc`. If they are one frame, each pair comes
    once, and no fingerprint comes with itself. The keys `hot` are cut again.
    """
    # Late, so that `--help` works without PySpark.
    from pyspark.sql import functions

    x, alone, found, cuts = "(l.fingerprint ^ r.fingerprint)", left is right, [], [cut]
    for level in range(CUTS + 1):
        # On the first level a key is an expression, because a column of it would be shuffled too.
        names = ["code", "key"] if level else ["key"]
        keys = [f"%s{name}" for name in names] if level else [f"(%sfingerprint & {literal(cut.mask)})"]
        code = "code" if level else "0"
        is_crowded = hot is not None
        hot_rows = job.view(hot) if is_crowded else None

        def where(side, how):
            is_hot = " AND ".join(f"{key % 'x.'} = h.{name}" for key, name in zip(keys, names))
            return job.sql(f"SELECT * FROM {job.view(side)} x LEFT {how} JOIN {hot_rows} h ON {is_hot}")

        sides = [right] if alone else [left, right]
        cold = [where(side, "ANTI") for side in sides] if is_crowded else sides
        if not broadcast:
            cold = [side.repartition(job.parts, *(functions.expr(key % "") for key in keys)) for side in cold]
        views = [job.view(side) for side in cold]
        equal = " AND ".join(f"{key % 'l.'} = {key % 'r.'}" for key in keys)
        owned = " ".join(
            f"WHEN {c.code} THEN " + (" AND ".join(f"({x} & {literal(mask)}) <> 0" for mask in c.differ) or "true")
            for c in cuts)
        found.append(
            f"SELECT /*+ {'BROADCAST(l)' if broadcast else 'MERGE(r)'} */ l.doc AS l, r.doc AS r, "
            f"bit_count{x} AS distance FROM {views[0]} l JOIN {views[-1]} r ON {equal} "
            f"WHERE bit_count{x} <= {job.options.radius} " + ("AND l.fingerprint < r.fingerprint " if alone else "")
            + f"AND CASE {'l.' if level else ''}{code} {owned} END")
        if not is_crowded:
            break
        # The rows of crowded keys, once for each cut of the key.
        arrays = " ".join(
            f"WHEN {c.code} THEN array(" + ", ".join(
                f"struct({again.code} AS code, fingerprint & {literal(again.mask)} AS key)"
                for again in cut_again(c, job.options.radius)) + ")"
            for c in cuts)
        again = [where(side, "SEMI").selectExpr(f"inline(CASE {code} {arrays} END)", "fingerprint", "doc")
                 for side in sides]
        left, right = again[0], again[-1]
        cuts = [again for c in cuts for again in cut_again(c, job.options.radius)]
        hot = None
        if level + 1 < CUTS:
            counted = job.step(f"crowded-{number:02d}-{level + 1}", "code INT, key BIGINT", lambda: job.sql(
                f"SELECT code, key FROM {job.view(right)} GROUP BY code, key HAVING count(*) > {job.options.hot}"))
            hot = None if counted.isEmpty() else counted
    return " UNION ALL ".join(found)
