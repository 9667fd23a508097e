//! The decisions of `simdb-cli compare`, and the bits and features behind them.

use super::{MUM, OTHER_MUM, assert_near};
use crate::common::{Folder, TEXTS};
use serde_json::{Value, json};

const SHIPS: &str = "Three ships sailed past the lighthouse, and nobody saw them go.";

/// A folder with a database `a.simdb` of [`TEXTS`], created with these options.
fn database(options: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let arguments = [&["a.simdb", "a.jsonl"], options].concat();
    folder.load(&arguments).ends(0);
    folder
}

fn list<'l>(line: &'l Value, name: &str) -> &'l Vec<Value> {
    line[name].as_array().expect("a list")
}

#[test]
fn decisions_and_features_of_worked_example_equal_hand_count() {
    let folder = Folder::new();
    let compare = |arguments: &[&str]| {
        let line = folder.cli(&[&["compare", MUM, OTHER_MUM, "--json"], arguments].concat());
        line.one_json()
    };
    let line = compare(&[]);
    // 喊 and 叫, 哦 and 啦: a word with another in its place is an exchange.
    assert_eq!(line["verdict"], json!("template"));
    assert_eq!(line["missing_in_b"][0][0], json!("喊"));
    assert_eq!(
        line["similar"]["because"],
        json!(
            "the edit similarity is 0.875, and 0.65 is enough, but neither text covers the other: A alone has \
             \"喊\", and B alone has \"啦\""
        )
    );
    assert_eq!((line.get("features"), line.get("bits")), (None, None));

    let line = compare(&["--decide", "alike", "--features"]);
    assert_eq!(line["measures"]["same_wording"], json!(false));
    assert_eq!(line["measures"]["comparable"], json!(true));
    assert_eq!(line["strict"]["near_duplicates"], json!(false));
    assert_eq!(line["near_duplicates"], json!(true));
    assert_eq!(
        line["similar"],
        json!({"near_duplicates": true, "because": "the edit similarity is 0.875, and 0.65 is enough"})
    );
    // 9 pairs and 6 characters are in both; each text has 4 more pairs and 2 more characters.
    let counts = ["both", "only_a", "only_b"].map(|group| line["features"][group]["count"].clone());
    assert_eq!(counts, [json!(15), json!(6), json!(6)]);
    let only: Vec<_> = list(&line["features"]["only_a"], "heaviest")
        .iter()
        .map(|feature| feature["token"].as_str().expect("a token"))
        .collect();
    assert_eq!(only, ["哦回", "喊你", "妈喊", "饭哦", "哦", "喊"]);
    let shares = ["both", "only_a"].map(|group| line["features"][group]["share_of_a"].as_f64());
    assert!((shares[0].unwrap() + shares[1].unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(line["features"]["only_a"]["share_of_b"], json!(0.0));
}

#[test]
fn bits_and_sums_follow_from_features() {
    let folder = Folder::new();
    for recipe in ["ngram", "jieba", "java-string-hash"] {
        let arguments = [
            "compare", MUM, SHIPS, "--recipe", recipe, "--json", "--bits",
        ];
        let line = folder.cli(&arguments).ends(1).one_json();
        let hashes = [MUM, SHIPS].map(|text| {
            let arguments = ["hash", text, "--recipe", recipe, "--explain", "--json"];
            folder.cli(&arguments).ends(0).one_json()
        });
        let [a, b] = ["a", "b"].map(|side| line[side]["fingerprint"].as_str().expect("digits"));
        assert_eq!(
            [&json!(a), &json!(b)],
            hashes.each_ref().map(|hash| &hash["fingerprint"])
        );
        let [a, b] = [a, b].map(|digits| u64::from_str_radix(digits, 16).expect("digits"));
        assert_eq!(line["distance"], json!((a ^ b).count_ones()));

        let blocks = list(&line, "blocks");
        let differing: u64 = blocks
            .iter()
            .map(|b| b["differing_bits"].as_u64().unwrap())
            .sum();
        assert_eq!(json!(differing), line["distance"]);
        let keys: String = blocks
            .iter()
            .map(|block| block["a"].as_str().unwrap())
            .collect();
        assert_eq!(json!(keys), line["a"]["fingerprint"]);

        let bits = list(&line, "bits");
        assert_eq!(bits.len() as u32, (a ^ b).count_ones(), "{recipe}");
        for bit in bits {
            let place = bit["bit"].as_u64().expect("a bit");
            assert_eq!(bit["block"], json!(3 - place / 16));
            for (text, (fingerprint, sum)) in [(a, "sum_a"), (b, "sum_b")].into_iter().enumerate() {
                // The sum of a bit is the weight of features with a 1 minus the weight of those
                // with a 0.
                let mut expected = 0.0;
                for feature in list(&hashes[text], "features") {
                    let hash = u64::from_str_radix(feature["hash"].as_str().unwrap(), 16).unwrap();
                    let weight = feature["weight"].as_f64().unwrap();
                    expected += if hash >> place & 1 == 1 {
                        weight
                    } else {
                        -weight
                    };
                }
                assert_near(&bit[sum], expected);
                // The sign of the sum decides the bit; rounding may decide a tie.
                if expected.abs() > 1e-9 {
                    assert_eq!(expected > 0.0, fingerprint >> place & 1 == 1, "{recipe}");
                }
            }
            assert!(list(bit, "to_one").len() <= 3);
        }
    }
}

#[test]
fn unreliable_fingerprint_is_explained_and_matches_nothing() {
    let folder = Folder::new();
    let phrase = "click here, ".repeat(4);
    for (text, doubt) in [
        ("13800138000", "no-letter"),
        ("internationalization", "single-word"),
        ("ok", "too-few-features"),
        (&phrase, "repetitive"),
    ] {
        let line = folder
            .cli(&["compare", text, text, "--json"])
            .ends(0)
            .one_json();
        assert_eq!(line["a"]["doubt"], json!(doubt));
        assert!(line["a"]["because"].as_str().expect("a reason").len() > 10);
        assert_eq!(line["distance"], json!(0));
        assert_eq!(line["strict"]["near_duplicates"], json!(false));
        // The texts are equal after normalisation.
        assert_eq!(line["near_duplicates"], json!(true));
    }
    let said = folder
        .cli(&["compare", "ok", SHIPS, "--bits"])
        .ends(1)
        .stdout;
    for part in [
        "unreliable: it has 1 distinct features where 5 are needed",
        "means nothing: unreliable fingerprints match no other",
        "strict   no  the fingerprint of A is unreliable",
        "similar  no  a text has so little content",
    ] {
        assert!(said.contains(part), "{part:?} is not said: {said}");
    }
}

#[test]
fn report_has_bits_and_features_on_request() {
    let folder = Folder::new();
    let said = folder.cli(&["compare", MUM, OTHER_MUM, "--bits", "--features"]);
    let said = said.ends(1).stdout;
    for part in [
        "bits that differ",
        "(recipe ngram)",
        "found from radius",
        "in both       15",
        "in A only      6",
        "bits are expected to differ",
        "sum in A",
        "叫你 1.00 B",
        "chance",
        "strict   no ",
        "similar  no  the edit similarity is 0.875",
    ] {
        assert!(said.contains(part), "{part:?} is not said: {said}");
    }
    // The texts are equal after normalisation: nothing differs.
    let same = folder
        .cli(&["compare", SHIPS, &SHIPS.to_uppercase(), "--bits"])
        .ends(0)
        .stdout;
    assert!(same.contains("4 of 4 blocks are equal"), "{same}");
    assert!(
        same.contains("strict   yes  the fingerprints differ in 0 bits"),
        "{same}"
    );
    assert!(!same.contains("sum in A"), "{same}");
}

#[test]
fn similarity_options_set_the_thresholds() {
    let folder = Folder::new();
    let compare = |edits: &str, phrases: &str| {
        folder.cli(&[
            "compare",
            MUM,
            OTHER_MUM,
            "--edit-similarity",
            edits,
            "--jaccard",
            phrases,
            "--json",
            "--decide",
            "alike",
        ])
    };
    compare("0.875", "1").ends(0);
    let refused = compare("0.9", "0.5").ends(1).one_json();
    assert_eq!(
        refused["similar"]["because"],
        json!(
            "the edit similarity is 0.875, where 0.9 would be enough, and 0.368 of the phrases are \
             in both, where 0.5 would"
        )
    );
    compare("0.9", "0.36").ends(0);
    assert_eq!(compare("2", "0.5").ends(2).stdout, "");
}

#[test]
fn stored_documents_are_given_by_id() {
    let folder = database(&["--keep-texts"]);
    let compare = |arguments: &[&str]| {
        let given = ["compare", "--database", "a.simdb", "--json", "--features"];
        folder.cli(&[&given[..], arguments].concat())
    };
    let line = compare(&["1", "2"]).ends(0).one_json();
    assert_eq!((&line["a"]["id"], &line["b"]["id"]), (&json!(1), &json!(2)));
    assert_eq!(line["distance"], json!(0));
    assert_eq!(line["measures"]["same_wording"], json!(true));
    compare(&["1", "3"]).ends(1);

    let line = compare(&[
        "4",
        "--text",
        "a database of fingerprints finds in a second",
    ]);
    let line = line.ends(1).one_json();
    assert_eq!(line["b"]["id"], json!(null));
    assert!(line["features"]["both"]["count"].as_u64() > Some(10));

    compare(&["1", "9"]).fails(&["document 9 is not stored in a.simdb"]);
    compare(&["1", "two"]).fails(&["named by their ids", "two"]);
    assert_eq!(compare(&["1"]).ends(2).stdout, "");
    folder
        .cli(&["compare", "--database", "none.simdb", "1", "2"])
        .fails(&["none.simdb"]);
}

#[test]
fn database_without_texts_explains_bits_only() {
    let folder = database(&[]);
    let compare = [
        "compare",
        "--database",
        "a.simdb",
        "1",
        "2",
        "--json",
        "--bits",
    ];
    let line = folder.cli(&compare).ends(0).one_json();
    assert_eq!(line["near_duplicates"], json!(true));
    assert!(line["blocks"].is_array(), "{line}");
    for absent in ["verdict", "bits", "measures", "similar"] {
        assert_eq!(line[absent], json!(null), "{absent}");
    }
    let compare = ["compare", "--database", "a.simdb", "1", "3"];
    let said = folder.cli(&compare).ends(1).stdout;
    assert!(said.contains("similar  -   a text is not kept"), "{said}");
}

#[test]
fn fingerprint_not_made_of_its_text_is_reported() {
    let folder = Folder::new();
    let lines = format!(
        "{}\n{}\n",
        json!({"id": 1, "text": SHIPS, "fp": "00000000000000ff"}),
        json!({"id": 2, "text": SHIPS, "fp": "000000000000000f"}),
    );
    folder.write("a.jsonl", lines);
    let load = [
        "a.simdb",
        "a.jsonl",
        "--fingerprint",
        "fp",
        "--text",
        "text",
        "--keep-texts",
    ];
    folder.load(&load).ends(0);
    let compare = [
        "compare",
        "--database",
        "a.simdb",
        "1",
        "2",
        "--json",
        "--bits",
    ];
    let line = folder.cli(&compare).ends(0).one_json();
    assert_eq!(line["distance"], json!(4));
    assert_eq!(line["bits"], json!(null));
    assert_eq!(line["measures"]["same_wording"], json!(true));
    assert_eq!(line["strict"]["near_duplicates"], json!(false));
}

#[test]
fn alike_texts_that_do_not_cover_each_other_name_the_words_that_decided() {
    let folder = Folder::new();
    for (a, b, words) in [
        (
            "The ferry to Oslo was cancelled because of fog.",
            "The ferry to Bergen was cancelled because of fog.",
            "A alone has \"oslo\", and B alone has \"bergen\"",
        ),
        (
            "He did not go home today.",
            "He did go home today.",
            "A alone has \"not\", which alters a sentence of B",
        ),
        (
            "queue library for Rust programs",
            "priority queue library for Rust programs",
            "B alone has \"priority\", which alters a sentence of A",
        ),
        (
            "Ana saw Ben at the market.",
            "Ben saw Ana at the market.",
            "the words have another order",
        ),
    ] {
        let ran = folder.cli(&["compare", a, b]).ends(1);
        let because = format!("but neither text covers the other: {words}");
        assert!(ran.stdout.contains(&because), "{because}: {}", ran.stdout);
    }
}
