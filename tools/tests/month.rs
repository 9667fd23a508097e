//! A month of a feed through `simdb-cli watch`, with bad times, items that come again, kills and a
//! full disk: each answer equals the answer of a model, and so does the file after each end.
//!
//! `SIMDB_TEST_MONTH` is the number of items, 20,000 by default.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use test_support::SplitMix;
use test_support::small_disk::SmallDisk;

/// Times are in milliseconds.
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const WINDOW: u64 = 2 * DAY;

/// An item of the feed.
#[derive(Clone)]
struct Item {
    id: u64,
    /// The story of the item. Fingerprints of two stories are far from each other.
    story: u64,
    bits: u64,
    /// The time as it is written, and the arrival; `None` if the time is bad.
    time: Value,
    arrival: Option<u64>,
}

impl Item {
    fn line(&self) -> String {
        json!({"id": self.id, "fp": format!("{:016x}", self.bits), "t": self.time}).to_string()
    }
}

/// The items of the month before `now`, in the order of a feed.
fn items(count: u64, now: u64) -> Vec<Item> {
    let mut random = SplitMix(7);
    let mut items: Vec<Item> = Vec::new();
    for id in 0..count {
        let time = now - 31 * DAY + id * (30 * DAY / count);
        let at = |arrival: u64| (json!(arrival), Some(arrival));
        let (time, arrival) = match random.next() % 100 {
            0 => at(time - 3 * DAY),
            1 => (json!(now + 3 * DAY), None),
            2 => (json!("yesterday evening"), None),
            // Local time that was written as UTC.
            3 => at(time + 20 * HOUR),
            4 => at(time - random.next() % (5 * HOUR)),
            _ => at(time),
        };
        let recent = |random: &mut SplitMix| {
            let back = 1 + random.next() % (count / 10).min(id);
            (id - back) as usize
        };
        let item = match random.next() % 100 {
            // An item that is polled again.
            0..8 if id > 0 => items[recent(&mut random)].clone(),
            // A copy with up to three other bits.
            8..30 if id > 0 => {
                let of = &items[recent(&mut random)];
                let other_bits =
                    (0..random.next() % 4).fold(0, |bits, _| bits | 1 << (random.next() % 64));
                let bits = story_bits(of.story) ^ other_bits;
                Item {
                    id,
                    story: of.story,
                    bits,
                    time,
                    arrival,
                }
            }
            _ => Item {
                id,
                story: id,
                bits: story_bits(id),
                time,
                arrival,
            },
        };
        items.push(item);
    }
    items
}

fn story_bits(story: u64) -> u64 {
    SplitMix(story).next()
}

/// The answer to an item.
#[derive(Debug, PartialEq)]
enum Answer {
    New,
    Duplicate { of: u64, distance: u64 },
    Exists { is_repeated: bool },
    Expired,
    Rejected,
}

impl Answer {
    fn of_json(answer: &Value) -> Self {
        let number = |name: &str| answer[name].as_u64().expect("a number");
        match answer["verdict"].as_str() {
            Some("new") => Self::New,
            Some("duplicate") => Self::Duplicate {
                of: number("of"),
                distance: number("distance"),
            },
            Some("exists") => Self::Exists {
                is_repeated: answer["repeated"] == json!(true),
            },
            Some("expired") => Self::Expired,
            Some("rejected") => Self::Rejected,
            _ => panic!("{answer}"),
        }
    }
}

/// The documents that the feed must have left.
#[derive(Default)]
struct Model {
    /// The item that is stored under each id, perhaps expired.
    stored: HashMap<u64, Item>,
    /// The ids of each story.
    stories: HashMap<u64, BTreeSet<u64>>,
    latest: u64,
}

impl Model {
    fn decide(&mut self, item: &Item) -> Answer {
        let Some(arrival) = item.arrival else {
            return Answer::Rejected;
        };
        let cutoff = self.latest.max(arrival) - WINDOW;
        let is_live = |stored: &&Item| stored.arrival.is_some_and(|arrival| arrival >= cutoff);
        if let Some(stored) = self.stored.get(&item.id).filter(is_live) {
            return Answer::Exists {
                is_repeated: stored.bits == item.bits,
            };
        }
        if arrival < cutoff {
            return Answer::Expired;
        }
        let story = self.stories.entry(item.story).or_default();
        let live = story.iter().map(|id| &self.stored[id]).filter(is_live);
        let distances =
            live.map(|stored| (u64::from((stored.bits ^ item.bits).count_ones()), stored.id));
        if let Some((distance, of)) = distances.min().filter(|(distance, _)| *distance <= 3) {
            return Answer::Duplicate { of, distance };
        }
        story.insert(item.id);
        self.stored.insert(item.id, item.clone());
        self.latest = self.latest.max(arrival);
        Answer::New
    }

    /// The ids of the documents that have not expired.
    fn ids(&self) -> BTreeSet<u64> {
        let cutoff = self.latest.saturating_sub(WINDOW);
        let is_live = |item: &&Item| item.arrival.is_some_and(|arrival| arrival >= cutoff);
        self.stored
            .values()
            .filter(is_live)
            .map(|item| item.id)
            .collect()
    }
}

/// The end of a run of `watch`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// The end of the input.
    Input,
    /// `kill -9` after this number of answers.
    Kill(usize),
    /// A full disk.
    FullDisk,
}

struct Month<'m> {
    folder: &'m Path,
    items: &'m [Item],
    model: Model,
    /// The number of items with an answer.
    answered: usize,
}

impl Month<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simdb-cli"));
        command.args(arguments).current_dir(self.folder);
        command
    }

    /// Feeds items up to number `to`, and compares their answers.
    fn run(&mut self, to: usize, end: End) {
        let arguments = [
            "watch",
            "a.simdb",
            "--create",
            "--retention",
            "2d",
            "--unique",
            "3",
            "--fingerprint",
            "fp",
            "--time",
            "t",
            "--on-error",
            "skip",
        ];
        let mut command = self.command(&arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut watch = command.spawn().expect("it starts");
        let lines: String = self.items[self.answered..to]
            .iter()
            .map(|item| item.line() + "\n")
            .collect();
        let mut input = watch.stdin.take().expect("a pipe");
        let is_killed = matches!(end, End::Kill(_));
        let feeder = std::thread::spawn(move || {
            match input.write_all(lines.as_bytes()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
                _ => {}
            }
            // A program whose input ends may end before it is killed.
            is_killed.then_some(input)
        });
        let before = self.answered;
        for line in BufReader::new(watch.stdout.take().expect("a pipe")).lines() {
            // A killed program may leave the start of an answer.
            let Ok(answer) = serde_json::from_str(&line.expect("a line")) else {
                break;
            };
            let item = &self.items[self.answered];
            assert_eq!(
                Answer::of_json(&answer),
                self.model.decide(item),
                "item {}: {}",
                self.answered,
                item.line()
            );
            self.answered += 1;
            if end == End::Kill(self.answered - before) {
                watch.kill().expect("it runs");
            }
        }
        drop(feeder.join().expect("all lines are fed"));
        self.check_end(watch, to, end);
    }

    /// Compares the file with the model. Items that were stored without an answer follow the
    /// answered ones without a gap.
    fn check_end(&mut self, watch: Child, to: usize, end: End) {
        let ended = watch.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&ended.stderr);
        match end {
            End::Input => assert!(ended.status.success() && self.answered == to, "{text}"),
            End::Kill(_) => assert_eq!(ended.status.code(), None, "{text}"),
            End::FullDisk => {
                assert_eq!(ended.status.code(), Some(2), "{text}");
                assert!(
                    text.contains("No space left") && self.answered < to,
                    "{text}"
                );
                fs::remove_file(self.folder.join("ballast")).expect("a file");
            }
        }
        let exported = self
            .command(&["export", "a.simdb"])
            .output()
            .expect("it runs");
        assert!(
            exported.status.success(),
            "{}",
            String::from_utf8_lossy(&exported.stderr)
        );
        let ids = String::from_utf8_lossy(&exported.stdout);
        let id = |line: &str| serde_json::from_str::<Value>(line).ok()?["id"].as_u64();
        let found: BTreeSet<u64> = ids.lines().map(|line| id(line).expect("an id")).collect();
        let known = self.model.ids();
        let mut missing: BTreeSet<u64> = found.difference(&known).copied().collect();
        let mut unanswered = self.items[self.answered..to].iter();
        while !missing.is_empty() {
            let next = unanswered.next().expect("the file has items of the feed");
            self.model.decide(next);
            missing.remove(&next.id);
        }
        assert_eq!(self.model.ids(), found);
    }

    /// Leaves some hundred kilobytes of the disk.
    fn fill_disk(&self) {
        let mut ballast = fs::File::create(self.folder.join("ballast")).expect("a file");
        while ballast.write_all(&[7; 4096]).is_ok() {}
        let length = ballast.metadata().expect("a file").len();
        ballast
            .set_len(length.saturating_sub(300 << 10))
            .expect("a shorter file");
    }
}

#[test]
fn every_answer_of_a_month_equals_the_model() {
    let setting = std::env::var("SIMDB_TEST_MONTH").ok();
    let count = setting.map_or(20_000, |count| count.parse().expect("a number of items"));
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_millis() as u64;
    let items = items(count, now);
    let disk = SmallDisk::new("400m");
    let folder = tempfile::tempdir().expect("a folder");
    let mut month = Month {
        folder: disk.as_ref().map_or(folder.path(), SmallDisk::path),
        items: &items,
        model: Model::default(),
        answered: 0,
    };
    let mut random = SplitMix(11);
    let part = items.len() / 20;
    let mut may_fill = disk.is_some();
    for number in 1..=20 {
        let to = number * part;
        // Items without an answer are fed again.
        while month.answered < to {
            let left = to - month.answered;
            let end = match number {
                10 if may_fill => {
                    may_fill = false;
                    month.fill_disk();
                    End::FullDisk
                }
                _ if random.next().is_multiple_of(2) => {
                    End::Kill(1 + random.next() as usize % left)
                }
                _ => End::Input,
            };
            month.run(to, end);
        }
    }
    assert!(month.model.ids().len() as u64 > count / 50);
}
