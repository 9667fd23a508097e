"""`clusters`: each document of a near-duplicate, its keeper and its cluster, from the pairs.

A document without a near-duplicate is not written. `cluster` is the smallest id of the cluster.

`star`: documents come in order of id. A document in no cluster yet becomes a keeper, and all
documents within its radius that are in no cluster yet join it. This rule is sequential. The rounds
of this file are parallel, and decide the same. In a round, each undecided document without a smaller
undecided neighbour becomes a keeper, and its undecided neighbours become members. At the end, each
member joins its smallest neighbour that is a keeper.

Proof by induction over the rounds: all documents that are decided before a round are decided as by
the sequential rule. Let d be undecided, without a smaller undecided neighbour. Its smaller
neighbours are decided, and none is a keeper, or d would be a member. So the sequential rule makes d
a keeper too. An undecided neighbour v of d is larger than d, so the sequential rule puts v into the
cluster of d or of an earlier keeper: v is a member there too. The smallest undecided document is
decided in each round, so the rounds end. By the sequential rule, v joins the first keeper that is
its neighbour, which is the smallest. (Such rounds: Blelloch, Fineman, Shun, SPAA 2012.) Copies of a
fingerprint have the same neighbours, so they are decided together, by the smallest id. A long chain
takes a round for every two links. Once few edges are left, the driver decides by the sequential
rule.

`connected`: connected components, by alternating large-star and small-star (Kiveris et al., SoCC
2014). Members of a long chain need not be near each other. The keeper is the smallest id.
`distance` is null for a member that is in no pair with the keeper.
"""

from .files import Folders, Refusal, in_order
from .pairs import PAIR

CLUSTER = "doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT"
EDGE = "u BIGINT, v BIGINT, distance INT"
LINK = "u BIGINT, v BIGINT"


def clusters(job):
    options = job.options
    made_by = made_pairs(job, "pairs", False)
    parameters = made_by.get("parameters", {})
    found_within = parameters.get("radius")
    if options.radius is not None and found_within is not None and options.radius > found_within:
        raise Refusal(f"cannot use pairs within {options.radius} bits: {options.PAIRS} has pairs "
                      f"only within {found_within} bits; run `pairs --radius {options.radius}` first")
    own = {name: getattr(options, name) for name in ("shape", "radius", "driver_edges")}
    folder = Folders(job.files, [options.PAIRS])
    if not job.begin(own, [folder], made_by.get("recipe")):
        return
    held = folder.read(job.spark, PAIR)
    # A column that a file does not have is null.
    if held.where("a IS NULL OR b IS NULL OR distance IS NULL").limit(1).count():
        raise Refusal(f"cannot read {options.PAIRS}: it has not the columns a, b and distance, or "
                      "nulls in them; name a folder that `pairs` or `simdb-cli pairs --format parquet` wrote")
    if options.radius is not None:
        held = held.where(f"distance <= {options.radius}")
    rows = job.fact("pairs", held.count)
    job.set_partitions(rows)
    ordered = job.view(in_order(held, "a", "b"))
    # A group that is not a star yet becomes one.
    stars = job.step("copies", PAIR, lambda: job.sql(
        f"SELECT min(least(a, b)) AS a, greatest(a, b) AS b, 0 AS distance FROM {ordered} WHERE distance = 0 "
        "GROUP BY greatest(a, b)"))
    edges = job.step("edges", EDGE, lambda: edges_of_firsts(
        job, ordered, stars, parameters.get("expand") is not False))
    find = star if options.shape == "star" else connected
    assigned = find(job, edges, job.fact("edge-count", edges.count))
    job.step("answer", CLUSTER, lambda: in_order(
        all_members(job, assigned, stars).selectExpr("doc_id", "keeper", "keeper AS cluster", "distance"),
        "doc_id", "keeper", "cluster"))
    job.finish(["answer"], lambda: {"shape": options.shape, **summary_of_clusters(job, rows)})


def made_pairs(job, verb, required):
    """The manifest of the folder PAIRS, which this verb must have completed. Without a manifest, {}
    if it is not required."""
    folder = job.options.PAIRS
    made_by = job.manifest_of(folder)
    if made_by is None and not required:
        return {}
    if made_by is None or made_by.get("verb") != verb or made_by.get("state") != "whole":
        raise Refusal(f"cannot read {folder}: its manifest does not say that it is a whole output of `{verb}`; "
                      "repeat the command that makes it until it ends")
    return made_by


def edges_of_firsts(job, ordered, stars, expanded):
    """Pairs of different fingerprints, u < v in the order of u64, each side named by the first
    document that has it. Pairs that are not expanded have this name already."""
    sql = f"SELECT least(a, b) AS u, greatest(a, b) AS v, distance FROM {ordered} WHERE distance > 0"
    if expanded:
        first = job.view(stars)
        sql = (f"SELECT coalesce(m.a, u) AS u, coalesce(n.a, v) AS v, e.distance FROM ({sql}) e "
               f"LEFT JOIN {first} m ON u = m.b LEFT JOIN {first} n ON v = n.b")
        sql = f"SELECT DISTINCT least(u, v) AS u, greatest(u, v) AS v, distance FROM ({sql})"
    return job.sql(sql)


def star(job, edges, count):
    """doc, keeper, distance of the members, by the rounds of the proof above. Edges lead from the
    earlier to the later document, in any order of the documents."""
    dropped, left, number = [], edges.select("u", "v"), 0
    while count > job.options.driver_edges:
        e = job.view(left)
        dropped.append(job.step(f"dropped-{number:03d}", "doc BIGINT", lambda: job.sql(
            f"SELECT DISTINCT v AS doc FROM {e} LEFT ANTI JOIN (SELECT DISTINCT v AS larger FROM {e}) ON u = larger")))
        d = job.view(dropped[-1])
        left = job.step(f"left-{number:03d}", LINK, lambda: job.sql(
            f"SELECT u, v FROM {e} LEFT ANTI JOIN {d} x ON u = x.doc LEFT ANTI JOIN {d} y ON v = y.doc"))
        count = job.fact(f"left-{number:03d}-count", left.count)
        number += 1
    dropped.append(job.step("dropped-by-driver", "doc BIGINT", lambda: job.rows(
        "taken.csv", ((doc,) for doc in sorted(taken_in_order(left.collect()))), "doc BIGINT")))
    return job.sql(
        f"SELECT v AS doc, min(struct(u, distance)) AS first FROM {job.view(edges)} "
        f"LEFT ANTI JOIN {job.view(job.union(dropped))} g ON u = g.doc GROUP BY v"
    ).selectExpr("doc", "first.u AS keeper", "first.distance AS distance")


def taken_in_order(edges):
    """The members by the sequential rule."""
    taken, later, waits = set(), {}, {}
    for u, v in edges:
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
    return taken


def connected(job, edges, count):
    """doc, keeper, distance of the documents of a component, except its smallest document."""
    if count <= job.options.driver_edges:
        forest = job.step("components", LINK, lambda: job.rows(
            "found.csv", roots(edges.select("u", "v").collect()), LINK))
    else:
        # Edges point to the smaller end here: u > v.
        forest, number = edges.selectExpr("v AS u", "u AS v"), 0
        while not (number and job.fact(f"stars-{number:03d}", lambda: is_stars(job, forest))):
            number += 1
            e = job.view(forest)
            forest = job.step(f"round-{number:03d}", LINK, lambda: one_round(job, e))
    return job.sql(f"SELECT f.u AS doc, f.v AS keeper, e.distance FROM {job.view(forest)} f "
                   f"LEFT JOIN {job.view(edges)} e ON e.u = f.v AND e.v = f.u")


def roots(edges):
    """Each document with the smallest document of its component, if it is another."""
    root = {}

    def find(doc):
        while root.setdefault(doc, doc) != doc:
            root[doc] = root[root[doc]]
            doc = root[doc]
        return doc

    for u, v in edges:
        u, v = sorted((find(u), find(v)))
        root[v] = u
    return [(doc, find(doc)) for doc in sorted(root) if find(doc) != doc]


def one_round(job, edges):
    # Large-star: all larger neighbours of a document to the smallest of it and its neighbours.
    large = job.view(job.sql(
        f"WITH both AS (SELECT u, v FROM {edges} UNION ALL SELECT v, u FROM {edges}) "
        "SELECT DISTINCT both.v AS u, m AS v FROM both JOIN (SELECT u, least(u, min(v)) AS m FROM both "
        "GROUP BY u) least_of ON both.u = least_of.u WHERE both.v > both.u"))
    # Small-star: a document and its smaller neighbours to the smallest of these.
    return job.sql(
        f"WITH least_of AS (SELECT u, min(v) AS m FROM {large} GROUP BY u) "
        f"SELECT DISTINCT u, v FROM (SELECT l.v AS u, m AS v FROM {large} l JOIN least_of "
        "ON l.u = least_of.u WHERE l.v <> m UNION ALL SELECT u, m FROM least_of)")


def is_stars(job, forest):
    """True if every edge leads to the smallest document of its component: each document has one edge,
    and no edge leads on from its end."""
    f = job.view(forest)
    more, = job.sql(f"SELECT count(*) - count(DISTINCT u) FROM {f}").first()
    on, = job.sql(f"SELECT count(*) FROM {f} a LEFT SEMI JOIN {f} b ON a.v = b.u").first()
    return more == 0 and on == 0


def all_members(job, assigned, stars):
    """doc_id, keeper, distance of all documents of clusters, in the order of u64. Copies are in the
    cluster of the first document of their star."""
    a = job.view(assigned)
    # A copy of a keeper is at 0. Otherwise the distance of a copy is the distance of the first
    # document of its star, which is null for a document in no pair with the keeper.
    return job.sql(
        f"WITH line AS (SELECT doc, keeper, distance FROM {a} UNION ALL SELECT s.b, coalesce(x.keeper, s.a), "
        f"IF(x.doc IS NULL, 0, x.distance) FROM {job.view(stars)} s LEFT JOIN {a} x ON s.a = x.doc) "
        "SELECT doc AS doc_id, keeper, CAST(distance AS INT) AS distance FROM line "
        "UNION ALL SELECT DISTINCT keeper, keeper, 0 FROM line")


def summary_of_clusters(job, rows):
    sizes = job.view(job.output(CLUSTER).groupBy("cluster").count())
    number, documents, largest = job.sql(
        f"SELECT count(*), coalesce(sum(count), 0), coalesce(max(count), 0) FROM {sizes}").first()
    return {"pairs": rows, "clusters": number, "rows": documents, "largest": largest, "removable": documents - number}
