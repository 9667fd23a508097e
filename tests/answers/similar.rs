//! Similar texts find each other, however they were inserted and wherever they are stored;
//! unrelated texts do not.

use std::sync::Barrier;
use std::time::{Duration, UNIX_EPOCH};

use simdb::similarity::{Likeness, Resemblance};
use simdb::similarity::{edit_similarity, shingle_jaccard};
use simdb::{
    Change, Database, Decision, DocId, DocRef, Document, Error, Fingerprint, Normaliser,
    OnExtended, Outcome, Retention, Similar, SimilarRule, TextFingerprint,
};
use test_support::{
    INSERTED, SplitMix, WORDS, assert_sound, builder, caught, copy_open, folder, window,
};

/// The thresholds decide: what is found does not depend on the words.
const ALIKE: SimilarRule = SimilarRule {
    decision: Decision::Alike,
    likeness: Likeness {
        edit_similarity: 0.65,
        jaccard: 0.55,
    },
    on_extended: OnExtended::KeepBoth,
};

const HAN: &str = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈剑号巨阙珠称夜光果珍李柰菜重芥姜海咸河淡鳞潜羽翔龙师火帝鸟官人皇";

/// A text of `words` words, or of twice as many Han characters.
fn text(sequence: &mut SplitMix, words: u64) -> String {
    if sequence.below(3) == 0 {
        let han: Vec<char> = HAN.chars().collect();
        let one = |_| han[sequence.below(han.len() as u64) as usize];
        return (0..2 * words).map(one).collect();
    }
    let word = |_| {
        let word = WORDS[sequence.below(WORDS.len() as u64) as usize];
        format!("{word}{}", sequence.below(10))
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Texts, each with a number of words of this range.
fn texts(sequence: &mut SplitMix, count: usize, words: std::ops::Range<u64>) -> Vec<String> {
    let text = |_| {
        let count = words.start + sequence.below(words.end - words.start);
        text(sequence, count)
    };
    (0..count).map(text).collect()
}

/// The text with a share of its characters replaced, at seeded positions.
fn edited(sequence: &mut SplitMix, text: &str, per_mille: u64) -> String {
    let others: Vec<char> = "xyzqkw天海玉金龙鸟".chars().collect();
    let edit = |c| match sequence.below(1000) < per_mille {
        true => others[sequence.below(others.len() as u64) as usize],
        false => c,
    };
    text.chars().map(edit).collect()
}

/// Jaccard similarity of the character shingles that minima are made of: 3 letters, or 2 Han
/// characters.
fn characters_in_common(normaliser: &Normaliser, a: &str, b: &str) -> f64 {
    let shingles = |text: &str| {
        let letters: Vec<char> = normaliser.letters(text).chars().collect();
        let is_han = |c: &char| *c >= '\u{1100}';
        let length = if letters.len() >= 100 { 5 } else { 3 };
        let runs = letters.chunk_by(|a, b| is_han(a) == is_han(b));
        let cut = runs.flat_map(|run| {
            let length = if is_han(&run[0]) { 2 } else { length };
            run.windows(length.min(run.len())).map(<[char]>::to_vec)
        });
        cut.collect::<std::collections::BTreeSet<_>>()
    };
    let (a, b) = (shingles(a), shingles(b));
    let both = a.intersection(&b).count();
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}

fn similar(database: &Database, text: &str) -> Vec<Similar> {
    let query = database.text_query(text).unwrap().decision(Decision::Alike);
    database.snapshot().unwrap().similar(&query).unwrap()
}

fn ids(found: &[Similar]) -> Vec<u64> {
    found.iter().map(|found| found.id.0).collect()
}

fn insert_unless_similar(database: &Database, id: u64, text: &str) -> Outcome {
    let document = database.document(id, text).unwrap();
    database.insert_unless_similar(document, ALIKE).unwrap()
}

/// A change that stores a text unless a similar text is stored.
fn unless_similar(database: &Database, id: u64, text: &str) -> Change {
    Change::InsertUnlessSimilar {
        document: database.document(DocId(id), text).unwrap(),
        rule: ALIKE,
    }
}

fn inserts<'t>(
    database: &Database,
    texts: impl IntoIterator<Item = (u64, &'t String)>,
) -> Vec<Change> {
    let insert =
        |(id, text): (u64, &String)| Change::Insert(database.document(DocId(id), text).unwrap());
    texts.into_iter().map(insert).collect()
}

fn new_database(folder: &tempfile::TempDir) -> Database {
    let path = folder.path().join("docs.simdb");
    builder().similar(true).create(path).unwrap()
}

// ---- search ----

#[test]
fn texts_that_share_half_are_found_and_matches_are_similar() {
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(1);
    let texts = texts(&mut sequence, 3_000, 6..36);
    for part in inserts(&database, (0..).zip(&texts)).chunks(1_000) {
        database.apply(part.to_vec()).unwrap();
    }
    let (normaliser, likeness) = (Normaliser::new(), Likeness::default());
    let snapshot = database.snapshot().unwrap();
    let (mut planted, mut found_again, mut others) = (0, 0, 0);
    for (id, text) in (0..).zip(&texts) {
        let per_mille = 10 + sequence.below(140);
        let query = edited(&mut sequence, text, per_mille);
        let found = snapshot
            .similar(
                &database
                    .text_query(&query)
                    .unwrap()
                    .decision(Decision::Alike),
            )
            .unwrap();
        let resemblance = Resemblance::new(&normaliser, &query, text);
        if resemblance.is_enough(&likeness)
            && characters_in_common(&normaliser, &query, text) >= 0.5
        {
            planted += 1;
            found_again += usize::from(ids(&found).contains(&id));
        }
        for found in &found {
            let stored = &texts[found.id.0 as usize];
            let measured = Resemblance::new(&normaliser, &query, stored);
            assert!(measured.is_enough(&likeness), "{query} / {stored}");
            assert_eq!(found.resemblance.jaccard, measured.jaccard);
            assert_eq!(found.resemblance.same_wording, measured.same_wording);
            let known = found.resemblance.edit_similarity;
            assert!(known.is_none() || known == measured.edit_similarity);
            others += usize::from(found.id.0 != id);
        }
        assert!(found.is_sorted_by(|a, b| {
            let key = |found: &Similar| {
                let resemblance = found.resemblance;
                (!resemblance.same_wording, -resemblance.score(), found.id)
            };
            key(a) <= key(b)
        }));
    }
    assert!(planted > 1_000, "{planted}");
    assert!(
        found_again * 100 >= planted * 98,
        "{found_again} of {planted}"
    );
    // Texts of random words are not similar.
    assert!(others < 30, "{others}");
}

#[test]
fn narrow_search_finds_no_other_documents_and_nearly_all_of_them() {
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(29);
    let originals = texts(&mut sequence, 300, 3..60);
    let mut all = originals.clone();
    // Texts that cover each other and have few common shingles.
    let with_articles = |text: &String| text.replace(' ', " the ");
    all.extend(originals.iter().take(50).map(with_articles));
    // A template whose texts say different things, more of them than a small node has, and edits of
    // all texts.
    let reports = (1000..1300).map(|n| format!("Annual report on the fisheries, chapter {n}"));
    all.extend(reports);
    for per_mille in [5, 20, 60] {
        all.extend(
            originals
                .iter()
                .map(|text| edited(&mut sequence, text, per_mille)),
        );
    }
    for part in inserts(&database, (0..).zip(&all)).chunks(1_000) {
        database.apply(part.to_vec()).unwrap();
    }
    let snapshot = database.snapshot().unwrap();
    let (mut wide_found, mut narrow_found) = (0, 0);
    for text in &all {
        let query = database.text_query(text).unwrap();
        let [wide, narrow] =
            [query.clone(), query.clone().narrow()].map(|query| snapshot.similar(&query).unwrap());
        assert!(narrow.iter().all(|found| wide.contains(found)), "{text}");
        wide_found += wide.len();
        narrow_found += narrow.len();
        // Thresholds need the candidates of a wide search.
        let alike = query.decision(Decision::Alike);
        let [wide, narrow] =
            [alike.clone(), alike.narrow()].map(|query| snapshot.similar(&query).unwrap());
        assert_eq!(wide, narrow, "{text}");
    }
    assert!(wide_found > all.len() * 5 / 4, "{wide_found}");
    assert!(
        narrow_found < wide_found && narrow_found * 100 > wide_found * 98,
        "{narrow_found} of {wide_found}"
    );
}

#[test]
fn equal_wording_is_always_found_first() {
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(2);
    let mut texts = texts(&mut sequence, 300, 1..21);
    let near: Vec<String> = texts
        .iter()
        .map(|text| edited(&mut sequence, text, 60))
        .collect();
    // The edited texts have the smaller ids.
    texts.extend(["好", "13800138000", "👍", "。", ""].map(str::to_owned));
    let numbered = (0..).zip(&near).chain((1_000..).zip(&texts));
    database.apply(inserts(&database, numbered)).unwrap();
    for (id, text) in (1_000..).zip(&texts) {
        for query in [text.clone(), text.to_uppercase()] {
            let found = similar(&database, &query);
            assert!(found[0].resemblance.same_wording, "{query}");
            let of_same: Vec<u64> = found
                .iter()
                .filter(|found| found.resemblance.same_wording)
                .map(|found| found.id.0)
                .collect();
            assert!(of_same.contains(&id), "{query}");
        }
        let dressed = format!("«{}»!", text.replace(' ', ",  "));
        if text.chars().any(char::is_alphanumeric) {
            let found = similar(&database, &dressed);
            assert!(found[0].resemblance.same_wording, "{dressed}");
        }
    }
}

#[test]
fn lightly_edited_long_text_without_spaces_is_found() {
    const LETTERS: u64 = 10_000;
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(30);
    for (id, first) in (0..).zip(['ก', 'ກ', 'က', 'ក', 'a']) {
        let mut letters = || -> String {
            let mut letter = || char::from_u32(first as u32 + sequence.below(26) as u32).unwrap();
            (0..LETTERS).map(|_| letter()).collect()
        };
        let (text, other) = (letters(), letters());
        test_support::insert_text(&database, id, &text);
        // Every hundredth letter is removed.
        let edited: String = (1..)
            .zip(text.chars())
            .filter_map(|(n, c)| (n % 100 > 0).then_some(c))
            .collect();
        let found = similar(&database, &edited);
        assert_eq!(ids(&found), [id], "{first}");
        let resemblance = found[0].resemblance;
        assert_eq!(resemblance.edit_similarity, None, "longer than is edited");
        assert!((0.6..0.9).contains(&resemblance.jaccard), "{resemblance:?}");
        assert_eq!(ids(&similar(&database, &other)), [0; 0], "{first}");
    }
}

// ---- uninformative texts ----

/// Uninformative texts, no two equal after normalisation.
fn uninformative_texts() -> Vec<(&'static str, Vec<String>)> {
    let many = |one: &dyn Fn(u64) -> String| (0..500).map(one).collect();
    let mut sequence = SplitMix(28);
    let mut rows = |words: &[&str], length: usize, between: &str| {
        let mut word = || words[sequence.below(words.len() as u64) as usize];
        let mut row = || {
            (0..length)
                .map(|_| word())
                .collect::<Vec<_>>()
                .join(between)
        };
        (0..60).map(|_| row()).collect()
    };
    vec![
        // By chance two of them have edit similarity 0.71, or all phrases in common.
        ("rows of two words", rows(&["yes", "no"], 120, " ")),
        ("rows of two letters", rows(&["x", "o"], 600, "")),
        ("tables", rows(&["0", "1", "2", "na"], 1500, " ")),
        ("tables of Han", rows(&["有", "无", "是", "否"], 1500, "，")),
        (
            "a phrase repeated",
            (3..60)
                .map(|i| "Click here! ".repeat(i))
                .chain((3..60).map(|i| "重要的事情说三遍。".repeat(i)))
                .collect(),
        ),
        (
            "one word",
            many(&|i| format!("Internationalisierung{}", to_letters(i))),
        ),
        ("digits", many(&|i| format!("{}", 13_800_138_000 + i))),
        (
            "dates",
            many(&|i| format!("2026-{:02}-{:02} 10:{:02}", i % 12, i % 28, i / 12)),
        ),
        ("punctuation", many(&|i| "!?".repeat(i as usize + 1))),
        ("emoji", many(&|i| "👍🎉".repeat(i as usize + 1))),
        (
            "a word repeated",
            (1..100)
                .map(|i| vec!["hello"; i].join(" "))
                .chain((1..80).map(|i| "哈".repeat(i)))
                .filter(|text| text.len() <= 240)
                .collect(),
        ),
        (
            "empty",
            vec![String::new(), " ".to_owned(), "\t\n".to_owned()],
        ),
    ]
}

fn to_letters(number: u64) -> String {
    let letter = |i: u32| char::from(b'a' + (number / 26_u64.pow(i) % 26) as u8);
    (0..2).map(letter).collect()
}

#[test]
fn uninformative_text_is_similar_to_equal_texts_only() {
    for (kind, texts) in uninformative_texts() {
        let folder = folder();
        let database = new_database(&folder);
        let numbered = (0..).zip(&texts);
        let changes: Vec<Change> = numbered
            .map(|(id, text)| unless_similar(&database, id, text))
            .collect();
        let half = changes.len() / 2;
        for part in [&changes[..half], &changes[half..]] {
            for outcome in database.apply(part.to_vec()).unwrap() {
                assert!(outcome.is_inserted(), "{kind}");
            }
        }
        assert_eq!(database.len().unwrap(), texts.len() as u64, "{kind}");
        // Equal texts are found both in the memtable and in the tables.
        for place in 0..2 {
            for (id, text) in (0..).zip(&texts).step_by(7) {
                let again = insert_unless_similar(&database, 1_000_000, text);
                let Outcome::Similar(like) = again else {
                    panic!("{kind} {place}: {text:?} is not found")
                };
                assert_eq!(like.id.0, id, "{kind}");
                assert!(like.resemblance.same_wording);
                assert_eq!(similar(&database, text).len(), 1, "{kind}: {text:?}");
            }
            database.merge().unwrap();
        }
    }
}

#[test]
fn prose_of_few_syllables_is_reliable_and_similar_if_edited() {
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(29);
    let texts: Vec<String> = (0..4).map(|_| few_syllables(&mut sequence)).collect();
    for (id, text) in (0..).zip(&texts) {
        assert!(database.fingerprint(text).unwrap().reliable);
        let stored = insert_unless_similar(&database, id, text);
        assert_eq!(stored, Outcome::Inserted { reliable: true });
        let edited = edited(&mut sequence, text, 20);
        let Outcome::Similar(like) = insert_unless_similar(&database, 1_000_000, &edited) else {
            panic!("{edited} is not found")
        };
        assert_eq!(like.id.0, id);
        assert!(!like.resemblance.same_wording);
    }
}

/// Some 6,000 letters of words with few syllables, as in Hawaiian; the common words are short.
fn few_syllables(sequence: &mut SplitMix) -> String {
    let (consonants, vowels) = (b"hklmnpw", b"aeiou");
    let word = |number: u64| {
        let mut rest = number + 1;
        let mut word = String::new();
        while rest > 0 {
            word.push(consonants[(rest % 7) as usize].into());
            word.push(vowels[(rest / 7 % 5) as usize].into());
            rest /= 35;
        }
        word
    };
    let mut draw = || {
        let most = sequence.below(3000) + 1;
        word(sequence.below(most))
    };
    (0..1200).map(|_| draw()).collect::<Vec<_>>().join(" ")
}

#[test]
fn uninformative_texts_are_no_duplicates_at_radius_3() {
    for (kind, texts) in uninformative_texts() {
        let folder = folder();
        let database = new_database(&folder);
        let mut kept = 0;
        for (id, text) in (0..).zip(texts.iter().step_by(5)) {
            let document = database.document(id, text).unwrap();
            let inserted = database.insert_unique(document, 3).unwrap();
            // A number or a word may be enough for a fingerprint; then only equal texts are near.
            if let Outcome::Duplicate(of) = inserted {
                panic!("{kind}: {text:?} is called a duplicate of {of:?}");
            }
            kept += 1;
        }
        assert_eq!(database.len().unwrap(), kept);
    }
}

// ---- concurrent inserts ----

#[test]
fn concurrent_inserts_of_similar_texts_store_one() {
    const THREADS: u64 = 16;
    const ROUNDS: u64 = 1_000;
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(4);
    // All texts of a round are similar: each is the first text with one word more.
    let rounds: Vec<Vec<String>> = (0..ROUNDS)
        .map(|_| {
            let first = text(&mut sequence, 14);
            let brought = |thread: u64| format!("{first} {}", WORDS[thread as usize]);
            (0..THREADS).map(brought).collect()
        })
        .collect();
    let barrier = Barrier::new(THREADS as usize);
    // A panicking thread would block the others at the barrier: catch the panic and report it
    // later.
    let kept: Vec<Vec<Result<bool, String>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (rounds, barrier, database) = (&rounds, &barrier, &database);
                scope.spawn(move || {
                    let insert = |(round, texts): (u64, &Vec<String>)| {
                        barrier.wait();
                        let id = round * THREADS + thread;
                        let text = &texts[thread as usize];
                        caught(|| match insert_unless_similar(database, id, text) {
                            Outcome::Inserted { .. } => true,
                            Outcome::Similar(like) => {
                                assert_eq!(like.id.0 / THREADS, round);
                                false
                            }
                            other => panic!("{other:?}"),
                        })
                    };
                    (0..).zip(rounds).map(insert).collect()
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.collect()
    });
    for round in 0..ROUNDS as usize {
        let kept = kept.iter().map(|kept| kept[round].clone());
        let kept: Result<Vec<bool>, String> = kept.collect();
        let count = kept.unwrap().into_iter().filter(|kept| *kept).count();
        assert_eq!(count, 1, "round {round}");
    }
    assert_eq!(database.len().unwrap(), ROUNDS);

    let path = database.path().to_path_buf();
    drop(database);
    let mut database = builder().open(path).unwrap();
    assert_sound(&mut database);
    for (round, texts) in (0..).zip(&rounds).step_by(10) {
        for text in texts.iter().step_by(5) {
            let found = similar(&database, text);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].id.0 / THREADS, round);
        }
    }
}

// ---- batches ----

const FERRY: &str = "The ferry to the islands was cancelled this morning due to heavy fog.";
const FERRIES: &str = "The ferries to the islands were cancelled this morning because of fog.";
const CAT: &str = "Three grey cats sat on the warm stove and would not be moved by anyone.";

/// The id of the document that caused a change to be refused.
fn refused_by(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Similar(like) => Some(like.id.0),
        _ => None,
    }
}

#[test]
fn change_in_batch_sees_earlier_changes() {
    for forest in [true, false] {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let database = builder()
            .keep_texts(true)
            .similar(forest)
            .create(path)
            .unwrap();
        // Without a forest only light edits are found.
        let ferries = match forest {
            true => FERRIES.to_owned(),
            false => FERRY.replace("this morning", "this  MORNING,"),
        };
        let change = |id, text: &str| unless_similar(&database, id, text);
        let put = |id, text: &str| Change::Upsert(database.document(DocId(id), text).unwrap());

        let outcomes = database
            .apply([change(1, FERRY), change(2, &ferries), change(3, CAT)])
            .unwrap();
        assert_eq!(outcomes[0], INSERTED, "{forest}");
        assert_eq!(refused_by(&outcomes[1]), Some(1));
        assert_eq!(outcomes[2], INSERTED);

        // A removed document, or one whose text was replaced, causes no refusal.
        let outcomes = database
            .apply([
                Change::Remove(DocId(1)),
                change(2, &ferries),
                put(3, FERRY),
                change(4, CAT),
                change(5, &ferries),
            ])
            .unwrap();
        assert!(matches!(outcomes[0], Outcome::Removed { .. }));
        assert_eq!(outcomes[1], INSERTED);
        assert!(matches!(outcomes[2], Outcome::Replaced { .. }));
        assert_eq!(outcomes[3], INSERTED);
        assert_eq!(refused_by(&outcomes[4]), Some(2));

        // Removed and inserted again in one batch.
        let outcomes = database
            .apply([
                Change::Remove(DocId(2)),
                Change::Remove(DocId(3)),
                Change::Remove(DocId(4)),
                change(6, CAT),
                put(4, CAT),
                Change::Remove(DocId(6)),
                change(7, CAT),
            ])
            .unwrap();
        assert_eq!(outcomes[3], INSERTED);
        assert_eq!(refused_by(&outcomes[6]), Some(4));
    }
}

#[test]
fn two_texts_with_one_id_are_decided_separately() {
    let folder = folder();
    let database = new_database(&folder);
    test_support::insert_text(&database, 1, FERRY);
    let change = |id, text: &str| unless_similar(&database, id, text);
    let outcomes = database
        .apply([change(2, CAT), change(2, FERRIES), change(3, FERRIES)])
        .unwrap();
    assert_eq!(outcomes[0], INSERTED);
    assert!(matches!(outcomes[1], Outcome::Exists { .. }));
    assert_eq!(refused_by(&outcomes[2]), Some(1));

    // The first change is refused because of its id; the second still searches for similar texts.
    let other = "A quiet train crossed the long bridge while nobody in town looked up.";
    let outcomes = database
        .apply([
            change(1, other),
            Change::Remove(DocId(1)),
            change(1, CAT),
            change(1, FERRIES),
        ])
        .unwrap();
    assert!(matches!(outcomes[0], Outcome::Exists { .. }));
    assert_eq!(refused_by(&outcomes[2]), Some(2));
    assert_eq!(outcomes[3], INSERTED);
}

#[test]
fn text_is_refused_until_all_similar_texts_are_removed() {
    let folder = folder();
    let database = new_database(&folder);
    let texts: Vec<String> = (0..40).map(|i| format!("{FERRY} {}", WORDS[i])).collect();
    database
        .apply(inserts(&database, (1..).zip(&texts)))
        .unwrap();
    let removals = |range: std::ops::RangeInclusive<u64>| {
        range
            .map(|id| Change::Remove(DocId(id)))
            .collect::<Vec<_>>()
    };
    let mut changes = removals(1..=39);
    changes.push(unless_similar(&database, 100, FERRY));
    changes.push(Change::Remove(DocId(40)));
    changes.push(unless_similar(&database, 101, FERRY));
    let outcomes = database.apply(changes).unwrap();
    assert_eq!(refused_by(&outcomes[39]), Some(40));
    assert_eq!(outcomes[41], INSERTED);
}

#[test]
fn new_text_is_refused_by_the_first_document_of_the_answer() {
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(3);
    let texts = texts(&mut sequence, 100, 4..24);
    let near = texts.iter().map(|text| edited(&mut sequence, text, 60));
    let mut stored: Vec<String> = near.collect();
    stored.extend(texts.iter().cloned());
    // Texts of equal letters that do not say the same.
    stored.push("The tool can open files of version 1.5 only".to_owned());
    // The first has the letters of a new text and another value. The second covers the new text.
    stored.push("Sales of the northern region grew by 15 last year".to_owned());
    stored.push(
        "Sales of the northern region grew by 15% last year. The director is glad.".to_owned(),
    );
    stored.push("好".to_owned());
    let all: Vec<(u64, &String)> = (1..).zip(&stored).collect();
    for part in all.chunks(60) {
        database
            .apply(inserts(&database, part.iter().copied()))
            .unwrap();
        if part[0].0 == 1 {
            database.merge().unwrap();
        }
    }
    let mut asked = stored.clone();
    asked.extend(
        texts
            .iter()
            .map(|text| format!("«{}»!", text.to_uppercase())),
    );
    asked.push("The tool can open files of version 15 only".to_owned());
    asked.push("Sales of the northern region grew by 15% last year".to_owned());
    asked.push(FERRY.to_owned());
    let (mut copies_first, mut inserted, mut others_named) = (0, 0, 0);
    for (rule, text) in [ALIKE, SimilarRule::default()]
        .into_iter()
        .flat_map(|rule| asked.iter().map(move |text| (rule, text)))
    {
        let query = database.text_query(text).unwrap().decision(rule.decision);
        let answer = database.snapshot().unwrap().similar(&query).unwrap();
        let new = DocId(1 << 40);
        let insert = || Change::InsertUnlessSimilar {
            document: database.document(new, text).unwrap(),
            rule,
        };
        let is_copy = |found: &&Similar| found.resemblance.same_wording;
        let outcome = database.apply_one(insert()).unwrap();
        let first = answer.first();
        // A search by what is said need not find all texts of another wording.
        let has_copy = answer.iter().any(|found| is_copy(&found));
        if rule == ALIKE || has_copy {
            assert_eq!(first, found_by(&outcome), "{text}");
        }
        let begins_with_copy = first.as_ref().is_some_and(is_copy);
        copies_first += u32::from(begins_with_copy);
        assert_eq!(has_copy, begins_with_copy, "{text}");
        inserted += u32::from(outcome.is_inserted());
        database.apply([Change::Remove(new)]).unwrap();
        // The copies are removed by the changes before.
        let copies: Vec<u64> = answer
            .iter()
            .filter(is_copy)
            .map(|copy| copy.id.0)
            .collect();
        let mut changes: Vec<Change> = copies.iter().map(|id| Change::Remove(DocId(*id))).collect();
        changes.push(insert());
        let outcome = database.apply(changes).unwrap().pop().unwrap();
        let other = answer.iter().find(|found| !is_copy(found));
        if rule == ALIKE {
            assert_eq!(other, found_by(&outcome), "{text}");
            others_named += u32::from(has_copy && other.is_some());
        }
        database.apply([Change::Remove(new)]).unwrap();
        let again = copies.iter().map(|id| (*id, &stored[*id as usize - 1]));
        database.apply(inserts(&database, again)).unwrap();
    }
    let counts = [copies_first, inserted, others_named];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// The document that refused a change.
fn found_by(outcome: &Outcome) -> Option<&Similar> {
    match outcome {
        Outcome::Similar(found) => Some(found),
        _ => None,
    }
}

#[test]
fn equal_fingerprint_with_unlike_text_hides_no_match() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().keep_texts(true).create(path).unwrap();
    let change = |id, text: &str| Change::InsertUnlessSimilar {
        document: Document {
            text: Some(text.to_owned()),
            ..Document::new(DocId(id), Fingerprint::from_bits(77))
        },
        rule: ALIKE,
    };
    let changes = [change(1, CAT), change(2, FERRY), change(3, FERRIES)];
    let outcomes = database.apply(changes).unwrap();
    assert_eq!(outcomes[1], INSERTED);
    assert_eq!(refused_by(&outcomes[2]), Some(2));
}

#[test]
fn expired_document_causes_no_refusal_and_a_live_one_does() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder()
        .similar(true)
        .retention(window(Duration::from_secs(100)))
        .create(path)
        .unwrap();
    let arriving = |id, text: &str, seconds| Change::InsertUnlessSimilar {
        document: Document {
            arrival: Some((UNIX_EPOCH + Duration::from_secs(seconds)).into()),
            ..database.document(DocId(id), text).unwrap()
        },
        rule: ALIKE,
    };
    for place in 0..2 {
        let (from, id) = (10_000 + 1_000 * place, 10 * place);
        let outcomes = database.apply([arriving(id + 1, FERRY, from)]).unwrap();
        assert_eq!(outcomes, [INSERTED]);
        if place == 1 {
            database.merge().unwrap();
        }
        let outcomes = database
            .apply([
                arriving(id + 2, FERRIES, from + 50),
                // From here on the first document is expired.
                arriving(id + 3, CAT, from + 150),
                arriving(id + 4, FERRIES, from + 150),
                arriving(id + 5, FERRY, from + 160),
            ])
            .unwrap();
        assert_eq!(refused_by(&outcomes[0]), Some(id + 1));
        assert_eq!(outcomes[1], INSERTED);
        assert_eq!(outcomes[2], INSERTED);
        assert_eq!(refused_by(&outcomes[3]), Some(id + 4));
        // A document of the same batch expires too.
        let outcomes = database
            .apply([
                arriving(id + 6, FERRIES, from + 400),
                arriving(id + 7, CAT, from + 600),
                arriving(id + 8, FERRY, from + 600),
            ])
            .unwrap();
        assert_eq!(outcomes, [INSERTED; 3]);
    }
}

#[test]
fn document_refreshed_in_transaction_refuses_text_of_next_apply() {
    let folder = folder();
    let retention = Retention {
        sliding: true,
        ..window(Duration::from_secs(100))
    };
    let database = builder()
        .similar(true)
        .retention(retention)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let arriving = |id, text: &str, seconds| Document {
        arrival: Some((UNIX_EPOCH + Duration::from_secs(seconds)).into()),
        ..database.document(DocId(id), text).unwrap()
    };
    let unless_similar = |id, text: &str, seconds| Change::InsertUnlessSimilar {
        document: arriving(id, text, seconds),
        rule: ALIKE,
    };
    let stored = database.insert(arriving(1, FERRY, 1_000)).unwrap();
    assert_eq!(stored, INSERTED);
    let mut transaction = database.begin().unwrap();
    let outcomes = transaction
        .apply([
            unless_similar(2, FERRIES, 1_090),
            // Without its refresh, document 1 is expired from here on. An insert searches nothing.
            Change::Insert(arriving(3, CAT, 1_150)),
        ])
        .unwrap();
    assert_eq!(refused_by(&outcomes[0]), Some(1));
    assert_eq!(outcomes[1], INSERTED);
    let outcome = transaction.apply_one(unless_similar(4, FERRIES, 1_160));
    assert_eq!(refused_by(&outcome.unwrap()), Some(1));
    transaction.commit().unwrap();
    assert_eq!(database.len().unwrap(), 2);
}

#[test]
fn transaction_of_any_size_decides_like_batches() {
    let folder = folder();
    let mut sequence = SplitMix(5);
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..3_000 {
        let edit = texts.is_empty() || sequence.below(3) > 0;
        let brought = match edit {
            true => text(&mut sequence, 9),
            false => {
                let place = sequence.below(texts.len() as u64) as usize;
                let earlier = texts[place].clone();
                edited(&mut sequence, &earlier, 40)
            }
        };
        texts.push(brought);
    }
    let decided = |name: &str, decide: &dyn Fn(&Database, Vec<Change>) -> Vec<Outcome>| {
        let path = folder.path().join(name);
        let database = builder().similar(true).create(path).unwrap();
        let numbered = (0..).zip(&texts);
        let changes = numbered.map(|(id, text)| unless_similar(&database, id, text));
        let outcomes = decide(&database, changes.collect());
        (outcomes, database.len().unwrap())
    };
    let at_once = decided("once.simdb", &|database, changes| {
        database.apply(changes).unwrap()
    });
    let parts = decided("parts.simdb", &|database, changes| {
        let apply = |part: &[Change]| database.apply(part.to_vec()).unwrap();
        changes.chunks(70).flat_map(apply).collect()
    });
    let small = decided("small.simdb", &|database, changes| {
        let mut transaction = database.begin().unwrap();
        let mut apply = |part: &[Change]| transaction.apply(part.to_vec()).unwrap();
        let outcomes = changes.chunks(700).flat_map(&mut apply).collect();
        transaction.commit().unwrap();
        outcomes
    });
    // Beyond 65,536 documents a transaction continues in the tables.
    let large = decided("large.simdb", &|database, changes| {
        let mut transaction = database.begin().unwrap();
        for from in [0_u64, 40_000] {
            let removals = (from..from + 40_000).map(|id| Change::Remove(DocId(1 << 40 | id)));
            transaction.apply(removals).unwrap();
        }
        let mut apply = |part: &[Change]| transaction.apply(part.to_vec()).unwrap();
        let outcomes = changes.chunks(700).flat_map(&mut apply).collect();
        transaction.commit().unwrap();
        outcomes
    });
    let refused = at_once
        .0
        .iter()
        .filter(|outcome| refused_by(outcome).is_some());
    assert!(refused.count() > 500);
    for other in [&parts, &small, &large] {
        assert_eq!(other.1, at_once.1);
        for (place, (one, other)) in at_once.0.iter().zip(&other.0).enumerate() {
            assert_eq!(one, other, "{place}: {}", texts[place]);
        }
    }
}

// ---- errors ----

#[test]
fn similar_search_without_stored_texts_is_an_error() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(path).unwrap();
    test_support::insert_text(&database, 1, FERRY);
    let snapshot = database.snapshot().unwrap();
    let query = database.text_query(FERRY).unwrap();
    assert!(matches!(
        snapshot.similar(&query),
        Err(Error::KeepsNoTexts { .. })
    ));
    assert!(matches!(
        database.insert_unless_similar(database.document(5, FERRY).unwrap(), ALIKE),
        Err(Error::KeepsNoTexts { .. })
    ));
    assert_eq!(database.len().unwrap(), 1);
}

#[test]
fn comparison_without_text_is_an_error() {
    let folder = folder();
    let database = new_database(&folder);
    let change = Change::InsertUnlessSimilar {
        document: Document::new(DocId(3), Fingerprint::from_bits(3)),
        rule: ALIKE,
    };
    assert!(matches!(
        database.apply([change.clone()]),
        Err(Error::TextMissing {
            id: DocRef::Id(DocId(3))
        })
    ));
    let mut transaction = database.begin().unwrap();
    assert!(matches!(
        transaction.apply([change]),
        Err(Error::TextMissing {
            id: DocRef::Id(DocId(3))
        })
    ));
    drop(transaction);
    assert!(database.is_empty().unwrap());
}

#[test]
fn query_obeys_likeness_radius_and_given_fingerprint() {
    let folder = folder();
    let database = new_database(&folder);
    test_support::insert_text(&database, 1, FERRY);
    let query = database
        .text_query(FERRIES)
        .unwrap()
        .decision(Decision::Alike);
    let snapshot = database.snapshot().unwrap();
    let ask = |query| ids(&snapshot.similar(&query).unwrap());
    let edit_similarity = edit_similarity(
        &Normaliser::new().letters(FERRIES),
        &Normaliser::new().letters(FERRY),
    );
    let jaccard = shingle_jaccard(FERRIES, FERRY, 3.try_into().unwrap());
    assert!(jaccard < 0.55 && edit_similarity < 0.99);
    let strict = Likeness {
        edit_similarity: 0.99,
        jaccard: 0.55,
    };
    assert_eq!(ask(query.clone()), [1]);
    assert!(ask(query.clone().likeness(strict)).is_empty());
    assert!(ask(query.clone().without_forest().radius(3)).is_empty());
    assert_eq!(ask(query.clone().without_forest().radius(64)), [1]);

    let stored = database.get(DocId(1)).unwrap().unwrap();
    let made = TextFingerprint {
        fingerprint: stored.fingerprint,
        reliable: true,
    };
    let query = query.with_fingerprint(made).without_forest().radius(0);
    assert_eq!(query.fingerprint(), Some(made));
    let found = snapshot.similar(&query).unwrap();
    assert_eq!(found[0].distance, Some(0));
}

// ---- boilerplate, memtable and tables, crashes ----

#[test]
fn shared_boilerplate_does_not_hide_near_duplicate() {
    let folder = folder();
    let database = new_database(&folder);
    let mut sequence = SplitMix(6);
    let boilerplate = "All rights reserved; read more about our terms and cookies below";
    let texts: Vec<String> = (0..5_000)
        .map(|_| format!("{} {boilerplate}", text(&mut sequence, 9)))
        .collect();
    for part in inserts(&database, (0..).zip(&texts)).chunks(2_500) {
        database.apply(part.to_vec()).unwrap();
    }
    database.merge().unwrap();
    let (mut asked, mut found_again) = (0, 0);
    // All share their minima.
    for (id, text) in (0..).zip(&texts).skip(4_000).step_by(25) {
        let query = edited(&mut sequence, text, 40);
        asked += 1;
        found_again += usize::from(ids(&similar(&database, &query)).contains(&id));
    }
    assert_eq!(found_again, asked);
}

/// Removed documents share the minima of others; the tables still list them.
#[test]
fn removed_documents_hide_no_match_with_their_minima() {
    const GONE: u64 = 20_000;
    let folder = folder();
    let database = new_database(&folder);
    let text = "ok".to_owned();
    let stored = (0..GONE).chain([30_000]).map(|id| (id, &text));
    database.apply(inserts(&database, stored)).unwrap();
    database.merge().unwrap();
    let removals = (0..GONE).map(|id| Change::Remove(DocId(id)));
    database.apply(removals).unwrap();
    let unmerged = || {
        database
            .snapshot()
            .unwrap()
            .stats()
            .unwrap()
            .unmerged_changes
    };
    assert_eq!(unmerged(), GONE);
    for is_merged in [false, true] {
        assert_eq!(unmerged() == 0, is_merged);
        assert_eq!(ids(&similar(&database, &text)), [30_000]);
        let change = unless_similar(&database, 40_000, &text);
        assert_eq!(
            refused_by(&database.apply([change]).unwrap()[0]),
            Some(30_000)
        );
        database.merge().unwrap();
    }
}

#[test]
fn expired_documents_hide_no_match_with_their_minima() {
    const GONE: u64 = 20_000;
    let folder = folder();
    let database = builder()
        .similar(true)
        .retention(window(Duration::from_secs(100)))
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let arriving = |id, text: &str, seconds| Document {
        arrival: Some((UNIX_EPOCH + Duration::from_secs(seconds)).into()),
        ..database.document(DocId(id), text).unwrap()
    };
    let old = (0..GONE).map(|id| Change::Insert(arriving(id, "ok", 10_000)));
    database.apply(old).unwrap();
    let changes = [
        arriving(30_000, "ok", 10_090),
        // With this arrival the old documents expire; few of them are removed.
        arriving(30_001, CAT, 10_150),
    ];
    database.merge().unwrap();
    database.apply(changes.map(Change::Insert)).unwrap();
    database.merge().unwrap();
    let stats = || database.snapshot().unwrap().stats().unwrap();
    for is_swept in [false, true] {
        assert_eq!(stats().expired == 0, is_swept);
        assert_eq!(ids(&similar(&database, "ok")), [30_000]);
        let change = Change::InsertUnlessSimilar {
            document: arriving(40_000, "ok", 10_150),
            rule: ALIKE,
        };
        assert_eq!(
            refused_by(&database.apply([change]).unwrap()[0]),
            Some(30_000)
        );
        let cutoff = UNIX_EPOCH + Duration::from_secs(10_050);
        database.prune(cutoff.into()).unwrap();
    }
}

#[test]
fn answers_do_not_depend_on_storage_state() {
    let folder = folder();
    let mut sequence = SplitMix(7);
    let texts: Vec<String> = (0..400).map(|_| text(&mut sequence, 10)).collect();
    let near: Vec<String> = texts
        .iter()
        .map(|text| edited(&mut sequence, text, 50))
        .collect();
    let queries: Vec<String> = texts
        .iter()
        .map(|text| edited(&mut sequence, text, 30))
        .collect();
    let answers = |database: &Database| -> Vec<Vec<Similar>> {
        queries
            .iter()
            .map(|query| similar(database, query))
            .collect()
    };

    let mut database = new_database(&folder);
    database
        .apply(inserts(&database, (0..).zip(&texts)))
        .unwrap();
    database.merge().unwrap();
    database
        .apply(inserts(&database, (1_000..).zip(&near)))
        .unwrap();
    // Some table rows are hidden by removals and replacements in the memtable.
    let mut changes: Vec<Change> = (0..40).map(|i| Change::Remove(DocId(i * 10))).collect();
    for id in (5..400).step_by(10) {
        let document = database.document(DocId(id), &near[id as usize]).unwrap();
        changes.push(Change::Upsert(document));
    }
    database.apply(changes).unwrap();

    let split = answers(&database);
    assert!(split.iter().filter(|found| found.len() >= 2).count() > 200);
    let copy = folder.path().join("crashed.simdb");
    copy_open(database.path(), &copy);
    assert_eq!(answers(&builder().open(copy).unwrap()), split);
    database.merge().unwrap();
    assert_eq!(answers(&database), split);
    assert_sound(&mut database);
    let path = database.path().to_path_buf();
    drop(database);
    assert_eq!(answers(&builder().open(&path).unwrap()), split);
    assert_eq!(answers(&builder().open_read_only(&path).unwrap()), split);
}
