"""An output folder: its manifest, its finished steps, its restart.

The command line makes a `Job` and gives it to a verb. The verb computes steps, which are tables,
and facts, which are values. The output folder has `_simdb_manifest.json` (command, parameters,
files and finished steps) and, once it is complete, `_SUCCESS`. The same command continues an
interrupted run behind its finished steps. A folder of other files, other parameters or another
version of this program is refused.
"""

import json
import math
import time

from .files import Files, Refusal, say

PROGRAM, VERSION = "simdb_spark", 3
MANIFEST = "_simdb_manifest.json"
SUCCESS = "_SUCCESS"
WORK = "_work"

ROWS_OF_A_PARTITION = 2_000_000
# Bytes of texts or wordings in a step for each core, and in a partition: the disk must hold them.
BYTES_OF_A_STEP, BYTES_OF_A_PARTITION = 4 << 30, 512 << 20


class Job:
    """An output folder with its manifest and its finished steps."""

    def __init__(self, spark, options):
        self.spark, self.options, self.sql = spark, options, spark.sql
        self.files = Files(spark)
        self.out = options.OUTPUT.rstrip("/")
        self.began = time.time()
        self.views = 0
        self.set_partitions(0)

    def begin(self, parameters, inputs, recipe):
        """Makes the output folder of these inputs, `Folders`, or takes it up. False if it is
        complete."""
        self.inputs = inputs
        self.manifest = {
            "program": PROGRAM, "version": VERSION, "verb": self.options.verb, "parameters": parameters,
            "inputs": by_path(folders.listed for folders in inputs), "recipe": recipe,
            "state": "unfinished", "finished": {},
        }
        try:
            before = self.manifest_of(self.out)
            if before is None:
                if self.files.exists(self.out) and self.files.names(self.out):
                    raise Refusal(f"cannot write {self.out}: it has files in it that this program did not write; "
                                  "name a new folder")
                self.files.make_folder(self.out)
                self._save()
                return True
            differing = [
                difference(key, before[key], self.manifest[key])
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
        return state != "whole"

    def manifest_of(self, folder):
        """The manifest of an output folder; None if there is none."""
        path = f"{folder.rstrip('/')}/{MANIFEST}"
        return json.loads(self.files.read(path)) if self.files.is_written(path) else None

    def _save(self):
        self.files.replace(f"{self.out}/{MANIFEST}", json.dumps(self.manifest, indent=1))

    @property
    def step_bytes(self):
        """The bytes of texts or wordings that a step takes."""
        return BYTES_OF_A_STEP * self.spark.sparkContext.defaultParallelism

    def set_partitions(self, rows, size=0):
        """Sets the number of partitions of a shuffle of some rows and bytes."""
        self.parts = self.options.partitions or max(
            self.spark.sparkContext.defaultParallelism, math.ceil(rows / ROWS_OF_A_PARTITION),
            math.ceil(size / BYTES_OF_A_PARTITION))
        self.spark.conf.set("spark.sql.shuffle.partitions", self.parts)

    def view(self, frame):
        """A name for a frame in SQL."""
        self.views += 1
        name = f"simdb_{self.views}"
        frame.createOrReplaceTempView(name)
        return name

    def union(self, frames):
        return self.sql(" UNION ALL ".join(f"SELECT * FROM {self.view(frame)}" for frame in frames))

    def fact(self, name, find):
        """The value of a step, computed once and kept in the manifest."""
        if name not in self.manifest["finished"]:
            start = time.time()
            self._finish(name, start, value=find())
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
            self._finish(name, start)
            # Spark deletes the files of a shuffle once the JVM has collected the objects of its
            # frames. Without this, the shuffles of all steps together filled the disk.
            self.spark._jvm.System.gc()
        return self.tables(schema, [name])

    def tables(self, schema, names):
        """The rows of finished steps."""
        return self.spark.read.schema(schema).parquet(*(f"{self.out}/{WORK}/{name}" for name in names))

    def rows(self, name, rows, schema):
        """Rows of the driver as a table."""
        # By way of a file, because a table of a Python list may need Python on the workers.
        at = f"{self.out}/{WORK}/{name}"
        self.files.replace(at, "".join(",".join(map(str, row)) + "\n" for row in rows))
        return self.spark.read.schema(schema).csv(at)

    def _finish(self, name, start, **value):
        self.manifest["finished"][name] = {**value, "seconds": round(time.time() - start, 2)}
        self._save()
        say(f"{time.time() - self.began:7.1f} s  {name}" + "".join(f": {found}" for found in value.values()))

    def finish(self, tables, summarize):
        """Moves the tables of steps into the output folder, and keeps the summary."""
        if by_path(folders.list_files() for folders in self.inputs) != self.manifest["inputs"]:
            raise Refusal(f"cannot finish {self.out}: the input was changed meanwhile; delete the "
                          "folder, and run the command again on files that stay as they are")
        for table in tables:
            folder = f"{self.out}/{WORK}/{table}"
            for part in self.files.names(folder):
                if part.startswith("part-"):
                    target = f"{self.out}/part-{table.replace('=', '-')}-{part[5:]}"
                    # Where a move is a copy, an interrupted run may have left both files.
                    self.files.remove(target)
                    self.files.move(f"{folder}/{part}", target)
        self.manifest["summary"] = summarize()
        self.manifest["state"] = "whole"
        self._save()

    def output(self, schema):
        """The finished output."""
        return self.spark.read.schema(schema).parquet(self.out)

    def count_by(self, column):
        """The rows of the output for each value of a column, which has a name and a type."""
        name = column.split()[0]
        counted = self.output(column).groupBy(name).count().collect()
        return {str(row[name]): row["count"] for row in sorted(counted)}

    def close(self):
        """Marks the output folder as complete, and returns the summary."""
        # An interrupted run may have ended behind the last `finish`, so this is repeated.
        if not self.files.exists(f"{self.out}/{SUCCESS}"):
            self.files.replace(f"{self.out}/{SUCCESS}", "")
        self.files.remove(f"{self.out}/{WORK}")
        return self.manifest["summary"]


def by_path(lists):
    """The files of several inputs, in order of their names."""
    return sorted((file for files in lists for file in files), key=lambda file: file["path"])


def difference(key, before, now):
    """A description of the entry of a manifest that differs from the present one."""
    if key != "inputs":
        return f"{key} ({json.dumps(before)}, now {json.dumps(now)})"
    old, new = ({file["path"]: file for file in files} for files in (before, now))
    changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    which = "is new" if changed[0] not in old else "is gone" if changed[0] not in new else "was changed"
    return f"input ({changed[0]} {which}, {len(changed)} files differ)"
