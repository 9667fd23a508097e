//! Clusters found elsewhere: `simdb-cli dedup --clusters` and `simdb-cli remove --clusters`.

use crate::common::Folder;
use serde_json::{Value, json};

use super::{TEXTS, dedup};

/// An id that Parquet stores as a negative number.
const LARGE: u64 = (1 << 63) + 5;

/// Clusters are 1 and 2, and 3, 4 and the large id; the first is kept. Nothing is near 6.
const DOCUMENTS: [(u64, &str); 6] = [
    (1, "00000000000000ff"),
    (2, "00000000000000fe"),
    (3, "ffff000000000000"),
    (4, "ffff000000000000"),
    (LARGE, "fff7000000000000"),
    (6, "0f0f0f0f0f0f0f0f"),
];

const CLUSTERS: &str = "doc_id,keeper\n1,1\n2,1\n3,3\n4,3\n9223372036854775813,3\n";

fn line((id, fingerprint): (u64, &str)) -> String {
    format!("{{\"id\":{id},\"fp\":\"{fingerprint}\"}}\n")
}

fn lines(of: impl Fn(u64) -> bool) -> String {
    let documents = DOCUMENTS.into_iter().filter(|(id, _)| of(*id));
    documents.map(line).collect()
}

/// The documents, in a file and in a database, and their clusters.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", lines(|_| true));
    folder.write("c.csv", CLUSTERS);
    folder
        .load(&["a.simdb", "a.jsonl", "--fingerprint", "fp"])
        .ends(0);
    folder
}

fn run_with_clusters(
    folder: &Folder,
    input: &str,
    output: &str,
    clusters: &str,
    more: &[&str],
) -> crate::common::Ran {
    let arguments = [
        input,
        "-o",
        output,
        "--clusters",
        clusters,
        "--fingerprint",
        "fp",
    ];
    dedup(folder, &[&arguments[..], more].concat())
}

fn stored(folder: &Folder) -> Vec<u64> {
    let exported = folder.cli(&["export", "a.simdb"]).ends(0).json();
    let ids = exported.iter().map(|line| line["id"].as_u64());
    ids.map(|id| id.expect("an id")).collect()
}

#[test]
fn own_clusters_give_the_same_result_as_dedup() {
    let folder = folder();
    folder.write("texts.jsonl", TEXTS);
    folder.load(&["texts.simdb", "texts.jsonl"]).ends(0);
    let report = ["--report", "r.jsonl", "--mark", "--json", "--force"];
    for (name, more) in [("a", &["--fingerprint", "fp"][..]), ("texts", &[])] {
        let (input, database) = (format!("{name}.jsonl"), format!("{name}.simdb"));
        let run = |output: &str, given: &[&str]| {
            let arguments = [&[&input, "-o", output][..], more, &report, given].concat();
            let mut summary = dedup(&folder, &arguments).ends(0).one_json();
            summary["seconds"] = Value::Null;
            (folder.read(output), folder.read("r.jsonl"), summary)
        };
        let alone = run(&format!("{name}-alone.jsonl"), &[]);
        assert!(alone.2["removed"].as_u64() > Some(0), "{alone:?}");
        for format in ["csv", "parquet"] {
            let clusters = format!("{name}.clusters.{format}");
            folder
                .cli(&["clusters", &database, "--format", format, "-o", &clusters])
                .ends(0);
            let output = format!("{name}-{format}.jsonl");
            assert_eq!(run(&output, &["--clusters", &clusters]), alone, "{format}");
        }
    }
}

#[test]
fn shard_drops_documents_kept_in_another_shard() {
    let folder = folder();
    folder.write("b.jsonl", lines(|id| [2, 3, 4].contains(&id)));
    let report = ["--report", "gone.jsonl", "--json"];
    let ran = run_with_clusters(&folder, "b.jsonl", "out.jsonl", "c.csv", &report).ends(0);
    assert!(
        ran.stderr
            .contains("not in the inputs: 2 documents of the 5 in the clusters"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains(
            "left out for keepers that are not in the inputs, so not compared with them: 1 document"
        ),
        "{}",
        ran.stderr
    );
    let summary = ran.one_json();
    for (name, expected) in [("kept", 1), ("removed", 2), ("clusters", 2), ("largest", 2)] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    assert_eq!(folder.read("out.jsonl"), lines(|id| id == 3));
    let gone = folder.read_json("gone.jsonl");
    assert_eq!(
        (&gone[0]["id"], &gone[0]["keeper"], &gone[0]["distance"]),
        (&json!(2), &json!(1), &json!(null))
    );
}

#[test]
fn documents_of_unreadable_keeper_are_kept() {
    let folder = folder();
    for bad in ["{\"id\":3,\"fp\":\"none\"}\n", "{\n"] {
        folder.write("b.jsonl", lines(|id| id != 3) + bad);
        let skipped = ["--on-error", "skip", "--json"];
        let ran = run_with_clusters(&folder, "b.jsonl", "kept.jsonl", "c.csv", &skipped).ends(0);
        assert!(
            ran.stderr.contains("may be a bad record: 2 documents"),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.one_json()["removed"], 1);
        assert_eq!(folder.read("kept.jsonl"), lines(|id| id != 3 && id != 2));
        std::fs::remove_file(folder.file("kept.jsonl")).expect("it is there");
    }
}

#[test]
fn clusters_of_similar_texts_may_have_short_copies() {
    let folder = Folder::new();
    let short = "{\"id\":91,\"text\":\"Hello!\"}\n{\"id\":90,\"text\":\"hello\"}\n";
    folder.write("a.jsonl", format!("{TEXTS}{short}"));
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    let clusters = ["clusters", "a.simdb", "--similar", "--format", "csv"];
    folder
        .cli(&[&clusters[..], &["-o", "c.csv"]].concat())
        .ends(0);
    dedup(&folder, &["a.jsonl", "-o", "expected.jsonl"]).ends(0);
    dedup(
        &folder,
        &["a.jsonl", "-o", "out.jsonl", "--clusters", "c.csv"],
    )
    .ends(0);
    let read = |name| std::fs::read_to_string(folder.file(name)).expect("a file");
    assert_eq!(read("out.jsonl"), read("expected.jsonl"));
    assert!(!read("out.jsonl").contains("\"id\":91,"));
}

#[test]
fn contradictory_clusters_are_refused() {
    let folder = folder();
    for (more, reported) in [
        (
            "2,7\n",
            "document 2 is there twice, with the keepers 1 and 7",
        ),
        ("4,3\n", "document 4 is there twice"),
        (
            "6,2\n",
            "document 2 is the keeper of document 6, and is itself left out for document 1",
        ),
        ("x,1\n", "c.csv:7: column \"doc_id\": \"x\" is no number"),
        ("6\n", "c.csv:7: there are 1 fields under 2 column names"),
    ] {
        folder.write("c.csv", format!("{CLUSTERS}{more}"));
        run_with_clusters(&folder, "a.jsonl", "out.jsonl", "c.csv", &[]).fails(&[reported]);
        folder
            .cli(&["remove", "a.simdb", "--clusters", "c.csv"])
            .fails(&[reported]);
    }
    assert_eq!(stored(&folder).len(), DOCUMENTS.len());
}

#[test]
fn damaged_cluster_file_differs_from_other_file() {
    let folder = folder();
    folder.write("empty.csv", "doc_id,keeper\n");
    run_with_clusters(&folder, "a.jsonl", "out.jsonl", "empty.csv", &[]).ends(0);
    assert_eq!(folder.read("out.jsonl"), lines(|_| true));
    folder
        .cli(&["remove", "a.simdb", "--clusters", "empty.csv"])
        .ends(0);
    for (name, content, reported) in [
        ("x.csv", "", "x.csv:1: there are no column names"),
        ("x.csv", "a,b\n", "x.csv:1: there is no column \"doc_id\""),
        ("x.jsonl", "{}", ".csv and .parquet are read"),
    ] {
        folder.write(name, content);
        run_with_clusters(&folder, "a.jsonl", "x-out.jsonl", name, &[]).fails(&[reported]);
        folder
            .cli(&["remove", "a.simdb", "--clusters", name])
            .fails(&[reported]);
    }
    run_with_clusters(&folder, "a.jsonl", "x-out.jsonl", "none.csv", &[])
        .fails(&["cannot read none.csv"]);
    assert_eq!(stored(&folder).len(), DOCUMENTS.len());
}

#[test]
fn search_options_with_given_clusters_are_refused() {
    let folder = folder();
    for option in [
        &["--radius", "3"][..],
        &["--shape", "star"],
        &["--cap", "7"],
        &["--verify"],
        &["--edit-similarity", "0.5"],
        &["--keep", "first"],
        &["--score", "votes"],
        &["--against", "a.simdb"],
    ] {
        let ran = run_with_clusters(&folder, "a.jsonl", "out.jsonl", "c.csv", option).ends(2);
        assert!(
            ran.stderr.contains("cannot be used with"),
            "{option:?}: {}",
            ran.stderr
        );
    }
    for arguments in [
        &["remove", "a.simdb"][..],
        &["remove", "a.simdb", "1", "--clusters", "c.csv"],
    ] {
        folder.cli(arguments).ends(2);
    }
    run_with_clusters(
        &folder,
        "a.jsonl",
        "out.jsonl",
        "c.csv",
        &["--report", "c.csv"],
    )
    .fails(&["--report c.csv is the file of --clusters"]);
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "c.csv"]);
    assert_eq!(folder.read("c.csv"), CLUSTERS);
}

#[test]
fn remove_by_clusters_keeps_the_keepers() {
    let folder = folder();
    // 7 and 8 are not stored; the keeper of 6 is not stored.
    folder.write("c.csv", format!("{CLUSTERS}7,7\n6,7\n8,7\n"));
    let remove = ["remove", "a.simdb", "--clusters", "c.csv"];
    let ran = folder.cli(&[&remove[..], &["--json"]].concat()).ends(0);
    let mut line = ran.one_json();
    line["seconds"] = Value::Null;
    assert_eq!(
        line,
        json!({"removed": 3, "without_keeper": 1, "not_stored": 2, "documents": 3, "seconds": null})
    );
    assert_eq!(stored(&folder), [1, 3, 6]);
    let again = folder.cli(&remove).ends(0);
    assert_eq!(
        again.stdout,
        "removed  0 documents\n         1  not removed: their keepers are not stored\n         5  of \
         the clusters are not stored\nleft     3 documents\n"
    );
    assert_eq!(stored(&folder), [1, 3, 6]);
    folder.cli(&["check", "a.simdb"]).ends(0);
}

mod spark {
    use super::*;
    use parquet::data_type::Int64Type;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    /// A file as Spark writes it: every column is nullable, and there are more columns.
    fn write(folder: &Folder, name: &str, rows: &[[Option<u64>; 2]]) {
        let columns = "optional int64 doc_id; optional int64 keeper; optional int64 cluster;";
        let schema = parse_message_type(&format!("message spark_schema {{ {columns} }}"));
        let schema = schema.expect("a schema").into();
        let file = std::fs::File::create(folder.file(name)).expect("a file");
        let mut writer =
            SerializedFileWriter::new(file, schema, Default::default()).expect("a writer");
        let mut group = writer.next_row_group().expect("a row group");
        for place in [0, 1, 1] {
            let cells = rows.iter().map(|row| row[place]);
            let levels: Vec<i16> = cells
                .clone()
                .map(|cell| i16::from(cell.is_some()))
                .collect();
            let mut column = group.next_column().expect("a column").expect("a column");
            let values: Vec<i64> = cells.flatten().map(|bits| bits as i64).collect();
            column
                .typed::<Int64Type>()
                .write_batch(&values, Some(&levels), None)
                .expect("written");
            column.close().expect("written");
        }
        group.close().expect("written");
        writer.close().expect("written");
    }

    fn row(id: u64, keeper: u64) -> [Option<u64>; 2] {
        [Some(id), Some(keeper)]
    }

    /// A folder `c` of clusters, with the extra files that Spark writes.
    fn with_clusters() -> Folder {
        let folder = folder();
        std::fs::create_dir(folder.file("c")).expect("a folder");
        let first = [row(2, 1), row(LARGE, 3), row(3, 3)];
        write(&folder, "c/part-0.snappy.parquet", &first);
        write(&folder, "c/part-1.snappy.parquet", &[row(4, 3), row(1, 1)]);
        write(&folder, "c/part-2.snappy.parquet", &[]);
        for name in ["_SUCCESS", "_simdb_manifest.json", "._SUCCESS.crc"] {
            folder.write(&format!("c/{name}"), "");
        }
        folder
    }

    #[test]
    fn folder_written_by_spark_is_accepted() {
        let folder = with_clusters();
        let report = ["--report", "gone.jsonl"];
        run_with_clusters(&folder, "a.jsonl", "out.jsonl", "c", &report).ends(0);
        assert_eq!(
            folder.read("out.jsonl"),
            lines(|id| [1, 3, 6].contains(&id))
        );
        let reported = |name: &str| {
            let gone = folder.read_json(name);
            let reported = gone
                .iter()
                .map(|line| ["id", "keeper", "distance"].map(|name| line[name].clone()));
            reported.collect::<Vec<_>>()
        };
        assert_eq!(
            reported("gone.jsonl"),
            [
                [json!(2), json!(1), json!(1)],
                [json!(4), json!(3), json!(0)],
                [json!(LARGE), json!(3), json!(1)]
            ]
        );
        // Without the keeper the distance is unknown, which is not 0.
        folder.write("b.jsonl", lines(|id| id == 4));
        let arguments = ["--mark", "--report", "gone-b.jsonl"];
        run_with_clusters(&folder, "b.jsonl", "b.out.jsonl", "c", &arguments).ends(0);
        assert_eq!(
            reported("gone-b.jsonl"),
            [[json!(4), json!(3), Value::Null]]
        );
        let marked = &folder.read_json("b.out.jsonl")[0];
        assert_eq!(
            (&marked["keeper"], &marked["distance"]),
            (&json!(3), &Value::Null)
        );

        folder
            .cli(&["remove", "a.simdb", "--clusters", "c"])
            .ends(0);
        assert_eq!(stored(&folder), [1, 3, 6]);
    }

    #[test]
    fn incomplete_spark_folder_is_refused() {
        let folder = with_clusters();
        std::fs::remove_file(folder.file("c/_SUCCESS")).expect("removed");
        for ran in [
            run_with_clusters(&folder, "a.jsonl", "out.jsonl", "c", &[]),
            folder.cli(&["remove", "a.simdb", "--clusters", "c"]),
        ] {
            ran.fails(&["c is not whole: _SUCCESS is not in it"]);
        }
        std::fs::create_dir(folder.file("d")).expect("a folder");
        run_with_clusters(&folder, "a.jsonl", "out.jsonl", "d", &[])
            .fails(&["no file in it is named .parquet"]);
    }

    #[test]
    fn row_without_id_and_damaged_file_are_refused_by_name() {
        let folder = with_clusters();
        let rows = [row(2, 1), [None, Some(1)]];
        write(&folder, "c/part-1.snappy.parquet", &rows);
        run_with_clusters(&folder, "a.jsonl", "out.jsonl", "c", &[])
            .fails(&["c/part-1.snappy.parquet: row 1: there is no doc_id"]);
        let bytes = std::fs::read(folder.file("c/part-0.snappy.parquet")).expect("bytes");
        folder.write("c/part-0.snappy.parquet", &bytes[..bytes.len() - 20]);
        let before = stored(&folder);
        folder
            .cli(&["remove", "a.simdb", "--clusters", "c"])
            .fails(&["c/part-0.snappy.parquet"]);
        assert_eq!(stored(&folder), before);
        // A cut page of one column makes all rows of the file invalid.
        let mut bytes = bytes;
        bytes[4..40].fill(0xff);
        folder.write("c/part-0.snappy.parquet", bytes);
        folder
            .cli(&["remove", "a.simdb", "--clusters", "c"])
            .fails(&["c/part-0.snappy.parquet"]);
        assert_eq!(stored(&folder), before);
    }
}
