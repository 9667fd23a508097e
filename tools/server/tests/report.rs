//! `simdb-serve report`.

use std::io::Write;
use std::process::Stdio;

use crate::common::program;

#[test]
fn report_is_one_file_that_loads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = simdb::Database::builder().similar(true);
    let database = database.create(folder.path().join("a.simdb")).unwrap();
    let script = "<script>alert(1)</script> The ferry to the islands was cancelled.";
    let texts = [
        script,
        "The ferry to the islands was cancelled due to heavy fog.",
        script,
    ];
    for (id, text) in (1_u64..).zip(texts) {
        assert!(
            database
                .insert(database.document(id, text).unwrap())
                .unwrap()
                .is_inserted()
        );
    }
    database.close().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = program();
        command
            .args(["report", "a.simdb", "-o"])
            .args(arguments)
            .current_dir(folder.path());
        let ran = command.output().expect("it runs");
        (
            ran.status.code(),
            String::from_utf8_lossy(&ran.stderr).into_owned(),
        )
    };
    let (code, text) = run(&["report.html"]);
    assert_eq!(code, Some(0), "{text}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    for part in [
        "3 documents were examined",
        "1 group, 2 documents",
        "<svg",
        "<style>",
        "&lt;script&gt;",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for part in ["<script", "href=", "src="] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    let (code, text) = run(&["report.html"]);
    assert!(code == Some(2) && text.contains("--force"), "{text}");
    let (code, text) = run(&[
        "report.html",
        "--force",
        "--groups",
        "words",
        "--language",
        "zh",
    ]);
    assert_eq!(code, Some(0), "{text}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(
        page.contains("lang=\"zh-Hans\"") && page.contains("发现"),
        "{page}"
    );
    let (code, _) = run(&["a.simdb", "--force"]);
    assert_eq!(code, Some(2));
}

#[test]
fn removals_are_shown_beside_their_keepers() {
    let run = |sample: &str| {
        let mut command = program();
        command.arg("removals").stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(sample.as_bytes()).expect("it reads");
        drop(input);
        let ran = child.wait_with_output().expect("it ends");
        let text = [ran.stdout, ran.stderr].concat();
        (
            ran.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    let sample = r#"{"removed":1234,"unknown":2,"strata":[{"label":"nothing lost","count":40,"removals":[
        {"id":18446744073709551615,"keeper":7,"verdict":"a_in_b","missing":[["harbor",8.5]],
         "forgiven":[["harbor","harbour","spelling"]],"text":"The harbor <script>","keeper_text":"The harbour"}]}]}"#;
    let (code, page) = run(sample);
    assert_eq!(code, Some(0), "{page}");
    for part in [
        "1,234 documents were removed",
        "2 of them cannot be shown",
        "<h2>nothing lost</h2>",
        "40 removed, 1 shown",
        "removed 18446744073709551615",
        "<del>harbor",
        "<ins>harbour",
        "&lt;script&gt;",
        "spelling",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(
        !page.contains("<script") && !page.contains("src="),
        "{page}"
    );
    for bad in ["", "{}", "[1]"] {
        let (code, text) = run(bad);
        assert!(code == Some(2) && text.contains("not a sample"), "{text}");
    }
}
