//! The ends of words, identifiers and web addresses.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::number::is_superscript;
use crate::text::{is_cjk, is_digits, is_letter_or_digit, is_mark};

/// Superscript digits behind a word of fewer letters are an exponent: km².
const MIN_NOTED_LETTERS: usize = 4;

/// Letters, digits, marks, and the format characters that normalisation removes.
pub(super) fn is_part(c: char) -> bool {
    is_letter_or_digit(c) || is_mark(c) || is_format(c)
}

pub(super) fn is_format(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::Format
}

/// The end of a word: a run of letters and digits, with connecting characters between two of them.
pub(super) fn end_of_word(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let is_own = |c: char| is_part(c) && !is_cjk(c);
        end += rest.find(|c| !is_own(c)).unwrap_or(rest.len());
        let rest = &text[end..];
        let mut next = rest.chars();
        let connector = next.next();
        let after = next.next().unwrap_or(' ');
        let goes_on = match connector {
            Some('_' | '@' | '\\') => is_own(after),
            Some('.') if is_superscript(after) => false,
            Some('.') => is_own(after) && is_within(&text[..end], &rest[1..]),
            Some(':') if after == ':' => {
                rest[2..].starts_with(is_own) && {
                    end += 1;
                    true
                }
            }
            Some('&') => {
                is_own(after) && text[..end].ends_with(char::is_uppercase) && after.is_uppercase()
            }
            _ => false,
        };
        if !goes_on {
            break;
        }
        end += 1;
    }
    let word = text[..end].trim_end_matches(is_superscript);
    if word.len() < end
        && word.chars().count() >= MIN_NOTED_LETTERS
        && word.chars().all(char::is_alphabetic)
    {
        return word.len();
    }
    let rest = &text[end..];
    // The last point of `U.S.`.
    if rest.starts_with('.')
        && text[..end].contains('.')
        && text[..end].split('.').all(|part| part.chars().count() == 1)
    {
        return end + 1;
    }
    let signs = rest
        .find(|c| c != '+' && c != '#')
        .unwrap_or(rest.len())
        .min(2);
    let after = rest[signs..].chars().next().unwrap_or(' ');
    if is_part(after) || matches!(after, '=' | '+' | '#') {
        end
    } else {
        end + signs
    }
}

/// Returns `true` for a point within a version or between the letters of an abbreviation. A point
/// between two words separates them: `example.com`, "the end.Next".
fn is_within(before: &str, after: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    if is_digit(before.chars().next_back()) || is_digit(after.chars().next()) {
        return true;
    }
    let is_part = |c: char| is_part(c) && !is_cjk(c);
    let last = before.rsplit('.').next().unwrap_or(before);
    let next = after.find(|c| !is_part(c)).unwrap_or(after.len());
    last.chars().count() == 1 && after[..next].chars().count() == 1
}

/// The longest name of a host: RFC 1035.
const MAX_HOST_BYTES: usize = 253;

/// Returns `true` for the name of a host, a path and parameters, without a scheme:
/// `example.org/map?season=spring`. A host without them is words, which capital letters may write.
fn begins_with_host(text: &str) -> bool {
    let is_own = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let mut bytes = text.bytes().take(MAX_HOST_BYTES + 1);
    let Some(length) = bytes.position(|byte| !is_own(byte) && byte != b'.') else {
        return false;
    };
    // Most words end here.
    let Some(path) = text[length..].strip_prefix('/') else {
        return false;
    };
    let domain = text[..length].rsplit_once('.').map(|(_, domain)| domain);
    let is_domain =
        |domain: &str| domain.len() > 1 && domain.bytes().all(|b| b.is_ascii_lowercase());
    let mut path = (path.bytes().take(MAX_HOST_BYTES)).take_while(u8::is_ascii_graphic);
    domain.is_some_and(is_domain)
        && !text[..length].split('.').any(str::is_empty)
        && path.any(|byte| byte == b'?')
        && path.any(|byte| byte == b'=')
}

/// The length of the web address that begins at a position. A folder of a path is no host:
/// `a/b.txt/c`.
pub(super) fn end_of_address(text: &str, at: usize) -> Option<usize> {
    let (before, text) = text.split_at(at);
    let first = text.as_bytes().first()?.to_ascii_lowercase();
    let begins = |start: &str| {
        let bytes = text.as_bytes().get(..start.len());
        // Most words end at the first letter.
        first == start.as_bytes()[0]
            && bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(start.as_bytes()))
    };
    let mut starts = ["http://", "https://", "ftp://", "www."].into_iter();
    let is_part = before.ends_with(['/', '.', '-', '_', '@', '\\', '~']);
    if !starts.any(begins) && (is_part || !begins_with_host(text)) {
        return None;
    }
    let is_end = |c: char| {
        c.is_whitespace() || is_cjk(c) || matches!(c, '"' | '<' | '>' | '，' | '。' | '）' | '」')
    };
    let length = text.find(is_end).unwrap_or(text.len());
    // The end of a tag of a forum: [/url].
    let length = text[..length].find("[/").unwrap_or(length);
    let trimmed =
        text[..length].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '*']);
    Some(trimmed.len())
}

/// The most bytes before the at sign of a mail address: RFC 5321.
const MAX_MAILBOX_BYTES: usize = 64;

/// The length of the mail address that begins here.
pub(super) fn end_of_mail(text: &str) -> Option<usize> {
    let is_own = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let name = (text.bytes().take(MAX_MAILBOX_BYTES + 1)).position(|byte| !is_own(byte.into()))?;
    let domain = text.get(name..)?.strip_prefix('@')?;
    let length = domain.find(|c| !is_own(c)).unwrap_or(domain.len());
    let domain = domain[..length].trim_end_matches(['.', '-']);
    (name > 0 && domain.contains('.')).then_some(name + 1 + domain.len())
}

/// The beginnings of the parameters of a campaign, and of the way by which a page was shared.
#[rustfmt::skip]
const CAMPAIGNS: [&str; 19] = [
    "utm_", "fbclid=", "gclid=", "dclid=", "msclkid=", "yclid=", "igshid=", "mc_cid=", "mc_eid=", "ref_src=", "spm=",
    "usp=", "share_token=", "isappinstalled=", "from=weibo", "from=singlemessage", "from=groupmessage",
    "from=timeline", "from=wechat",
];

/// The characters that a text writes for escapes of UTF-8: `%E9%95%BF`. An escape of ASCII has
/// another meaning than its character.
fn without_escapes(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let escaped = value.filter(|byte| *first == b'%' && !byte.is_ascii());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}

/// An address without the scheme of the web, without parameters of a campaign and without escapes.
pub(super) fn address(text: &str) -> String {
    if text.contains('%')
        && let Some(plain) = without_escapes(text).filter(|plain| plain.len() < text.len())
    {
        return address(&plain);
    }
    // A server of files is another one than a server of pages.
    let is_web = text
        .get(..4)
        .is_none_or(|start| !start.eq_ignore_ascii_case("ftp:"));
    let rest = text.split_once("://").filter(|_| is_web);
    let rest = rest.map_or(text, |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // The letters of a path are as they are: youtu.be/dQw4w9WgXcQ.
    let host = host.to_lowercase();
    let rest = format!("{}{path}", host.strip_prefix("www.").unwrap_or(&host));
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_campaign = |part: &str| {
        CAMPAIGNS
            .iter()
            .any(|name| match name.starts_with("from=") {
                true => part == *name,
                false => part.starts_with(name),
            })
    };
    let kept = query
        .split('&')
        .filter(|part| !part.is_empty() && !is_campaign(part));
    let kept: Vec<_> = kept.collect();
    let path = path.trim_end_matches('/');
    match kept.is_empty() {
        true => format!("{path}{fragment}"),
        false => format!("{path}?{}{fragment}", kept.join("&")),
    }
}

/// The longest mark of a note.
const MAX_REFERENCE_BYTES: usize = 20;

/// Marks that a page has beside its text.
#[rustfmt::skip]
const REFERENCES: [&str; 6] = ["edit", "edit source", "citation needed", "编辑", "編輯", "来源请求"];

/// The length of the mark of a note or of a link that begins here: [1], [note 3], [edit]. A text
/// with an element of an array has no mark: `a[1].b`.
pub(super) fn len_of_reference(text: &str) -> Option<usize> {
    let end = text
        .bytes()
        .take(MAX_REFERENCE_BYTES)
        .position(|byte| byte == b']')?;
    let mark = text[1..end].trim();
    let mut names = ["note ", "nb ", "註", "注", "注释"].into_iter();
    let number = names.find_map(|name| mark.strip_prefix(name));
    let number = number.unwrap_or(mark).trim_start();
    let is_number = (1..=3).contains(&number.len()) && is_digits(number);
    let rest = &text[end + 1..];
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || "(=".contains(c));
    let is_array = goes_on(rest) || rest.strip_prefix('.').is_some_and(goes_on);
    ((is_number || REFERENCES.contains(&mark)) && !is_array).then_some(end + 1)
}
