//! `simdb-cli dedup` of Parquet files and folders.

use super::{FOX, Folder, Value, dedup};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// A file of eight rows: 1 and 2 are near-duplicates, 7 and 8 are equal, 5 has no text, 6 has an
/// empty text.
fn folder() -> Folder {
    let folder = Folder::new();
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/parquet/snappy.parquet"
    );
    folder.write("a.parquet", std::fs::read(data).expect("a file"));
    folder
}

/// The ids of a file, after a load.
fn ids(folder: &Folder, name: &str) -> Vec<u64> {
    let skipped = ["--on-error", "skip", "--json"];
    folder
        .load(&[&["b.simdb", name][..], &skipped].concat())
        .ends(0);
    let exported = folder.cli(&["export", "b.simdb"]).ends(0).json();
    exported
        .iter()
        .filter_map(|line| line["id"].as_u64())
        .collect()
}

#[test]
fn kept_rows_are_copied_with_all_columns() {
    let folder = folder();
    let report = ["--report", "gone.jsonl", "--on-error", "skip", "--json"];
    let arguments = [&["a.parquet", "-o", "out.parquet"][..], &report].concat();
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    for (name, expected) in [("read", 8), ("kept", 6), ("removed", 2), ("rejected", 0)] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    assert_eq!(ids(&folder, "out.parquet"), [1, 3, 4, 6, 7]);
    let removed: Vec<Value> = folder
        .read("gone.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let reported: Vec<_> = removed
        .iter()
        .map(|line| {
            (
                line["id"].as_u64(),
                line["keeper"].as_u64(),
                line["row"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [(Some(2), Some(1), Some(1)), (Some(8), Some(7), Some(7))]
    );
}

#[test]
fn marks_are_written_as_columns() {
    let folder = folder();
    let marks = ["--mark=kept,distance", "--on-error", "skip"];
    dedup(
        &folder,
        &[&["a.parquet", "-o", "out.parquet"][..], &marks].concat(),
    )
    .ends(0);
    assert_eq!(ids(&folder, "out.parquet"), [1, 2, 3, 4, 6, 7, 8]);
    // The marks can be loaded as ids; duplicates have a null mark.
    let asked = ["--id", "kept", "--on-error", "skip", "--json"];
    let loaded = folder.load(&[&["c.simdb", "out.parquet"][..], &asked].concat());
    let summary = loaded.ends(0).one_json();
    assert_eq!(
        (&summary["inserted"], &summary["rejected"]),
        (&2.into(), &6.into())
    );
    let again = dedup(
        &folder,
        &[&["out.parquet", "-o", "b.parquet"][..], &marks].concat(),
    );
    assert!(again.ends(2).stderr.contains("\"kept\" already"));
    assert!(!folder.names().contains(&"b.parquet".to_owned()));
}

#[test]
fn exported_fingerprints_are_refused_as_corpus() {
    let folder = folder();
    folder
        .load(&["a.simdb", "a.parquet", "--on-error", "skip"])
        .ends(0);
    let export = [
        "export",
        "a.simdb",
        "--format",
        "parquet",
        "-o",
        "e.parquet",
    ];
    folder.cli(&export).ends(0);
    // The names of its columns do not matter.
    let named = ["--id", "doc_id", "--fingerprint", "fingerprint"];
    for more in [&[][..], &named] {
        let arguments = [&["e.parquet", "-o", "out.parquet"], more].concat();
        let ran = dedup(&folder, &arguments).ends(2);
        assert!(ran.stderr.contains("holds fingerprints"), "{ran:?}");
        assert!(ran.stderr.contains("that simdb exported"), "{ran:?}");
    }
}

#[test]
fn options_not_for_parquet_are_refused() {
    let folder = folder();
    for (arguments, said) in [
        (&["a.parquet", "-o", "o.parquet.gz"][..], "without .gz"),
        (&["a.parquet", "a.parquet", "-o", "o"], "would be one file"),
        (&["a.parquet", "-o", "o.pq"], "o.pq names neither"),
        (
            &["a.parquet", "-o", "o.parquet", "--score", "text.x"],
            "there is no column \"text.x\"",
        ),
        (&["a.parquet", "-o", "o.csv"], "o.csv names neither"),
        (
            &["-", "--format", "parquet", "-o", "o.parquet"],
            "name a file",
        ),
    ] {
        let ran = dedup(&folder, arguments).ends(2);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
        assert_eq!(folder.names(), ["a.parquet"]);
    }
}

const OTHER: &str =
    "A database of fingerprints finds in microseconds what a scan finds in seconds.";
const THIRD: &str =
    "Of ships and shoes and sealing wax, of cabbages and kings, and why the sea boils.";

/// Writes a file of id, text and score, two rows per row group.
fn write(folder: &Folder, name: &str, columns: &str, rows: &[(i64, &str, f64)]) {
    write_beside(folder, name, columns, rows, &[]);
}

/// Writes a file with additional key-value metadata.
fn write_beside(
    folder: &Folder,
    name: &str,
    columns: &str,
    rows: &[(i64, &str, f64)],
    keys: &[&str],
) {
    let schema = parse_message_type(&format!("message m {{ {columns} }}")).expect("a schema");
    let file = std::fs::File::create(folder.file(name)).expect("a file");
    let mut writer =
        SerializedFileWriter::new(file, schema.into(), Default::default()).expect("a writer");
    for rows in rows.chunks(2) {
        let mut group = writer.next_row_group().expect("a row group");
        let ids: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let texts: Vec<ByteArray> = rows.iter().map(|row| row.1.into()).collect();
        let scores: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let mut column = group.next_column().expect("ids").expect("ids");
        column
            .typed::<Int64Type>()
            .write_batch(&ids, None, None)
            .expect("written");
        column.close().expect("written");
        let mut column = group.next_column().expect("texts").expect("texts");
        column
            .typed::<ByteArrayType>()
            .write_batch(&texts, None, None)
            .expect("written");
        column.close().expect("written");
        if let Some(mut column) = group.next_column().expect("scores") {
            column
                .typed::<DoubleType>()
                .write_batch(&scores, None, None)
                .expect("written");
            column.close().expect("written");
        }
        group.close().expect("written");
    }
    for key in keys {
        let value = Some("{}".to_owned());
        writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value));
    }
    writer.close().expect("written");
}

const COLUMNS: &str = "required int64 id; required binary text (UTF8); required double score;";

#[test]
fn invalid_utf8_is_one_bad_row() {
    let folder = Folder::new();
    let texts = [
        (1, FOX, 0.0),
        (2, "A string that ends in QQ", 0.0),
        (3, OTHER, 0.0),
    ];
    write(&folder, "a.parquet", COLUMNS, &texts);
    let mut bytes = std::fs::read(folder.file("a.parquet")).expect("a file");
    for index in 1..bytes.len() {
        if bytes[index - 1..=index] == *b"QQ" {
            bytes[index - 1..=index].fill(0xff);
        }
    }
    folder.write("a.parquet", bytes);
    dedup(&folder, &["a.parquet", "-o", "out.parquet"])
        .fails(&["a.parquet: row 1: column \"text\": invalid UTF-8 after 22 bytes"]);
    let skip = ["a.parquet", "-o", "out.parquet", "--on-error", "skip"];
    dedup(&folder, &skip).ends(0);
    assert_eq!(rows(&folder, "out.parquet"), ["1 0.0", "3 0.0"]);
}

/// The rows of a file, printed without their texts.
fn rows(folder: &Folder, name: &str) -> Vec<String> {
    let file = std::fs::File::open(folder.file(name)).expect("a file");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows");
    let shown = rows.map(|row| {
        let row = row.expect("a row");
        let columns = row.get_column_iter();
        let shown = columns.filter(|(name, _)| *name != "text");
        let shown: Vec<_> = shown.map(|(_, value)| value.to_string()).collect();
        // Zero is printed with an exponent.
        shown.join(" ").replace("0E0", "0.0")
    });
    shown.collect()
}

/// A folder `in` of parts, and a file beside it. Of 1, 12 and 21 the last has the best score; 11
/// and 22 are equal. In the second part only 3 is unique.
fn corpus() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("in")).expect("a folder");
    write(
        &folder,
        "in/b.parquet",
        COLUMNS,
        &[(12, FOX, 2.0), (22, OTHER, 0.0), (3, THIRD, 0.0)],
    );
    write(
        &folder,
        "in/a.parquet",
        COLUMNS,
        &[(1, FOX, 1.5), (11, OTHER, 0.0)],
    );
    write(&folder, "in/c.parquet", COLUMNS, &[]);
    folder.write("in/_SUCCESS", "");
    folder.write("in/notes.txt", "not a corpus");
    let louder = FOX.to_uppercase();
    write(&folder, "more.parquet", COLUMNS, &[(21, &louder, 3.0)]);
    folder
}

#[test]
fn files_and_folders_are_merged_into_one_file() {
    let folder = corpus();
    let report = ["--report", "gone.jsonl", "--json"];
    let arguments = [&["in", "more.parquet", "-o", "out.parquet"][..], &report].concat();
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    for (name, expected) in [("read", 6), ("kept", 3), ("removed", 3), ("identical", 2)] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    assert_eq!(rows(&folder, "out.parquet"), ["1 1.5", "11 0.0", "3 0.0"]);
    let reported: Vec<_> = folder
        .read_json("gone.jsonl")
        .iter()
        .map(|line| ["id", "keeper", "file", "row"].map(|name| line[name].clone()))
        .collect();
    let expected: [[Value; 4]; 3] = [
        [12.into(), 1.into(), "in/b.parquet".into(), 0.into()],
        [22.into(), 11.into(), "in/b.parquet".into(), 1.into()],
        [21.into(), 1.into(), "more.parquet".into(), 0.into()],
    ];
    assert_eq!(reported, expected);
    let left = ["gone.jsonl", "in", "more.parquet", "out.parquet"];
    assert_eq!(folder.names(), left);
}

#[test]
fn folder_output_has_a_file_per_input() {
    let folder = corpus();
    let arguments = ["more.parquet", "in", "-o", "out", "--score", "score"];
    dedup(&folder, &arguments).ends(0);
    for (name, expected) in [
        ("out/more.parquet", &["21 3.0"][..]),
        ("out/a.parquet", &["11 0.0"]),
        ("out/b.parquet", &["3 0.0"]),
        ("out/c.parquet", &[]),
    ] {
        assert_eq!(rows(&folder, name), expected, "{name}");
    }
    assert_eq!(
        std::fs::read_dir(folder.file("out"))
            .expect("a folder")
            .count(),
        4
    );
    assert_eq!(folder.names(), ["in", "more.parquet", "out"]);
    dedup(&folder, &arguments).fails(&["out already exists"]);
    std::fs::create_dir(folder.file("twice")).expect("a folder");
    std::fs::copy(folder.file("in/a.parquet"), folder.file("twice/a.parquet")).expect("a copy");
    dedup(&folder, &["in", "twice", "-o", "x"])
        .fails(&["in/a.parquet and twice/a.parquet would be one file in x"]);
    // The same rows again are identical documents.
    dedup(&folder, &["in", "twice", "-o", "x.parquet"]).ends(0);
    assert_eq!(rows(&folder, "x.parquet"), ["1 1.5", "11 0.0", "3 0.0"]);
}

#[test]
fn mark_covers_rows_of_many_files() {
    let folder = corpus();
    dedup(&folder, &["in", "-o", "one.parquet", "--mark"]).ends(0);
    let expected = [
        "1 1.5 null null",
        "11 0.0 null null",
        "12 2.0 1 0",
        "22 0.0 11 0",
        "3 0.0 null null",
    ];
    assert_eq!(rows(&folder, "one.parquet"), expected);
    dedup(&folder, &["in", "-o", "each", "--mark"]).ends(0);
    assert_eq!(rows(&folder, "each/a.parquet"), expected[..2]);
    assert_eq!(rows(&folder, "each/b.parquet"), expected[2..]);
    dedup(&folder, &["in", "-o", "x", "--mark=score,distance"])
        .fails(&["in/a.parquet", "\"score\" already"]);
}

/// Metadata of other software that lists the columns would lack the marks.
#[test]
fn foreign_schema_metadata_is_dropped_with_marks() {
    const OTHERS: [&str; 4] = [
        "ARROW:schema",
        "org.apache.spark.sql.parquet.row.metadata",
        "parquet.avro.schema",
        "org.apache.spark.version",
    ];
    let folder = Folder::new();
    let rows = [(1, FOX, 0.0), (2, OTHER, 0.0)];
    write_beside(&folder, "a.parquet", COLUMNS, &rows, &OTHERS);
    let keys = |name: &str| -> Vec<String> {
        let file = std::fs::File::open(folder.file(name)).expect("a file");
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        let pairs = reader.metadata().file_metadata().key_value_metadata();
        let pairs = pairs.cloned().unwrap_or_default();
        pairs.into_iter().map(|pair| pair.key).collect()
    };
    dedup(&folder, &["a.parquet", "-o", "same.parquet"]).ends(0);
    assert_eq!(keys("same.parquet"), OTHERS);
    dedup(&folder, &["a.parquet", "-o", "marked.parquet", "--mark"]).ends(0);
    assert_eq!(keys("marked.parquet"), ["org.apache.spark.version"]);
}

#[test]
fn files_with_different_columns_need_folder_output() {
    let folder = corpus();
    for (columns, reported) in [
        (
            "required int64 id; required binary text (UTF8);",
            "number 3 is none",
        ),
        (
            "required int64 id; required binary text (UTF8); required double votes;",
            "number 3 is votes",
        ),
    ] {
        write(
            &folder,
            "other.parquet",
            columns,
            &[(7, THIRD, 0.0), (8, FOX, 0.0)],
        );
        dedup(&folder, &["in", "other.parquet", "-o", "out.parquet"]).fails(&[
            "other.parquet has not the columns of in/a.parquet",
            reported,
            "score",
        ]);
        dedup(&folder, &["in", "other.parquet", "-o", "out"]).ends(0);
        assert!(rows(&folder, "out/other.parquet").is_empty());
        std::fs::remove_dir_all(folder.file("out")).expect("removed");
        let lacking = ["in", "other.parquet", "-o", "out", "--score", "score"];
        dedup(&folder, &lacking).fails(&["other.parquet", "there is no column \"score\""]);
    }
    assert_eq!(folder.names(), ["in", "more.parquet", "other.parquet"]);
}

#[test]
fn bad_rows_are_reported_by_file_and_row() {
    let folder = corpus();
    write(
        &folder,
        "in/d.parquet",
        COLUMNS,
        &[(8, THIRD, 0.0), (-1, FOX, 0.0), (9, FOX, f64::NAN)],
    );
    dedup(&folder, &["in", "-o", "x.parquet"]).fails(&["in/d.parquet: row 1", "is not an id"]);
    folder
        .load(&["old.simdb", "more.parquet", "--keep-texts"])
        .ends(0);
    let arguments = [
        "in",
        "-o",
        "out",
        "--against",
        "old.simdb",
        "--add",
        "--on-error",
        "skip",
    ];
    let reports = ["--rejects", "bad.jsonl", "--report", "gone.jsonl", "--json"];
    let summary = dedup(&folder, &[&arguments[..], &reports].concat())
        .ends(0)
        .one_json();
    for (name, expected) in [
        ("read", 8),
        ("kept", 2),
        ("against", 3),
        ("added", 2),
        ("rejected", 1),
    ] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    let bad = folder.read_json("bad.jsonl");
    assert_eq!(
        (&bad[0]["file"], &bad[0]["row"]),
        (&"in/d.parquet".into(), &1.into())
    );
    assert_eq!(rows(&folder, "out/a.parquet"), ["11 0.0"]);
    assert!(rows(&folder, "out/d.parquet").is_empty());
    let arguments = [
        "in",
        "-o",
        "x",
        "--score",
        "score",
        "--on-error",
        "skip",
        "--json",
    ];
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    assert_eq!(summary["rejected"], 2);
}

#[test]
fn given_clusters_decide_rows() {
    let folder = corpus();
    // The later document of 1 and 12 is kept; 21 and its keeper are not in the corpus.
    folder.write("c.csv", "doc_id,keeper\n1,12\n12,12\n22,11\n21,20\n");
    let ran = dedup(
        &folder,
        &["in", "-o", "out", "--clusters", "c.csv", "--mark"],
    )
    .ends(0);
    assert!(ran.stderr.contains("1 document of the 4"), "{ran:?}");
    let expected = [
        "1 1.5 12 0",
        "11 0.0 null null",
        "12 2.0 null null",
        "22 0.0 11 0",
        "3 0.0 null null",
    ];
    assert_eq!(rows(&folder, "out/a.parquet"), expected[..2]);
    assert_eq!(rows(&folder, "out/b.parquet"), expected[2..]);
    let shard = [
        "more.parquet",
        "-o",
        "shard.parquet",
        "--clusters",
        "c.csv",
        "--mark",
    ];
    dedup(&folder, &shard).ends(0);
    assert_eq!(rows(&folder, "shard.parquet"), ["21 3.0 20 null"]);
}

#[test]
fn folder_name_may_end_with_dot() {
    let folder = folder();
    dedup(
        &folder,
        &["a.parquet", "-o", "kept/.", "--on-error", "skip"],
    )
    .ends(0);
    assert!(folder.file("kept/a.parquet").exists());
    // A folder with a dot is taken for a file name.
    dedup(
        &folder,
        &["a.parquet", "-o", ".parquet", "--on-error", "skip"],
    )
    .fails(&[".parquet"]);
}
