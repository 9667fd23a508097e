//! Arbitrary text through every recipe and similarity, as a query, and as the files of recipes.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use simdb::similarity::{Likeness, Resemblance};
use simdb::similarity::{edit_similarity, edit_similarity_at_least, shingle_jaccard};
use simdb::{Database, DocId, Fingerprint, Fingerprinter, Normaliser, Recipe, SimilarRule};

use super::ask::{builder, path};
use super::memory::MemoryDisk;

/// Longest text for edit similarity, in bytes: its time grows with the product of the lengths.
const MOST_EDITED_BYTES: usize = 2_000;

/// Objects that are made once per process.
struct Made {
    fingerprinters: Vec<Fingerprinter>,
    normaliser: Normaliser,
    /// A database with a few texts and their forest keys.
    database: Database,
}

/// The first byte gives the position where the rest is cut into two texts.
pub fn run(input: &[u8]) {
    let Some((share, input)) = input.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(input);
    let cut = text.len() * usize::from(*share) / 256;
    let ends = text.char_indices().map(|(end, _)| end);
    let (one, other) = text.split_at(ends.take_while(|end| *end <= cut).last().unwrap_or(0));
    let made = made();
    for fingerprinter in &made.fingerprinters {
        fingerprint(fingerprinter, &text);
    }
    normalise(&made.normaliser, &text);
    measure(made, one, other);
    query(made, one, other);
    // Creating a database takes longer than everything else, so only one input in eight does.
    if share % 8 == 0 {
        store(one, other);
    }
    files_of_words(one, other, share % 16 == 13);
    if let Ok(fingerprint) = text.parse::<Fingerprint>() {
        assert!(
            fingerprint
                .to_string()
                .parse()
                .is_ok_and(|again: Fingerprint| again == fingerprint)
        );
    }
    assert_eq!(
        Recipe::by_name(&text).is_ok(),
        Recipe::all().iter().any(|recipe| recipe.name() == text)
    );
}

fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let recipes = Recipe::all().into_iter();
        let disk = MemoryDisk::default();
        let database = builder(&disk).similar(true).create(path()).unwrap();
        let texts = [
            "The ferry to the islands was cancelled due to heavy fog.",
            "海内存知己，天涯若比邻。无为在歧路，儿女共沾巾。",
            "13800138000",
            "",
            "!?",
        ];
        for (id, text) in (0..).zip(texts) {
            crate::insert_text(&database, id, text);
        }
        database.merge().unwrap();
        Made {
            fingerprinters: recipes.map(Fingerprinter::new).collect(),
            normaliser: Normaliser::new(),
            database,
        }
    })
}

/// Asserts the documented properties of a fingerprint.
fn fingerprint(fingerprinter: &Fingerprinter, text: &str) {
    let made = fingerprinter.fingerprint(text);
    let Ok(made) = made else {
        assert_eq!(fingerprinter.recipe(), &Recipe::weighted());
        return;
    };
    let context = || format!("{} of {text:?}", fingerprinter.recipe());
    assert_eq!(
        fingerprinter.fingerprint(text).unwrap(),
        made,
        "{}",
        context()
    );
    let doubt = fingerprinter.unreliable_reason(text).unwrap();
    assert_eq!(doubt.is_none(), made.reliable, "{}", context());
    let features = fingerprinter.features(text).unwrap();
    let weighed: Vec<(&str, f64)> = features
        .iter()
        .map(|feature| (feature.token.as_str(), feature.weight))
        .collect();
    let again = fingerprinter.fingerprint_tokens(&weighed).unwrap();
    assert_eq!(again.fingerprint, made.fingerprint, "{}", context());
    let normalised = fingerprinter.normalise(text);
    assert_eq!(
        fingerprinter.normalise(&normalised),
        normalised,
        "{}",
        context()
    );
    if fingerprinter.recipe() == &Recipe::ngram() {
        let of_it = fingerprinter.fingerprint(&normalised).unwrap();
        assert_eq!(of_it.fingerprint, made.fingerprint, "{}", context());
    }
    let wide = fingerprinter.fingerprint128(text);
    assert_eq!(
        wide.is_ok(),
        fingerprinter.recipe().name() != "cppjieba",
        "{}",
        context()
    );
    let is_imitation = fingerprinter.recipe().name() == "cppjieba";
    for word in fingerprinter.words(text) {
        assert!(text.contains(&word) || !is_imitation, "{}", context());
        let idf = fingerprinter.idf(&word);
        assert!(idf.is_none_or(|idf| idf > 0.0), "{}", context());
    }
}

fn normalise(normaliser: &Normaliser, text: &str) {
    let letters = normaliser.letters(text);
    assert_eq!(normaliser.letters(&letters), letters, "{text:?}");
    let spaced = normaliser.sentences(text);
    assert_eq!(normaliser.sentences(&spaced), spaced, "{text:?}");
    assert_eq!(normaliser.letters(&spaced), letters, "{text:?}");
}

fn measure(made: &Made, one: &str, other: &str) {
    let context = || format!("{one:?}, {other:?}");
    let is_share = |measure: f64| (0.0..=1.0).contains(&measure);
    let shingled = NonZeroUsize::new(2).unwrap();
    let jaccard = shingle_jaccard(one, other, shingled);
    assert!(is_share(jaccard), "{jaccard} of {}", context());
    assert_eq!(
        jaccard,
        shingle_jaccard(other, one, shingled),
        "{}",
        context()
    );
    assert_eq!(shingle_jaccard(one, one, shingled), 1.0, "{}", context());
    if one.len().max(other.len()) <= MOST_EDITED_BYTES {
        let similarity = edit_similarity(one, other);
        assert!(is_share(similarity), "{similarity} of {}", context());
        assert_eq!(similarity, edit_similarity(other, one), "{}", context());
        assert_eq!(similarity == 1.0, one == other, "{}", context());
        let at_least = edit_similarity_at_least(one, other, 0.5);
        assert_eq!(
            at_least,
            Some(similarity).filter(|found| *found >= 0.5),
            "{}",
            context()
        );
    }
    let resemblance = Resemblance::new(&made.normaliser, one, other);
    assert!(
        is_share(resemblance.score()),
        "{resemblance:?} of {}",
        context()
    );
    assert_eq!(
        resemblance,
        Resemblance::new(&made.normaliser, other, one),
        "{}",
        context()
    );
    let same = Resemblance::new(&made.normaliser, one, one);
    assert!(
        same.same_wording && same.is_enough(&Likeness::default()),
        "{}",
        context()
    );
}

/// Both kinds of search for a text.
fn query(made: &Made, one: &str, other: &str) {
    let snapshot = made.database.snapshot().unwrap();
    for text in [one, other] {
        let query = made.database.text_query(text).unwrap();
        let found = snapshot.similar(&query).unwrap();
        let verified = snapshot.similar(&query.clone().without_forest()).unwrap();
        assert!(
            verified
                .iter()
                .all(|one| one.resemblance.is_enough(&Likeness::default()))
        );
        assert!(
            found
                .iter()
                .all(|one| one.resemblance.is_enough(&Likeness::default()))
        );
    }
}

/// Asserts that a stored document is found and returned unchanged.
fn store(one: &str, other: &str) {
    let disk = MemoryDisk::default();
    let database = builder(&disk).similar(true).create(path()).unwrap();
    crate::insert_text(&database, 1, one);
    let found = database.similar_text(one).unwrap();
    // Two empty texts are no duplicates.
    let is_empty = one.trim().is_empty();
    assert_eq!(
        found.iter().any(|found| found.id == DocId(1)),
        !is_empty,
        "{one:?}"
    );
    let document = database.document(2, other).unwrap();
    let kept = database
        .insert_unless_similar(document, SimilarRule::default())
        .unwrap();
    let stored = database
        .get(DocId(2))
        .unwrap()
        .and_then(|document| document.text);
    assert_eq!(stored.as_deref(), kept.is_inserted().then_some(other));
    database.close().unwrap();
    let database = builder(&disk).open(path()).unwrap();
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    let stored = database.get(DocId(1)).unwrap().unwrap();
    assert_eq!(stored.text.as_deref(), Some(one));
}

/// The text as a dictionary file. Making a recipe with it takes 0.1 s, so only if `is_made`.
fn files_of_words(one: &str, other: &str, is_made: bool) {
    let _ = Recipe::python_simhash().with_characters(one);
    for recipe in [Recipe::jieba(), Recipe::cppjieba()] {
        let _ = recipe.clone().with_idf("idf", one.as_bytes());
        let _ = recipe.clone().with_stop_words("stop", one.as_bytes());
        let with = recipe.with_dictionary("words", one.as_bytes());
        if is_made && let Ok(recipe) = with {
            fingerprint(&Fingerprinter::new(recipe), other);
        }
    }
}
