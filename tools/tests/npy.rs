//! NumPy arrays as input and output.

use crate::common::{Folder, raw_pairs};

/// An array as `numpy.save` writes it.
fn npy(kind: &str, words: &[u64]) -> Vec<u8> {
    let shape = words.len();
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape},), }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

/// The raw pairs of a database, in order of id.
fn pairs(folder: &Folder, database: &str) -> Vec<u8> {
    let export = ["export", database, "--format", "raw"];
    folder.cli(&export).ends(0).stdout_bytes
}

#[test]
fn array_positions_are_ids() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<u8", &[7, u64::MAX]));
    folder.write("b.npy", npy("<i8", &[9]));
    folder.load(&["a.simdb", "a.npy", "b.npy"]).ends(0);
    let expected = raw_pairs(&[(0, 7), (1, u64::MAX), (2, 9)]);
    assert_eq!(pairs(&folder, "a.simdb"), expected);
    folder
        .load(&["b.simdb", "a.npy", "--first-id", "100"])
        .ends(0);
    assert_eq!(
        pairs(&folder, "b.simdb"),
        raw_pairs(&[(100, 7), (101, u64::MAX)])
    );
    let stdin = ["c.simdb", "-", "--format", "npy"];
    folder.load_from(&stdin, &npy("<u8", &[5])).ends(0);
    assert_eq!(pairs(&folder, "c.simdb"), raw_pairs(&[(0, 5)]));
}

#[test]
fn ids_are_read_from_second_array() {
    let folder = Folder::new();
    folder.write("f.npy", npy("<u8", &[7, 8]));
    folder.write("ids.npy", npy("<u8", &[u64::MAX, 3]));
    folder
        .load(&["a.simdb", "f.npy", "--ids", "ids.npy"])
        .ends(0);
    assert_eq!(
        pairs(&folder, "a.simdb"),
        raw_pairs(&[(3, 8), (u64::MAX, 7)])
    );

    folder.write("one.npy", npy("<u8", &[1]));
    let wrong = ["b.simdb", "f.npy", "--ids", "one.npy"];
    folder
        .load(&wrong)
        .fails(&["one.npy has 1 ids", "f.npy has 2", "equally many"]);
    let several = ["b.simdb", "f.npy", "f.npy", "--ids", "ids.npy"];
    folder.load(&several).fails(&["--ids goes with one array"]);
    let missing = ["b.simdb", "f.npy", "--ids", "none.npy"];
    folder.load(&missing).fails(&["none.npy"]);
    // A conflict is reported by its row.
    let conflict = ["a.simdb", "one.npy", "--first-id", "3"];
    folder
        .load(&conflict)
        .fails(&["one.npy: row 0: ", "is taken"]);
}

#[test]
fn export_is_two_arrays_that_load_together() {
    let folder = Folder::new();
    let there = [(1, 7), (1 << 63, u64::MAX), (u64::MAX, 0)];
    folder.write("a.raw", raw_pairs(&there));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    let export = ["export", "a.simdb", "--format", "npy", "-o", "out"];
    folder.cli(&export).ends(0);
    let read = |name: &str| std::fs::read(folder.file(name)).expect("a file");
    assert_eq!(
        read("out/ids.npy").len(),
        read("out/fingerprints.npy").len()
    );
    assert!(read("out/ids.npy").ends_with(&u64::MAX.to_le_bytes()));
    let load = ["b.simdb", "out/fingerprints.npy", "--ids", "out/ids.npy"];
    folder.load(&load).ends(0);
    assert_eq!(pairs(&folder, "b.simdb"), raw_pairs(&there));
    folder.cli(&export).fails(&["out already exists"]);
    folder
        .cli(&["export", "a.simdb", "--format", "npy"])
        .fails(&["npy has two files", "-o"]);
}

#[test]
fn other_arrays_are_refused_with_their_type() {
    let folder = Folder::new();
    folder.write("f4.npy", npy("<f4", &[1]));
    folder.write("big.npy", npy(">u8", &[1]));
    let mut cut = npy("<u8", &[1, 2]);
    cut.truncate(cut.len() - 3);
    folder.write("cut.npy", cut);
    folder.write("text.npy", "some text that is long enough");
    for (name, said) in [
        ("f4.npy", "<f4"),
        ("big.npy", ">u8"),
        ("cut.npy", "beyond row 1: it is cut"),
        ("text.npy", "not an array of NumPy"),
    ] {
        folder.load(&["a.simdb", name]).fails(&[name, said]);
        assert!(!folder.file("a.simdb").exists());
    }
    folder.write("a.npy", npy("<u8", &[1]));
    let named = ["a.simdb", "a.npy", "--fingerprint", "f"];
    folder.load(&named).fails(&["no field for --fingerprint"]);
    let timed = ["a.simdb", "a.npy", "--time", "t", "--arrivals"];
    folder.load(&timed).fails(&["no field for --time"]);
    let similar = ["a.simdb", "a.npy", "--unique", "similar"];
    folder.load(&similar).fails(&["a.npy"]);
}

#[test]
fn no_id_is_assigned_twice() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<u8", &[7]));
    folder.write("two.npy", npy("<u8", &[7, 8]));
    folder.write("a.txt", "a line of text that is long enough\n");
    folder.write("two.txt", "a line of text that is long enough\nanother\n");
    let last = ["--first-id", "18446744073709551615"];
    for (number, (inputs, place)) in [
        (&["two.npy"][..], "two.npy: row 1: "),
        (&["a.npy", "two.npy"], "two.npy: row 0: "),
        (&["two.txt"], "two.txt:2: "),
        (&["a.txt", "a.txt"], "a.txt:1: "),
        (&["a.txt", "two.txt"], "two.txt:1: "),
    ]
    .into_iter()
    .enumerate()
    {
        let database = format!("{number}.simdb");
        let load = [&[&database[..]], inputs, &last].concat();
        folder.load(&load).fails(&[place, "it has no id"]);
        assert!(!folder.file(&database).exists());
        let skip = ["--on-error", "skip", "--json"];
        let summary = folder.load(&[&load[..], &skip].concat()).ends(0).one_json();
        assert_eq!(summary["inserted"], 1, "{inputs:?}: {summary}");
        assert_eq!(summary["present"], 0, "{inputs:?}: {summary}");
    }
    // The largest id can be assigned, once.
    folder.write(
        "a.jsonl",
        "{\"text\":\"a line of text that is long enough\"}\n",
    );
    let dedup = ["dedup", "a.jsonl", "-o", "out.jsonl", "--no-id"];
    folder.cli(&[&dedup[..], &last].concat()).ends(0);
}
