//! Copies of reports with something around their bodies: which copy stays.

use serde_json::json;

use super::{dedup, folder_with};

const REPORTS: [&str; 3] = [
    "The harbour of Kirkwall was closed on Sunday after a trawler lost her anchor near the pier. Divers \
     searched the basin until dusk and found only weed. Ferries to Shapinsay were cancelled.",
    "The council of Stromness has bought the old cinema for the price of a bicycle. The owner asked that \
     the organ stays where it is, and that children pay half. The roof is to be mended before winter.",
    "市图书馆周日起延长开放时间，读者可以在晚上十点之前借还图书。馆长表示，延长的时间由志愿者值班，不增加预算。",
];

const AROUND: [&str; 3] = [
    "\nSign up for our daily newsletter and never miss a story.",
    "\nAdvertisement",
    "\n更多精彩内容请关注我们的公众号。",
];

/// The clean reports have even ids; a copy of each has the next id.
fn corpus(is_clean_first: bool) -> String {
    let reports = REPORTS.into_iter().zip(AROUND).enumerate();
    let pairs = reports.map(|(at, (report, around))| {
        let mut lines = [
            json!({"id": 2 * at, "text": report}),
            json!({"id": 2 * at + 1, "text": format!("{report}{around}")}),
        ];
        if !is_clean_first {
            lines.reverse();
        }
        format!("{}\n{}\n", lines[0], lines[1])
    });
    pairs.collect()
}

#[test]
fn keep_selects_among_copies_that_cover_each_other() {
    for decide in ["contained", "news"] {
        for is_clean_first in [true, false] {
            for (keep, is_clean) in [("first", true), ("longest", false), ("cleanest", true)] {
                let folder = folder_with("a.jsonl", &corpus(is_clean_first));
                let rule = ["--decide", decide, "--keep", keep];
                let run = |from: &str, to: &str| {
                    let arguments =
                        [&[from, "-o", to, "--report", "gone.jsonl"][..], &rule].concat();
                    dedup(&folder, &arguments).ends(0);
                };
                run("a.jsonl", "out.jsonl");
                let kept = folder.read_json("out.jsonl");
                let ids: Vec<u64> = kept
                    .iter()
                    .map(|line| line["id"].as_u64().unwrap())
                    .collect();
                assert_eq!(ids.len(), 3, "{decide} {keep}: {ids:?}");
                assert!(
                    ids.iter().all(|id| (id % 2 == 0) == is_clean),
                    "{decide} {keep}: {ids:?}"
                );
                folder
                    .cli(&["check-report", "gone.jsonl", "a.jsonl"])
                    .ends(0);
                // The output has nothing to remove.
                let again = [&["out.jsonl", "-o", "again.jsonl"][..], &rule].concat();
                dedup(&folder, &again).ends(0);
                assert_eq!(folder.read("again.jsonl"), folder.read("out.jsonl"));
            }
        }
    }
}

#[test]
fn stream_refuses_copies_of_stored_reports() {
    let folder = folder_with("a.jsonl", &corpus(true));
    let arguments = [
        "a.simdb", "a.jsonl", "--unique", "similar", "--decide", "news",
    ];
    folder.load(&arguments).ends(0);
    let ids = folder
        .cli(&["export", "a.simdb", "--format", "jsonl"])
        .ends(0)
        .stdout;
    assert_eq!(ids.lines().count(), 3, "{ids}");
}
