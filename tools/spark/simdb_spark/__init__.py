"""All pairs, matches and clusters of exported documents, on Apache Spark.

    python3 -m zipapp tools/spark -m simdb_spark.cli:main -o simdb_spark.py   # one file that Python runs

    simdb-cli export news.simdb --format parquet -o news
    spark-submit simdb_spark.py pairs    news pairs           # all pairs within 3 bits
    spark-submit simdb_spark.py match    today news found     # new documents beside old ones
    spark-submit simdb_spark.py clusters pairs clusters       # each document, and the one to keep

    simdb-cli export news.simdb --format parquet --similar -o texts
    spark-submit --files simdb-cli simdb_spark.py similar-pairs texts similar --simdb-cli ./simdb-cli
    spark-submit simdb_spark.py similar-clusters similar kept # texts that a kept text covers

Plain Spark SQL over Parquet, by PySpark 3.5 or 4. The workers run no Python, so they need neither
Python nor this package. For `similar-pairs` the workers also run the binary simdb-cli. Paths are
Hadoop paths (hdfs://, s3a://, ...), or local paths if all workers have the same disk. One run at a
time may write to an OUTPUT.

# Files, from the command to the disk

    cli.py       the command line: arguments, the Spark session, exit codes
    job.py       an output folder: its manifest, its steps, its restart
    pairs.py     `pairs` and `match`: joins on blocks of fingerprints
    clusters.py  `clusters`: stars and connected components of pairs
    similar.py   `similar-pairs` and `similar-clusters`: candidates, cells and decisions
    forest.py    the search of the LSH forest as SQL
    files.py     Hadoop's file systems, input folders and their footers, u64 in SQL

Each file imports files below it only. Verbs get the job as an argument and do not import it.

# Input and output

INPUT, QUERIES and CORPUS are folders of Parquet files, or one file. A row is a document: `doc_id`
INT64 and `fingerprint` INT64, both bit-cast from u64. An id stands in one row. With a third column
`reliable` BOOLEAN, documents that are not reliable are left out. Files of other programs are read
too. Such files are searched for repeated ids, and a warning says that their recipe is not known.

An id is a u64, bit-cast to BIGINT in Parquet and Spark: id 2^63 is -2^63 there. Ids are ordered as
u64: a is the smaller id of a pair, a keeper the smallest id of its cluster.

    pairs     a BIGINT, b BIGINT, distance INT     a < b, each pair once, in no order
    match     query BIGINT, document BIGINT, distance INT
    clusters  doc_id BIGINT, keeper BIGINT, cluster BIGINT, distance INT
    similar-pairs      a BIGINT, b BIGINT, distance INT, verdict STRING, edit_similarity DOUBLE,
                       jaccard DOUBLE, is_copy BOOLEAN, a_first BOOLEAN
    similar-clusters   the columns of clusters

# When to use it

One machine is enough for most collections: simdb takes 32 to 42 bytes a document, so 10^9 documents
take 32 to 42 GB, and `simdb-cli pairs` needs no copy of them. One machine also takes far less time:
2 seconds of processor time for all pairs of 8 million documents. Spark on two workers takes 117 in
its tasks and 232 in all of its processes, and shuffles 98 bytes a document. Use Spark if the
fingerprints are on a cluster already, if they do not fit one machine, or if the answer is needed
beside other tables there.

# On a shared cluster

Authentication and encryption are off by default in Spark, and a fingerprint reveals something about
its text. Enable spark.authenticate (with spark.authenticate.secret on standalone clusters),
spark.network.crypto.enabled, spark.io.encryption.enabled for spilled data, spark.ssl.*, and
spark.acls.enable with spark.ui.view.acls for the UI. Give file systems credentials of their own
(Kerberos, roles), and disable the standalone REST port (spark.master.rest.enabled).
"""
