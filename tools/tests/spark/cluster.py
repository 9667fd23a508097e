"""A standalone Spark cluster on this machine: a master and workers that listen on 127.0.0.1 only.
The end of the `with` block ends them, by their process ids."""

import os
import signal
import socket
import subprocess
import sys
import time


class Cluster:
    def __init__(self, spark_home, folder, workers=2, memory_mib=1100):
        self.home, self.folder = spark_home, folder
        self.count, self.memory_mib = workers, memory_mib
        self.master, self.workers = None, []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        os.makedirs(self.folder, exist_ok=True)
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self.master = self._java("master", "org.apache.spark.deploy.master.Master",
                                 "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._wait("master", "I have been elected leader", 1)
        for number in range(self.count):
            self.workers.append(self._java(
                f"worker-{number}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
                "--webui-port", "0", "--cores", "1", "--memory", f"{self.memory_mib}m",
                "--work-dir", f"{self.folder}/work-{number}", self.url))
        self._wait("master", "Registering worker", self.count)

    def environment(self):
        # Workers cannot start Python, so a program that needs it there fails.
        return dict(
            os.environ, SPARK_HOME=self.home, SPARK_LOCAL_IP="127.0.0.1", SPARK_NO_DAEMONIZE="1",
            SPARK_MASTER_HOST="127.0.0.1", SPARK_DAEMON_MEMORY="256m", SPARK_LOCAL_DIRS=self.folder,
            PYSPARK_PYTHON="/no/python", PYSPARK_DRIVER_PYTHON=sys.executable,
            SPARK_DAEMON_JAVA_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
            "-Dspark.master.rest.enabled=false")

    def _java(self, name, *command):
        with open(self.log(name), "wb") as log:
            return subprocess.Popen([f"{self.home}/bin/spark-class", *command], stdout=log,
                                    stderr=log, stdin=subprocess.DEVNULL, env=self.environment())

    def log(self, name):
        return f"{self.folder}/{name}.log"

    def _wait(self, name, words, times):
        # Takes seconds on an idle machine, minutes on a busy one.
        end = time.time() + 300
        while time.time() < end:
            with open(self.log(name), errors="replace") as log:
                text = log.read()
            if text.count(words) >= times:
                return
            if any(process.poll() is not None for process in self.processes()):
                break
            time.sleep(0.1)
        raise RuntimeError(f"the cluster did not start; {name} says:\n{text[-3000:]}")

    def processes(self):
        return [*([self.master] if self.master else []), *self.workers]

    def executors(self, worker):
        """Process ids of the executors that one worker started."""
        return [pid for pid in descendants(self.workers[worker].pid)
                if "CoarseGrainedExecutorBackend" in command_line(pid)]

    def stop(self):
        started = [pid for process in self.processes() for pid in descendants(process.pid)]
        for process in reversed(self.processes()):
            process.terminate()
        for process in self.processes():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in started:
            if "CoarseGrainedExecutorBackend" in command_line(pid):
                end(pid)
        self.master, self.workers = None, []


def end(pid):
    """Kills a process, if it still exists."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def descendants(root):
    """Process ids of all descendants of a process."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                # The name, in parentheses, may contain spaces.
                parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, more = [], [root]
    while more:
        more = [pid for pid, parent in parents.items() if parent in more]
        found += more
    return found


def listening(pids):
    """Addresses on which these processes listen."""
    inodes = set()
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                # The descriptor was closed meanwhile.
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    addresses = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        try:
            with open(f"/proc/net/{table}") as file:
                lines = file.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                words = fields[1].partition(":")[0]
                # Each word of four bytes is in native byte order.
                address = b"".join(bytes.fromhex(words[at:at + 8])[::-1]
                                   for at in range(0, len(words), 8))
                addresses.append(socket.inet_ntop(family, address))
    return addresses
