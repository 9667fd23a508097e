"""The search of one machine in its LSH forest, as SQL over exported search keys.

`SearchKeys` of the library defines keys, nodes and the search. A search descends in each of 24
trees of minima to the first node that is small, that is, has few entries: at most 32 to 4,096. The
search descends with the minima of its text, and once more with one or two second minima. It depends
on other texts by the numbers of entries of nodes only. These numbers are counted level by level,
below large nodes only. So each text is an entry of one or two nodes a tree, and a query of some
nodes more, by joins with the large nodes. Up to 4 million large nodes of a level go to every
worker.

With `--narrow` the search is the search of inserts (`simdb-cli query --similar --narrow`,
`TextQuery::narrow`): in 16 trees, to nodes of at most 16 to 1,024 entries.
"""

from collections import namedtuple

from .files import ALL_BITS, literal

# The lowest bit of each of the five minima in a key, and the number of levels with second minima.
SHIFTS = (27, 17, 10, 6, 4)
PROBED_LEVELS = 3
# A search: its trees, the most entries of a small node of one or two minima (of long and of short
# texts) and of three or four minima, and the most second minima of a prefix.
Search = namedtuple("Search", "trees shallow_entries deep_entries max_seconds")
WIDE, NARROW = Search(24, (32, 128), 4096, 2), Search(16, (16,), 1024, 1)
# Columns of a narrow search, which replace the columns of an export.
NARROW_COLUMNS = {"max_entries": f"{NARROW.shallow_entries[0]}", "max_seconds": f"{NARROW.max_seconds}",
                  "max_sketch_distance": "IF(characters < 30, 50, 46)"}
# The most large nodes of a level that are sent to every worker.
LARGE_NODES = 4_000_000
# Shorter texts are compared by shorter shingles.
LONG_CHARACTERS = 100
# The columns that decide about two texts that meet in a node.
NODE_TEXT = "document, class, classes, max_sketch_distance, is_long, sketch_1, sketch_2, other_1, other_2, wording"


def node(key, level):
    """SQL of the node of a key on a level, 0 to 4. The bits of the length class have the level."""
    return f"({key} & {literal(ALL_BITS << SHIFTS[level] & ALL_BITS)} | {level + 1})"


def large_nodes(job, texts, search):
    """The nodes of each level but the last that have more entries than a small node."""
    keys = job.view(job.sql(
        f"SELECT explode(slice(keys, 1, {search.trees})) AS key, copies FROM {job.view(texts)} WHERE size(keys) > 1"))
    large = []
    # Nodes are small for all texts or large for all texts by the smallest bound of entries.
    shallow, deep = search.shallow_entries[0], search.deep_entries
    for level, most in enumerate((shallow, shallow, deep, deep)):
        inside = f"LEFT SEMI JOIN {job.view(large[-1])} ON node = {node('key', level - 1)}" if large else ""
        large.append(job.step(f"large-{level + 1}", "node BIGINT, entries BIGINT", lambda: job.sql(
            f"SELECT node, sum(copies) AS entries FROM (SELECT {node('key', level)} AS node, copies "
            f"FROM {keys} {inside}) GROUP BY node HAVING sum(copies) > {most}")))
    counts = job.fact("large-node-counts", lambda: [nodes.count() for nodes in large])
    return [nodes.hint("broadcast") if count <= LARGE_NODES else nodes for nodes, count in zip(large, counts)]


def texts_in_nodes(job, texts, search, large, first, trees):
    """Texts in the nodes of some trees, the first of which is 0 or more: NODE_TEXT, node, is_entry,
    is_query."""
    # A text without keys of trees is searched by the shingles of the other length alone.
    own, other, some = "size(keys) > 1", "size(others) > 0", f"{first + 1}, {trees}"
    # The sketch of the entries, and the other sketch of a query; one sketch twice if there is one.
    sketches = ", ".join(f"IF({condition}, {one}_{n}, {two}_{n}) AS {one}_{n}"
                         for condition, one, two in ((own, "sketch", "other"), (other, "other", "sketch"))
                         for n in (1, 2))
    # A path is a key in a tree with `probes` second minima, on levels before `level`. Only a path
    # of own keys without second minima leads to entries. Second minima belong to the own keys, or
    # to the keys by the other length if there are no own keys.
    paths = job.sql(
        f"SELECT doc AS document, CAST(keys[0] & 15 AS INT) AS class, classes, max_sketch_distance, wording, "
        f"characters >= {LONG_CHARACTERS} AS is_long, {sketches}, max_entries, inline(concat("
        f"zip_with(slice(IF({own}, keys, others), {some}), slice(seconds, {some}), (key, second) -> "
        f"struct(key AS key, second AS second, {own} AS has_entries, max_seconds, 0 AS probes, 0 AS level)), "
        f"transform(IF({own}, slice(others, {some}), array()), key -> "
        "struct(key AS key, 0L AS second, false AS has_entries, 0 AS max_seconds, 0 AS probes, 0 AS level)))) "
        f"FROM {job.view(texts.where(f'{own} OR {other}'))}")
    paths = with_counts(paths, large)
    for probes in range(search.max_seconds):
        paths = with_counts(with_second_minima(job, paths, probes), large)
    # The path of the entries leads to the small nodes of searches with each bound of entries.
    entry_nodes = ", ".join(map(small_node, search.shallow_entries))
    return job.sql(
        f"SELECT {NODE_TEXT}, inline(transform(IF(is_own, array_distinct(array(own_node, {entry_nodes})), "
        "array(own_node)), n -> struct(n AS node, is_own AS is_entry, n = own_node AS is_query))) "
        f"FROM (SELECT *, has_entries AND probes = 0 AS is_own, {small_node('max_entries')} AS own_node "
        f"FROM {job.view(paths)})")


def with_counts(paths, large):
    """Paths with e1 to e4, the entries of the nodes of a key if these nodes are large."""
    from pyspark.sql import functions

    for level, nodes in enumerate(large):
        nodes = nodes.selectExpr(f"node AS n{level}", f"entries AS e{level + 1}")
        paths = paths.join(nodes, functions.expr(f"{node('key', level)} = n{level}"), "left")
    return paths


def small_node(most):
    """SQL of the first small node of a key, after `with_counts`."""
    # Only nodes of one or two minima have a bound of entries for each text.
    return (f"CASE WHEN coalesce(e1, 0) <= {most} THEN {node('key', 0)} "
            f"WHEN coalesce(e2, 0) <= {most} THEN {node('key', 1)} "
            f"WHEN e3 IS NULL THEN {node('key', 2)} WHEN e4 IS NULL THEN {node('key', 3)} ELSE {node('key', 4)} END")


def with_second_minima(job, paths, probes):
    """Paths, and for each path with `probes` second minima the paths with one more, on a level that
    it reaches."""
    # A path reaches the levels below its large nodes.
    reached = "IF(coalesce(e1, 0) <= max_entries, 0, IF(coalesce(e2, 0) <= max_entries, 1, 2))"
    masks = [(1 << high) - (1 << low) for high, low in zip((SHIFTS[0] + 15, *SHIFTS), SHIFTS[:PROBED_LEVELS])]
    path = "STRUCT<key: BIGINT, probes: INT, level: INT>"
    probed = ", ".join(
        f"CAST(struct(key & {literal(ALL_BITS ^ mask)} | second & {literal(mask)}, {probes + 1}, {level + 1}) "
        f"AS {path})"
        for level, mask in enumerate(masks))
    return job.sql(
        f"SELECT {NODE_TEXT}, max_entries, max_seconds, has_entries, second, path.* FROM (SELECT *, explode(concat("
        f"array(CAST(struct(key, probes, level) AS {path})), filter(array({probed}), p -> probes = {probes} AND "
        f"probes < max_seconds AND p.level > level AND p.level <= {reached} + 1))) AS path FROM {job.view(paths)})")
