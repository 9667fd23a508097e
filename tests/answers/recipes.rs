//! Recipes that imitate other software equal it bit for bit. A database keeps its recipe and the
//! files given to it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use simdb::{Database, DocId, Document, Error, Fingerprinter, Outcome, Recipe};
use test_support::vectors::{bits, cases, pairs, weights};

#[test]
fn texts_have_the_fingerprints_of_the_python_package() {
    let usual = Fingerprinter::new(Recipe::python_simhash());
    let mut modes = BTreeSet::new();
    for case in cases("md5_python_simhash.jsonl") {
        let input = &case["input"];
        modes.insert(case["mode"].as_str().unwrap().to_owned());
        let (narrow, wide) = if case["mode"] == "text" {
            let text = input.as_str().unwrap();
            let other = case["reg"].as_str().map(|reg| {
                Fingerprinter::new(Recipe::python_simhash().with_characters(reg).unwrap())
            });
            let python = other.as_ref().unwrap_or(&usual);
            if let Some(expected) = case["features"].as_array() {
                let features = python.features(text).unwrap().into_iter();
                let tokens = features.flat_map(|f| vec![f.token; f.weight as usize]);
                let mut tokens: Vec<_> = tokens.collect();
                tokens.sort();
                let expected: Vec<_> = expected
                    .iter()
                    .map(|token| token.as_str().unwrap())
                    .collect();
                assert_eq!(tokens, expected, "{case}");
            }
            (python.fingerprint(text), python.fingerprint128(text))
        } else {
            let features = weights(input);
            (
                usual.fingerprint_tokens(&features),
                usual.fingerprint128_tokens(&features),
            )
        };
        let narrow = narrow.unwrap().fingerprint;
        assert_eq!(
            u128::from(narrow.bits()),
            bits(&case["simhash64"]),
            "{case}"
        );
        assert_eq!(narrow.to_string(), case["simhash64_hex"], "{case}");
        assert_eq!(wide.unwrap().bits(), bits(&case["simhash128"]), "{case}");
    }
    assert_eq!(modes.len(), 3, "{modes:?}");
}

/// Expected values from the package (simhash 2.1.2, numpy 2.4.6, Python 3.11). Sums of doubles
/// depend on its order of addition: ties differ in the last bit, and integers are summed
/// separately.
#[test]
fn sums_of_fractions_equal_numpy() {
    let python = Fingerprinter::new(Recipe::python_simhash());
    for case in cases("python_simhash_more.jsonl") {
        let (narrow, wide) = match case["mode"].as_str().unwrap() {
            "text" => {
                let text = case["input"].as_str().unwrap();
                (python.fingerprint(text), python.fingerprint128(text))
            }
            _ => {
                let features = weights(&case["input"]);
                (
                    python.fingerprint_tokens(&features),
                    python.fingerprint128_tokens(&features),
                )
            }
        };
        let narrow = narrow.unwrap().fingerprint.bits();
        assert_eq!(u128::from(narrow), bits(&case["simhash64"]), "{case}");
        assert_eq!(wide.unwrap().bits(), bits(&case["simhash128"]), "{case}");
    }
}

#[test]
fn texts_have_the_fingerprints_of_the_java_class() {
    let java = Fingerprinter::new(Recipe::java_string_hash());
    for case in cases("stringhash_java.jsonl") {
        let text = case["text"].as_str().unwrap();
        let narrow = java.fingerprint(text).unwrap().fingerprint.bits();
        assert_eq!(u128::from(narrow), bits(&case["simhash64"]), "{text}");
        let wide = java.fingerprint128(text).unwrap().bits();
        assert_eq!(wide, bits(&case["simhash128"]), "{text}");
        let tokens = pairs(&case["token_hash64"]);
        for (token, hash) in &tokens {
            assert_eq!(u128::from(java.hash(token)), *hash, "{token}");
        }
        for (token, hash) in pairs(&case["token_hash128"]) {
            assert_eq!(java.hash128(&token).unwrap(), hash, "{token}");
        }
        let tokens: Vec<_> = tokens.iter().map(|(token, _)| (token, 1.0)).collect();
        let merged = java.fingerprint_tokens(&tokens).unwrap().fingerprint.bits();
        assert_eq!(merged, narrow, "{text}");
    }
}

#[test]
fn keywords_have_the_hashes_and_fingerprints_of_cppjieba() {
    let cppjieba = Fingerprinter::new(Recipe::cppjieba());
    let mut compared = 0;
    for case in cases("jenkins_cppjieba.jsonl") {
        for (token, hash) in pairs(&case["hash"]) {
            assert_eq!(u128::from(cppjieba.hash(&token)), hash, "{token}");
        }
        for top in ["5", "10", "20", "all"] {
            let keywords = weights(&case[format!("keywords_{top}")]);
            let made = cppjieba.fingerprint_tokens(&keywords).unwrap();
            let expected = bits(&case[format!("simhash_{top}")]);
            assert_eq!(u128::from(made.fingerprint.bits()), expected, "{case}");
            compared += 1;
        }
    }
    assert!(compared > 50);
}

/// Segmentation is the one part in which the recipe may differ from the original. In these texts
/// the words are equal.
#[test]
fn texts_have_the_keywords_and_fingerprints_of_cppjieba() {
    for (top, recipe) in [
        ("5", Recipe::cppjieba().with_top(5).unwrap()),
        ("20", Recipe::cppjieba().with_top(20).unwrap()),
        ("auto", Recipe::cppjieba()),
    ] {
        let cppjieba = Fingerprinter::new(recipe);
        for case in cases("jenkins_cppjieba.jsonl") {
            let text = case["text"].as_str().unwrap();
            if top != "auto" {
                let found = cppjieba.features(text).unwrap().into_iter();
                let found: Vec<_> = found.map(|f| (f.token, f.weight)).collect();
                assert_eq!(found, weights(&case[format!("keywords_{top}")]), "{text}");
            }
            let made = cppjieba.fingerprint(text).unwrap().fingerprint.bits();
            assert_eq!(
                u128::from(made),
                bits(&case[format!("simhash_{top}")]),
                "{text}"
            );
        }
    }
}

#[test]
fn uninformative_texts_are_unreliable_by_every_recipe() {
    for recipe in Recipe::all().into_iter().filter(Recipe::takes_texts) {
        let fingerprinter = Fingerprinter::new(recipe);
        for text in [
            "",
            " \n",
            "美国",
            "word",
            "美国 美国 美国 美国 美国 美国 美国 美国",
        ] {
            let made = fingerprinter.fingerprint(text).unwrap();
            assert!(!made.reliable, "{} {text:?}", fingerprinter.recipe());
        }
        let text = "美国 51区 雇员称 内部有9架 飞碟，曾看见 灰色 外星人 在沙漠基地";
        let made = fingerprinter.fingerprint(text).unwrap();
        assert!(made.reliable, "{}", fingerprinter.recipe());
    }
}

#[test]
fn traditional_characters_stay_distinct_if_requested() {
    let (traditional, simplified) = ("漢語與臺灣的圖書館開門時間", "汉语与台湾的图书馆开门时间");
    for (folding, keeping) in [
        (Recipe::ngram(), Recipe::ngram_traditional()),
        (Recipe::jieba(), Recipe::jieba_traditional()),
    ] {
        let distance = |recipe: &Recipe| {
            let fingerprinter = Fingerprinter::new(recipe.clone());
            let one = fingerprinter.fingerprint(traditional).unwrap().fingerprint;
            one.distance(fingerprinter.fingerprint(simplified).unwrap().fingerprint)
        };
        assert_eq!(distance(&folding), 0);
        assert!(distance(&keeping) > 3, "{keeping}");
        let same = |recipe| Fingerprinter::new(recipe).fingerprint(simplified).unwrap();
        assert_eq!(same(folding), same(keeping));
    }
}

#[test]
fn database_keeps_its_recipe_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipes = Recipe::all();
    recipes.push(Recipe::cppjieba().with_top(7).unwrap());
    recipes.push(
        Recipe::python_simhash()
            .with_characters("[, a-z]+")
            .unwrap(),
    );
    let text = "美国 51区 雇员称 内部有9架 飞碟，曾看见 灰色 外星人 that was not there, never was";
    for (number, recipe) in recipes.iter().enumerate() {
        let path = folder.path().join(number.to_string());
        let db = Database::builder()
            .recipe(recipe.clone())
            .create(&path)
            .unwrap();
        if recipe.takes_texts() {
            test_support::insert_text(&db, 1, text);
            let again = db.insert_unique(db.document(2, text).unwrap(), 0).unwrap();
            assert!(matches!(again, Outcome::Duplicate(_)), "{recipe}");
        }
        db.close().unwrap();
        assert_eq!(&Database::open(&path).unwrap().settings().recipe, recipe);
        for other in recipes.iter().filter(|&other| other != recipe) {
            let refused = Database::builder().recipe(other.clone()).open(&path);
            assert!(
                matches!(refused, Err(Error::RecipeMismatch { .. })),
                "{recipe} {other}"
            );
        }
    }
}

#[test]
fn weighted_database_refuses_texts_and_accepts_fingerprints() {
    let folder = tempfile::tempdir().unwrap();
    let builder = Database::builder()
        .recipe(Recipe::weighted())
        .keep_texts(true);
    let db = builder.create(folder.path().join("songs.simdb")).unwrap();
    let said = |refused: Error| {
        assert!(matches!(refused, Error::NoTexts { .. }));
        assert!(
            refused
                .to_string()
                .starts_with("the recipe weighted v1 makes no fingerprints of texts")
        );
    };
    said(db.document(1, "text").unwrap_err());
    said(db.within_text("text", 3).unwrap_err());
    said(db.fingerprint("text").unwrap_err());
    assert!(db.is_empty().unwrap());

    let features = [
        ("tempo 120", 2.0),
        ("key d minor", 1.5),
        ("oboe", 0.7),
        ("live", 0.4),
    ];
    let made = db.fingerprinter().fingerprint_tokens(&features).unwrap();
    assert!(made.reliable);
    test_support::insert(&db, Document::new(1, made));
    assert_eq!(db.within(made.fingerprint, 0).unwrap()[0].id, DocId(1));
}

#[test]
fn short_feature_lists_are_unreliable() {
    for recipe in Recipe::all() {
        let fingerprinter = Fingerprinter::new(recipe);
        let reliable =
            |features: &[(&str, f64)]| fingerprinter.fingerprint_tokens(features).unwrap().reliable;
        assert!(!reliable(&[]));
        assert!(!reliable(&[("a", 1.0)]));
        assert!(!reliable(&[
            ("a", 1.0),
            ("a", 1.0),
            ("a", 1.0),
            ("a", 1.0),
            ("a", 1.0)
        ]));
        assert!(!reliable(&[
            ("a", 9.0),
            ("b", 1.0),
            ("c", 1.0),
            ("d", 1.0),
            ("e", 1.0)
        ]));
        assert!(reliable(&[
            ("a", 1.5),
            ("b", 1.0),
            ("c", 1.0),
            ("d", 1.0),
            ("e", 0.1)
        ]));
        let refused = fingerprinter.fingerprint_tokens(&[("a", 1.0), ("b", f64::NAN)]);
        assert!(matches!(
            refused,
            Err(Error::InvalidWeight { place: 2, .. })
        ));
    }
}

#[test]
fn dictionary_words_match_in_any_spelling() {
    let text = "他们说海康雲視界iFoo-Bar不错，不错的海康云视界";
    let recipe = Recipe::jieba().with_dictionary("d", "海康雲視界 500\niFoo-Bar".as_bytes());
    let recipe = recipe
        .unwrap()
        .with_idf("i", "海康雲視界 20\n不错 2".as_bytes())
        .unwrap();
    let recipe = recipe.with_stop_words("s", "他們\n说".as_bytes()).unwrap();
    let features = Fingerprinter::new(recipe).features(text).unwrap();
    let found: Vec<_> = features
        .iter()
        .map(|f| (f.token.as_str(), f.weight))
        .collect();
    assert_eq!(
        found,
        [("海康云视界", 40.0), ("ifoo-bar", 20.0), ("不错", 4.0)]
    );
}

#[test]
fn database_with_recipe_files_opens_only_with_equal_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.simdb");
    for base in [Recipe::jieba(), Recipe::cppjieba().with_top(9).unwrap()] {
        let words = "海康云视界 500 n\n".as_bytes();
        let recipe = base.clone().with_dictionary("one", words).unwrap();
        let recipe = recipe.with_stop_words("stop", b"the\n").unwrap();
        let builder = Database::builder().recipe(recipe.clone());
        let text = "海康云视界在北京举行新闻发布会介绍人工智能";
        test_support::insert_text(&builder.create(&path).unwrap(), 1, text);

        let refused = Database::open(&path).unwrap_err();
        let said = refused.to_string();
        assert!(matches!(refused, Error::RecipeFiles { .. }), "{said}");
        for part in [
            path.to_str().unwrap(),
            base.name(),
            "dictionary ",
            "stop words ",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("idf "), "{said}");

        let other = base
            .clone()
            .with_dictionary("two", "海康云视界 501 n\n".as_bytes())
            .unwrap();
        let other = other.with_stop_words("stop", b"the\n").unwrap();
        for asked in [base.clone(), other] {
            let refused = Database::builder().recipe(asked).open(&path).unwrap_err();
            assert!(matches!(refused, Error::RecipeMismatch { .. }), "{refused}");
        }

        // The name of the file does not matter.
        let same = base.with_dictionary("elsewhere", words).unwrap();
        let same = same.with_stop_words("stop", b"the\n").unwrap();
        assert_eq!(same, recipe);
        let db = Database::builder().recipe(same).open(&path).unwrap();
        let query = db.fingerprint(text).unwrap();
        assert_eq!(db.within(query.fingerprint, 0).unwrap().len(), 1);
        drop(db);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn recipe_refuses_options_it_does_not_use() {
    for recipe in Recipe::all() {
        let takes_files = recipe.name().contains("jieba");
        let with = |result: Result<Recipe, Error>| match result {
            Ok(_) => true,
            Err(Error::RecipeOption { .. }) => false,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(
            with(recipe.clone().with_dictionary("f", b"word")),
            takes_files
        );
        assert_eq!(with(recipe.clone().with_idf("f", b"word 1")), takes_files);
        assert_eq!(
            with(recipe.clone().with_stop_words("f", b"word")),
            takes_files
        );
        assert_eq!(
            with(recipe.clone().with_top(3)),
            recipe.name() == "cppjieba"
        );
        assert!(!with(recipe.clone().with_top(0)));
        assert_eq!(
            with(recipe.clone().with_characters(r"\w")),
            recipe.name() == "python-simhash"
        );
        assert!(!with(recipe.with_characters("(a|b)")));
    }
}

/// Random texts of the character classes that recipes treat differently.
fn mixed_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9 ._%-]{0,20}",
        "[一-龥]{1,12}[，。！　 ]?",
        Just("ΑΣ İ ß Ⅷ 漢字 \u{301}".to_owned()),
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

#[test]
fn text_fingerprint_equals_that_of_its_merged_features() {
    let recipes = Recipe::all().into_iter().filter(Recipe::takes_texts);
    let fingerprinters: Vec<_> = recipes.map(Fingerprinter::new).collect();
    proptest!(|(text in mixed_text())| {
        for fingerprinter in &fingerprinters {
            let features = fingerprinter.features(&text).unwrap();
            let tokens: Vec<_> = features.iter().map(|f| (&f.token, f.weight)).collect();
            let plain = fingerprinter.fingerprint_tokens(&tokens).unwrap().fingerprint;
            let made = fingerprinter.fingerprint(&text).unwrap().fingerprint;
            prop_assert_eq!(made, plain, "{}", fingerprinter.recipe());
            if let Ok(plain) = fingerprinter.fingerprint128_tokens(&tokens) {
                prop_assert_eq!(fingerprinter.fingerprint128(&text).unwrap(), plain);
            }
            prop_assert!(features.iter().all(|f| f.hash == fingerprinter.hash(&f.token)));
        }
    });
}
