//! Passages at the head of a text: marks of reposts and of editions, datelines.

use super::wording::Wording;
use super::{MAX_CREDIT_LETTERS, floor};

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

/// The length of the dateline of a Chinese agency at the head: 新华社北京１月３日电（记者…）, 【１月３日讯】.
pub(super) fn agency_line(head: &str) -> Option<usize> {
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
pub(super) fn dateline(head: &str) -> Option<usize> {
    let head = &head[..floor(head, 64)];
    // LEEDS, March 4, 2025 /PRNewswire/ --
    let (open, close) = match head.find(" (") {
        Some(open) => (open, open + head[open..].find(')')?),
        None => {
            let open = head.find(" /")?;
            (open, open + 2 + head[open + 2..].find('/')?)
        }
    };
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
