//! The speed of each recipe in documents and bytes per second, beside the segmentation of the same
//! text.
//!
//! `cargo bench --bench fingerprint`. The corpora are the Chinese and the English texts of
//! `tests/data/quotes_and_news.jsonl`, or random texts of common words if the file is missing. The
//! baseline is `Jieba::cut` with its model, in turns with the recipes, so that other load of the
//! machine slows all alike. Each row is the best of several turns, first on one thread, then on all
//! threads. The CPU time, summed over all threads, suffers least from other load.
//!
//! The bench fails if a checksum of the fingerprints differs from the checksum of the plain merge
//! of the features, in any turn and on any number of threads.

use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use bench_support::timing::{cpu_timed, timed};
use jieba_rs::Jieba;
use simdb::{Fingerprinter, Recipe};

const CORPUS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/quotes_and_news.jsonl"
);

/// The dictionary of the recipes.
const DICTIONARY: &[u8] = include_bytes!("../src/text/jieba_dictionary.txt.zst");

/// Turns per contender. The best turn counts, since other load only adds time.
const TURNS: usize = 7;

/// A corpus is repeated to at least 4 MiB, so that a turn is long enough to measure.
const MIN_CORPUS_BYTES: usize = 4 << 20;

/// The shortest elapsed time and the least CPU time of several turns.
struct Best([Duration; 2]);

impl Best {
    fn new() -> Self {
        Self([Duration::MAX; 2])
    }

    /// Measures one more turn, and returns its result.
    fn turn<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let ((result, cpu), elapsed) = timed(|| cpu_timed(work));
        let Self([best_elapsed, best_cpu]) = self;
        *best_elapsed = elapsed.min(*best_elapsed);
        *best_cpu = cpu.min(*best_cpu);
        result
    }
}

struct Corpus {
    name: String,
    texts: Vec<String>,
    bytes: usize,
}

fn main() {
    let dictionary = zstd::decode_all(DICTIONARY).expect("valid zstd");
    let jieba = Jieba::with_dict(&mut &dictionary[..]).expect("a dictionary");
    let recipes = Recipe::all().into_iter().filter(Recipe::takes_texts);
    let fingerprinters: Vec<_> = recipes.map(Fingerprinter::new).collect();
    for lang in ["zh", "en"] {
        let corpus = Corpus::read(lang).unwrap_or_else(|| Corpus::drawn(lang));
        compare(&corpus, &jieba, &fingerprinters).expect("standard output is open");
    }
}

/// Measures all recipes on a corpus and prints the table.
fn compare(
    corpus: &Corpus,
    jieba: &Jieba,
    fingerprinters: &[Fingerprinter],
) -> std::io::Result<()> {
    let expected: Vec<u64> = fingerprinters
        .iter()
        .map(|f| plain_checksum(f, corpus))
        .collect();
    let mut cut = Best::new();
    let mut of_recipes: Vec<Best> = fingerprinters.iter().map(|_| Best::new()).collect();
    for _ in 0..TURNS {
        cut.turn(|| {
            for text in &corpus.texts {
                black_box(jieba.cut(black_box(text), true));
            }
        });
        for (i, fingerprinter) in fingerprinters.iter().enumerate() {
            let found = of_recipes[i].turn(|| checksum(fingerprinter, &corpus.texts));
            assert_eq!(
                found,
                expected[i],
                "{} gave other fingerprints",
                fingerprinter.recipe()
            );
        }
    }

    let mut out = std::io::stdout().lock();
    let (name, count) = (&corpus.name, corpus.texts.len());
    writeln!(
        out,
        "{name}: {count} documents, {:.1} MB",
        corpus.bytes as f64 / 1e6
    )?;
    writeln!(
        out,
        "{:24} {:>12} {:>8} {:>8} {:>8}",
        "", "documents/s", "MB/s", "of cut", "CPU"
    )?;
    let mut row = |label: &str, Best(best): &Best| {
        let [seconds, cpu] = best.map(|time| time.as_secs_f64());
        let (documents, megabytes) = (count as f64 / seconds, corpus.bytes as f64 / 1e6 / seconds);
        let ratio = cut.0[0].as_secs_f64() / seconds;
        writeln!(
            out,
            "{label:24} {documents:>12.0} {megabytes:>8.1} {ratio:>7.2}× {:>5.0} ms",
            cpu * 1e3
        )
    };
    row("Jieba::cut", &cut)?;
    for (fingerprinter, best) in fingerprinters.iter().zip(&of_recipes) {
        row(&fingerprinter.recipe().to_string(), best)?;
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (i, fingerprinter) in fingerprinters.iter().enumerate() {
        let best = on_all_threads(fingerprinter, corpus, threads, expected[i]);
        row(
            &format!("{}, {threads} threads", fingerprinter.recipe()),
            &best,
        )?;
    }
    writeln!(out)
}

/// A checksum of the fingerprints in order. Rotation makes it depend on the order.
fn checksum(fingerprinter: &Fingerprinter, texts: &[String]) -> u64 {
    let fingerprints = texts
        .iter()
        .map(|text| fingerprinter.fingerprint(text).expect("it takes texts"))
        .map(|made| made.fingerprint.bits());
    fingerprints.fold(0, |sum, bits| sum.rotate_left(1) ^ bits)
}

/// The [`checksum`] of the fingerprints by their definition: the plain merge of the features.
fn plain_checksum(fingerprinter: &Fingerprinter, corpus: &Corpus) -> u64 {
    let plain = |text: &String| {
        let features = fingerprinter.features(text).expect("it takes texts");
        let features: Vec<_> = features.iter().map(|f| (f.hash, f.weight)).collect();
        let made = fingerprinter.fingerprint_hashes(&features);
        made.expect("these are weights").fingerprint.bits()
    };
    corpus
        .texts
        .iter()
        .fold(0, |sum, text| sum.rotate_left(1) ^ plain(text))
}

/// The best turn, with threads that share the texts.
fn on_all_threads(
    fingerprinter: &Fingerprinter,
    corpus: &Corpus,
    threads: usize,
    expected: u64,
) -> Best {
    let mut best = Best::new();
    for _ in 0..TURNS {
        let share = corpus.texts.len().div_ceil(threads);
        let work = || {
            std::thread::scope(|scope| {
                let shares = corpus.texts.chunks(share);
                let workers = shares.map(|texts| {
                    scope.spawn(move || (texts.len(), checksum(fingerprinter, texts)))
                });
                let workers: Vec<_> = workers.collect();
                let sums = workers
                    .into_iter()
                    .map(|worker| worker.join().expect("no text panics"));
                sums.collect::<Vec<(usize, u64)>>()
            })
        };
        let sums = best.turn(work);
        // As by one thread: the checksum so far is rotated once per text of the next share.
        let joined = sums.iter().fold(0_u64, |all, (len, sum)| {
            all.rotate_left((len % 64) as u32) ^ sum
        });
        assert_eq!(joined, expected, "threads gave other fingerprints");
    }
    best
}

impl Corpus {
    /// The texts of one language in the corpus file.
    fn read(lang: &str) -> Option<Self> {
        let file = std::fs::read_to_string(CORPUS).ok()?;
        let rows = file.lines().map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("a line is a JSON object")
        });
        let texts = rows
            .filter(|row| row["lang"] == lang)
            .map(|row| row["text"].as_str().expect("a text is a string").to_owned());
        Some(Self::repeated(
            format!("{lang} of quotes_and_news.jsonl"),
            texts.collect(),
        ))
    }

    /// Random texts of 10 to 300 words, the same in every run.
    fn drawn(lang: &str) -> Self {
        let words: Vec<&str> = match lang {
            "zh" => "我们 海量 数据 相似度 计算 文本 的 距离 去重 网页 系统 用户 可以 ， 。 算法 问题 北京 \
                     发展 经济 了 在 是 新闻 记者 报道 昨天 市场 公司 技术 研究 科学 ： 人类 历史"
                .split(' ')
                .collect(),
            _ => "we large scale data similarity of text the distance web page system user can algorithm \
                  problem Beijing economy market company, technology research science. human history was"
                .split(' ')
                .collect(),
        };
        let gap = if lang == "zh" { "" } else { " " };
        let mut state = 20_020_519_u64;
        let mut draw = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        let texts = (0..5000).map(|_| {
            let length = 10 + draw(290);
            (0..length)
                .map(|_| words[draw(words.len())])
                .collect::<Vec<_>>()
                .join(gap)
        });
        Self::repeated(
            format!("{lang} drawn from {} words", words.len()),
            texts.collect(),
        )
    }

    fn repeated(name: String, texts: Vec<String>) -> Self {
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(bytes > 0, "the corpus {name} has no text");
        let times = MIN_CORPUS_BYTES.div_ceil(bytes);
        let texts = vec![texts; times].concat();
        Self {
            name,
            texts,
            bytes: bytes * times,
        }
    }
}
