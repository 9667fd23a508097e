//! `dedup --ignore-frames`, `watch --ignore-frames` and `frames`: copies of stories in the frames
//! of the sources of a made feed.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::dedup;
use crate::common::Folder;

const TEXTS: &str = include_str!("../../../tests/data/quotes_and_news.jsonl");
const PAIRS: &str = include_str!("../../../tests/data/quotes_and_news.pairs.jsonl");

/// The lines before and after each text of a source, by language.
const SOURCES: [(&str, [[&str; 2]; 6]); 2] = [
    (
        "en",
        [
            [
                "The Northern Herald brings the islands together every morning.\n",
                "",
            ],
            [
                "",
                "\nMore of our reporting from the coast stands in the Saturday Post.",
            ],
            [
                "Coastal Wire Service, distributed to member newspapers\n",
                "\nMember newspapers receive this service around the clock.",
            ],
            [
                "",
                " Get the Mirror delivered to your door for three pounds a month.",
            ],
            [
                "Posted in the reading corner by the lighthouse keeper\n",
                "",
            ],
            [
                "",
                "\nVisit the Harbour Portal for tide tables, ferry times and weather.\n\
                 Brought to you with the kind support of Pentland Bakery.",
            ],
        ],
    ),
    (
        "zh",
        [
            ["海湾晚报带您了解岛上的每一天。\n", ""],
            ["", "\n更多精彩内容尽在周末出版的海岸周刊。"],
            [
                "沿海电讯社向各会员报社播发的稿件\n",
                "\n会员报社全天候收到本社播发的稿件。",
            ],
            ["", "每月三十元，把镜报送到您的家门口。"],
            ["灯塔看守人发布在读书角的文章\n", ""],
            [
                "",
                "\n潮汐时刻、渡轮班次与天气预报请访问港口门户网站。\n本栏目由海滨面包房友情赞助播出。",
            ],
        ],
    ),
];

/// The stories of a language: each has a clean document and three copies in the frames of sources.
const STORIES: usize = 40;

/// An item of the feed: the story, `true` if the text has no frame, the source, and the text.
type Item = (usize, bool, usize, String);

/// The clean stories of a language, then their copies, then other texts of the sources.
fn feed(language: &str, sources: &[[&str; 2]; 6]) -> Vec<Item> {
    let lines = |file: &str| -> Vec<Value> {
        let lines = file.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    };
    let pairs = lines(PAIRS);
    let paired: HashSet<u64> = (pairs.iter())
        .flat_map(|pair| [&pair["a"], &pair["b"]].map(|id| id.as_u64().unwrap()))
        .collect();
    let is_story = |line: &&Value| {
        let length = line["text"].as_str().unwrap().len();
        line["lang"] == language
            && !paired.contains(&line["id"].as_u64().unwrap())
            && (150..3000).contains(&length)
    };
    let texts = lines(TEXTS);
    let texts: Vec<&str> = (texts.iter().filter(is_story))
        .map(|line| line["text"].as_str().unwrap().trim())
        .collect();
    assert!(texts.len() > STORIES, "{language}: {}", texts.len());
    let framed = |text: &str, source: usize| {
        let [head, tail] = sources[source];
        format!("{head}{text}{tail}")
    };
    let mut items = Vec::new();
    for (story, text) in texts.iter().enumerate().take(STORIES) {
        items.push((story, true, sources.len(), (*text).to_owned()));
    }
    for (story, text) in texts.iter().enumerate().take(STORIES) {
        for source in (story % 2..sources.len()).step_by(2) {
            items.push((story, false, source, framed(text, source)));
        }
    }
    for (story, text) in texts.iter().enumerate().skip(STORIES) {
        let source = story % sources.len();
        items.push((story, false, source, framed(text, source)));
    }
    items
}

/// Runs dedup on a feed. Returns the ids that stay; the report is proved.
fn kept(folder: &Folder, input: &str, options: &[&str]) -> Vec<u64> {
    let arguments = [
        input,
        "-o",
        "kept.jsonl",
        "--report",
        "gone.jsonl",
        "--force",
    ];
    dedup(folder, &[&arguments[..], options].concat()).ends(0);
    let proved = folder.cli(&["check-report", "gone.jsonl", input]);
    assert!(proved.ends(0).stdout.starts_with("proved"));
    let kept = folder.read_json("kept.jsonl");
    kept.iter()
        .map(|line| line["id"].as_u64().unwrap())
        .collect()
}

fn write_feed(folder: &Folder, items: &[Item]) {
    folder.write("feed.jsonl", lines_of(items));
}

fn lines_of(items: &[Item]) -> String {
    let line = |(id, (.., source, text)): (u64, &Item)| {
        format!("{}\n", json!({"id": id, "text": text, "source": source}))
    };
    (1..).zip(items).map(line).collect()
}

#[test]
fn copies_in_frames_of_sources_are_removed_in_either_order() {
    for (language, sources) in &SOURCES {
        let mut items = feed(language, sources);
        for order in ["clean first", "clean last"] {
            let folder = Folder::new();
            write_feed(&folder, &items);
            let removed = |kept: &[u64]| items.len() - kept.len();
            let copies = STORIES * sources.len() / 2;
            let whole = removed(&kept(&folder, "feed.jsonl", &[]));
            assert!(
                whole * 2 <= copies,
                "{language}, {order}: {whole} of {copies}"
            );
            let ways = [
                &["--ignore-frames"][..],
                &["--ignore-frames", "--across", "source"],
                &["--ignore-frames=15", "--keep", "cleanest"],
            ];
            let count = if order == "clean first" { 1 } else { 3 };
            for options in ways.into_iter().take(count) {
                let stay = kept(&folder, "feed.jsonl", options);
                let found = removed(&stay);
                assert!(
                    (copies * 19 / 20..=copies).contains(&found),
                    "{language}, {order}, {options:?}: {found} of {copies}"
                );
                // No story is lost, and no text is removed for another story.
                let story = |id: &Value| items[id.as_u64().unwrap() as usize - 1].0;
                for line in folder.read_json("gone.jsonl") {
                    assert_eq!(story(&line["id"]), story(&line["keeper"]), "{line}");
                }
                let clean = stay.iter().filter(|id| items[**id as usize - 1].1).count();
                if order == "clean first" || options.contains(&"cleanest") {
                    assert!(
                        clean * 10 >= STORIES * 9,
                        "{language}, {order}, {options:?}: {clean}"
                    );
                }
                std::fs::rename(folder.file("kept.jsonl"), folder.file("again.jsonl")).unwrap();
                let again = kept(&folder, "again.jsonl", options);
                assert_eq!(again.len(), stay.len(), "{language}, {order}, {options:?}");
            }
            items.reverse();
        }
    }
}

#[test]
fn stream_refuses_copies_in_frames_that_stored_texts_have() {
    for (language, sources) in &SOURCES {
        let is_new = |(story, ..): &Item| *story < STORIES / 2;
        let (mut new, stored): (Vec<Item>, Vec<Item>) =
            feed(language, sources).into_iter().partition(is_new);
        let copies = STORIES / 2 * sources.len() / 2;
        for order in ["clean first", "clean last"] {
            let refused = |at_first: &[&str], options: &[&str]| {
                let folder = Folder::new();
                let run = |items: &[Item], options: &[&str]| {
                    let rule = ["--create", "--unique", "similar"];
                    let ids = ["--assign-ids", "--id", "number"];
                    let arguments = [&["watch", "a.simdb"], &rule[..], &ids, options].concat();
                    let ran = folder.cli_from(&arguments, lines_of(items).as_bytes());
                    ran.ends(0).json()
                };
                run(&stored, at_first);
                // Another process has to know the frames.
                let (first, rest) = new.split_at(new.len() / 2);
                let answers = [run(first, options), run(rest, options)].concat();
                let is_refused = |answer: &&Value| answer["verdict"] == "duplicate";
                answers.iter().filter(is_refused).count()
            };
            let option = &["--ignore-frames"][..];
            let whole = refused(&[], &[]);
            assert!(
                whole * 2 <= copies,
                "{language}, {order}: {whole} of {copies}"
            );
            // Learned from the stored texts at each start, and kept in the database.
            let ways = [(option, option), (&[][..], option), (option, &[])];
            let count = if order == "clean first" { 1 } else { 3 };
            for (at_first, options) in ways.into_iter().take(count) {
                let found = refused(at_first, options);
                assert!(
                    found * 20 >= copies * 19,
                    "{language}, {order}, {at_first:?}: {found} of {copies}"
                );
            }
            new.reverse();
        }
    }
    let folder = Folder::new();
    let arguments = [
        "watch",
        "a.simdb",
        "--create",
        "--unique",
        "3",
        "--ignore-frames",
    ];
    folder.cli(&arguments).fails(&["needs --unique similar"]);
}

#[test]
fn frames_are_listed_with_their_documents() {
    let folder = Folder::new();
    let (language, sources) = &SOURCES[0];
    write_feed(&folder, &feed(language, sources));
    let listed = folder
        .cli(&["frames", "feed.jsonl", "--json"])
        .ends(0)
        .json();
    let documents = |line: &str| {
        let found = listed.iter().find(|found| found["text"] == line);
        found.and_then(|found| found["documents"].as_u64())
    };
    for lines in sources.iter().flatten() {
        for line in lines.trim().lines() {
            assert!(documents(line) >= Some(10), "{line}: {listed:?}");
        }
    }
    let within = ["frames", "feed.jsonl", "--within", "source", "--json"];
    for frame in folder.cli(&within).ends(0).json() {
        let value: usize = frame["within"].as_str().unwrap().parse().unwrap();
        let lines = sources[value].concat();
        assert!(lines.contains(frame["text"].as_str().unwrap()), "{frame}");
    }
    let none = folder.cli(&["frames", "feed.jsonl", "--in-documents", "400"]);
    assert_eq!(none.ends(0).stdout, "");
}

#[test]
fn frames_need_no_ids_and_bad_records_are_reported() {
    let folder = Folder::new();
    let line = |text: &str| format!("{}\n", json!({"url": "a", "text": text}));
    let lines: String = SOURCES[0].1[0][0].trim().to_owned();
    let feed: String = (feed(SOURCES[0].0, &SOURCES[0].1).iter())
        .map(|item| line(&item.3))
        .collect();
    folder.write("feed.jsonl", feed + "{\"url\":1}\n");
    let ran = folder.cli(&["frames", "feed.jsonl", "--id", "url"]).ends(0);
    assert!(ran.stdout.contains(&lines), "{ran:#?}");
    assert!(
        ran.stderr.contains("there is no field \"text\""),
        "{ran:#?}"
    );
    for option in ["--text", "--within"] {
        folder
            .cli(&["frames", "feed.jsonl", option, "nope"])
            .ends(2);
    }
    folder.write("bad.jsonl", line("a").repeat(9));
    let ran = folder
        .cli(&["frames", "bad.jsonl", "--within", "nope"])
        .ends(2);
    for said in [
        "there is no field \"nope\"",
        "skipped 4 records after these\n",
        "all 9 records are bad",
    ] {
        assert!(ran.stderr.contains(said), "{ran:#?}");
    }
}

#[test]
fn frames_of_inputs_and_database_are_left_out_of_both() {
    let (language, sources) = &SOURCES[1];
    let items = feed(language, sources);
    // Each has few documents with a frame of a source, and both have enough.
    let is_stored = |(at, _): &(usize, &Item)| at % 2 == 0;
    let folder = Folder::new();
    let mut lines = [Vec::new(), Vec::new()];
    for (at, item) in items.iter().enumerate() {
        let id = at + 1;
        let line = json!({"id": id, "text": item.3}).to_string();
        lines[usize::from(!is_stored(&(at, item)))].push(line);
    }
    let [stored, new] = lines.map(|lines| lines.join("\n"));
    folder.write("stored.jsonl", stored);
    folder.write("new.jsonl", new);
    folder
        .load(&["all.simdb", "stored.jsonl", "--similar"])
        .ends(0);
    let arguments = [
        "new.jsonl",
        "-o",
        "kept.jsonl",
        "--report",
        "gone.jsonl",
        "--against",
        "all.simdb",
        "--ignore-frames=16",
    ];
    dedup(&folder, &arguments).ends(0);
    let gone = folder.read_json("gone.jsonl");
    // A half of the stories has one text among the new ones, the other half three.
    let repeated = 2 * STORIES;
    assert!(
        (repeated * 19 / 20..=repeated).contains(&gone.len()),
        "{} of {repeated}",
        gone.len()
    );
    let story = |id: &Value| items[id.as_u64().unwrap() as usize - 1].0;
    for line in &gone {
        assert_eq!(story(&line["id"]), story(&line["keeper"]), "{line}");
    }
    let framed = |line: &&Value| line["against"] == true && line["keeper_frames"] != json!([]);
    assert!(gone.iter().any(|line| framed(&line)));
    let check = [
        "check-report",
        "gone.jsonl",
        "new.jsonl",
        "--against",
        "all.simdb",
    ];
    assert!(folder.cli(&check).ends(0).stdout.starts_with("proved"));

    // Frames that the database has learned are no part of the report, so they are compared.
    folder
        .load(&[
            "framed.simdb",
            "stored.jsonl",
            "--similar",
            "--ignore-frames",
        ])
        .ends(0);
    let against = ["new.jsonl", "--against", "framed.simdb"];
    let outputs = ["-o", "kept.jsonl", "--report", "gone.jsonl", "--force"];
    dedup(&folder, &[&against[..], &outputs].concat()).ends(0);
    assert!(folder.read_json("gone.jsonl").len() < gone.len());
    let check = [&["check-report", "gone.jsonl"], &against[..]].concat();
    assert!(folder.cli(&check).ends(0).stdout.starts_with("proved"));
}

#[test]
fn load_refuses_copies_in_frames_of_earlier_texts() {
    let (language, sources) = &SOURCES[0];
    let copies = STORIES * sources.len() / 2;
    let mut items = feed(language, sources);
    // The texts of the sources that are no copies come first.
    items.rotate_left(STORIES + copies);
    let folder = Folder::new();
    write_feed(&folder, &items);
    let refused = |database: &str, options: &[&str]| {
        let arguments = [database, "feed.jsonl", "--unique", "similar"];
        folder.load(&[&arguments[..], options].concat()).ends(0);
        let stats = folder.cli(&["stats", database, "--json"]).ends(0).json();
        items.len() - stats[0]["documents"].as_u64().unwrap() as usize
    };
    let whole = refused("whole.simdb", &[]);
    assert!(whole * 2 <= copies, "{whole} of {copies}");
    // Decided in memory, and in the database.
    for (database, option) in [("a.simdb", "--similar"), ("b.simdb", "--arrivals")] {
        let found = refused(database, &["--ignore-frames", option]);
        assert!(
            (copies * 19 / 20..=copies).contains(&found),
            "{option}: {found} of {copies}"
        );
    }
}

#[test]
fn load_compares_bodies_and_then_whole_texts() {
    let frame = "The Northern Herald brings news of harbours, ferries, markets, schools, weather and \
                 sport to every island household each weekday morning before breakfast.";
    let body = "Fishermen found a wooden chest beneath the old lighthouse on Tuesday and gave it to \
                the museum.";
    let more = "Divers will search the bay again next month, because a merchant of Bergen lost three \
                more chests there during a winter storm, as letters in an archive tell.";
    let word = |number: u64| format!("w{:x}", (number + 1) * 2_654_435_761 % 1_000_003);
    let other = |text: u64| -> Vec<String> { (16 * text..16 * text + 16).map(word).collect() };
    let mut bodies: Vec<String> = (0..14).map(|text| other(text).join(" ")).collect();
    // Too little of the longer body is in the shorter body, and enough of the whole text.
    bodies.extend([format!("{body} {more}"), body.to_owned()]);
    let line = |(id, body): (usize, &String)| {
        format!(
            "{}\n",
            json!({"id": id, "text": format!("{frame}\n{body}")})
        )
    };
    let lines: String = bodies.iter().enumerate().map(line).collect();
    let folder = Folder::new();
    folder.write("feed.jsonl", &lines);
    let rule = ["--unique", "similar", "--ignore-frames"];
    // Decided in memory, and in the database.
    for (database, option) in [("a.simdb", "--similar"), ("b.simdb", "--arrivals")] {
        let load = [&[database, "feed.jsonl", "--json", option], &rule[..]].concat();
        let counts = folder.load(&load).ends(0).one_json();
        assert_eq!(counts["duplicates"], 1, "{option}: {counts}");
    }
    let watch = [&["watch", "c.simdb", "--create"], &rule[..]].concat();
    let answers = folder.cli_from(&watch, lines.as_bytes()).ends(0).json();
    let (last, others) = answers.split_last().unwrap();
    assert_eq!(
        (&last["verdict"], &last["of"]),
        (&json!("duplicate"), &json!(14))
    );
    assert!(
        others.iter().all(|answer| answer["verdict"] == "new"),
        "{others:?}"
    );
}

#[test]
fn frames_of_a_database_are_listed_by_scope() {
    let folder = Folder::new();
    let mut items = feed(SOURCES[0].0, &SOURCES[0].1);
    items.truncate(4 * STORIES);
    let line = |(at, (.., source, text)): (usize, &Item)| {
        let (key, source) = (format!("k{at}"), format!("s{source}"));
        format!(
            "{}\n",
            json!({"id": at, "key": key, "source": source, "text": text})
        )
    };
    let lines: String = items.iter().enumerate().map(line).collect();
    folder.write("feed.jsonl", lines);
    for (database, options, scope) in [
        ("plain.simdb", &["--keep-texts"][..], None),
        ("kept.simdb", &["--ignore-frames=8"], None),
        (
            "scoped.simdb",
            &["--ignore-frames=8", "--key", "key", "--scope", "source"],
            Some("s2"),
        ),
    ] {
        folder
            .load(&[&[database, "feed.jsonl"], options].concat())
            .ends(0);
        let listed = folder
            .cli(&["frames", database, "--in-documents", "8", "--json"])
            .ends(0)
            .json();
        let line = SOURCES[0].1[2][0].trim();
        let found: Vec<&Value> = (listed.iter())
            .filter(|found| found["text"] == line)
            .collect();
        let [found] = &found[..] else {
            panic!("{database}: {listed:?}");
        };
        assert!(found["documents"].as_u64() >= Some(15), "{found}");
        assert_eq!(found.get("scope").and_then(Value::as_str), scope);
        let printed = folder.cli(&["frames", database]).ends(0).stdout;
        let shown = scope.map_or(line.to_owned(), |scope| format!("{scope}  {line}"));
        assert!(printed.contains(&shown), "{printed}");
    }
    folder
        .load(&["plain.simdb", "feed.jsonl", "--ignore-frames"])
        .fails(&["was created without --ignore-frames=10"]);
    folder
        .load(&["kept.simdb", "feed.jsonl", "--ignore-frames"])
        .fails(&["was created with --ignore-frames=8"]);
    folder
        .load(&[
            "new.simdb",
            "feed.jsonl",
            "--ignore-frames",
            "--unique",
            "3",
        ])
        .fails(&["needs --unique similar"]);
    folder
        .cli(&["frames", "kept.simdb", "--in-documents", "7"])
        .fails(&["counts lines of 8 documents and more"]);
    std::fs::rename(folder.file("kept.simdb"), folder.file("kept")).unwrap();
    let listed = folder.cli(&["frames", "kept"]).ends(0).stdout;
    assert!(listed.contains(SOURCES[0].1[2][0].trim()), "{listed}");
}

#[test]
fn report_with_lines_that_are_no_frames_is_not_proved() {
    let folder = Folder::new();
    let (language, sources) = &SOURCES[1];
    write_feed(&folder, &feed(language, sources));
    kept(&folder, "feed.jsonl", &["--ignore-frames"]);
    let lines = folder.read_json("gone.jsonl");
    let framed = |line: &&Value| {
        line["frames"] == json!([sources[0][0].trim()]) && line["keeper_frames"] == json!([])
    };
    let line = lines.iter().find(framed).unwrap();
    assert_eq!(line["frames_in_documents"], json!(10));
    let prove = |line: &Value, code| {
        folder.write("changed.jsonl", line.to_string());
        folder
            .cli(&["check-report", "changed.jsonl", "feed.jsonl"])
            .ends(code)
            .stdout
    };
    assert!(prove(line, 0).contains(&format!("forgiven  1 frame: {}", sources[0][0].trim())));
    let mut rare = line.clone();
    rare["frames_in_documents"] = json!(400);
    assert!(prove(&rare, 1).contains("is at the head or the tail of too few different documents"));
    let mut other = line.clone();
    other["frames"] = json!([]);
    assert!(prove(&other, 1).contains("its text has changed"));
}

#[test]
fn options_that_ignore_frames_differently_are_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":1,\"text\":\"a\"}\n");
    for (options, said) in [
        (&["--radius", "3"][..], "needs the comparison of texts"),
        (
            &["--against", "x.simdb", "--within", "source"],
            "leave --within and --across out",
        ),
        (&["--ignore-repeated-paragraphs"], "cannot be used with"),
    ] {
        let arguments = [&["a.jsonl", "-o", "o.jsonl", "--ignore-frames"], options].concat();
        dedup(&folder, &arguments).fails(&[said]);
    }
}
