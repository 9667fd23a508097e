#!/usr/bin/env python3
"""Measures all pairs of N documents in Spark, on two workers of this machine.

    tools/tests/spark/measure.py 1000000 --simdb-cli target/release/simdb-cli --simdb-load target/release/simdb-load

Random fingerprints: one in 25 is another one with up to 3 flipped bits, a hundred form a clique,
one in a hundred shares a hot block. The driver is killed half way (not with --whole) and the
command repeated. The answer must equal the answer of `simdb-cli pairs`. Prints the elapsed time and
the CPU seconds of the tasks and of all processes. Needs the virtual environment of check.py.
"""

import argparse
import array
import collections
import glob
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import check
import cluster as standalone

SETTINGS = {
    **{key: value for key, value in check.SETTINGS.items() if "JavaOptions" not in key},
    "spark.executor.memory": "1500m",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


def make_raw(path, count, rng):
    """Pairs of u64: ids spread over the whole range, and fingerprints."""
    bits = array.array("Q")
    bits.frombytes(rng.randbytes(8 * count))
    for _ in range(count // 100):
        bits[rng.randrange(count)] &= (1 << 48) - 1
    for _ in range(count // 25):
        bits[rng.randrange(count)] = check.flipped(bits[rng.randrange(count)], rng.randrange(4), rng)
    for _ in range(100):
        bits[rng.randrange(count)] = check.flipped(bits[0], rng.randrange(3), rng)
    rows = array.array("Q", bytes(16 * count))
    # An odd factor keeps the ids distinct.
    rows[0::2] = array.array("Q", (n * 0x9E3779B97F4A7C15 & check.ALL for n in range(count)))
    rows[1::2] = bits
    with open(path, "wb") as file:
        rows.tofile(file)


def work_of(folder):
    """The CPU time of the tasks of all applications, from their event logs."""
    took = collections.Counter()
    for name in glob.glob(f"{folder}/*"):
        with open(name) as file:
            for line in file:
                if '"Event":"SparkListenerTaskEnd"' not in line:
                    continue
                metrics = json.loads(line).get("Task Metrics")
                if metrics:
                    took["tasks"] += 1
                    took["cpu_seconds"] += metrics["Executor CPU Time"] / 1e9
                    took["gc_seconds"] += metrics["JVM GC Time"] / 1e3
                    took["shuffled_bytes"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                    took["spilled_bytes"] += metrics["Disk Bytes Spilled"]
    return {key: round(value, 1) for key, value in took.items()}


def measure(options, folder):
    import pyspark

    checks = check.Checks()
    run = check.Run(options, folder, checks)
    began = time.time()
    make_raw(run.at("corpus.raw"), options.count, random.Random(1))
    run.simdb(options.simdb_load, run.at("corpus.simdb"), run.at("corpus.raw"))
    start = time.time()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    wanted = run.pairs_of_simdb("corpus")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.time() - began:.0f} s  simdb-cli pairs: {len(wanted)} lines, {time.time() - start:.1f} s, "
          f"{after.ru_utime - used.ru_utime + after.ru_stime - used.ru_stime:.1f} s of CPU", flush=True)
    home = os.path.dirname(pyspark.__file__)
    events = run.at("events")
    os.mkdir(events)
    out = run.at("pairs")
    with standalone.Cluster(home, run.at("cluster"), memory_mib=1700) as cluster:
        os.environ.update(cluster.environment())
        check.export_all(run, cluster, ["corpus"])
        size = sum(os.path.getsize(name) for name in glob.glob(run.at("corpus-files/*.parquet")))
        print(f"{time.time() - began:.0f} s  exported, {size / options.count:.1f} bytes a document",
              flush=True)
        command = [sys.executable, "-B", check.PROGRAM, "pairs", run.at("corpus-files"), out, "--master",
                   cluster.url, "--json", "--blocks", options.blocks]
        for key, value in {**SETTINGS, "spark.eventLog.dir": f"file://{events}"}.items():
            command += ["--conf", f"{key}={value}"]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.time()
        if not options.whole:
            driver = subprocess.Popen(command, env=cluster.environment())
            try:
                check.wait_for_step(out, "join=01", lambda: driver.poll() is None, 3600)
            finally:
                for pid in [*standalone.descendants(driver.pid), driver.pid]:
                    standalone.end(pid)
                driver.wait()
            print(f"{time.time() - began:.0f} s  the driver was killed behind {check.steps_of(out)[-1]}",
                  flush=True)
        done = subprocess.run(command, env=cluster.environment(), stdout=subprocess.PIPE, text=True)
        took = time.time() - start
        checks.that("the driver ends well", done.returncode == 0, done.returncode)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - used.ru_utime + after.ru_stime - used.ru_stime
    print(done.stdout.strip())
    print(f"{took:.1f} s, {cpu:.0f} s of CPU of all processes of Spark; "
          f"a million documents: {cpu / options.count * 1e6:.1f} s; tasks: {json.dumps(work_of(events))}")
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[1]")
    for key, value in check.SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        checks.equal("Spark's pairs are simdb's", check.rows(spark, out, ("a", "b", "distance")), wanted)
    finally:
        spark.stop()
    return 1 if checks.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("--blocks", default="auto")
    parser.add_argument("--whole", action="store_true", help="do not kill the driver")
    check.add_arguments(parser)
    options = parser.parse_args()
    if not options.inside:
        check.into_environment(options, __file__)
    with tempfile.TemporaryDirectory(prefix="simdb-spark-") as folder:
        return measure(options, folder)


if __name__ == "__main__":
    sys.exit(main())
