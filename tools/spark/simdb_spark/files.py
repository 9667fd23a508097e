"""Hadoop's file systems, folders of Parquet files with their footers, and u64 in Spark SQL.

The lowest file of the package. Spark reads rows, but neither footers nor single files, so these are
read by the classes of Hadoop and Parquet in the JVM of the driver.
"""

import concurrent.futures
import re
import sys

ALL_BITS = (1 << 64) - 1
# The description that simdb-cli export writes into the footers of its files.
FORMAT_KEY = "simdb.format"
DOCUMENTS_KEY = "simdb.documents"
KNOWN_FORMATS = ("1",)
RECIPE_KEYS = "simdb.recipe"
SEARCH_KEYS = "simdb.recipe.search_keys"
SEARCH_KEYS_VERSION = "search keys v5:"
# The columns of an export with texts.
TEXT = ("doc BIGINT, fingerprint BIGINT, reliable BOOLEAN, letters INT, classes INT, max_entries INT, "
        "max_seconds INT, max_sketch_distance INT, characters INT, sketch_1 BIGINT, sketch_2 BIGINT, other_1 BIGINT, "
        "other_2 BIGINT, wording BINARY, text STRING, keys ARRAY<BIGINT>, seconds ARRAY<BIGINT>, others ARRAY<BIGINT>")


class Refusal(Exception):
    """An error text for the user: the failed action, its reason and the next step."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def first_line(error):
    """The message of an error, without the stack trace of Java."""
    text = str(error).strip()
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    head = text.splitlines()[0] if text else type(error).__name__
    return f"{head} ({causes[-1]})" if causes else head


def literal(bits):
    """64 bits as an SQL literal, which is signed."""
    # The parser reads the digits before the sign, and 2^63 is no BIGINT.
    if bits == 1 << 63:
        return "shiftleft(1L, 63)"
    return f"({bits - (1 << 64) if bits >> 63 else bits}L)"


def in_order(frame, *ids):
    """A frame whose ids, u64 bit-cast to BIGINT, become BIGINT in the order of u64; and back."""
    return frame.selectExpr(*(
        f"{name} ^ {literal(1 << 63)} AS {name}" if name in ids else name for name in frame.columns))


class Files:
    """Hadoop's file systems: the same code for local paths, hdfs:// and s3a://."""

    def __init__(self, spark):
        self.jvm = spark._jvm
        self.conf = spark.sparkContext._jsc.hadoopConfiguration()

    def _at(self, path):
        path = self.jvm.org.apache.hadoop.fs.Path(path)
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
        if not fs.rename(path, self._at(target)[1]):
            raise Refusal(f"cannot move {source} to {target}: the file system refuses; "
                          "look whether something has that name, and run the same command again")

    def is_written(self, path):
        """True if `replace` wrote the file, also if a later `replace` was interrupted."""
        return self.exists(path) or self.exists(path + ".new")

    def read(self, path):
        """The text of the last `replace`, also if a later `replace` was interrupted."""
        fs, path = self._at(path if self.exists(path) or not self.exists(path + ".new") else path + ".new")
        stream = fs.open(path)
        try:
            return self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()

    def replace(self, path, text):
        """Replaces the text of a file."""
        new = path + ".new"
        fs, target = self._at(new)
        stream = fs.create(target, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        # Some file systems cannot rename over a file, so for a moment only the new file exists.
        self.remove(path)
        self.move(new, path)

    def parquet_files(self, root):
        """The files that Spark would read there."""
        fs, path = self._at(root)
        if not fs.exists(path):
            raise Refusal(f"cannot read {root}: it does not exist; `simdb-cli export DATABASE "
                          "--format parquet` writes such a folder")
        top = fs.makeQualified(path).toString()
        found, walk = [], fs.listFiles(path, True)
        while walk.hasNext():
            status = walk.next()
            name = status.getPath().toString()
            # Spark skips names that begin with a dot or an underscore.
            if name.endswith(".parquet") and not re.search(r"(^|/)[._]", name[len(top):]):
                found.append({"path": name, "length": status.getLen(), "modified": status.getModificationTime()})
        if not found:
            raise Refusal(f"cannot read {root}: no file *.parquet is in it; "
                          "name a folder that `simdb-cli export --format parquet` wrote")
        return found

    def footer(self, path):
        """The metadata of documents in the footer of a Parquet file, which Spark does not
        return."""
        parquet = self.jvm.org.apache.parquet.hadoop
        file = parquet.util.HadoopInputFile.fromPath(self._at(path)[1], self.conf)
        reader = parquet.ParquetFileReader.open(file)
        try:
            footer = reader.getFooter()
            schema = footer.getFileMetaData().getSchema()
            required = [is_required(path, schema, name) for name in ("doc_id", "fingerprint")]
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
                "required": all(required),
                "ranges": ranges,
                "reliable": schema.containsField("reliable"),
            }
        finally:
            reader.close()


def is_required(path, schema, name):
    """True if a column of u64 has no nulls. A missing column and another type are refused."""
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


class Folders:
    """The Parquet files below some folders."""

    def __init__(self, files, roots):
        self.roots, self._files = roots, files
        self.listed = self.list_files()

    def list_files(self):
        """The files as of now, in order of their names."""
        return sorted((file for root in self.roots for file in self._files.parquet_files(root)),
                      key=lambda file: file["path"])

    def read(self, spark, schema):
        """The rows of all files. A column that a file does not have is null."""
        reader = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet")
        return reader.schema(schema).parquet(*self.roots)


class Documents(Folders):
    """Folders of documents: their files and the metadata of the footers."""

    def __init__(self, files, roots):
        super().__init__(files, roots)
        self.name = " and ".join(roots)
        paths = [file["path"] for file in self.listed]
        if len(set(paths)) < len(paths):
            raise Refusal(f"cannot read {self.name}: they have files in common; name each folder once")
        # Each footer is a round trip to the file system, and a large corpus has thousands of them.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            footers = list(pool.map(files.footer, paths))
        self.rows = sum(footer["rows"] for footer in footers)
        self.reliable = any(footer["reliable"] for footer in footers)
        self.recipe = self._recipe(paths, [footer["metadata"] for footer in footers])
        self.proved = are_proved(footers)

    def _recipe(self, paths, metadata):
        first = None
        for path, pairs in zip(paths, metadata):
            if pairs.get(FORMAT_KEY, KNOWN_FORMATS[0]) not in KNOWN_FORMATS:
                raise Refusal(f"cannot read {path}: its {FORMAT_KEY} is {pairs[FORMAT_KEY]}, this program reads "
                              f"{', '.join(KNOWN_FORMATS)}; use the simdb_spark of the simdb that exported it")
            recipe = {key: value for key, value in pairs.items() if key.startswith(RECIPE_KEYS)}
            first = first or (path, recipe)
            same_recipe(*first, path, recipe)
        if not first[1]:
            say(f"note: {self.name}: no file has the recipe of its fingerprints; only fingerprints of one recipe "
                "can be compared")
        return first[1]

    def frame(self, spark):
        """Columns `fingerprint` and `doc`, the id in the order of u64."""
        frame = self.read(spark, "doc_id BIGINT, fingerprint BIGINT" + (", reliable BOOLEAN" if self.reliable else ""))
        if self.reliable:
            # In a file without the column all documents are reliable.
            frame = frame.where("coalesce(reliable, true)")
        return in_order(frame.selectExpr("fingerprint", "doc_id AS doc"), "doc")


class Texts(Documents):
    """Folders of documents with their texts and search keys."""

    def __init__(self, files, roots):
        super().__init__(files, roots)
        if not self.recipe.get(SEARCH_KEYS, "").startswith(SEARCH_KEYS_VERSION):
            raise Refusal(f"cannot read {self.name}: texts and {SEARCH_KEYS_VERSION[:-1]} are wanted; `simdb-cli "
                          "export DATABASE --format parquet --similar` of the simdb of this program writes them")

    def frame(self, spark):
        """The columns of TEXT, the id in the order of u64."""
        frame = self.read(spark, TEXT.replace("doc ", "doc_id ", 1))
        return in_order(frame.withColumnRenamed("doc_id", "doc"), "doc")


def are_proved(footers):
    """True if the footers prove that no id is repeated. simdb writes a file in the order of u64 ids,
    each id once, so it is enough that the ranges of ids of two files do not overlap."""
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


def same_recipe(one_name, one, other_name, other):
    """Refuses fingerprints of different recipes."""
    differing = [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]
    if differing:
        shown = "; ".join(f"{key} is {one.get(key, 'missing')!r:.200} and {other.get(key, 'missing')!r:.200}"
                          for key in differing)
        raise Refusal(f"cannot compare {one_name} with {other_name}: their fingerprints are of different "
                      f"recipes ({shown}); export both from databases of one recipe")
