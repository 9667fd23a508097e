//! Parquet files: exported and loaded again, written by other software, refused.

use std::path::Path;

use crate::common::{Folder, TEXTS, raw_pairs};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use serde_json::Value;
use simdb::external::SearchKeys;

/// The path of a file of test data, valid from any folder.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/parquet");
    path.join(name).to_str().expect("a name").to_owned()
}

/// The documents of `simdb-cli export`, without text and arrival.
fn documents(folder: &Folder, database: &str) -> Vec<(u64, String, bool)> {
    let line = |line: &Value| {
        let fingerprint = line["fingerprint"].as_str().expect("a fingerprint");
        (
            line["id"].as_u64().expect("an id"),
            fingerprint.to_owned(),
            line["reliable"].as_bool().expect("true or false"),
        )
    };
    let exported = folder.cli(&["export", database]).ends(0).json();
    exported.iter().map(line).collect()
}

/// A database with texts, the last one unreliable.
fn with_texts(folder: &Folder, more: &[&str]) {
    folder.write("a.jsonl", format!("{TEXTS}{{\"id\":9,\"text\":\"7\"}}\n"));
    let arguments = [&["a.simdb", "a.jsonl"][..], more].concat();
    folder.load(&arguments).ends(0);
}

fn open(folder: &Folder, name: &str) -> SerializedFileReader<std::fs::File> {
    let file = std::fs::File::open(folder.file(name)).expect("a file");
    SerializedFileReader::new(file).expect("a Parquet file")
}

fn value(file: &SerializedFileReader<std::fs::File>, key: &str) -> Option<String> {
    let pairs = file.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.clone()
}

#[test]
fn exported_folder_loads_into_another_database() {
    let folder = Folder::new();
    with_texts(&folder, &[]);
    let ran = folder
        .cli(&["export", "a.simdb", "--format", "parquet", "-o", "out"])
        .ends(0);
    assert!(ran.stderr.contains("left out 1 document"), "{ran:?}");
    assert!(ran.stderr.contains("--with-unreliable"), "{ran:?}");
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "out"]);
    let names: Vec<_> = std::fs::read_dir(folder.file("out"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["part-00000.parquet"]);

    folder.load(&["b.simdb", "out"]).ends(0);
    let mut reliable = documents(&folder, "a.simdb");
    reliable.retain(|(_, _, is_reliable)| *is_reliable);
    assert_eq!(reliable.len(), 4);
    assert_eq!(documents(&folder, "b.simdb"), reliable);
    // Repeating the load changes nothing.
    let again = folder.load(&["b.simdb", "out", "--json"]).ends(0);
    assert_eq!(again.one_json()["present"], 4);
}

#[test]
fn unreliable_documents_are_exported_on_request() {
    let folder = Folder::new();
    with_texts(&folder, &[]);
    let export = [
        "export",
        "a.simdb",
        "--format",
        "parquet",
        "--with-unreliable",
    ];
    let ran = folder.cli(&[&export[..], &["-o", "out.parquet"]].concat());
    assert_eq!(ran.ends(0).stderr, "");
    folder.load(&["b.simdb", "out.parquet"]).ends(0);
    assert_eq!(documents(&folder, "b.simdb"), documents(&folder, "a.simdb"));
    // Standard output gets the same bytes.
    let streamed = folder.cli(&export).ends(0).stdout_bytes;
    assert_eq!(
        streamed,
        std::fs::read(folder.file("out.parquet")).expect("a file")
    );
    let wrong = ["export", "a.simdb", "--with-unreliable"];
    folder
        .cli(&wrong)
        .fails(&["--with-unreliable", "--format parquet"]);
}

#[test]
fn export_has_integer_columns_and_recipe_metadata() {
    let folder = Folder::new();
    let pairs = [(3, 0xff), (u64::MAX, 1 << 63), (1 << 63, 7)];
    folder.write("a.raw", raw_pairs(&pairs));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    let export = [
        "export",
        "a.simdb",
        "--format",
        "parquet",
        "-o",
        "out.parquet",
    ];
    folder.cli(&export).ends(0);
    let file = open(&folder, "out.parquet");
    let schema = file.metadata().file_metadata().schema_descr();
    for (place, name) in ["doc_id", "fingerprint"].into_iter().enumerate() {
        let column = schema.column(place);
        assert_eq!(column.name(), name);
        assert_eq!(column.physical_type(), parquet::basic::Type::INT64);
        assert_eq!(column.logical_type_ref(), None);
        assert_eq!((column.max_def_level(), column.max_rep_level()), (0, 0));
    }
    assert_eq!(value(&file, "simdb.format").as_deref(), Some("1"));
    assert_eq!(value(&file, "simdb.recipe").as_deref(), Some("ngram v2"));
    assert_eq!(value(&file, "simdb.documents").as_deref(), Some("3"));
    assert_eq!(
        value(&file, "simdb.unreliable").as_deref(),
        Some("left out")
    );
    let description = value(&file, "simdb.recipe.description").expect("a description");
    assert!(description.starts_with("ngram v2: "), "{description}");
    let rows: Vec<_> = (file.get_row_iter(None).expect("rows"))
        .map(|row| {
            let row = row.expect("a row");
            (
                row.get_long(0).expect("an id"),
                row.get_long(1).expect("bits"),
            )
        })
        .collect();
    assert_eq!(rows, [(3, 0xff), (i64::MIN, 7), (-1, i64::MIN)]);
    folder.load(&["b.simdb", "out.parquet"]).ends(0);
    assert_eq!(documents(&folder, "b.simdb"), documents(&folder, "a.simdb"));
}

#[test]
fn similar_export_has_texts_and_search_keys() {
    let folder = Folder::new();
    with_texts(&folder, &["--keep-texts"]);
    let export = ["export", "a.simdb", "--format", "parquet", "--similar"];
    let ran = folder.cli(&[&export[..], &["-o", "out.parquet"]].concat());
    assert_eq!(ran.ends(0).stderr, "");
    let file = open(&folder, "out.parquet");
    let keys = value(&file, "simdb.recipe.search_keys").expect("a description");
    assert_eq!(keys, SearchKeys::description());
    let listed = folder.cli(&["export", "a.simdb"]).ends(0).json();
    let rows: Vec<_> = file.get_row_iter(None).expect("rows").collect();
    assert_eq!(rows.len(), listed.len());
    for (row, listed) in rows.into_iter().zip(listed) {
        let row = row.expect("a row");
        let text = listed["text"].as_str().expect("a text");
        let made = SearchKeys::new(text);
        assert_eq!(row.get_long(0).expect("an id") as u64, listed["id"]);
        assert_eq!(row.get_bool(2).expect("a mark"), listed["reliable"]);
        let small = [3, 4, 5, 6, 7, 8].map(|at| row.get_int(at).expect("a number") as u32);
        let SearchKeys {
            letters,
            classes,
            max_entries,
            max_seconds,
            max_sketch_distance,
            characters,
            ..
        } = made;
        assert_eq!(
            small,
            [
                letters,
                classes.into(),
                max_entries,
                max_seconds,
                max_sketch_distance,
                characters.into()
            ]
        );
        let bits = [9, 10, 11, 12].map(|at| row.get_long(at).expect("bits") as u64);
        assert_eq!(bits[..], [made.sketch, made.other_sketch].concat());
        assert_eq!(row.get_bytes(13).expect("a wording").data(), made.wording);
        assert_eq!(row.get_string(14).expect("a text"), text);
        for (at, expected) in [(15, made.keys), (16, made.seconds), (17, made.others)] {
            let keys: Vec<u64> = (row.get_list(at).expect("keys").elements().iter())
                .map(|key| match key {
                    Field::Long(key) => *key as u64,
                    other => panic!("{other}"),
                })
                .collect();
            assert_eq!(keys, expected);
        }
    }
    // Fingerprints load as from any other export.
    folder.load(&["b.simdb", "out.parquet"]).ends(0);
    assert_eq!(documents(&folder, "b.simdb"), documents(&folder, "a.simdb"));
    folder
        .cli(&["export", "a.simdb", "--similar"])
        .fails(&["--similar", "--format parquet"]);
    let textless = ["export", "b.simdb", "--format", "parquet", "--similar"];
    folder.cli(&textless).fails(&["b.simdb keeps none"]);
}

#[test]
fn empty_database_is_exported() {
    let folder = Folder::new();
    folder.write("a.raw", "");
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    folder
        .cli(&["export", "a.simdb", "--format", "parquet", "-o", "out"])
        .ends(0);
    let loaded = folder.load(&["b.simdb", "out", "--json"]).ends(0);
    assert_eq!(loaded.one_json()["read"], 0);
}

#[test]
fn export_loads_only_into_a_database_of_its_recipe() {
    let folder = Folder::new();
    with_texts(&folder, &["--recipe", "python-simhash"]);
    let export = ["export", "a.simdb", "--format", "parquet", "-o", "out"];
    folder.cli(&export).ends(0);
    folder.load(&["b.simdb", "out"]).ends(0);
    let stats = folder
        .cli(&["stats", "b.simdb", "--json"])
        .ends(0)
        .one_json();
    assert!(
        stats["recipe"].to_string().contains("python-simhash"),
        "{stats}"
    );

    folder.load(&["ngram.simdb", "a.jsonl"]).ends(0);
    folder.load(&["ngram.simdb", "out"]).fails(&[
        "part-00000.parquet into ngram.simdb",
        "python-simhash v1: ",
        "ngram v2: ",
        "load into a new database",
    ]);
    let asked = ["c.simdb", "out", "--recipe", "ngram"];
    folder
        .load(&asked)
        .fails(&["with the recipe ngram v2", "leave --recipe out"]);
    let export = [
        "export",
        "ngram.simdb",
        "--format",
        "parquet",
        "-o",
        "n.parquet",
    ];
    folder.cli(&export).ends(0);
    folder
        .load(&["c.simdb", "out", "n.parquet"])
        .fails(&["together"]);
    // The error also appears if the columns are named.
    let named = [
        "ngram.simdb",
        "out",
        "--id",
        "doc_id",
        "--fingerprint",
        "fingerprint",
    ];
    folder.load(&named).fails(&["into ngram.simdb"]);
    assert!(!folder.file("c.simdb").exists());
}

#[test]
fn pyarrow_files_load_with_zstd_gzip_and_snappy() {
    let folder = Folder::new();
    folder
        .load(&[
            "want.simdb",
            &data("expected.jsonl"),
            "--keep-texts",
            "--arrivals",
            "--time",
            "posted",
        ])
        .ends(0);
    let wanted = folder.cli(&["export", "want.simdb"]).ends(0).stdout;
    assert_eq!(wanted.lines().count(), 7);
    for name in ["snappy", "zstd_v2", "gzip"] {
        let database = format!("{name}.simdb");
        let file = data(&format!("{name}.parquet"));
        let load = [
            database.as_str(),
            &file,
            "--keep-texts",
            "--arrivals",
            "--time",
            "posted",
            "--on-error",
            "skip",
            "--rejects",
            "rejects.jsonl",
        ];
        folder.load(&load).ends(0);
        assert_eq!(
            folder.cli(&["export", &database]).ends(0).stdout,
            wanted,
            "{name}"
        );
        let rejects = folder.read_json("rejects.jsonl");
        assert_eq!(rejects.len(), 1);
        assert_eq!(
            (&rejects[0]["row"], &rejects[0]["id"]),
            (&4.into(), &5.into())
        );
        assert_eq!(rejects[0]["line"], Value::Null);
        let reason = rejects[0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("\"text\": it is null"), "{reason}");
        std::fs::remove_file(folder.file("rejects.jsonl")).expect("removed");
    }
    let aborted = folder.load(&["x.simdb", &data("gzip.parquet")]);
    aborted.fails(&["gzip.parquet: row 4: ", "nothing was changed"]);
}

#[test]
fn other_compressions_are_refused_with_their_name() {
    let folder = Folder::new();
    for (name, said) in [("brotli", "BROTLI"), ("lz4", "LZ4")] {
        let file = data(&format!("{name}.parquet"));
        let expected = [
            file.as_str(),
            "column \"id\"",
            said,
            "zstd, gzip and Snappy",
        ];
        folder.load(&["a.simdb", &file]).fails(&expected);
        folder
            .cli(&["dedup", &file, "-o", "b.parquet"])
            .fails(&expected);
    }
    assert!(!folder.file("a.simdb").exists());
}

#[test]
fn ids_may_be_digits_and_nested_columns_are_named_by_path() {
    let folder = Folder::new();
    let file = data("snappy.parquet");
    for id in ["small", "digits"] {
        let database = format!("{id}.simdb");
        let load = [database.as_str(), &file, "--id", id, "--on-error", "skip"];
        folder.load(&load).ends(0);
        let ids: Vec<_> = documents(&folder, &database).iter().map(|d| d.0).collect();
        assert_eq!(ids, [1, 2, 3, 4, 6, 7, 8]);
    }
    let load = [
        "path.simdb",
        &file,
        "--text",
        "meta.lang",
        "--on-error",
        "skip",
        "--json",
    ];
    let loaded = folder.load(&load).ends(0).one_json();
    assert_eq!(
        (&loaded["inserted"], &loaded["rejected"]),
        (&6.into(), &2.into())
    );
}

#[test]
fn missing_or_mistyped_column_is_named_with_existing_columns() {
    let folder = Folder::new();
    let file = data("snappy.parquet");
    for (option, column, said) in [
        ("--text", "title", "there is no column \"title\""),
        ("--text", "title", "name the right one with --text"),
        (
            "--text",
            "small",
            "column \"small\" is INT32 INTEGER; strings are expected",
        ),
        ("--text", "meta", "column \"meta\" is nested"),
        ("--text", "meta.tags.list.element", "is part of a list"),
        ("--id", "score", "column \"score\" is DOUBLE; integers"),
        ("--id", "posted", "column \"posted\" is INT64 TIMESTAMP"),
        (
            "--id",
            "price",
            "column \"price\" is FIXED_LEN_BYTE_ARRAY DECIMAL",
        ),
        ("--time", "meta", "column \"meta\" is nested; timestamps"),
        (
            "--fingerprint",
            "small",
            "column \"small\" is INT32 INTEGER; INT64",
        ),
    ] {
        let load = ["a.simdb", &file, option, column, "--arrivals"];
        let columns = "the columns are id (INT64), text (BYTE_ARRAY STRING)";
        folder.load(&load).fails(&["snappy.parquet", said, columns]);
        assert!(!folder.file("a.simdb").exists());
    }
}

#[test]
fn fingerprints_are_read_as_integers_or_hex_digits() {
    let folder = Folder::new();
    let load = ["a.simdb", &data("snappy.parquet"), "--fingerprint", "id"];
    folder
        .load(&[&load[..], &["--id", "digits"]].concat())
        .ends(0);
    assert_eq!(
        documents(&folder, "a.simdb")[6],
        (7, "0000000000000007".to_owned(), true)
    );
    let wrong = ["b.simdb", &data("snappy.parquet"), "--fingerprint", "text"];
    folder
        .load(&wrong)
        .fails(&["row 0: column \"text\"", "16 hexadecimal digits"]);
}

#[test]
fn times_without_a_zone_need_one() {
    let folder = Folder::new();
    let file = data("local.parquet");
    for unit in ["ms", "us", "ns"] {
        let database = format!("{unit}.simdb");
        let load = [&database, &file, "--arrivals", "--time", unit];
        folder
            .load(&load)
            .fails(&["2024-05-31T12:00:00", "--default-zone"]);
        let load = [&load[..], &["--default-zone", "+08:00"]].concat();
        folder.load(&load).ends(0);
        let shown = folder.cli(&["get", &database, "2", "--json"]).ends(0);
        assert_eq!(shown.one_json()["arrival"], "2024-05-31T04:00:01.000Z");
    }
}

#[test]
fn ids_of_an_export_are_64_bits_also_by_name() {
    let folder = Folder::new();
    let large = 1_u64 << 63;
    folder.write(
        "a.jsonl",
        format!("{{\"id\":{large},\"text\":\"one two three\"}}\n"),
    );
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let export = [
        "export",
        "a.simdb",
        "--format",
        "parquet",
        "-o",
        "a.parquet",
    ];
    folder
        .cli(&[&export[..], &["--with-unreliable"]].concat())
        .ends(0);
    let by_name = ["--id", "doc_id", "--fingerprint", "fingerprint"];
    folder
        .load(&[&["b.simdb", "a.parquet"], &by_name[..]].concat())
        .ends(0);
    folder.cli(&["get", "b.simdb", &large.to_string()]).ends(0);
}

#[test]
fn folder_loads_its_parquet_files_in_order() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("in")).expect("a folder");
    folder
        .load(&["a.simdb", "in"])
        .fails(&["no file in it is named .parquet"]);
    for (name, pairs) in [("b", [(1, 2)]), ("a", [(5, 6)])] {
        folder.write("x.raw", raw_pairs(&pairs));
        folder.load(&[name, "x.raw"]).ends(0);
        let output = format!("in/{name}.parquet");
        folder
            .cli(&["export", name, "--format", "parquet", "-o", &output])
            .ends(0);
    }
    folder.write("in/_SUCCESS", "");
    folder.write("in/_metadata.parquet", "no Parquet");
    folder.write("in/.b.parquet", "no Parquet");
    folder.load(&["c.simdb", "in"]).ends(0);
    let ids: Vec<_> = documents(&folder, "c.simdb").iter().map(|d| d.0).collect();
    assert_eq!(ids, [1, 5]);
    folder
        .load(&["c.simdb", "in", "--format", "csv"])
        .fails(&["is a directory"]);
}

#[test]
fn non_parquet_file_is_refused_by_name() {
    let folder = Folder::new();
    folder.write("text.parquet", TEXTS);
    folder.write("short.parquet", "PAR1");
    folder.write("packed.parquet.gz", "x");
    folder
        .load(&["a.simdb", "text.parquet"])
        .fails(&["text.parquet", "no Parquet file"]);
    folder
        .load(&["a.simdb", "short.parquet"])
        .fails(&["short.parquet", "no Parquet file"]);
    folder
        .load(&["a.simdb", "packed.parquet.gz"])
        .fails(&["unpack it first"]);
    let stdin = ["a.simdb", "-", "--format", "parquet"];
    folder
        .load_from(&stdin, b"PAR1")
        .fails(&["<stdin>", "name a file"]);
    let mut damaged = std::fs::read(data("snappy.parquet")).expect("a file");
    damaged[300..1200].fill(0xff);
    folder.write("damaged.parquet", damaged);
    let ran = folder
        .load(&["a.simdb", "damaged.parquet"])
        .fails(&["damaged.parquet"]);
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    assert!(!folder.file("a.simdb").exists());
}

#[test]
fn near_duplicates_in_parquet_are_skipped() {
    let folder = Folder::new();
    let load = [
        "a.simdb",
        &data("zstd_v2.parquet"),
        "--unique",
        "3",
        "--on-error",
        "skip",
        "--duplicates",
        "d.jsonl",
    ];
    folder.load(&load).ends(0);
    let rows: Vec<_> = (folder.read_json("d.jsonl").iter())
        .map(|line| ["id", "duplicate_of", "row"].map(|name| line[name].clone()))
        .collect();
    let row = |id: u64, of: u64| [id, of, id - 1].map(Value::from);
    assert_eq!(rows, [row(2, 1), row(8, 7)]);
    folder
        .cli(&["export", "a.simdb", "--format", "parquet", "-o", "out"])
        .ends(0);
    let similar = ["b.simdb", "out", "--unique", "similar"];
    folder
        .load(&similar)
        .fails(&["exported fingerprints have none"]);
}

#[test]
fn pairs_are_exported_with_groups_as_stars() {
    let folder = Folder::new();
    let top = 1 << 63;
    let pairs = [(1, 0), (2, 0), (top, 0), (4, 0b111), (5, u64::MAX)];
    folder.write("a.raw", raw_pairs(&pairs));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    let arguments = ["pairs", "a.simdb", "--sorted", "--format", "parquet"];
    let output = [&arguments[..], &["-o", "p.parquet"]].concat();
    folder.cli(&output).ends(0);
    let file = open(&folder, "p.parquet");
    assert_eq!(value(&file, "simdb.radius").as_deref(), Some("3"));
    let rows: Vec<_> = (file.get_row_iter(None).expect("rows"))
        .map(|row| {
            let row = row.expect("a row");
            let long = |place| row.get_long(place).expect("an id") as u64;
            (long(0), long(1), row.get_int(2).expect("a distance"))
        })
        .collect();
    assert_eq!(rows, [(1, 2, 0), (1, top, 0), (1, 4, 3)]);
    let streamed = folder.cli(&arguments).ends(0).stdout_bytes;
    assert_eq!(
        streamed,
        std::fs::read(folder.file("p.parquet")).expect("a file")
    );
    folder
        .load(&["b.simdb", "p.parquet"])
        .fails(&["there is no column \"id\""]);

    folder.write("one.raw", raw_pairs(&[(1, 1)]));
    folder.load(&["one.simdb", "one.raw"]).ends(0);
    let none = [
        "pairs",
        "one.simdb",
        "--format",
        "parquet",
        "-o",
        "none.parquet",
    ];
    folder.cli(&none).ends(1);
    assert_eq!(
        open(&folder, "none.parquet")
            .metadata()
            .file_metadata()
            .num_rows(),
        0
    );
}

#[test]
fn existing_files_are_not_replaced() {
    let folder = Folder::new();
    with_texts(&folder, &[]);
    std::fs::create_dir(folder.file("out")).expect("a folder");
    folder.write("out.parquet", "mine");
    for output in ["out", "out.parquet", "missing/out"] {
        let export = ["export", "a.simdb", "--format", "parquet", "-o", output];
        folder.cli(&export).fails(&[output]);
    }
    assert_eq!(folder.read("out.parquet"), "mine");
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "out", "out.parquet"]);
}
