//! Passages without information: stamps, counters, bylines, marks of truncation.
//!
//! A passage is recognised by its form and by its place: a line of its own at the head or the tail
//! of a text, or the very end. The same words within a sentence are words.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use super::lexicon::{Class, Lexicon};
use crate::text::{is_cjk, table_lines};

const TABLE: &str = include_str!("stamps.txt");

/// At most eight passages at each end of a text.
const MAX_PASSAGES: usize = 8;

/// A longer line or sentence has information of its own. Two CJK characters count as a word.
const MAX_FRAME_WORDS: usize = 24;

/// A notice, such as a disclaimer, begins with its title.
const MAX_NOTICE_WORDS: usize = 80;

/// A trail of pages has at most 12 words.
const MAX_TRAIL_WORDS: usize = 12;

/// Longer lines and sentences are not looked at.
pub(crate) const MAX_UNIT_BYTES: usize = 512;

/// A menu has at least four pages; a line of fewer cells is a row of a table.
const MIN_MENU_PAGES: usize = 4;

/// The letters of the names in a credit.
const MAX_CREDIT_LETTERS: usize = 24;

/// The name of a site has at most five words, or ten letters in Chinese.
const MAX_SITE_WORDS: usize = 5;
const MAX_SITE_LETTERS: usize = 10;

/// The fewest words of a headline before the name of a site, and the fewest CJK characters.
const MIN_HEADLINE_WORDS: usize = 4;
const MIN_HEADLINE_LETTERS: usize = 8;

/// A longer line of names is no byline.
const MAX_BYLINE_WORDS: usize = 7;

/// The titles in credits without a colon: （记者张华）.
const REPORTERS: [&str; 5] = ["记者", "記者", "摄影", "通讯员", "责编"];

/// A longer line is a sentence.
const MAX_STAMP_WORDS: usize = 16;

/// The wording of the passages, from the table `stamps.txt`.
#[derive(Default)]
struct Wording {
    words: HashSet<&'static str, FixedState>,
    keys: HashSet<&'static str, FixedState>,
    phrases: Vec<&'static str>,
    truncations: Vec<&'static str>,
    reposts: Vec<&'static str>,
    credits: Vec<&'static str>,
    agencies: Vec<&'static str>,
    frames: Vec<&'static str>,
    notices: Vec<&'static str>,
    lines: HashSet<&'static str, FixedState>,
    units: Vec<&'static str>,
    wires: HashSet<&'static str, FixedState>,
    sites: HashSet<&'static str, FixedState>,
    papers: HashSet<&'static str, FixedState>,
    stations: HashSet<&'static str, FixedState>,
    links: HashSet<&'static str, FixedState>,
    endings: Vec<&'static str>,
}

impl Wording {
    /// The table of this version of the crate.
    fn builtin() -> &'static Self {
        static WORDING: OnceLock<Wording> = OnceLock::new();
        WORDING.get_or_init(|| Self::parse(TABLE))
    }

    fn parse(table: &'static str) -> Self {
        let mut wording = Self::default();
        for (class, entries) in table_lines(table).filter_map(|line| line.split_once(": ")) {
            let entries = entries.split(", ");
            match class {
                "word" => wording.words.extend(entries),
                "key" => wording.keys.extend(entries),
                "phrase" => wording.phrases.extend(entries),
                "truncation" => wording.truncations.extend(entries),
                "repost" => wording.reposts.extend(entries),
                "credit" => wording.credits.extend(entries),
                "agency" => wording.agencies.extend(entries),
                "frame" => wording.frames.extend(entries),
                "notice" => wording.notices.extend(entries),
                "line" => wording.lines.extend(entries),
                "unit" => wording.units.extend(entries),
                "wire" => wording.wires.extend(entries),
                "site" => wording.sites.extend(entries),
                "link" => wording.links.extend(entries),
                "station" => wording.stations.extend(entries),
                "paper" => wording.papers.extend(entries),
                "ending" => wording.endings.extend(entries),
                _ => {}
            }
        }
        // The end of a longer mark may be a mark.
        wording
            .truncations
            .sort_by_key(|mark| std::cmp::Reverse(mark.len()));
        wording
    }
}

/// The passages of a text that carry no information, and `true` if the text is cut short at its
/// end.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// The bytes of the passages that are left out, ascending.
    pub ranges: Vec<Range<usize>>,
    /// The bytes of lines and sentences about the page. They may be absent, and are not exchanged.
    pub frames: Vec<Range<usize>>,
    /// The bytes of learned frames, the frames at the head first.
    pub learned: Vec<Range<usize>>,
    pub is_truncated: bool,
}

/// Returns `true` for a learned frame.
type IsLearned<'l> = &'l dyn Fn(&str) -> bool;

impl Stamps {
    pub fn of(text: &str) -> Self {
        Self::with_frames(text, &|_| false)
    }

    /// The passages of a text. Also a line or a sentence that `is_learned` accepts is a passage.
    pub fn with_frames(text: &str, is_learned: IsLearned<'_>) -> Self {
        let mut stamps = Self::default();
        let mut body = Body {
            text,
            range: 0..text.len(),
        };
        body.trim();
        for _ in 0..MAX_PASSAGES {
            let before = body.range.clone();
            stamps.cut_head(&mut body, is_learned);
            stamps.cut_tail(&mut body, is_learned);
            if body.range == before {
                break;
            }
        }
        // A text of such passages alone is about them.
        if body.range.is_empty() {
            return Self::default();
        }
        let headline = body.text().lines().next().unwrap_or_default();
        if let Some(at) = site(headline) {
            let start = body.range.start;
            stamps.push(start + at..start + headline.len(), true);
        }
        stamps.ranges.sort_by_key(|range| range.start);
        stamps
    }

    /// Returns `true` if a position is in a line or a sentence about the page.
    pub fn is_in_frame(&self, at: usize) -> bool {
        self.frames.iter().any(|range| range.contains(&at))
    }

    fn cut_head(&mut self, body: &mut Body<'_>, is_learned: IsLearned<'_>) {
        let head = body.text();
        let (unit, line) = first_unit(head);
        if unit.is_some_and(|end| is_learned(&head[..end])) {
            return self.cut_learned(body, 0..unit.unwrap_or(0));
        }
        let frame = unit.filter(|end| is_frame(&head[..*end], *end == line));
        let stamp = || (line > 0 && is_stamp(&head[..line])).then_some(line);
        let marks = || repost(head).or(dateline(head)).or(agency_line(head));
        let length = frame.or_else(stamp).or_else(marks).unwrap_or(0);
        if length > 0 {
            let start = body.range.start;
            self.push(start..start + length, frame.is_some());
            body.range.start += length;
            body.trim();
        }
    }

    fn push(&mut self, passage: Range<usize>, is_frame: bool) {
        match is_frame {
            true => self.frames.push(passage),
            false => self.ranges.push(passage),
        }
    }

    /// Cuts bytes of the body, at its head or its tail, that are a learned frame.
    fn cut_learned(&mut self, body: &mut Body<'_>, unit: Range<usize>) {
        let Range { start, end } = body.range.clone();
        self.learned.push(start + unit.start..start + unit.end);
        body.range = match unit.start {
            0 => start + unit.end..end,
            tail => start..start + tail,
        };
        body.trim();
    }

    fn cut_tail(&mut self, body: &mut Body<'_>, is_learned: IsLearned<'_>) {
        let tail = body.text();
        let (unit, line) = last_unit(tail);
        if unit > 0 && is_learned(&tail[unit..]) {
            return self.cut_learned(body, unit..tail.len());
        }
        let frame = (unit > 0 && is_frame(&tail[unit..], unit == line)).then_some(unit);
        let frame = frame.or_else(|| hashtag(tail));
        let stamp = || (line > 0 && is_stamp(&tail[line..])).then_some(line);
        let start = match frame.or_else(stamp) {
            Some(at) => at,
            None => match truncation(tail).or_else(|| rest_note(tail)) {
                Some(at) => {
                    self.is_truncated = true;
                    at
                }
                None => credit(tail)
                    .or_else(|| short_link(tail))
                    .unwrap_or(tail.len()),
            },
        };
        self.is_truncated |= has_ellipsis(tail);
        if start < tail.len() {
            self.push(body.range.start + start..body.range.end, frame.is_some());
            body.range.end = body.range.start + start;
            body.trim();
            let rest = body.text().trim_end_matches(['[', ' ', '\n']);
            self.is_truncated |= has_ellipsis(rest);
        }
    }
}

/// A text without the passages at its ends.
struct Body<'t> {
    text: &'t str,
    range: Range<usize>,
}

impl<'t> Body<'t> {
    fn text(&self) -> &'t str {
        &self.text[self.range.clone()]
    }

    fn trim(&mut self) {
        let text = self.text();
        self.range.end = self.range.start + text.trim_end().len();
        self.range.start += text.len() - text.trim_start().len();
        self.range.start = self.range.start.min(self.range.end);
    }
}

/// Returns `true` for a short line or sentence with a phrase of the frame of a page.
///
/// A sentence within a line begins with the phrase, or half of it is the phrase.
fn is_frame(unit: &str, is_line: bool) -> bool {
    let words = unit.split_whitespace().count() + unit.chars().filter(|c| is_cjk(*c)).count() / 2;
    if unit.len() > MAX_UNIT_BYTES || words > MAX_NOTICE_WORDS {
        return false;
    }
    let lower = unit.to_lowercase().replace('’', "'");
    let sentence = lower.trim();
    let has_phrase = || {
        let mut phrases = Wording::builtin().frames.iter();
        phrases.any(|phrase| {
            let is_most = is_line || 2 * phrase.len() >= sentence.len();
            sentence.starts_with(phrase) || is_most && sentence.contains(phrase)
        })
    };
    words <= MAX_FRAME_WORDS && (has_phrase() || is_trail(&lower))
        || is_line && is_byline(unit)
        || Wording::builtin().lines.contains(lower.trim())
        || (Wording::builtin().notices.iter()).any(|notice| lower.trim_start().starts_with(notice))
}

/// Returns `true` for the names of the writers of a text: "By Ann Lee and Bo Li", 新华社记者 李明 摄.
fn is_byline(line: &str) -> bool {
    let line = line.trim();
    let is_name = |word: &str| word == "and" || word.starts_with(char::is_uppercase);
    let of_writers = line.strip_prefix("By ").is_some_and(|names| {
        names.split(' ').all(is_name) && (2..=MAX_BYLINE_WORDS).contains(&names.split(' ').count())
    });
    let of_picture =
        line.ends_with('摄') && line.contains("记者") && line.chars().count() <= MAX_CREDIT_LETTERS;
    of_writers || of_picture
}

/// Returns `true` for the way to a page, "Home > News > Article", and for the menu of a site.
fn is_trail(unit: &str) -> bool {
    let is_menu = unit.contains('|');
    let pages = || unit.split(['>', '»', '›', '|']);
    let has_words = |page: &str| page.contains(char::is_alphabetic);
    let first = pages().next().unwrap_or_default().trim();
    let is_site = match is_menu {
        true => matches!(first, "home" | "首页" | "首頁" | "主页"),
        false => Wording::builtin().sites.contains(first),
    };
    pages().count() >= if is_menu { MIN_MENU_PAGES } else { 3 }
        && is_site
        && pages().all(has_words)
        && unit
            .split_whitespace()
            .filter(|word| has_words(word))
            .count()
            <= MAX_TRAIL_WORDS
        && !unit.contains(|c: char| c.is_numeric() || matches!(c, '=' | '<' | '(' | '.'))
}

/// The end of the first line or sentence of a text, and the end of the first line; `None` and 0 for
/// a text of one line or sentence.
fn first_unit(text: &str) -> (Option<usize>, usize) {
    let line = text.find('\n').map_or(0, |end| end + 1);
    let sentence = end_of_first_sentence(text);
    let unit = [line, sentence].into_iter().filter(|end| *end > 0).min();
    (unit, line)
}

/// The start of the last line or sentence of a text, and the start of the last line; 0 for a text
/// of one line or sentence.
fn last_unit(text: &str) -> (usize, usize) {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    (line.max(start_of_last_sentence(text)), line)
}

/// The lines and sentences at the head and the tail of a text, at most eight at each end, without
/// white space around them.
pub(crate) fn end_units(text: &str) -> Vec<&str> {
    let mut body = text.trim();
    let mut units = Vec::new();
    for _ in 0..MAX_PASSAGES {
        let Some(end) = first_unit(body).0 else {
            break;
        };
        units.push(body[..end].trim());
        body = body[end..].trim();
    }
    for _ in 0..MAX_PASSAGES {
        let (start, _) = last_unit(body);
        units.push(body[start..].trim());
        body = body[..start].trim();
        if body.is_empty() {
            break;
        }
    }
    units
}

/// The end of a character that ends a sentence; `None` for other characters.
fn end_of_sentence(text: &str, at: usize, c: char) -> Option<usize> {
    let end = at + c.len_utf8();
    let is_end = matches!(c, '。' | '！' | '？')
        || matches!(c, '.' | '!' | '?') && text[end..].starts_with(char::is_whitespace);
    is_end.then_some(end)
}

/// The end of the first sentence; 0 for a text of one sentence.
fn end_of_first_sentence(text: &str) -> usize {
    let head = &text[..floor(text, MAX_UNIT_BYTES)];
    let mut chars = head.char_indices();
    let end = chars.find_map(|(at, c)| end_of_sentence(head, at, c));
    end.filter(|end| *end < text.len()).unwrap_or(0)
}

/// The start of the last sentence; 0 for a text of one sentence.
fn start_of_last_sentence(text: &str) -> usize {
    let from = floor(text, text.len().saturating_sub(MAX_UNIT_BYTES));
    let tail = &text[from..];
    let mut ends = (tail.char_indices().rev()).filter_map(|(at, c)| end_of_sentence(tail, at, c));
    let end = ends.find(|end| !tail[*end..].trim().is_empty());
    end.map_or(0, |end| from + end)
}

/// The length of the mark of a repeated text at the head: "RT @name:", 转发微博：
fn repost(head: &str) -> Option<usize> {
    let mark = (Wording::builtin().reposts.iter()).find(|mark| head.starts_with(**mark));
    if let Some(mark) = mark {
        return Some(mark.len());
    }
    if let Some(length) = edition(head) {
        return Some(length);
    }
    if !head.starts_with("RT @") && !head.starts_with("//@") {
        return None;
    }
    let head = &head[..floor(head, 64)];
    let end = head.find([':', '：'])?;
    Some(end + head[end..].chars().next().map_or(0, char::len_utf8))
}

/// The length of the mark of another edition of a report: "UPDATE 2-".
fn edition(head: &str) -> Option<usize> {
    let mut marks = ["UPDATE ", "WRAPUP ", "REFILE", "CORRECTED"].into_iter();
    let rest = marks.find_map(|mark| head.strip_prefix(mark))?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with('-').then(|| head.len() - rest.len() + 1)
}

/// The start of the name of a site behind a headline: " | The Daily Post", _新浪新闻.
fn site(line: &str) -> Option<usize> {
    if line.len() > MAX_UNIT_BYTES {
        return None;
    }
    let separators = [" | ", " - ", " – ", " — ", "_", "｜", "-"];
    let found = separators
        .into_iter()
        .filter_map(|separator| Some((line.rfind(separator)?, separator)));
    let (at, separator) = found.max_by_key(|(at, separator)| at + separator.len())?;
    let (headline, name) = (&line[..at], &line[at + separator.len()..]);
    let wording = Wording::builtin();
    let is_site = match name.chars().any(is_cjk) {
        true => {
            name.chars().count() <= MAX_SITE_LETTERS
                && wording.endings.iter().any(|ending| name.ends_with(ending))
        }
        false => {
            let mut words = name.split(' ');
            let is_name = |word: &str| word.starts_with(|c: char| c.is_uppercase());
            separator.len() > 1
                && words.clone().count() <= MAX_SITE_WORDS
                && words
                    .clone()
                    .all(|word| is_name(word) || matches!(word, "of" | "the"))
                && (words.next_back()).is_some_and(|word| {
                    let word = word.to_lowercase();
                    wording.stations.contains(&*word)
                        || wording.papers.contains(&*word) && words.next().is_some()
                })
        }
    };
    let is_headline = headline.split(' ').count() >= MIN_HEADLINE_WORDS
        || headline.chars().filter(|c| is_cjk(*c)).count() >= MIN_HEADLINE_LETTERS;
    (is_site && is_headline).then_some(at)
}

/// The start of a short link at the tail.
fn short_link(tail: &str) -> Option<usize> {
    let at = tail.trim_end_matches(|c: char| !c.is_whitespace()).len();
    let link = tail[at..]
        .split_once("://")
        .map_or(&tail[at..], |(_, link)| link);
    let (host, path) = link.split_once('/')?;
    (Wording::builtin().links.contains(host) && !path.is_empty()).then_some(at)
}

/// The start of a hashtag at the tail.
fn hashtag(tail: &str) -> Option<usize> {
    let at = tail.trim_end_matches(|c: char| !c.is_whitespace()).len();
    let tag = tail[at..].strip_prefix('#')?;
    let is_tag = tag.starts_with(char::is_alphabetic)
        && tag
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '#'));
    is_tag.then_some(at)
}

/// The start of credits in brackets at the tail: （记者…）, （编辑：…）.
fn credit(tail: &str) -> Option<usize> {
    let brackets = [('（', '）'), ('(', ')'), ('[', ']'), ('【', '】')];
    let (inner, open) =
        (brackets.into_iter()).find_map(|(open, close)| Some((tail.strip_suffix(close)?, open)))?;
    let at = inner.rfind(open)?;
    let inner = &inner[at + open.len_utf8()..];
    // Names behind a title, and no sentence: （编辑已否认）.
    let lexicon = Lexicon::builtin();
    let is_word = |c: char| lexicon.class(c.encode_utf8(&mut [0; 4])) == Class::Turn;
    let has_key = || {
        let mut keys = Wording::builtin().credits.iter();
        let is_titled = inner.contains([':', '：', ' ']);
        keys.any(|key| inner.contains(key) && (is_titled || REPORTERS.contains(key)))
            && !inner.contains(is_word)
    };
    (inner.chars().count() <= MAX_CREDIT_LETTERS && has_key()).then_some(at)
}

/// The length of the dateline of a Chinese agency at the head: 新华社北京１月３日电（记者…）, 【１月３日讯】.
fn agency_line(head: &str) -> Option<usize> {
    if let Some(inner) = head.strip_prefix('【')
        && let Some((line, _)) = inner.split_once('】')
        && line.ends_with(['讯', '訊', '电', '電'])
        && line.contains('日')
        && line.contains(char::is_numeric)
        && line.chars().count() <= MAX_CREDIT_LETTERS
    {
        return Some('【'.len_utf8() + line.len() + '】'.len_utf8());
    }
    let agency = (Wording::builtin().agencies.iter()).find(|key| head.starts_with(**key))?;
    if agency.ends_with(['讯', '訊']) {
        return Some(agency.len());
    }
    let limit = floor(head, 96);
    let end = head[..limit].find(['电', '讯', '電', '訊'])?;
    let between = head.get(agency.len()..end)?;
    let has_date = between.contains(['月', '日'])
        && between.chars().count() <= MAX_CREDIT_LETTERS
        && !between.contains(['，', '。']);
    let end = has_date.then_some(end + '电'.len_utf8())?;
    let credit = head[end..].strip_prefix(['（', '(']).and_then(|rest| {
        let (names, _) = rest.split_once(['）', ')'])?;
        let brackets = head[end..].len() - rest.len() + '）'.len_utf8();
        (names.chars().count() <= MAX_CREDIT_LETTERS).then_some(names.len() + brackets)
    });
    Some(floor(head, end + credit.unwrap_or(0)))
}

/// The length of the dateline of an agency at the head: "LONDON, March 4 (Reuters) - ".
fn dateline(head: &str) -> Option<usize> {
    let head = &head[..floor(head, 64)];
    let open = head.find(" (")?;
    let close = open + head[open..].find(')')?;
    let place = &head[..open];
    let city = place.split(',').next().unwrap_or_default();
    let is_city = !city.is_empty()
        && place.len() <= 40
        && (city.chars()).all(|c| c.is_ascii_uppercase() || matches!(c, ' ' | '.' | '/' | '-'));
    let agency = head.get(open + 2..close)?;
    let is_agency = Wording::builtin().wires.contains(&*agency.to_lowercase());
    let rest = &head[close + 1..];
    let dash = rest.trim_start().chars().next();
    let dash = dash.filter(|c| is_city && is_agency && matches!(c, '-' | '–' | '—'))?;
    Some(close + 1 + rest.find(dash).unwrap_or(0) + dash.len_utf8())
}

fn has_ellipsis(text: &str) -> bool {
    let text = text.trim_end_matches([']', ')', '）', '】']);
    text.ends_with("...") || text.ends_with('…')
}

/// The start of a note on the rest of the text at the tail: [...], [+1824 chars].
fn rest_note(tail: &str) -> Option<usize> {
    let inner = tail.strip_suffix([']', ')', '）', '】'])?;
    let at = inner.rfind(['[', '(', '（', '【'])?;
    let note = inner[at..].trim_start_matches(['[', '(', '（', '【']);
    let count = note
        .strip_prefix('+')
        .and_then(|note| note.strip_suffix(" chars"));
    let is_count = count.is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
    (matches!(note, "..." | "…") || is_count).then_some(at)
}

/// The start of an invitation to read on at the tail: behind an ellipsis, in brackets, or on a line
/// of its own.
fn truncation(tail: &str) -> Option<usize> {
    let closing = [
        ' ', '\n', '\r', '\t', ']', ')', '）', '】', '»', '>', '→', '.', '…',
    ];
    let body = tail.trim_end_matches(closing);
    let start_of = |mark: &&str| {
        let from = body.len().checked_sub(mark.len())?;
        let end = body.get(from..)?;
        end.eq_ignore_ascii_case(mark).then_some(from)
    };
    let from = (Wording::builtin().truncations.iter()).find_map(start_of)?;
    let before = body[..from].trim_end_matches([' ', '[', '(', '（', '【', '\n']);
    let gap = &body[before.len()..from];
    let is_bracketed = gap.contains(['[', '（', '【', '\n']);
    let is_own = has_ellipsis(before)
        || before.ends_with(['.', '。']) && gap.contains('(')
        || is_bracketed
        || has_ellipsis(tail) && body.len() - from > 4;
    is_own.then_some(before.len())
}

/// Returns `true` for a line of stamps and counters.
fn is_stamp(line: &str) -> bool {
    let wording = Wording::builtin();
    let mut rest = line.trim();
    let (mut words, mut keys, mut numbers) = (0, 0, 0);
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_alphabetic() {
            let end = rest
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(rest.len());
            let word = rest[..end].to_ascii_lowercase();
            let is_key = wording.keys.contains(&*word);
            if !is_key && !wording.words.contains(&*word) {
                return false;
            }
            keys += usize::from(is_key);
            words += 1;
            rest = &rest[end..];
        } else if let Some(phrase) =
            (wording.phrases.iter()).find(|phrase| rest.starts_with(**phrase))
        {
            keys += 1;
            words += 1;
            rest = &rest[phrase.len()..];
        } else if let Some(unit) = wording.units.iter().find(|unit| rest.starts_with(**unit)) {
            words += 1;
            rest = &rest[unit.len()..];
        } else if c.is_numeric() {
            let end = rest
                .find(|c: char| !c.is_numeric() && !matches!(c, '.' | ',' | ':' | '-' | '/'))
                .unwrap_or(rest.len());
            numbers += 1;
            words += 1;
            rest = &rest[end..];
        } else if c.is_alphabetic() {
            return false;
        } else {
            rest = &rest[c.len_utf8()..];
        }
        if words > MAX_STAMP_WORDS {
            return false;
        }
    }
    keys > 0 && numbers > 0
}

fn floor(text: &str, at: usize) -> usize {
    crate::text::floor_char_boundary(text, at.min(text.len()))
}
