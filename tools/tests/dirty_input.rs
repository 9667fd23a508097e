//! Inputs that are not what their names say, and times as feeds write them.

use std::io::Write;

use serde_json::{Value, json};

use crate::common::Folder;

const LINE: &str = "{\"id\":1,\"text\":\"The harbour office will close early on Friday\"}";
const OTHER: &str = "{\"id\":2,\"text\":\"Bakers in the old town say the price has doubled\"}";

fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut member = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    member.write_all(text.as_bytes()).expect("compressed");
    member.finish().expect("compressed")
}

#[test]
fn content_of_another_kind_is_named() {
    let lines = format!("{LINE}\n{OTHER}\n");
    let with_bom = format!("\u{feff}{lines}");
    for (content, said) in [
        (utf_16(&with_bom, u16::to_le_bytes), "UTF-16"),
        (utf_16(&with_bom, u16::to_be_bytes), "UTF-16"),
        (utf_16(&lines, u16::to_le_bytes), "NUL bytes"),
        (gzip(&lines), "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd\0\0\0".to_vec(), "compressed by zstd"),
        (b"PK\x03\x04abc".to_vec(), "ZIP"),
        (b"PAR1abcPAR1".to_vec(), "Parquet"),
        (format!("{LINE}\r{OTHER}\r").into_bytes(), "carriage return"),
        (
            format!("{LINE}\n\u{feff}{OTHER}\n").into_bytes(),
            "byte order mark (BOM)",
        ),
        (format!("{LINE}\n\0\0\0\n").into_bytes(), "NUL bytes"),
        (b"{\"id\":1,\"text\":\"caf\xe9\"}\n".to_vec(), "iconv"),
        (b"{\n \"id\": 1\n}\n".to_vec(), "jq -c ."),
        (format!("{LINE}{OTHER}\n").into_bytes(), "jq -c ."),
        (
            format!("{LINE},\n{OTHER}\n").into_bytes(),
            "without a comma",
        ),
        (b"{'id': 1, 'text': 'a'}\n".to_vec(), "Python"),
        (b"{\"id\":1,\"text\":None}\n".to_vec(), "Python"),
        (b"{\"id\":1,\"text\":\"a\",\"score\":NaN}\n".to_vec(), "NaN"),
        (
            b"{\"id\":1,\"score\":-Infinity,\"text\":\"a\"}\n".to_vec(),
            "Infinity",
        ),
    ] {
        let folder = Folder::new();
        folder.write("a.jsonl", content);
        folder
            .load(&["a.simdb", "a.jsonl"])
            .fails(&["a.jsonl", said]);
        folder
            .cli(&["dedup", "a.jsonl", "-o", "o.jsonl"])
            .fails(&["a.jsonl", said]);
        assert_eq!(folder.names(), ["a.jsonl"]);
    }
    // Tables and plain lines are read by other readers.
    for name in ["a.csv", "a.tsv", "a.txt"] {
        let folder = Folder::new();
        folder.write(name, gzip(&lines));
        folder
            .load(&["a.simdb", name])
            .fails(&["compressed by gzip", ".gz"]);
    }
}

#[test]
fn file_that_is_not_compressed_as_its_name_says_is_named() {
    let folder = Folder::new();
    for (name, said) in [
        ("a.jsonl.gz", "not compressed by gzip"),
        ("a.jsonl.zst", "not compressed by zstd"),
    ] {
        folder.write(name, format!("{LINE}\n"));
        folder
            .load(&["a.simdb", name])
            .fails(&[name, said, "rename"]);
    }
}

#[test]
fn zeros_behind_gzip_members_are_padding() {
    let folder = Folder::new();
    let [one, two] = [LINE, OTHER].map(|line| gzip(&format!("{line}\n")));
    let zeros = |count: usize| vec![0; count];
    for (padding, end) in [(0, 1), (0, 512), (512, 0), (3, 1 << 20), (1 << 20, 5)] {
        let content = [&one[..], &zeros(padding), &two, &zeros(end)].concat();
        folder.write("a.jsonl.gz", content);
        let dedup = ["dedup", "a.jsonl.gz", "-o", "o.jsonl", "--force", "--json"];
        let summary = folder.cli(&dedup).ends(0).one_json();
        assert_eq!(summary["kept"], 2, "{padding} {end}");
    }
    for garbage in [&b"garbage"[..], b"\n"] {
        folder.write("a.jsonl.gz", [&one[..], &zeros(10), garbage].concat());
        folder
            .cli(&["dedup", "a.jsonl.gz", "-o", "p.jsonl"])
            .fails(&["a.jsonl.gz beyond line 1", "follow", "`gzip -dc`"]);
    }
}

#[test]
fn lone_surrogate_is_read_as_replacement_and_copied_byte_for_byte() {
    let folder = Folder::new();
    let line = |id: u64, text: &str| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let lines = [
        line(1, "Our trip to the coast was great \\ud83d"),
        line(
            2,
            "\\udcb2 raw byte in a file name of the archive of the town",
        ),
        line(3, "our trip to the coast was great"),
        line(
            4,
            "a whole pair \\uD83D\\ude00 and an escaped backslash \\\\ud83d stay",
        ),
        line(
            5,
            "\\ud83d\\ud83d\\ude00\\ude00 halves around a whole pair of the file",
        ),
    ];
    folder.write("a.jsonl", lines.concat());
    folder.cli(&["dedup", "a.jsonl", "-o", "o.jsonl"]).ends(0);
    assert_eq!(
        folder.read("o.jsonl"),
        [&lines[0], &lines[1], &lines[3], &lines[4]]
            .map(|line| &line[..])
            .concat()
    );
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    let text = |id: &str| {
        folder
            .cli(&["get", "a.simdb", id, "--json"])
            .ends(0)
            .one_json()["text"]
            .clone()
    };
    assert_eq!(text("1"), "Our trip to the coast was great \u{fffd}");
    assert_eq!(
        text("4"),
        "a whole pair 😀 and an escaped backslash \\ud83d stay"
    );
    assert_eq!(
        text("5"),
        "\u{fffd}😀\u{fffd} halves around a whole pair of the file"
    );
}

#[test]
fn dotted_name_is_a_field_of_an_object() {
    let folder = Folder::new();
    let record = |id: u64, text: &str| {
        let record = json!({"list": [1, {"id": 9}], "meta": {"id": id, "deep": {"t": 1_717_185_600}}, "doc": {"text": text}});
        format!("{record}\n")
    };
    let text = "The harbour office will close early on Friday";
    folder.write("a.jsonl", record(7, text) + &record(8, text));
    let fields = ["--id", "meta.id", "--text", "doc.text"];
    let dedup = [&["dedup", "a.jsonl", "-o", "o.jsonl"], &fields[..]].concat();
    folder.cli(&dedup).ends(0);
    assert_eq!(folder.read("o.jsonl"), record(7, text));
    let load = [
        &["a.simdb", "a.jsonl", "--arrivals", "--time", "meta.deep.t"],
        &fields[..],
    ]
    .concat();
    folder.load(&load).ends(0);
    let got = folder
        .cli(&["get", "a.simdb", "8", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(got["arrival"], "2024-05-31T20:00:00.000Z");
    // A field of the whole name comes first.
    folder.write("b.jsonl", "{\"a\":{\"id\":1},\"a.id\":2,\"text\":\"x\"}\n{\"a.id\":3,\"a\":{\"id\":4},\"text\":\"y\"}\n");
    folder.load(&["b.simdb", "b.jsonl", "--id", "a.id"]).ends(0);
    let ids = folder.cli(&["export", "b.simdb"]).ends(0).json();
    assert_eq!(
        ids.iter().map(|line| &line["id"]).collect::<Vec<_>>(),
        [2, 3]
    );
    for (line, said) in [
        ("{\"a\":{\"id\":1,\"id\":2},\"text\":\"x\"}", "there twice"),
        (
            "{\"a\":{\"id\":1},\"a\":{\"id\":2},\"text\":\"x\"}",
            "there twice",
        ),
        (
            "{\"a\":[{\"id\":1}],\"text\":\"x\"}",
            "there is no field \"a.id\"",
        ),
        ("{\"a\":null,\"text\":\"x\"}", "there is no field \"a.id\""),
    ] {
        folder.write("c.jsonl", line);
        folder
            .load(&["c.simdb", "c.jsonl", "--id", "a.id"])
            .fails(&[said]);
    }
}

#[test]
fn records_without_integer_ids_are_numbered_on_request() {
    let folder = Folder::new();
    let line = |text: &str| format!("{{\"id\":\"550e8400-e29b\",\"text\":\"{text}\"}}\n");
    folder.write("a.jsonl", line("one") + &line("two"));
    folder.write("b.csv", "text\nthree\nfour\n");
    folder
        .load(&["a.simdb", "a.jsonl"])
        .fails(&["is not an id", "--no-id"]);
    let load = ["a.simdb", "a.jsonl", "b.csv", "--no-id", "--keep-texts"];
    folder.load(&load).ends(0);
    let documents = |database| {
        let documents = folder.cli(&["export", database]).ends(0).json();
        let pair = |line: &Value| {
            (
                line["id"].as_u64(),
                line["text"].as_str().map(str::to_owned),
            )
        };
        documents.iter().map(pair).collect::<Vec<_>>()
    };
    let expected = [(1, "one"), (2, "two"), (3, "three"), (4, "four")];
    assert_eq!(
        documents("a.simdb"),
        expected.map(|(id, text)| (Some(id), Some(text.to_owned())))
    );
    folder
        .load(&["a.simdb", "b.csv", "--no-id", "--first-id", "5"])
        .ends(0);
    assert_eq!(documents("a.simdb").len(), 6);
    folder
        .load(&["a.simdb", "b.csv", "--no-id"])
        .fails(&["the id 1 is taken"]);
    folder.write("c.jsonl", "{\"id\":7,\"text\":\"one two\"}\n");
    folder
        .load(&["a.simdb", "c.jsonl", "--first-id", "5"])
        .fails(&["--first-id numbers records without ids", "--no-id"]);
}

fn arrivals(times: &[Value], options: &[&str]) -> Vec<String> {
    let folder = Folder::new();
    let line = |(id, time): (u64, &Value)| {
        format!(
            "{}\n",
            json!({"id": id, "text": format!("text {id}"), "t": time})
        )
    };
    folder.write("a.jsonl", (1..).zip(times).map(line).collect::<String>());
    let load = [
        "a.simdb",
        "a.jsonl",
        "--arrivals",
        "--max-ahead",
        "90000d",
        "--time",
        "t",
    ];
    folder.load(&[&load[..], options].concat()).ends(0);
    let documents = folder.cli(&["export", "a.simdb"]).ends(0).json();
    let arrival = |line: &Value| line["arrival"].as_str().expect("a time").to_owned();
    documents.iter().map(arrival).collect()
}

#[test]
fn times_of_feeds_are_read() {
    let times = [
        json!("Fri, 31 May 2024 12:00:00 GMT"),
        json!("2024-05-31 20:00"),
        json!("2024年5月31日 20:00"),
        json!("20240531200000"),
        json!(1_717_156_800),
        json!("1717156800000"),
    ];
    let read = arrivals(&times, &["--default-zone", "Asia/Shanghai"]);
    assert_eq!(read, vec!["2024-05-31T12:00:00.000Z"; times.len()]);
    let days = [json!(20_240_531), json!("20240531"), json!("2024-05-31")];
    assert_eq!(
        arrivals(&days, &["--default-zone", "-05:00"]),
        vec!["2024-05-31T05:00:00.000Z"; 3]
    );
    let micros = [json!(1_717_156_800_000_000_u64)];
    assert_eq!(
        arrivals(&micros, &["--time-unit", "us"]),
        ["2024-05-31T12:00:00.000Z"]
    );
    let now = arrivals(
        &[json!(null), json!(""), json!("2024-05-31T12:00:00Z")],
        &["--time-or-now"],
    );
    assert!(now[0].as_str() > "2026" && now[1] == now[0], "{now:?}");
    assert_eq!(now[2], "2024-05-31T12:00:00.000Z");
}

#[test]
fn unclear_times_are_refused_with_the_option_that_helps() {
    let folder = Folder::new();
    for (time, said) in [
        ("20240531", "--default-zone"),
        ("\"2024-05-31 20:00\"", "--default-zone"),
        ("2024", "--time-unit"),
        (
            "\"Fri, 31 May 2024 20:00:00 CEST\"",
            "its zone is not known",
        ),
        ("null", "--time-or-now"),
    ] {
        folder.write(
            "a.jsonl",
            format!("{{\"id\":1,\"text\":\"a\",\"t\":{time}}}\n"),
        );
        let load = ["a.simdb", "a.jsonl", "--arrivals", "--time", "t"];
        folder.load(&load).fails(&["a.jsonl:1", said]);
    }
    let zone = [
        "a.simdb",
        "a.jsonl",
        "--arrivals",
        "--time",
        "t",
        "--default-zone",
        "Mars",
    ];
    folder
        .load(&zone)
        .fails(&["there is no time zone", "Asia/Shanghai"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--time-unit", "s"])
        .fails(&["--time"]);
}
