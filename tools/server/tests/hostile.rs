//! Malformed, slow and many requests.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{PATIENCE, Served, metric, read_answer};

#[test]
fn malformed_requests_are_refused_and_the_server_lives() {
    let served = Served::new(&["--no-token", "--keep-texts"]);
    let nested = format!(
        "{{\"id\":1,\"text\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let bodies: [&[u8]; 13] = [
        b"",
        b"{",
        b"[",
        b"nul",
        b"\"text\"",
        b"{\"id\":1}{\"id\":2}",
        b"\xff\xfe",
        b"{\"id\":1,\"id\":2,\"text\":\"a\"}",
        b"{\"id\":18446744073709551616,\"text\":\"a\"}",
        b"{\"id\":1e999,\"text\":\"a\"}",
        b"{\"id\":1.5,\"text\":\"a\"}",
        b"{\"id\":1,\"text\":\"\\ud800",
        nested.as_bytes(),
    ];
    for body in bodies {
        for path in [
            "/v1/documents",
            "/v1/query",
            "/v1/similar",
            "/v1/compare",
            "/v1/backup",
        ] {
            let refused = served.send("POST", path, &[], body);
            let text = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert_eq!(refused.status, 400, "{path} {text}: {refused:?}");
            assert!(refused.body.len() < 1000, "{refused:?}");
        }
    }
    assert_eq!(
        served
            .post("/v1/documents", &json!({"id": null, "text": "a"}))
            .status,
        400
    );
    let compressed = served.send(
        "POST",
        "/v1/documents",
        &[("Content-Encoding", "gzip")],
        b"\x1f\x8b",
    );
    assert_eq!((compressed.status, &*compressed.kind()), (415, "encoding"));
    let plain = [("Content-Encoding", "identity")];
    let answered = served.send("POST", "/v1/query", &plain, b"{\"text\":\"a\"}");
    assert_eq!(answered.status, 200);
    assert_eq!(served.send_plainly("GET", "/nowhere", &[], b"").status, 404);
    assert_eq!(
        served
            .send_plainly("PUT", "/v1/documents", &[], b"{}")
            .status,
        405
    );
    assert_eq!(served.get("/v1/stats").with(200)["documents"], 0);
}

#[test]
fn refusals_name_the_field_in_plain_words() {
    let options = [
        "--no-token",
        "--similar",
        "--keys",
        "--fields",
        "--arrivals",
    ];
    let served = Served::new(&options);
    let document = |field: &str| format!("{{\"key\":\"k\",\"text\":\"one two\",{field}}}");
    for (path, body, said) in [
        (
            "query",
            r#"{"text":"a","radius":"3"}"#.to_owned(),
            "field \"radius\": it is string",
        ),
        (
            "query",
            r#"{"queries":[{"text":7}]}"#.to_owned(),
            "field \"queries[0].text\"",
        ),
        (
            "query",
            r#"["a",null,null]"#.to_owned(),
            "a JSON object is expected",
        ),
        (
            "compare",
            r#"{"a":"x","b":"y"}"#.to_owned(),
            "an object such as {\"text\"",
        ),
        (
            "documents?mode=insert_unique&radius=x",
            document("\"n\":1"),
            "radius: an integer",
        ),
        (
            "documents?mode=none",
            document("\"n\":1"),
            "unknown value `none`",
        ),
        (
            "documents",
            document(r#""fields":{"a":1,"a":2}"#),
            "field \"a\" is there twice",
        ),
        (
            "documents",
            document(r#""arrival":"2026-11-30 12:00""#),
            "has no zone",
        ),
        (
            "documents",
            r#"{"key":"\ud800","text":"a"}"#.to_owned(),
            "has no lone surrogate",
        ),
        (
            "documents",
            "{\"key\":\"a\"}\n{\"key\":\"b\"}".to_owned(),
            "application/x-ndjson",
        ),
    ] {
        let refused = served.send("POST", &format!("/v1/{path}"), &[], body.as_bytes());
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
        let message = refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(said), "{body}: {message}");
        for own in [
            "serialize",
            "struct ",
            "u32",
            "u64",
            "variant",
            "--default-zone",
            "--time-unit",
        ] {
            assert!(!message.contains(own), "{body}: {message}");
        }
    }
    let lost = served.get("/v1/documents/https://example.org/a");
    assert!(lost.body.contains("percent-encoded"), "{lost:?}");
    assert_eq!(served.get("/v1/stats").with(200)["documents"], 0);
}

#[test]
fn text_of_a_megabyte_is_stored_and_a_longer_body_refused() {
    let served = Served::new(&[
        "--no-token",
        "--keep-texts",
        "--max-body",
        "3MiB",
        "--max-text",
        "2MiB",
    ]);
    let text = "ferry fog island ".repeat(1 << 16);
    served
        .post("/v1/documents", &json!({"id": 1, "text": text}))
        .with(200);
    assert_eq!(served.get("/v1/documents/1").with(200)["text"], text);
    let long = json!({"id": 2, "text": "ferry fog island ".repeat(140_000)});
    let refused = served.post("/v1/documents", &long);
    assert_eq!(
        (refused.status, refused.kind()),
        (413, "too_large".to_owned())
    );
    let longer = json!({"id": 2, "text": "a".repeat(4 << 20)}).to_string();
    assert_eq!(
        served
            .send("POST", "/v1/documents", &[], longer.as_bytes())
            .kind(),
        "too_large"
    );
    assert_eq!(
        served
            .post("/v1/query", &json!({"text": "a".repeat(2_200_000)}))
            .kind(),
        "too_large"
    );
    // A stream goes on behind a line that is too long.
    let lines = format!("{longer}\n{{\"id\":3,\"text\":\"three\"}}\n");
    let answers = served.post_lines("/v1/documents", &lines);
    let seen: Vec<_> = answers
        .iter()
        .map(|line| (line["line"].as_u64(), line["outcome"].as_str()))
        .collect();
    assert_eq!(
        seen,
        [(Some(1), Some("rejected")), (Some(2), Some("inserted"))]
    );
    // The last line lacks its line feed.
    let answers = served.post_lines("/v1/documents", &format!("{{\"id\":4}}\n{longer}"));
    assert_eq!(answers[1]["error"]["kind"], "too_large", "{answers:?}");
}

#[test]
fn bodies_beyond_the_memory_of_all_are_refused_with_503() {
    let served = Served::new(&["--no-token", "--max-bodies", "64KiB"]);
    // A body that can never have room is not asked for again.
    let longer = json!({"text": "a".repeat(70_000)});
    let refused = served.post("/v1/query", &longer);
    assert_eq!((refused.status, &*refused.kind()), (413, "too_large"));
    // A body and a line of a stream that are half sent keep their room.
    for target in [
        "/v1/query",
        "/v1/documents HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nX:",
    ] {
        half_sent_body_keeps_its_room(&served, target);
    }
}

fn half_sent_body_keeps_its_room(served: &Served, target: &str) {
    let mut slow = served.connect();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: {}\r\nContent-Length: 65000\r\n\r\n",
        served.address
    );
    let received = || metric(&served.get("/metrics").body, "simdb_received_bytes_total");
    let before = received();
    slow.write_all(&[head.as_bytes(), &[b' '; 60_000]].concat())
        .unwrap();
    let started = Instant::now();
    while received() < before + 60_000.0 {
        assert!(started.elapsed() < PATIENCE);
    }
    let long = json!({"text": "a".repeat(30_000)}).to_string();
    loop {
        let answered = served.send("POST", "/v1/query", &[], long.as_bytes());
        if answered.status == 503 {
            assert!(answered.head.contains("retry-after: 1"), "{answered:?}");
            assert_eq!(answered.kind(), "busy");
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{answered:?}");
    }
    drop(slow);
    while served
        .send("POST", "/v1/query", &[], long.as_bytes())
        .status
        != 200
    {
        assert!(
            started.elapsed() < PATIENCE,
            "the room of a broken body is not given back"
        );
    }
}

#[test]
fn connections_beyond_the_limit_are_refused_with_503_and_room_is_given_back() {
    let served = Served::new(&["--no-token", "--connections", "20"]);
    let started = Instant::now();
    let idle: Vec<TcpStream> = (0..20).map(|_| served.connect()).collect();
    loop {
        let refused = served.send_plainly("GET", "/healthz", &[], b"");
        if refused.status == 503 {
            assert!(refused.head.contains("Retry-After: 1"), "{refused:?}");
            assert_eq!(refused.kind(), "busy");
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{refused:?}");
    }
    // Far more than the server answers, or has threads for.
    let many: Vec<_> = (0..2000)
        .filter_map(|_| TcpStream::connect(&served.address).ok())
        .collect();
    assert!(many.len() > 100);
    drop((idle, many));
    while served.send_plainly("GET", "/healthz", &[], b"").status != 200 {
        assert!(started.elapsed() < PATIENCE, "no room is given back");
        std::thread::sleep(Duration::from_millis(10));
    }
    let metrics = served.get("/metrics").body;
    assert!(metric(&metrics, "simdb_refused_connections_total") >= 1.0);
    // The connection of the request before may still be closing.
    while metric(&served.get("/metrics").body, "simdb_connections") > 1.0 {
        assert!(
            started.elapsed() < PATIENCE,
            "a connection is not given back"
        );
    }
}

/// The most files that this process may have open.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.and_then(|soft| soft.parse().ok())
        .unwrap_or(usize::MAX)
}

#[test]
fn ten_thousand_connections_are_answered_in_little_memory() {
    // Other tests of this process have up to 3,000 connections. A system with a lower limit of open
    // files has fewer.
    let count = match open_files() {
        14_000.. => 10_000,
        most => most / 4,
    };
    let connections = count.to_string();
    let served = Served::new(&["--no-token", "--connections", &connections]);
    let before = served.memory_bytes();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    // A connection without a request for 30 s is closed.
    let connect = |_| {
        let mut stream = served.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 1024];
        let len = stream.read(&mut answer).unwrap();
        assert!(answer[..len].starts_with(b"HTTP/1.1 200 OK"));
        stream
    };
    let mut streams: Vec<_> = (0..count).map(connect).collect();
    let each = served.memory_bytes().saturating_sub(before) / count as u64;
    assert!(each < 64 << 10, "a connection takes {each} bytes");
    // One more is refused, and the others are not closed.
    let refused = served.send_plainly("GET", "/healthz", &[], b"");
    assert_eq!((refused.status, &*refused.kind()), (503, "busy"));
    streams[count / 2].write_all(request.as_bytes()).unwrap();
    let mut rest = [0; 1024];
    assert!(streams[count / 2].read(&mut rest).unwrap() > 0);
}

#[test]
fn broken_and_half_closed_connections_leave_nothing_behind() {
    let served = Served::new(&["--no-token"]);
    let head = format!(
        "POST /v1/documents HTTP/1.1\r\nHost: {}\r\n",
        served.address
    );
    for sent in [
        "".to_owned(),
        "GARBAGE\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        head.clone(),
        format!("{head}Content-Length: 10\r\n\r\n{{\"id\""),
        format!("{head}Content-Length: x\r\n\r\n"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        format!(
            "{head}Content-Type: application/x-ndjson\r\nContent-Length: 99\r\n\r\n{{\"id\":1}}\n{{"
        ),
        format!("{head}X: {}\r\n", "a".repeat(200_000)),
    ] {
        let mut stream = served.connect();
        // The server may close the connection before it has all.
        let _ = stream.write_all(sent.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
        let answered = read_answer(stream);
        assert!(
            answered.status == 0 || answered.status >= 400 || answered.body.contains("broke off"),
            "{sent:.60}: {answered:?}"
        );
    }
    let started = Instant::now();
    while metric(&served.get("/metrics").body, "simdb_connections") > 1.0 {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(served.get("/v1/stats").with(200)["documents"], 0);
}

#[test]
fn half_closed_client_reads_the_answer_to_its_whole_request() {
    let served = Served::new(&["--no-token"]);
    let body = "{\"id\":1,\"text\":\"one\"}\n";
    for media_type in ["application/json", "application/x-ndjson"] {
        let mut stream = served.connect();
        let head = format!(
            "POST /v1/documents HTTP/1.1\r\nHost: {}\r\nContent-Type: {media_type}\r\n",
            served.address
        );
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let answered = read_answer(stream);
        assert_eq!(answered.status, 200, "{answered:?}");
        assert!(answered.body.contains("\"id\":\"1\""), "{answered:?}");
    }
}

#[test]
fn client_that_sends_its_whole_body_first_reads_the_refusal() {
    let served = Served::new(&[]);
    let body = vec![b' '; 40 << 20];
    let token = format!("Bearer {}", served.token.as_ref().unwrap());
    for (path, authorization, host, status) in [
        ("/v1/documents", &token[..], &served.address[..], 413),
        ("/v1/query", &token, &served.address, 413),
        ("/v1/documents", "Bearer wrong", &served.address, 401),
        ("/v1/documents", &token, "evil.example", 403),
        ("/nowhere", &token, &served.address, 404),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {authorization}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = served.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // The refusal is sent, and the server has nothing more to read so far.
        std::thread::sleep(Duration::from_millis(20));
        stream.write_all(&body).expect("the server reads on");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the refusal");
        let expected = format!("HTTP/1.1 {status} ");
        assert!(text.starts_with(&expected), "{path} {status}: {text}");
    }
}

#[test]
fn one_connection_answers_many_requests_in_order() {
    let served = Served::new(&["--no-token"]);
    let mut stream = served.connect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    let last = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    stream
        .write_all((request.repeat(49) + &last).as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 50, "{text}");
}
