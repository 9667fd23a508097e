//! The dash between the two ends of a range: `5 kg–10 kg`, `Monday - Friday`, 周一～周五.

use super::scanner::Scanner;
use super::symbols::is_currency;
use crate::text::{floor_char_boundary, is_cjk, is_letter_or_digit};
use crate::time_reader::{month_named, weekday_named};

const DASHES: [char; 8] = ['-', '–', '—', '−', '－', '~', '～', '〜'];

/// The ends of a range have at most this many bytes.
const MAX_END_BYTES: usize = 48;

const HALVES_OF_DAY: [&str; 4] = ["am", "pm", "a.m", "p.m"];

/// Before the day of a Chinese week.
const WEEKS: [&str; 4] = ["周", "週", "星期", "礼拜"];

impl Scanner<'_> {
    /// Returns `true` for a dash between two ends of one kind: numbers with one unit or currency,
    /// times of a day, months, days of a week. Another dash begins a clause, as a comma does.
    pub(super) fn is_dash_of_range(&self, c: char) -> bool {
        if !DASHES.contains(&c) || self.code.is_code {
            return false;
        }
        let (before, rest) = self.text.split_at(self.at);
        let before =
            &before[floor_char_boundary(before, before.len().saturating_sub(MAX_END_BYTES))..];
        let rest = &rest[c.len_utf8()..];
        let rest = &rest[..floor_char_boundary(rest, MAX_END_BYTES)];
        // A run of dashes has one symbol, at its first.
        let rest = rest.trim_start_matches(DASHES);
        let (from, to) = (before.trim_end(), rest.trim_start());
        let is_even = (before.len() > from.len()) == (rest.len() > to.len());
        // "9 am -5": an option, or a negative number.
        (is_even || c != '-')
            && !before.ends_with(DASHES)
            && (have_one_unit(from, to) || have_one_currency(from, to) || are_of_calendar(from, to))
    }
}

/// 5 kg–10 kg, 9 am - 5 pm, 1 May – 5 June, 第3条—第7条.
fn have_one_unit(from: &str, to: &str) -> bool {
    let number = from.rfind(char::is_numeric);
    let behind = number.map_or("", |at| from[at..].trim_start_matches(char::is_numeric));
    let unit = behind.trim_start().trim_end_matches('.');
    let to = to.trim_start_matches('第');
    let value = to.trim_start_matches(|c: char| c.is_numeric() || ".,:".contains(c));
    let other = value.trim_start();
    if unit.is_empty() || value.len() == to.len() || unit.contains(char::is_whitespace) {
        return false;
    }
    let is_end = |after: &str| unit.ends_with(is_cjk) || !after.starts_with(is_letter_or_digit);
    let starts_with = |unit: &str| {
        let length = other
            .bytes()
            .zip(unit.bytes())
            .take_while(|(a, b)| a.eq_ignore_ascii_case(b));
        length.count() == unit.len() && is_end(&other[unit.len()..])
    };
    starts_with(unit)
        || HALVES_OF_DAY
            .iter()
            .any(|half| unit.eq_ignore_ascii_case(half))
            && HALVES_OF_DAY.into_iter().any(starts_with)
        || is_month(unit) && is_month(first_word(other))
}

/// $5–$10.
fn have_one_currency(from: &str, to: &str) -> bool {
    let price = from.trim_end_matches(|c: char| c.is_numeric() || ".,".contains(c));
    let (sign, other) = (price.chars().next_back(), to.chars().next());
    price.len() < from.len()
        && sign.is_some_and(is_currency)
        && sign == other
        && to.chars().nth(1).is_some_and(char::is_numeric)
}

/// Mon–Fri, May - September, 周一—周五, 月曜～金曜.
fn are_of_calendar(from: &str, to: &str) -> bool {
    let last = from
        .rsplit(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    let first = first_word(to);
    // Both names, or both in short: not "on Friday - Sun Sentinel".
    let are_alike = (last.len() > 4) == (first.len() > 4);
    let is_day = |word: &str| weekday_named(&word.to_lowercase()).is_some();
    let begins_with_day = |text: &str| text.starts_with(|c| "一二三四五六日天末".contains(c));
    let is_of_week = |week: &str| {
        let day = from.rfind(week).map(|at| &from[at + week.len()..]);
        day.is_some_and(|day| day.chars().count() == 1 && begins_with_day(day))
            && to.strip_prefix(week).is_some_and(begins_with_day)
    };
    let is_japanese =
        from.trim_end_matches('日').ends_with('曜') && to.chars().nth(1) == Some('曜');
    are_alike && is_day(last) && is_day(first)
        || is_month(last) && is_month(first)
        || WEEKS.into_iter().any(is_of_week)
        || is_japanese
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default()
}

fn is_month(word: &str) -> bool {
    month_named(&word.to_lowercase()).is_some()
}
