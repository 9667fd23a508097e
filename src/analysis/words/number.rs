//! Numbers as values: one canonical form for the forms of one number.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::text::{is_cjk, is_digits, is_letter_or_digit};

/// The Chinese digits and magnitudes, with their values.
const CJK_DIGITS: &str = "零〇一二三四五六七八九两";
const CJK_MAGNITUDES: [(char, u32); 5] = [('十', 1), ('百', 2), ('千', 3), ('万', 4), ('亿', 8)];

/// At most 24 digits of a number are a value. A longer run of digits is an identifier.
const MAX_DIGITS: usize = 24;

/// The end of the number that begins at a position of a text; `None` if none begins there.
///
/// A number is a run of digits with separators between two digits, a sign before it, and an
/// exponent after it.
pub(crate) fn end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let first = rest.chars().next()?;
    let mut end = at;
    if is_sign(first) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| is_letter_or_digit(c) && !is_cjk(c) || c == ')' || is_sign(c)) {
            return None;
        }
        end += first.len_utf8();
        if !text[end..].starts_with(is_digit) {
            return None;
        }
    } else if first == '.' && rest[1..].starts_with(is_digit) {
        // .5
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| is_letter_or_digit(c) || c == '.' || c == '/') {
            return None;
        }
        end += 1;
    } else if is_fraction(first) {
        return Some(at + first.len_utf8());
    } else if !is_digit(first) {
        return None;
    }
    loop {
        let rest = &text[end..];
        end += rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
        let mut next = text[end..].chars();
        let separator = next.next().unwrap_or(' ');
        if !is_separator(separator) || !next.next().is_some_and(is_digit) {
            break;
        }
        end += separator.len_utf8();
    }
    // 1½
    if let Some(c) = text[end..].chars().next()
        && is_fraction(c)
    {
        return Some(end + c.len_utf8());
    }
    // Superscript digits are an exponent.
    let rest = &text[end..];
    Some(end + rest.find(|c| !is_superscript(c)).unwrap_or(rest.len()))
}

/// Returns `true` for a number that brackets make negative, as in accounts: alone in a cell or a
/// row of numbers, behind a currency or a colon, or with groups at the end of a line.
pub(crate) fn is_deficit(text: &str, number: Range<usize>) -> bool {
    let piece = &text[number.clone()];
    let Some((before, after)) = text[..number.start]
        .strip_suffix('(')
        .zip(text[number.end..].strip_prefix(')'))
    else {
        return false;
    };
    let is_space = [' ', '\u{a0}'];
    let (cell, rest) = (
        before.trim_end_matches(is_space),
        after.trim_start_matches(is_space),
    );
    let is_row = |c: char| c.is_numeric() || "\t\n|;:$€£¥)%".contains(c);
    let ends = rest.is_empty()
        || rest.starts_with(|c: char| c.is_numeric() || "\t\n|;($€£¥%-–".contains(c));
    piece.starts_with(is_digit)
        && !before.ends_with(|c: char| is_letter_or_digit(c))
        && ends
        && (cell.is_empty() || cell.ends_with(is_row) || piece.contains([',', '.']))
}

fn is_digit(c: char) -> bool {
    digit_of(c).is_some()
}

/// The zero of each script with decimal digits.
const ZEROS: [char; 20] = [
    '0', '٠', '۰', '߀', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '០', '᠐',
    '０',
];

/// The ASCII digit of a digit of any script.
fn digit_of(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let zero = ZEROS.into_iter().rev().find(|zero| *zero <= c)?;
    char::from_digit(c as u32 - zero as u32, 10)
}

fn is_sign(c: char) -> bool {
    matches!(c, '-' | '−' | '–' | '－' | '+' | '＋')
}

/// Separators of decimals, groups, ranges, scores, times, dates and fractions.
fn is_separator(c: char) -> bool {
    ".,:/-–−~～—．：－\u{a0}\u{202f}\u{2009}'’⁄٫٬×".contains(c)
}

/// ½ and the like.
fn is_fraction(c: char) -> bool {
    matches!(c, '¼'..='¾' | '⅓'..='⅞')
}

/// The superscripts of exponents.
pub(crate) fn is_superscript(c: char) -> bool {
    matches!(c, '¹' | '²' | '³' | '⁰' | '⁴'..='⁹' | '⁻')
}

/// The canonical form of a number: ASCII digits, a decimal point, no groups.
pub(crate) fn canonical(piece: &str) -> String {
    if let Some(at) = piece.find(is_fraction) {
        let (whole, fraction) = piece.split_at(at);
        let value: String = fraction.chars().take(1).nfkc().map(plain).collect();
        return match whole.is_empty() {
            true => value,
            false => mixed(&canonical(whole), &value).unwrap_or(value),
        };
    }
    let (body, exponent) = match piece.find(is_superscript) {
        Some(at) => piece.split_at(at),
        None => (piece, ""),
    };
    if let Some(years) = whole_years(piece) {
        return years;
    }
    let mut text: String = body.chars().map(plain).collect();
    let sign: String = text
        .drain(..usize::from(text.starts_with(['-', '+'])))
        .collect();
    if text.starts_with('.') {
        text.insert(0, '0');
    }
    let mut text = sign + &value(&text);
    if !exponent.is_empty() {
        text.push('^');
        text.extend(
            exponent
                .chars()
                .filter(|c| is_superscript(*c))
                .nfkc()
                .map(plain),
        );
    }
    text
}

/// The years of 1939–45, in full. Behind a hyphen, two digits may be a month, 2010-12, or a part of
/// another number.
fn whole_years(years: &str) -> Option<String> {
    let dash = years.find(['-', '–'])?;
    let (from, to) = years.split_at(dash);
    let (to, has_dash) = match to.strip_prefix('–') {
        Some(to) => (to, true),
        None => (&to[1..], false),
    };
    let first: u32 = from.parse().ok().filter(|_| from.len() == 4)?;
    let is_year = match has_dash {
        true => (1500..2100).contains(&first),
        false => (1900..2100).contains(&first) && to > "12",
    };
    let is_span = is_year && to.len() == 2 && is_digits(to) && to > &from[2..];
    is_span.then(|| format!("{from}-{}{to}", &from[..2]))
}

fn plain(c: char) -> char {
    match c {
        '−' | '–' | '－' | '~' | '～' | '—' => '-',
        '＋' => '+',
        '．' => '.',
        '：' => ':',
        '⁄' => '/',
        '’' => '\'',
        '\u{202f}' | '\u{2009}' => '\u{a0}',
        '٫' => '.',
        '٬' => ',',
        c => digit_of(c).unwrap_or(c),
    }
}

/// Removes groups of thousands, and writes a decimal comma as a point.
fn value(text: &str) -> Cow<'_, str> {
    for (group, point) in [(',', '.'), ('.', ','), ('\'', '.'), ('\u{a0}', ',')] {
        let (whole, fraction) = match text.split_once(point) {
            Some((whole, fraction)) if is_digits(fraction) => (whole, Some(fraction)),
            Some(_) => continue,
            None => (text, None),
        };
        let mut groups = whole.split(group);
        let first = groups.next().unwrap_or_default();
        let rest: Vec<_> = groups.collect();
        // A single group behind a point is a decimal: 1.500.
        let is_grouped = (1..=3).contains(&first.len())
            && rest.len() > usize::from(group == '.' && fraction.is_none())
            && rest
                .iter()
                .all(|group| group.len() == 3 && is_digits(group));
        if is_grouped && !first.starts_with('0') {
            let mut value = first.to_owned() + &rest.concat();
            if let Some(fraction) = fraction {
                value.push('.');
                value.push_str(fraction);
            }
            return value.into();
        }
    }
    if let Some((whole, fraction)) = text.split_once(',')
        && is_digits(whole)
        && is_digits(fraction)
    {
        return format!("{whole}.{fraction}").into();
    }
    // 07:30 is 7:30.
    match text.strip_prefix('0') {
        Some(rest) if rest.as_bytes().get(1) == Some(&b':') => rest.into(),
        _ => text.into(),
    }
}

/// The number of an item in a circle: ①.
pub(crate) fn circled(c: char) -> Option<u32> {
    ('①'..='⑳').contains(&c).then(|| c as u32 - '①' as u32 + 1)
}

/// Returns `true` for a comma before three digits: it is a decimal comma, or it groups thousands.
pub(crate) fn is_ambiguous(piece: &str) -> bool {
    let parts = piece.split_once(',');
    parts.is_some_and(|(whole, rest)| {
        (1..=3).contains(&whole.len())
            && rest.len() == 3
            && !whole.starts_with('0')
            && is_digits(whole)
            && is_digits(rest)
    })
}

/// A number times a power of ten: `1.5` and 6 are `1500000`. `None` for ranges, dates and the like.
pub(crate) fn times_power_of_ten(number: &str, power: u32) -> Option<String> {
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let sign = &number[..number.len() - digits.len()];
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || digits.len() > MAX_DIGITS {
        return None;
    }
    let power = power as usize;
    let fraction = fraction.trim_end_matches('0');
    let moved = fraction.len().min(power);
    let whole = format!("{whole}{}{}", &fraction[..moved], "0".repeat(power - moved));
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let point = if moved < fraction.len() { "." } else { "" };
    Some(format!("{sign}{whole}{point}{}", &fraction[moved..]))
}

/// A whole number and a fraction: `1` and `1/2`. `None` if they are not.
pub(crate) fn mixed(whole: &str, fraction: &str) -> Option<String> {
    let is_plain = |part: &str| !part.is_empty() && is_digits(part);
    let (top, bottom) = fraction.split_once('/')?;
    let is_fraction =
        is_plain(top) && is_plain(bottom) && (top.len(), top) < (bottom.len(), bottom);
    (is_plain(whole) && is_fraction).then(|| format!("{whole}+{fraction}"))
}

/// The power of ten of a Chinese magnitude.
pub(crate) fn magnitude(c: char) -> Option<u32> {
    let found = CJK_MAGNITUDES.iter().find(|(magnitude, _)| *magnitude == c);
    found.map(|(_, power)| *power)
}

/// The Chinese numerals of contracts, and their plain forms.
const FORMAL: [&str; 2] = [
    "壹贰叁肆伍陆柒捌玖拾佰仟零万亿",
    "一二三四五六七八九十百千零万亿",
];

/// The value of the numerals of contracts at the start of a run, and their bytes: 叁仟陆佰 is 3600.
/// Each of them alone is another word: 陆, 伍.
pub(crate) fn of_formal(run: &str) -> Option<(usize, String)> {
    let plain = |c: char| {
        let at = FORMAL[0].chars().position(|formal| formal == c)?;
        FORMAL[1].chars().nth(at)
    };
    let numerals: String = run.chars().take(MAX_DIGITS).map_while(plain).collect();
    let length: usize = run
        .chars()
        .take(numerals.chars().count())
        .map(char::len_utf8)
        .sum();
    let formal = &run[..length];
    let is_number = formal.starts_with(|c| !"零万亿".contains(c))
        && formal.contains(['拾', '佰', '仟'])
        && formal.chars().nth(2).is_some();
    is_number.then(|| Some((length, of_cjk(&numerals)?)))?
}

/// Returns `true` for a Chinese digit or magnitude.
pub(crate) fn is_cjk_numeral(c: char) -> bool {
    CJK_DIGITS.contains(c) || magnitude(c).is_some()
}

/// The value of a run of at least two Chinese numerals: 四十一 is `41`, 二〇二四 is `2024`. `None` if the
/// run is no number, such as 一一得.
pub(crate) fn of_cjk(run: &str) -> Option<String> {
    let digit = |c: char| match c {
        '〇' | '零' => Some(0),
        '两' => Some(2),
        c => "一二三四五六七八九"
            .chars()
            .position(|d| d == c)
            .map(|at| at as u64 + 1),
    };
    // 千万 is "by all means" too.
    if run == "千万" {
        return None;
    }
    if run.chars().all(|c| digit(c).is_some()) {
        let digits: Vec<u64> = run.chars().filter_map(digit).collect();
        // 七八 is seven or eight, 九一八 is a day: 35 is written 三十五, and 1918 has four digits.
        let between = match digits[..] {
            [first, second] if first > 0 && second > 0 => "~",
            [_, _, _] if !digits.contains(&0) => "~",
            _ => "",
        };
        let digits: Vec<String> = digits.iter().map(u64::to_string).collect();
        return Some(digits.join(between));
    }
    // The sections below 亿 and below 万, and the digit that waits for its magnitude.
    let (mut total, mut section, mut waiting) = (0_u64, 0_u64, None);
    // The value of a digit behind a magnitude: 两千五 is 2500, and 两千零五 2005.
    let mut behind = 1;
    for c in run.chars() {
        behind = match (magnitude(c), digit(c)) {
            (Some(power), _) => 10_u64.pow(power) / 10,
            (None, Some(0)) => 1,
            _ => behind,
        };
        match magnitude(c) {
            None => {
                if waiting
                    .replace(digit(c)?)
                    .is_some_and(|waiting| waiting != 0)
                {
                    return None;
                }
            }
            Some(power @ (4 | 8)) => {
                section += waiting.take().unwrap_or(0);
                let sum = match power {
                    8 => total.checked_add(section)?,
                    _ => section,
                };
                let scaled = sum.checked_mul(10_u64.pow(power))?;
                if scaled == 0 {
                    return None;
                }
                total = if power == 8 {
                    scaled
                } else {
                    total.checked_add(scaled)?
                };
                section = 0;
            }
            Some(power) => {
                section =
                    section.checked_add(waiting.take().unwrap_or(1).max(1) * 10_u64.pow(power))?
            }
        }
    }
    let value = total
        .checked_add(section)?
        .checked_add(waiting.unwrap_or(0).checked_mul(behind)?)?;
    Some(value.to_string())
}

/// The value of a Roman numeral of two or more capital letters, as in names: `VIII`.
pub(crate) fn of_roman(word: &str) -> Option<String> {
    let is_numeral = (2..=7).contains(&word.len()) && word.bytes().all(|b| b"IVX".contains(&b));
    if !is_numeral {
        return None;
    }
    // XXXXXXX is 70.
    let value = (2..=70).find(|value| roman(*value) == word)?;
    Some(value.to_string())
}

fn roman(mut value: u32) -> String {
    let mut text = String::new();
    for (digits, step) in [("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1)] {
        while value >= step {
            text.push_str(digits);
            value -= step;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_number_have_one_canonical_form() {
        let number = |text: &str| {
            let end = end(text, 0).unwrap();
            canonical(&text[..end])
        };
        for (text, expected) in [
            ("1,000", "1000"),
            ("1.000.000", "1000000"),
            ("1,5", "1.5"),
            ("2,5 Prozent", "2.5"),
            ("１２", "12"),
            ("5-7", "5-7"),
            ("5–7", "5-7"),
            ("−7", "-7"),
            ("10⁶", "10^6"),
            ("07:30", "7:30"),
            ("3:0", "3:0"),
            ("1 000", "1"),
            ("1\u{202f}000", "1000"),
            ("3.10", "3.10"),
            ("12,", "12"),
            (".5", "0.5"),
            ("٣٫٥", "3.5"),
            ("-๕", "-5"),
            ("१२", "12"),
            ("007", "007"),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        assert_eq!(times_power_of_ten("1.5", 6).as_deref(), Some("1500000"));
        assert_eq!(
            times_power_of_ten("1", 12).as_deref(),
            Some("1000000000000")
        );
        assert_eq!(times_power_of_ten("0.05", 1).as_deref(), Some("0.5"));
        assert_eq!(times_power_of_ten("5-7", 1), None);
    }

    #[test]
    fn chinese_and_roman_numerals_have_values() {
        for (text, expected) in [
            ("四十一", Some("41")),
            ("二〇二四", Some("2024")),
            ("一万亿", Some("1000000000000")),
            ("三千五百", Some("3500")),
            ("十二", Some("12")),
            ("一百零五", Some("105")),
            ("两千五", Some("2500")),
            ("十五", Some("15")),
            ("七八", Some("7~8")),
            ("三五", Some("3~5")),
            ("九一八", Some("9~1~8")),
            ("一九四五", Some("1945")),
            ("千万", None),
            ("两亿三千万", Some("230000000")),
            ("一二十", None),
        ] {
            assert_eq!(of_cjk(text).as_deref(), expected, "{text}");
        }
        assert_eq!(of_roman("VIII").as_deref(), Some("8"));
        assert_eq!(of_roman("VIIII"), None);
        assert_eq!(of_roman("I"), None);
    }
}
