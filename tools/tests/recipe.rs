//! Recipes: the verb `recipe`, and the recipe options of other verbs.

use crate::common::{Folder, TEXTS};

#[test]
fn recipes_are_listed_and_shown() {
    let folder = Folder::new();
    let list = folder.cli(&["recipe"]).ends(0).stdout;
    let lines = folder.cli(&["recipe", "--json"]).ends(0).json();
    assert_eq!(list.lines().count(), lines.len());
    for (line, recipe) in list.lines().zip(&lines) {
        let name = recipe["name"].as_str().unwrap();
        assert!(line.starts_with(name), "{line}");
        assert!(!recipe["what"].as_str().unwrap().is_empty());
        let shown = folder.cli(&["recipe", name]).ends(0).stdout;
        assert_eq!(shown.trim_end(), recipe["description"].as_str().unwrap());
        let one = folder.cli(&["recipe", name, "--json"]).ends(0).one_json();
        assert_eq!(&one, recipe);
    }
    let takes_texts = |name: &str| {
        let recipe = lines.iter().find(|recipe| recipe["name"] == name);
        recipe.expect("it is listed")["takes_texts"].as_bool()
    };
    assert_eq!(takes_texts("cppjieba"), Some(true));
    assert_eq!(takes_texts("weighted"), Some(false));
    folder
        .cli(&["recipe", "magic"])
        .fails(&["no recipe \"magic\""]);
}

#[test]
fn recipe_files_and_options_are_shown() {
    let folder = Folder::new();
    folder.write("words", "海康云 9 n\n");
    let shown = folder
        .cli(&["recipe", "cppjieba", "--top", "11", "--dictionary", "words"])
        .ends(0)
        .stdout;
    assert!(shown.contains("; top 11, "), "{shown}");
    assert!(
        shown.contains("; given, by xxh3_64: dictionary "),
        "{shown}"
    );
    for (arguments, said) in [
        (
            &["recipe", "ngram", "--top", "3"][..],
            "does not take a number of keywords",
        ),
        (
            &["recipe", "ngram", "--idf", "words"],
            "does not take idf values",
        ),
        (
            &["recipe", "jieba", "--idf", "words"],
            "cannot use words: line 1: a word and its idf",
        ),
        (
            &["recipe", "jieba", "--idf", "missing"],
            "cannot read missing",
        ),
        (
            &["hash", "text", "--dictionary", "words"],
            "--dictionary needs --recipe",
        ),
    ] {
        folder.cli(arguments).fails(&[said]);
    }
}

#[test]
fn database_of_every_text_recipe_is_loaded_and_queried() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    for recipe in [
        "python-simhash",
        "cppjieba",
        "java-string-hash",
        "ngram-traditional",
        "jieba-traditional",
    ] {
        let database = format!("{recipe}.simdb");
        folder
            .load(&[&database, "a.jsonl", "--recipe", recipe])
            .ends(0);
        let text = "The quick brown fox jumps over the lazy dog near the river bank this morning.";
        let hash = folder
            .cli(&["hash", text, "--recipe", recipe])
            .ends(0)
            .stdout;
        let query = folder
            .cli(&["query", &database, "--text", text, "--json"])
            .ends(0)
            .one_json();
        assert_eq!(query["fingerprint"], hash.trim_end(), "{recipe}");
        assert_eq!(query["matches"][0]["id"], 1, "{recipe}");
        folder
            .cli(&["insert", &database, "9", "--text", "another text"])
            .ends(0);
        let stats = folder
            .cli(&["stats", &database, "--json"])
            .ends(0)
            .one_json();
        assert_eq!(stats["recipe"], recipe);
        assert_eq!(stats["documents"], 5);
    }
}

#[test]
fn weighted_database_is_loaded_with_fingerprints() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder
        .load(&["w.simdb", "a.jsonl", "--recipe", "weighted"])
        .fails(&["the recipe weighted v1 makes no fingerprints of texts"]);
    folder.write(
        "song.jsonl",
        "[\"oboe\", 0.7]\n[\"tempo\", 2]\n[\"key\", 1.5]\n[\"live\", 0.4]\n",
    );
    let hash = ["hash", "--recipe", "weighted", "--features", "song.jsonl"];
    let hash = folder.cli(&hash).ends(0).stdout;
    folder.write(
        "b.jsonl",
        format!("{{\"id\":1,\"fp\":\"{}\"}}\n", hash.trim_end()),
    );
    folder
        .load(&[
            "w.simdb",
            "b.jsonl",
            "--recipe",
            "weighted",
            "--fingerprint",
            "fp",
        ])
        .ends(0);
    folder
        .cli(&["query", "w.simdb", "--fingerprint", hash.trim_end()])
        .ends(0);
    for arguments in [
        &["query", "w.simdb", "--text", "a text"][..],
        &["insert", "w.simdb", "2", "--text", "a text"],
        &["hash", "a text", "--recipe", "weighted"],
    ] {
        folder
            .cli(arguments)
            .fails(&["makes no fingerprints of texts"]);
    }
}

#[test]
fn weighted_database_is_loaded_with_features() {
    let folder = Folder::new();
    folder.write(
        "songs.jsonl",
        "{\"id\":1,\"features\":{\"oboe\":0.7,\"tempo\":2,\"key\":1.5,\"live\":0.4},\"text\":\"a\"}\n\
         {\"id\":2,\"features\":{},\"text\":\"b\"}\n",
    );
    let song = "[\"oboe\", 0.7]\n[\"tempo\", 2]\n[\"key\", 1.5]\n[\"live\", 0.4]\n";
    folder.write("song.jsonl", song);
    let hash = ["hash", "--recipe", "weighted", "--features", "song.jsonl"];
    let hash = folder.cli(&hash).ends(0).stdout;
    let load = |database: &str, input: &str, more: &[&str]| {
        let arguments = [
            database,
            input,
            "--recipe",
            "weighted",
            "--features",
            "features",
        ];
        folder.load(&[&arguments, more].concat())
    };
    let report = load("w.simdb", "songs.jsonl", &["--json"])
        .ends(0)
        .one_json();
    assert_eq!(
        (&report["inserted"], &report["unreliable"]),
        (&2.into(), &1.into())
    );
    let found = folder
        .cli(&[
            "query",
            "w.simdb",
            "--fingerprint",
            hash.trim_end(),
            "--radius",
            "0",
            "--json",
        ])
        .ends(0)
        .one_json();
    assert_eq!(found["matches"][0]["id"], 1);
    let texts = ["--text", "text", "--keep-texts"];
    load("t.simdb", "songs.jsonl", &texts).ends(0);
    let stored = folder
        .cli(&["get", "t.simdb", "2", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(stored["text"], "b");

    load("n.simdb", "songs.jsonl", &["--text", "text"]).fails(&["--keep-texts"]);
    load("n.simdb", "songs.jsonl", &["--fingerprint", "fp"])
        .fails(&["--features", "--fingerprint"]);
    folder.write("a.csv", "id,features\n1,2\n");
    load("n.simdb", "a.csv", &[]).fails(&["--features names a field of JSON Lines"]);
    for (features, reason) in [
        ("[1]", "an object of features and their weights"),
        (
            "{\"oboe\":\"loud\"}",
            "the weight of \"oboe\" is not a number",
        ),
        ("{\"oboe\":-1}", "weight"),
    ] {
        folder.write(
            "bad.jsonl",
            format!("{{\"id\":1,\"features\":{features}}}\n"),
        );
        load("n.simdb", "bad.jsonl", &[]).fails(&["bad.jsonl", reason]);
    }
    folder.write("bad.jsonl", "{\"id\":1,\"text\":\"a\"}\n");
    load("n.simdb", "bad.jsonl", &[]).fails(&["there is no field \"features\""]);
}

#[test]
fn feature_lists_are_hashed_by_any_recipe() {
    let folder = Folder::new();
    folder.write("keywords.jsonl", "[\"你好\", 1]\n\n[\"世界\", 1.5]\n");
    let hash = |recipe: &str, bits: &str| {
        let arguments = [
            "hash",
            "--recipe",
            recipe,
            "--features",
            "keywords.jsonl",
            "--bits",
            bits,
        ];
        folder.cli(&arguments).ends(0).stdout.trim_end().to_owned()
    };
    assert_ne!(hash("cppjieba", "64"), hash("python-simhash", "64"));
    let wide = hash("java-string-hash", "128");
    assert_eq!(wide[16..], hash("java-string-hash", "64"));
    let arguments = [
        "hash",
        "--recipe",
        "cppjieba",
        "--features",
        "keywords.jsonl",
        "--bits",
        "128",
    ];
    folder.cli(&arguments).fails(&["64 bits only"]);

    folder.write(
        "hashes.jsonl",
        "[3, 1]\n[5, 1]\n[18446744073709551615, 0.5]\n",
    );
    let arguments = [
        "hash",
        "--recipe",
        "weighted",
        "--features",
        "hashes.jsonl",
        "--json",
    ];
    let line = folder.cli(&arguments).ends(0).one_json();
    assert_eq!(line["fingerprint"], "0000000000000007");
    assert_eq!(line["reliable"], false);

    for (content, said) in [
        ("[\"a\", 1]\n[\"b\"]\n", "bad.jsonl:2"),
        ("[\"a\", \"b\"]\n", "it is not [token, weight]"),
        ("[\"a\", -1]\n", "feature 1 has the weight -1"),
        ("[\"a\", 1]\n[3, 1]\n", "tokens and hashes"),
    ] {
        folder.write("bad.jsonl", content);
        let arguments = ["hash", "--recipe", "weighted", "--features", "bad.jsonl"];
        folder.cli(&arguments).fails(&[said]);
    }
    let piped = folder.cli_from(&["hash", "--features", "-"], "[\"你好\", 1]\n".as_bytes());
    assert_eq!(piped.ends(0).stdout.trim_end().len(), 16);
}

#[test]
fn database_with_dictionary_requires_it_at_open() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        "{\"id\":1,\"text\":\"海康云视界在北京举行新闻发布会介绍人工智能\"}\n",
    );
    folder.write("words", "海康云视界 500 n\n");
    folder.write("others", "海康云视界 501 n\n");
    folder.write("bad", "海康云视界 many n\n");
    let given = ["--recipe", "jieba", "--dictionary", "words"];
    let load = |more: &[&str]| folder.load(&[&["a.simdb", "a.jsonl"], more].concat());
    load(&["--recipe", "jieba", "--dictionary", "bad"])
        .fails(&["cannot use bad: line 1: \"many\" is not a count"]);
    load(&given).ends(0);
    load(&[]).fails(&["a.simdb", "jieba v1", "dictionary "]);
    load(&["--recipe", "jieba", "--dictionary", "others"]).fails(&["ask for that recipe"]);
    load(&given).ends(0);

    for verb in [
        &["stats", "a.simdb"][..],
        &["get", "a.simdb", "1"],
        &[
            "query",
            "a.simdb",
            "--text",
            "海康云视界在北京举行新闻发布会介绍人工智能",
        ],
        &["check", "a.simdb"],
        &["export", "a.simdb"],
        &["insert", "a.simdb", "2", "--text", "海康云视界的发布会"],
        &["backup", "a.simdb", "b.simdb"],
        &["remove", "a.simdb", "2"],
    ] {
        folder
            .cli(verb)
            .fails(&["was given files of its own", "dictionary "]);
        folder.cli(&[verb, &given].concat()).ends(0);
    }
    folder.cli(&["vacuum", "a.simdb"]).ends(0);
    let watched = folder.cli_from(
        &[&["watch", "a.simdb"], &given[..]].concat(),
        "{\"id\":7,\"text\":\"海康云视界\"}\n".as_bytes(),
    );
    assert_eq!(watched.ends(0).one_json()["verdict"], "new");
    let explained = folder
        .cli(&[&["hash", "海康云视界", "--explain"], &given[..]].concat())
        .ends(0)
        .stdout;
    assert!(explained.contains("海康云视界"), "{explained}");
}
