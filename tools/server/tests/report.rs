//! `simdb-serve report`.

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
        "1 groups, 2 documents",
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
