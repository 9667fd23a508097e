//! Passages at the head of a text: marks of reposts and of editions, datelines.

use super::lines::{is_credit, is_paper};
use super::wording::Wording;
use crate::text::{floor_char_boundary, is_cjk};

/// The ends of the line of an agency, behind a date and behind a paper.
const DATELINE_ENDS: [&str; 4] = ["日电", "日讯", "日電", "日訊"];
const NEWS_ENDS: [&str; 4] = ["讯", "訊", "消息", "报道"];

/// A longer place in the line of an agency is no place.
const MAX_PLACE_LETTERS: usize = 8;

/// The length of the mark of a repeated text at the head: "RT @name:", 转发微博：
pub(super) fn repost(head: &str) -> Option<usize> {
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
    let head = &head[..floor_char_boundary(head, 64)];
    let end = head.find([':', '：'])?;
    Some(end + head[end..].chars().next().map_or(0, char::len_utf8))
}

/// The length of the mark of another edition of a report: "UPDATE 2-Rates". A name of a thing goes
/// on with a small letter: "UPDATE 3-phase".
fn edition(head: &str) -> Option<usize> {
    let mut marks = ["UPDATE ", "WRAPUP ", "REFILE", "CORRECTED"].into_iter();
    let rest = marks.find_map(|mark| head.strip_prefix(mark))?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix('-')?;
    (rest.starts_with(char::is_uppercase)).then(|| head.len() - rest.len())
}

/// The length of the line of a Chinese agency at the head, which a bracket may be around: the
/// agency, a place, a date and 电, 新华社北京１月３日电（记者…）, or a paper and 讯, 央视网消息：.
pub(super) fn agency_line(head: &str) -> Option<usize> {
    let inner = head.strip_prefix(['（', '(', '【']).unwrap_or(head);
    let is_bracketed = inner.len() < head.len();
    let line = &inner[..floor_char_boundary(inner, 96)];
    let dated = DATELINE_ENDS.iter().find_map(|mark| {
        let (before, _) = line.split_once(*mark)?;
        let is_digit = |c: char| c.is_numeric() || matches!(c, '月' | '年');
        let place = before.trim_end_matches(is_digit).trim_end();
        let is_agency = agency_of(place).is_some_and(|agency| {
            let place = place[agency..].trim();
            place.chars().count() <= MAX_PLACE_LETTERS && place.chars().all(is_cjk)
        });
        let is_date = place.len() < before.len() && (is_agency || is_bracketed && place.is_empty());
        is_date.then_some(before.len() + mark.len())
    });
    let told = || {
        NEWS_ENDS.iter().find_map(|mark| {
            let (paper, behind) = line.split_once(*mark)?;
            let paper = paper.strip_prefix('据').unwrap_or(paper);
            let is_ended =
                behind.starts_with(['：', ':', '）', ')', '】', '（', '(', ' ', '\u{3000}']);
            let is_agency = mark.len() == '讯'.len_utf8() && agency_of(paper) == Some(paper.len());
            let paper = paper.strip_suffix("综合").unwrap_or(paper);
            (is_agency || is_ended && is_paper(paper)).then_some(line.len() - behind.len())
        })
    };
    let rest = &inner[dated.or_else(told)?..];
    if is_bracketed {
        let rest = rest.strip_prefix(['）', ')', '】'])?;
        return Some(head.len() - rest.len());
    }
    let names = rest.trim_start().strip_prefix(['（', '(']);
    let credit = names.and_then(|names| names.split_once(['）', ')']));
    let credit = credit.filter(|(names, _)| is_credit(names));
    let rest = credit.map_or(rest, |(_, rest)| rest);
    Some(head.len() - rest.trim_start_matches(['：', ':']).len())
}

/// A Korean name has at most four syllables.
const MAX_NAME_LETTERS: usize = 4;

/// The length of a place and an agency in brackets at the head, and of the reporter behind them:
/// (부산=연합뉴스) 김민수 기자 =, 【ソウル＝時事】.
pub(super) fn bureau(head: &str) -> Option<usize> {
    let inner = head.strip_prefix(['【', '(', '（', '['])?;
    let line = &inner[..floor_char_boundary(inner, 96)];
    let (bureau, behind) = line.split_once(['】', ')', '）', ']'])?;
    let mut agencies = Wording::builtin().bureaus.iter();
    let before = agencies.find_map(|agency| bureau.strip_suffix(agency))?;
    // 日米共同 is a joint thing of two countries.
    let place = before.strip_suffix(['=', '＝'])?;
    let is_place = (1..=MAX_PLACE_LETTERS).contains(&place.chars().count());
    if !is_place || !place.chars().all(|c| is_cjk(c) || c == 'ー') {
        return None;
    }
    let reporter = behind.split_once("기자 =");
    let is_name = |(name, _): &(&str, &str)| {
        let name = name.trim();
        name.chars().count() <= MAX_NAME_LETTERS && name.chars().all(is_cjk)
    };
    let rest = reporter.filter(is_name).map_or(behind, |(_, rest)| rest);
    Some(head.len() - inner.len() + line.len() - rest.len())
}

/// The length of a reporter and a place in brackets at the head: 〔記者張書瑋／台東報導〕.
pub(super) fn reporter(head: &str) -> Option<usize> {
    let inner = head.strip_prefix(['〔', '【', '（', '('])?;
    let line = &inner[..floor_char_boundary(inner, 96)];
    let (report, behind) = line.split_once(['〕', '】', '）', ')'])?;
    let names = report
        .strip_prefix("記者")
        .or_else(|| report.strip_prefix("记者"))?;
    let (names, place) = names.split_once(['／', '/'])?;
    let mut ends = ["報導", "报导", "報道", "报道"].into_iter();
    let place = ends.find_map(|end| place.strip_suffix(end))?;
    let is_short = |part: &str| {
        (1..=MAX_PLACE_LETTERS).contains(&part.chars().count())
            && part.chars().all(|c| is_cjk(c) || c == '、')
    };
    (is_short(names) && is_short(place))
        .then(|| head.len() - inner.len() + line.len() - behind.len())
}

/// The length of the name of an agency at the start of a text.
fn agency_of(text: &str) -> Option<usize> {
    let agencies = Wording::builtin().agencies.iter();
    agencies
        .filter(|name| text.starts_with(**name))
        .map(|name| name.len())
        .max()
}

/// The length of the dateline of an agency at the head: "LONDON, March 4 (Reuters) - ", "(CNN) — ".
pub(super) fn dateline(head: &str) -> Option<usize> {
    let head = &head[..floor_char_boundary(head, 64)];
    // LEEDS, March 4, 2025 /PRNewswire/ --
    let (open, close) = match head.find('(') {
        Some(open) => (open, ')'),
        None => (head.find(" /")? + 1, '/'),
    };
    let close = open + 1 + head[open + 1..].find(close)?;
    let place = &head[..open];
    let city = place.split(',').next().unwrap_or_default();
    let is_part = |c: char| c.is_alphabetic() || matches!(c, ' ' | '.' | '/' | '-');
    let is_city = place.len() <= 40
        && city.chars().all(is_part)
        && (city.split_whitespace()).all(|word| word.starts_with(char::is_uppercase));
    let agency = head[open + 1..close].to_lowercase();
    let is_agency = Wording::builtin().wires.contains(&*agency);
    let rest = &head[close + 1..];
    let dash = rest.trim_start().chars().next();
    let dash = dash.filter(|c| is_city && is_agency && matches!(c, '-' | '–' | '—'))?;
    Some(close + 1 + rest.find(dash).unwrap_or(0) + dash.len_utf8())
}
