#!/usr/bin/env python3
"""The speed of the usual Redis recipe for fingerprints: a set for each block.

    python redis_sets.py [DOCUMENTS]

The set `block:key` holds the fingerprints whose block (0 to 3) has that key of 16 bits. A query asks
for the union of its four sets and compares it with NumPy. The keys and queries are those of
`cargo bench --bench query`. A redis-server is started on a socket in a temporary folder, without
persistence. Every planted query must find its fingerprint, and a sample must be answered as by a
comparison with all.
"""

import subprocess
import sys
import tempfile
import time

import numpy
import redis

from faiss_binary import RADIUS, make_keys, make_queries

QUERIES = 2_000
CHECKED = 20
BATCH = 10_000


def blocks(fingerprint):
    return [f"{block}:{fingerprint >> 16 * block & 0xFFFF}" for block in range(4)]


def near(candidates, bits):
    distances = numpy.bitwise_count(candidates ^ numpy.uint64(bits))
    return set(candidates[distances <= RADIUS].tolist())


def ask(server, bits):
    found = server.sunion(blocks(bits))
    return near(numpy.frombuffer(b"".join(found), dtype="<u8"), bits)


def load(server, keys):
    for start in range(0, len(keys), BATCH):
        pipeline = server.pipeline(transaction=False)
        for key in keys[start : start + BATCH].tolist():
            for name in blocks(key):
                pipeline.sadd(name, key.to_bytes(8, "little"))
        pipeline.execute()


def main():
    documents = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    keys = make_keys(documents)
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            server = redis.Redis(unix_socket_path=socket)
            while True:
                try:
                    server.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.1)
            before = server.info("memory")["used_memory"]
            started = time.perf_counter()
            load(server, keys)
            seconds = time.perf_counter() - started
            bytes_each = (server.info("memory")["used_memory"] - before) / documents
            times = []
            for number, (bits, planted) in enumerate(make_queries(keys, QUERIES, RADIUS)):
                started = time.perf_counter()
                answer = ask(server, bits)
                times.append(time.perf_counter() - started)
                assert planted is None or int(keys[planted]) in answer, "a document is not found"
                if number < CHECKED:
                    assert answer == near(keys, bits), "the answer differs from a comparison with all"
            p50, p99 = numpy.percentile(times, [50, 99]) * 1e3
            print(
                f"{documents:,} documents: p50 {p50:.2f} ms, p99 {p99:.2f} ms, "
                f"{bytes_each:.0f} bytes a document, loaded in {seconds:.0f} s"
            )
        finally:
            running.terminate()
            running.wait()


if __name__ == "__main__":
    main()
