//! The page without a browser: tokens, languages, escapes, and what each section shows.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::common::{Answered, Served};

const FERRY: &str = "The ferry to the islands was cancelled due to heavy fog.";
const NO_FERRY: &str = "The ferry to the islands was not cancelled due to heavy fog.";
const FERRY_AND_BUS: &str =
    "The ferry to the islands was cancelled due to heavy fog. Buses are late.";

fn with_ferries(options: &[&str]) -> Served {
    let served = Served::new(&[&["--no-token", "--similar"][..], options].concat());
    let texts = [FERRY, NO_FERRY, FERRY_AND_BUS].iter().zip(1..);
    let documents = texts.map(|(text, id)| json!({"id": id, "text": text}));
    served.post("/v1/documents", &documents.collect()).with(200);
    served
}

/// The body of a page that must be whole.
#[track_caller]
fn shown(served: &Served, path: &str) -> String {
    whole(served.send_plainly("GET", path, &[], b""))
}

#[track_caller]
fn whole(answered: Answered) -> String {
    assert_eq!(answered.status, 200, "{answered:?}");
    assert!(
        answered
            .head
            .contains("content-type: text/html; charset=utf-8"),
        "{answered:?}"
    );
    assert!(
        answered.body.ends_with("</main></body></html>"),
        "{answered:?}"
    );
    answered.body
}

#[track_caller]
fn post_form(served: &Served, path: &str, form: &str) -> Answered {
    let origin = format!("http://{}", served.address);
    served.send_plainly("POST", path, &[("Origin", &origin)], form.as_bytes())
}

#[test]
fn link_with_the_token_sets_a_cookie_that_opens_the_page() {
    let served = Served::new(&[]);
    let token = served.token.clone().expect("a token");
    let plain = [("Authorization", "")];
    let get = |path: &str, headers: &[(&str, &str)]| {
        let headers = [&plain[..], headers].concat();
        served.send_plainly("GET", path, &headers, b"")
    };
    let asked = get("/", &[]);
    assert_eq!(asked.status, 401);
    assert!(asked.body.contains("type=\"password\""), "{asked:?}");
    assert_eq!(get("/?token=wrong", &[]).status, 401);
    assert_eq!(get("/style.css", &[]).status, 200);
    let linked = get(&format!("/search?token={token}"), &[]);
    let cookie = linked
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.expect("a cookie");
    assert!(
        cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"),
        "{cookie}"
    );
    assert!(linked.body.contains("0; url=/search\""), "{linked:?}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(get("/", &[("Cookie", cookie)]).status, 200);
    // A page of another site cannot use the cookie to write.
    let foreign = [
        ("Authorization", ""),
        ("Cookie", cookie),
        ("Origin", "http://evil.example"),
    ];
    assert_eq!(
        served.send("POST", "/v1/documents", &foreign, b"{}").kind(),
        "foreign_origin"
    );
}

#[test]
fn documents_are_shown_with_the_largest_id_first_and_escaped() {
    let served = with_ferries(&[]);
    let script = "<script>alert(1)</script> \"&amp; \u{202e}";
    served
        .post("/v1/documents", &json!({"id": u64::MAX, "text": script}))
        .with(200);
    let page = shown(&served, "/");
    assert!(
        page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>"),
        "{page}"
    );
    let place = |id: &str| {
        page.find(&format!(">{id}</a>"))
            .unwrap_or_else(|| panic!("{id}: {page}"))
    };
    assert!(place(&u64::MAX.to_string()) < place("3") && place("3") < place("1"));
    // No other origin, no inline script or style.
    assert!(
        !page.contains("http") || !page.contains("src=\"http"),
        "{page}"
    );
    assert!(
        !page.contains(" style=") && !page.contains(" onclick="),
        "{page}"
    );
    let page = shown(&served, "/?from=2");
    assert!(
        !page.contains(FERRY_AND_BUS) && page.contains(NO_FERRY),
        "{page}"
    );
    assert_eq!(served.send_plainly("GET", "/?from=x", &[], b"").status, 400);
}

#[test]
fn page_is_in_the_language_of_the_browser() {
    let served = Served::new(&["--no-token"]);
    let in_chinese = served.send_plainly("GET", "/", &[("Accept-Language", "zh-CN,en;q=0.5")], b"");
    assert!(
        in_chinese.body.contains("<html lang=\"zh-Hans\">") && in_chinese.body.contains("浏览")
    );
    let empty = shown(&served, "/");
    assert!(
        empty.contains("<html lang=\"en\">") && empty.contains("The database is empty"),
        "{empty}"
    );
    for path in [
        "/search",
        "/groups",
        "/groups?kind=bits",
        "/review",
        "/health",
    ] {
        shown(&served, path);
    }
}

#[test]
fn search_marks_differences_and_says_why() {
    let served = with_ferries(&[]);
    let page = shown(&served, "/search?by=id&q=1&radius=3");
    // The text without the ferry has a word of its own, the longer text covers the query.
    assert!(page.contains("<ins>not </ins>"), "{page}");
    assert!(page.contains("neither text covers the other"), "{page}");
    assert!(page.contains("the stored text covers the query"), "{page}");
    assert!(page.contains("bits differ, more than 3"), "{page}");
    let near = shown(&served, "/search?by=id&q=1&radius=64");
    assert!(near.contains("bits differ, at most 64"), "{near}");
    // The script shows the number beside the slider: without it the number would not follow.
    assert!(
        near.contains("<output for=\"radius\" hidden>64</output>"),
        "{near}"
    );
    for (query, said) in [
        ("by=id&q=7", "No document has this id."),
        ("by=id&q=x", "An id is a number"),
        ("by=fingerprint&q=123", "16 hexadecimal digits"),
        ("by=fingerprint&q=0123456789abcdef", "No document is near."),
        ("by=text&q=a", "too little content"),
    ] {
        let page = shown(&served, &format!("/search?{query}"));
        assert!(page.contains(said), "{query}: {page}");
    }
}

#[test]
fn text_of_a_megabyte_is_searched_and_cut() {
    let served = with_ferries(&[]);
    let long = "ferry fog island ".repeat(1 << 16);
    served
        .post("/v1/documents", &json!({"id": 9, "text": long}))
        .with(200);
    let form = format!("by=text&radius=3&q={}", long.replace(' ', "+"));
    let page = whole(post_form(&served, "/search", &form));
    assert!(
        page.contains(">9</a>") && page.contains("the text goes on"),
        "{page:.2000}"
    );
    shown(&served, "/");
    let foreign = [("Origin", "http://evil.example")];
    assert_eq!(
        served
            .send_plainly("POST", "/search", &foreign, b"q=a")
            .status,
        403
    );
}

#[test]
fn groups_have_their_keeper_and_marked_members() {
    let served = with_ferries(&[]);
    let page = shown(&served, "/groups?kind=words");
    assert!(page.contains("1 group, 2 documents"), "{page}");
    // The longer text is kept, and the other lacks its last sentence.
    assert!(
        page.contains("Kept</span> <a href=\"/search?by=id&amp;q=3\">3</a>"),
        "{page}"
    );
    assert!(page.contains("<del> Buses are late.</del>"), "{page}");
    let page = shown(&served, "/groups?kind=bits&radius=0");
    assert!(page.contains("There are no near-duplicates"), "{page}");
    // A database without texts says so.
    let served = Served::new(&["--no-token"]);
    served
        .post("/v1/documents", &json!({"id": 1, "text": FERRY}))
        .with(200);
    assert!(shown(&served, "/groups?kind=words").contains("role=\"alert\""));
}

#[test]
fn review_finds_the_pairs_of_each_scope_and_of_far_ids() {
    for (options, count) in [(&["--similar", "--scopes"][..], 6), (&["--similar"], 4)] {
        let options = [&["--no-token", "--review", "review.jsonl"], options].concat();
        let served = Served::new(&options);
        let text =
            |n: u64| format!("The harbour of town number {n} was closed on day {n} of the storm");
        for n in 0..count {
            for (id, end) in [
                (2 * n + 1, ""),
                (2 * n + 2, ", and opened again a day later"),
            ] {
                let mut document = json!({"id": id, "text": text(n) + end});
                match options.contains(&"--scopes") {
                    true => {
                        document = json!({"key": format!("k{id}"), "text": text(n) + end});
                        document["scope"] = json!(["en", "fr"][n as usize % 2]);
                    }
                    false if n + 1 == count => document["id"] = json!(id + (1 << 63)),
                    false => {}
                }
                served.post("/v1/documents", &document).with(200);
            }
        }
        let mut answered = 0;
        loop {
            let page = shown(&served, "/review");
            let id = |name: &str| {
                let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
                Some(rest.split('"').next().unwrap().to_owned())
            };
            let (Some(a), Some(b)) = (id("a"), id("b")) else {
                break;
            };
            let form = format!("answer=no&a={a}&b={b}");
            assert_eq!(post_form(&served, "/review", &form).status, 303);
            answered += 1;
        }
        assert!(answered >= count, "{answered} of {count}");
        let lines = std::fs::read_to_string(served.file("review.jsonl")).unwrap();
        for n in 0..count {
            assert!(lines.contains(&text(n)), "{n}");
        }
    }
}

#[test]
fn answers_of_a_review_are_lines_of_a_file_and_can_be_taken_back() {
    let served = with_ferries(&["--review", "review.jsonl"]);
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(served.file("review.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let pair = || {
        let page = shown(&served, "/review");
        let id = |name: &str| {
            let field = format!("name=\"{name}\" value=\"");
            page.split_once(&field)
                .map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        };
        Some((id("a")?, id("b")?))
    };
    let answer = |answer: &str| {
        let (a, b) = pair().unwrap_or_default();
        let answered = post_form(&served, "/review", &format!("answer={answer}&a={a}&b={b}"));
        assert_eq!(answered.status, 303, "{answered:?}");
    };
    let first = pair().expect("a pair");
    answer("no");
    assert_ne!(pair(), Some(first.clone()));
    answer("yes");
    let [one, other] = &lines()[..] else {
        panic!("{:?}", lines())
    };
    assert_eq!(
        (&one["gold"], &one["set"]),
        (&json!("different"), &json!("review"))
    );
    assert_eq!(
        (&one["a_id"], &one["b_id"]),
        (&json!(first.0), &json!(first.1))
    );
    assert_eq!(other["gold"], "removable");
    assert!(one["a"].is_string() && one["b"].is_string());
    answer("undo");
    assert_eq!(lines().len(), 1);
    // An answer about a pair that is not shown is refused.
    let stale = format!("answer=yes&a={}&b={}", first.0, first.1);
    let refused = post_form(&served, "/review", &stale);
    assert!(
        refused.status == 409 && refused.body.contains("in another window"),
        "{refused:?}"
    );
    assert_eq!(lines().len(), 1);
    answer("unsure");
    while pair().is_some() {
        answer("no");
    }
    let page = shown(&served, "/review");
    assert!(page.contains("<strong>3</strong> answers"), "{page}");
    for form in ["", "answer=maybe"] {
        assert_eq!(post_form(&served, "/review", form).status, 400, "{form}");
    }
    // The answers are there after a restart. A last line may lack its line feed, or be cut by a
    // crash, within a character.
    served.signal("TERM");
    let (_, _, folder) = served.wait();
    let path = folder.path().join("review.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let cut = br#"{"set":"review","a_id":"1","b_id":"2","a":"#;
    let other = b"a file of another kind";
    for (end, is_started) in [(&cut[..], true), (&cut[..3], true), (&other[..], false)] {
        std::fs::write(&path, [&whole[..], end].concat()).unwrap();
        let mut command = crate::common::program();
        command
            .args(["a.simdb", "--listen", "unix:s", "--review", "review.jsonl"])
            .current_dir(folder.path());
        let said = if is_started {
            command.stdout(std::process::Stdio::piped());
            command.stderr(std::process::Stdio::piped());
            let mut started = command.spawn().unwrap();
            // The address is printed when the server answers.
            let mut line = String::new();
            let stdout = started.stdout.take().unwrap();
            BufReader::new(stdout).read_line(&mut line).unwrap();
            assert!(line.contains("is served at"), "{line}");
            started.kill().unwrap();
            started.wait_with_output().unwrap()
        } else {
            let ended = command.output().unwrap();
            assert!(
                ended.stdout.is_empty(),
                "announced, and not served: {ended:?}"
            );
            ended
        };
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains("line 4"), "{said}");
        let left = if is_started { 0 } else { end.len() };
        assert_eq!(std::fs::read(&path).unwrap().len(), whole.len() + left);
    }
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let options = [
        "--listen",
        "127.0.0.1:0",
        "--no-token",
        "--review",
        "review.jsonl",
    ];
    let served = Served::start(folder, &options);
    assert!(shown(&served, "/review").contains("<strong>3</strong> answers"));
    assert_eq!(std::fs::read(served.file("review.jsonl")).unwrap(), whole);
}

#[test]
fn health_of_a_database_in_tables_has_plots() {
    let served = with_ferries(&[]);
    served.signal("TERM");
    let (_, _, folder) = served.wait();
    let served = Served::start(
        folder,
        &["--listen", "127.0.0.1:0", "--no-token", "--read-only"],
    );
    let page = shown(&served, "/health");
    assert!(page.contains("3 documents were examined"), "{page}");
    assert!(page.matches("<svg").count() >= 5, "{page}");
}

#[test]
fn health_examines_documents_that_are_in_the_journal() {
    let served = with_ferries(&[]);
    let page = shown(&served, "/health");
    assert!(page.contains("3 documents were examined"), "{page}");
    assert!(page.contains("Nothing needs attention."), "{page}");
    insert_one(&served, 4);
    assert_eq!(served.get("/v1/doctor").with(200)["documents"], 4);
    // A server that only reads merges nothing, and says so.
    insert_one(&served, 5);
    served.signal("KILL");
    let (_, _, folder) = served.wait();
    let options = ["--listen", "127.0.0.1:0", "--no-token", "--read-only"];
    let served = Served::start(folder, &options);
    let page = shown(&served, "/health");
    assert!(page.contains("1 change is in the journal only"), "{page}");
    assert!(page.contains("among the examined documents"), "{page}");
}

fn insert_one(served: &Served, id: u64) {
    let body = json!({"id": id, "text": format!("The text of document {id} of the journal.")});
    served.post("/v1/documents", &body).with(200);
}

#[test]
fn health_of_a_busy_server_is_a_whole_page_with_the_reason() {
    let served = with_ferries(&[]);
    let shown = std::thread::scope(|scope| {
        let pages = (0..64).map(|_| scope.spawn(|| shown(&served, "/health")));
        let pages: Vec<_> = pages.collect();
        let shown = pages.into_iter().map(|page| page.join().unwrap());
        shown.collect::<Vec<_>>()
    });
    for page in shown {
        let is_refused = page.contains("the server is busy; try again");
        assert!(
            is_refused || page.contains("3 documents were examined"),
            "{page}"
        );
    }
}

#[test]
fn copies_are_counted_and_plotted() {
    let served = Served::new(&["--no-token", "--copies", "2"]);
    assert!(shown(&served, "/copies").contains("No document was repeated"));
    let insert = |id: u64| {
        let body = json!([{"id": id, "text": FERRY}]);
        let path = "/v1/documents?mode=insert_unique";
        served.post(path, &body).with(200)
    };
    for id in 1..5 {
        insert(id);
    }
    let again = insert(4);
    assert!(again.to_string().contains("\"seen\""), "{again}");
    let top = served.get("/v1/top?limit=1&since_seconds=3600").with(200);
    assert_eq!(top["documents"][0]["id"], "1");
    assert_eq!(top["documents"][0]["copies"]["count"], 3);
    assert_eq!(top["documents"][0]["copies"]["newest"][0]["document"], "4");
    assert_eq!(
        served.get("/v1/documents/1").with(200)["copies"]["count"],
        3
    );
    assert_eq!(served.get("/v1/top?limit=0").status, 400);
    let page = shown(&served, "/copies?hours=2");
    for part in ["3 copies", "<svg", "first seen"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let link = "<a href=\"/search?by=id&amp;q=1\">1</a>";
    assert!(page.contains(link) && !page.contains("Sources"), "{page}");
    let without = Served::new(&["--no-token"]);
    assert!(shown(&without, "/copies").contains("--copies 16"));
    assert_eq!(without.get("/v1/top").status, 400);
}

#[test]
fn documents_with_keys_are_linked_by_key_and_shown_with_their_parts() {
    let options = [
        "--no-token",
        "--similar",
        "--scopes",
        "--fields",
        "--copies",
        "9",
        "--review",
        "review.jsonl",
    ];
    let served = Served::new(&options);
    let insert = |key: &str, text: &str| {
        let fields = json!({"title": "<i>Fog</i>", "n": {"a": [1]}, "long": "x".repeat(999)});
        let body = json!({"key": key, "scope": "en", "fields": fields, "text": text});
        served
            .post("/v1/documents?mode=insert_unique", &body)
            .with(200)
    };
    insert("https://a.example/?b=1&c=<d>", FERRY);
    insert("https://b.example/1", FERRY);
    insert("17", FERRY_AND_BUS);
    let href = "/search?by=key&amp;q=https%3A%2F%2Fa.example%2F%3Fb%3D1%26c%3D%3Cd%3E";
    for path in ["/", "/copies", "/groups?kind=words", "/search?by=key&q=17"] {
        let page = shown(&served, path);
        assert!(page.contains(href), "{path}: {page}");
        assert!(
            page.contains("https://a.example/?b=1&amp;c=&lt;d&gt;"),
            "{path}"
        );
        let is_listed = path != "/groups?kind=words";
        assert_eq!(page.contains("&lt;i&gt;Fog"), is_listed, "{path}: {page}");
        assert!(!page.contains(&"x".repeat(300)), "{path}");
    }
    assert!(shown(&served, "/").contains(">1 copy<"));
    assert!(shown(&served, "/copies").contains("<bdi>b.example</bdi> <small>1</small>"));
    let page = shown(&served, "/review");
    let field = "name=\"a\" value=\"https://a.example/?b=1&amp;c=&lt;d&gt;\"";
    assert!(page.contains(href) && page.contains(field), "{page}");
    let form = "answer=yes&a=https%3A%2F%2Fa.example%2F%3Fb%3D1%26c%3D%3Cd%3E&b=17";
    assert_eq!(post_form(&served, "/review", form).status, 303);
    let line = std::fs::read_to_string(served.file("review.jsonl")).unwrap();
    assert!(line.contains("\"b_id\":\"17\""), "{line}");
    // The pair comes back by its keys.
    assert_eq!(post_form(&served, "/review", "answer=undo").status, 303);
    assert!(shown(&served, "/review").contains(field));
    let document = json!({"key": "two\nlines", "text": FERRY});
    served.post("/v1/documents", &document).with(200);
    let found = whole(post_form(&served, "/search", "by=key&q=two%0D%0Alines"));
    assert!(!found.contains("No document has this key."), "{found}");
    // A key of digits is no id.
    assert!(shown(&served, "/search?by=key&q=17").contains("<bdi>17</bdi>"));
    assert!(shown(&served, "/search?by=id&q=17").contains("No document has this id."));
    assert!(shown(&served, "/search?by=key&q=16").contains("No document has this key."));
}
