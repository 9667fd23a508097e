//! Tokens, hosts, origins, sockets.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::common::{Served, program, read_answer};

#[test]
fn wrong_or_missing_token_is_refused_everywhere_but_for_health() {
    let served = Served::new(&[]);
    for token in ["Bearer wrong", "Bearer ", "Basic eA=="] {
        let with = |method, path| served.send(method, path, &[("Authorization", token)], b"{}");
        assert_eq!(with("GET", "/healthz").status, 200);
        assert_eq!(with("GET", "/openapi.json").status, 200);
        for (method, path) in [
            ("GET", "/metrics"),
            ("GET", "/v1/stats"),
            ("GET", "/v1/documents/1"),
            ("DELETE", "/v1/documents/1"),
            ("POST", "/v1/documents"),
            ("POST", "/v1/query"),
            ("POST", "/v1/backup"),
        ] {
            let refused = with(method, path);
            assert_eq!(
                (refused.status, refused.kind()),
                (401, "unauthorized".to_owned()),
                "{path}"
            );
            assert!(
                refused.head.contains("www-authenticate: Bearer"),
                "{refused:?}"
            );
        }
        // An address that does not exist is not told from one that does.
        assert_eq!(
            served
                .send_plainly("GET", "/x", &[("Authorization", token)], b"")
                .status,
            401
        );
    }
}

#[test]
fn foreign_host_or_origin_is_refused() {
    let served = Served::new(&["--no-token"]);
    let host = [("Host", "evil.example")];
    assert_eq!(
        served.send("GET", "/v1/stats", &host, b"").kind(),
        "foreign_host"
    );
    let origin = [("Origin", "http://evil.example")];
    let body = br#"{"id":1,"text":"a"}"#;
    assert_eq!(
        served.send("POST", "/v1/documents", &origin, body).kind(),
        "foreign_origin"
    );
    let own = format!("http://{}", served.address);
    assert_eq!(
        served
            .send("POST", "/v1/documents", &[("Origin", &own)], body)
            .status,
        200
    );
}

#[test]
fn answers_forbid_caches_frames_and_foreign_pages() {
    let served = Served::new(&["--no-token"]);
    let head = served.get("/healthz").head;
    for header in [
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert!(!head.to_lowercase().contains("access-control"), "{head}");
}

#[test]
fn one_token_for_both_rights_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "a+token/with=all-rights\n").unwrap();
    let ran = program()
        .current_dir(folder.path())
        .args(["a.simdb", "--create", "--listen", "127.0.0.1:0"])
        .args(["--token-file", "token", "--read-only-token-file", "token"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        !ran.status.success() && said.contains("have one token"),
        "{said}"
    );
}

#[test]
fn token_of_a_file_is_not_printed_and_read_only_token_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "a+token/with=all-rights\n").unwrap();
    std::fs::write(folder.path().join("reader"), "a-token-for-queries-only").unwrap();
    let files = [
        "--token-file",
        "token",
        "--read-only-token-file",
        "reader",
        "--review",
        "review.jsonl",
    ];
    let options = [&["--listen", "127.0.0.1:0", "--create"][..], &files].concat();
    let served = Served::start(folder, &options);
    assert_eq!(served.token, None);
    let all = [("Authorization", "Bearer a+token/with=all-rights")];
    let reader = [("Authorization", "Bearer a-token-for-queries-only")];
    // As a form sends it, and as it is.
    for link in [
        "/?token=a%2Btoken%2Fwith%3Dall-rights",
        "/?token=a+token/with=all-rights",
    ] {
        let opened = served.send_plainly("GET", link, &[], b"");
        assert!(opened.head.contains("simdb_token_"), "{link}: {opened:?}");
    }
    let body = br#"{"id":1,"text":"The ferry to the islands was cancelled due to heavy fog."}"#;
    served.send("POST", "/v1/documents", &all, body).with(200);
    served
        .send("GET", "/v1/documents/1", &reader, b"")
        .with(200);
    served
        .send("POST", "/v1/query", &reader, br#"{"id":1}"#)
        .with(200);
    assert_eq!(
        served.send("POST", "/v1/documents", &reader, body).kind(),
        "read_only_token"
    );
    // The page cannot answer a review, and says so.
    let review = served.send_plainly("GET", "/review", &reader, b"").body;
    assert!(
        review.contains("Your token is for queries only"),
        "{review}"
    );
    assert!(
        review.contains("value=\"undo\" data-key=\"z\" disabled"),
        "{review}"
    );
    let refused = served.send_plainly("POST", "/review", &reader, b"answer=undo");
    assert!(
        refused.status == 403 && refused.body.contains("<h1>"),
        "{refused:?}"
    );
    // An unknown address is a page for a browser.
    let browser = [reader[0], ("Accept", "text/html,*/*;q=0.8")];
    let unknown = served.send_plainly("GET", "/nowhere", &browser, b"");
    assert!(
        unknown.status == 404 && unknown.body.contains("<nav>"),
        "{unknown:?}"
    );
    let unknown = served.send_plainly("GET", "/nowhere", &reader, b"");
    assert_eq!((unknown.status, &*unknown.kind()), (404, "no_address"));
    assert_eq!(
        served
            .send("DELETE", "/v1/documents/1", &reader, b"")
            .kind(),
        "read_only_token"
    );
}

#[test]
fn options_that_cannot_work_or_open_the_server_to_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("short"), "secret").unwrap();
    let long_socket = &format!("unix:{}", "s".repeat(108))[..];
    for (options, said) in [
        (&["--listen", "0.0.0.0:0"][..], "--token-file"),
        (&["--listen", "0.0.0.0:0", "--no-token"], "loopback"),
        (&["--token-file", "short"], "at least 16"),
        (&["--token-file", "missing"], "cannot read the token"),
        (&["--listen", "nowhere"], "is not an address"),
        (&["--listen", "unix:short"], "is no socket"),
        (&["--listen", long_socket], "at most 107"),
        (&["--host", "simdb.example.org:443"], "the port"),
        (&["--backups", "missing"], "no such folder"),
    ] {
        let mut command = program();
        command
            .args(["a.simdb", "--create"])
            .args(options)
            .current_dir(folder.path());
        let ended = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{options:?}: {text}");
        assert!(text.contains(said), "{options:?}: {text}");
    }
    assert_eq!(
        std::fs::read(folder.path().join("short")).unwrap(),
        b"secret"
    );
}

#[test]
fn socket_is_for_its_user_only_and_is_removed_at_the_end() {
    let served = Served::new(&[]);
    drop(served);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("simdb.sock");
    // A socket that a killed server has left.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let served = Served::start(folder, &["--listen", "unix:simdb.sock", "--create"]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let ask = |token: &str| {
        let mut stream = UnixStream::connect(&path).unwrap();
        let head = "GET /v1/stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
        write!(stream, "{head}Authorization: Bearer {token}\r\n\r\n").unwrap();
        read_answer(stream)
    };
    assert_eq!(ask("wrong").status, 401);
    let token = served.token.clone().expect("a token");
    assert_eq!(ask(&token).with(200)["documents"], json!(0));
    served.signal("TERM");
    let (status, text, _folder) = served.wait();
    assert!(status.success(), "{text}");
    assert!(!path.exists());
}

#[test]
fn read_only_server_shares_the_file_and_refuses_writes() {
    let served = Served::new(&["--no-token"]);
    served
        .post("/v1/documents", &json!({"id": 1, "text": "one text"}))
        .with(200);
    served.signal("TERM");
    let (_, _, folder) = served.wait();
    let served = Served::start(
        folder,
        &["--listen", "127.0.0.1:0", "--read-only", "--no-token"],
    );
    let other = simdb::Database::open_read_only(served.file("a.simdb")).expect("a second reader");
    assert_eq!(other.len().unwrap(), 1);
    served.get("/v1/documents/1").with(200);
    let refused = served.post("/v1/documents", &json!({"id": 2, "text": "another text"}));
    assert_eq!(
        (refused.status, refused.kind()),
        (403, "read_only".to_owned())
    );
    assert_eq!(served.delete("/v1/documents/1").kind(), "read_only");
}
