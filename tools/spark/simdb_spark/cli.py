"""The command line: arguments, the Spark session, exit codes.

The only file that reads arguments and prints results. Results go to standard output, progress and
errors to standard error.
"""

import argparse
import json
import sys

from .clusters import clusters
from .files import Refusal, first_line, say
from .job import ROWS_OF_A_PARTITION, Job
from .pairs import BROADCAST_ROWS, match, pairs
from .similar import SEARCH_RADIUS, similar_clusters, similar_pairs

VERBS = {"pairs": pairs, "match": match, "clusters": clusters, "similar-pairs": similar_pairs,
         "similar-clusters": similar_clusters}


def main():
    sys.exit(run())


def run(arguments=None):
    """The exit code of a command."""
    options = parser().parse_args(arguments)
    if options.verb in ("pairs", "match") and options.radius and options.blocks != "auto" and not (
        options.radius < options.blocks <= options.radius + 4
    ):
        say(f"simdb_spark: --blocks {options.blocks} does not suit --radius {options.radius}: it must "
            f"be from {options.radius + 1} to {options.radius + 4}")
        return 2
    spark, ours = None, False
    try:
        spark, ours = start(options)
        job = Job(spark, options)
        VERBS[options.verb](job)
        summary = job.close()
        print(json.dumps(summary) if options.json else
              ", ".join(f"{key} {value}" for key, value in summary.items()))
        return 0 if summary["rows"] else 1
    except Refusal as refusal:
        say(f"simdb_spark: {refusal}")
        return 2
    except KeyboardInterrupt:
        say("simdb_spark: interrupted; the same command goes on behind the finished steps")
        return 2
    except Exception as error:
        if options.debug:
            raise
        say(f"simdb_spark: cannot finish {options.verb} into {options.OUTPUT}: {first_line(error)}. "
            "The same command goes on behind the finished steps; --debug shows more")
        return 2
    finally:
        if ours:
            spark.stop()


def start(options):
    """Spark, and True if this call started it."""
    # Late, so that `--help` works without PySpark.
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


# Arguments --------------------------------------------------------------------------------------


def parser():
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        prog="simdb_spark", formatter_class=raw,
        description="All pairs, matches and clusters of exported documents, on Apache Spark.",
        epilog="""Exit codes: 0 found; 1 nothing found; 2 error.

Run it by spark-submit, or by python with pyspark 3.5 or 4 installed. Progress goes to standard
error. The heads of the files of the package say how it works and what it costs; the head of
__init__.py says what to enable on a shared cluster.

Examples:
  python3 -m zipapp tools/spark -m simdb_spark.cli:main -o simdb_spark.py
  simdb-cli export news.simdb --format parquet -o news
  spark-submit simdb_spark.py pairs news pairs
  spark-submit --master spark://head:7077 simdb_spark.py pairs hdfs:///news hdfs:///pairs --blocks 5
  spark-submit simdb_spark.py match today news found --json
  spark-submit simdb_spark.py clusters pairs clusters --shape connected""")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, summary, output, **inputs):
        made = verbs.add_parser(name, help=summary, description=f"{summary}.\n\n{output}", formatter_class=raw)
        for argument, text in inputs.items():
            made.add_argument(argument, nargs="+" if argument == "INPUT" else None, help=text)
        made.add_argument("OUTPUT", help="a new folder, or a folder that this command began")
        return made

    def joining(made):
        made.add_argument("--radius", type=whole_number(0, 6), default=3, metavar="K",
                          help="the most bits in which two fingerprints differ, 0 to 6 (default: 3)")
        made.add_argument("--blocks", type=blocks, default="auto", metavar="auto|M",
                          help="cut fingerprints into M blocks, more than K; auto takes the cheapest number: "
                               "within 3 bits 4, from 4e7 fingerprints on 5, from 2e10 on 6")
        made.add_argument("--hot", type=whole_number(1), default=4096, metavar="N",
                          help="cut a key again that more than N fingerprints share (default: 4096)")

    def driver_edges(made):
        made.add_argument("--driver-edges", type=whole_number(0), default=500_000, metavar="N",
                          help="decide the last N pairs in the memory of the driver, 300 bytes each "
                               "(default: 500000)")

    made = verb("pairs", "Finds all pairs of documents within a radius",
                "OUTPUT: a BIGINT, b BIGINT, distance INT; a < b as u64; each pair once. Documents with\n"
                "one fingerprint are a star: the smallest id with each other id, at distance 0. The smallest\n"
                "id stands for them in all other pairs.",
                INPUT="a folder of documents, or several")
    joining(made)
    made.add_argument("--expand", action="store_true",
                      help="write every pair of documents: n copies are n * n / 2 rows")
    made = verb("match", "Finds for each document of QUERIES the documents of CORPUS within a radius",
                "OUTPUT: query BIGINT, document BIGINT, distance INT. No pairs within QUERIES or within\n"
                "CORPUS. An id may be in both, and names two documents then.",
                QUERIES="a folder of documents", CORPUS="a folder of documents")
    joining(made)
    made.add_argument("--firsts", action="store_true",
                      help="name only the smallest id of the documents of CORPUS that have one fingerprint")
    made.add_argument("--broadcast", type=whole_number(0), default=BROADCAST_ROWS, metavar="N",
                      help="send up to N queries to every worker, rather than shuffle CORPUS (default: "
                           "1000000, some 100 MB there)")
    made = verb("clusters", "Groups documents by pairs",
                "OUTPUT: doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT (to the keeper).\n"
                "Documents without any near-duplicate are not written. star: every member is within the\n"
                "radius of its keeper, and joins the first keeper in order of id. connected: members are\n"
                "linked by pairs; distance is null for a member that is in no pair with the keeper.",
                PAIRS="a folder that `pairs` wrote, or Parquet files with a, b and distance")
    made.add_argument("--shape", choices=("star", "connected"), default="star",
                      help="the definition of a cluster (default: star)")
    made.add_argument("--radius", type=whole_number(0, 6), metavar="K",
                      help="use only pairs within K bits (default: all)")
    driver_edges(made)
    made = verb("similar-pairs", "Finds all pairs of texts of which one contains the other",
                "OUTPUT: a BIGINT, b BIGINT, distance INT (of the fingerprints), verdict STRING (same, a_in_b,\n"
                "b_in_a), edit_similarity DOUBLE, jaccard DOUBLE, is_copy BOOLEAN (equal texts: the smallest\n"
                "id with each other id), a_first BOOLEAN (a is tried as the keeper before b).",
                INPUT="a folder that `simdb-cli export --similar` wrote, or several")
    made.add_argument("--simdb-cli", default="simdb-cli", metavar="PATH",
                      help="the program on the workers; with `spark-submit --files simdb-cli` it is "
                           "./simdb-cli (default: simdb-cli)")
    made.add_argument("--hot", type=whole_number(1), default=4096, metavar="N",
                      help="cut a node into cells of about N queries and N entries, if more than N * N of them "
                           "meet in it (default: 4096); a process beside each task holds the wordings of a cell")
    made.add_argument("--narrow", action="store_true",
                      help="search fewer trees and smaller nodes, as inserts and `simdb-cli query --similar "
                           "--narrow` do: of 64,000 summaries 99 %% of the pairs, in less time")
    made.set_defaults(radius=SEARCH_RADIUS, blocks="auto")
    made = verb("similar-clusters", "Groups documents around the texts that cover them",
                "OUTPUT: doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT (to the keeper).\n"
                "A document that is alone in its cluster is not written.",
                PAIRS="a folder that `similar-pairs` wrote")
    driver_edges(made)
    # Last, so that the help begins with the options of the verb.
    for made in verbs.choices.values():
        made.add_argument("--json", action="store_true", help="print counts of the results as one line of JSON")
        made.add_argument("--partitions", type=whole_number(1), metavar="N",
                          help="shuffle in N partitions (default: the number of cores, or one for "
                               f"{ROWS_OF_A_PARTITION} rows)")
        made.add_argument("--master", metavar="URL", help="the cluster (default: of spark-submit, or local[*])")
        made.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE",
                          help="a setting of Spark, as for spark-submit; may come several times")
        made.add_argument("--debug", action="store_true",
                          help="show the warnings of Spark, and the place of an error in the program")
    return top


def whole_number(least, most=None):
    """The type of an argument: a whole number within limits."""
    def parse(text):
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            limits = f"from {least} to {most}" if most is not None else f"from {least} on"
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {limits}")
        return number
    return parse


def blocks(text):
    return text if text == "auto" else whole_number(1, 10)(text)
