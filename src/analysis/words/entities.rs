//! Entities of HTML and escapes of JSON in a text: `&amp;`, `&#8217;`, `\u6e21`. Letters of another
//! width and ligatures are replaced in the same pass.

use std::borrow::Cow;

use super::pieces::is_format;
use super::variants::{may_be_variant, usual_form};
use crate::text::floor_char_boundary;

/// The entities that programs write. `&lt;` is part of a text about HTML, as a rule.
#[rustfmt::skip]
const ENTITIES: [(&str, char); 17] = [
    ("amp", '&'), ("quot", '"'), ("apos", '\''), ("hellip", '…'), ("mdash", '—'), ("ndash", '–'),
    ("lsquo", '‘'), ("rsquo", '’'), ("ldquo", '“'), ("rdquo", '”'), ("bull", '•'), ("trade", '™'),
    ("euro", '€'), ("le", '≤'), ("ge", '≥'), ("ne", '≠'), ("minus", '−'),
];

/// The entities of the characters from U+00A0 to U+00FF, in order (HTML 4.01, section 24.2).
const LATIN_1: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg \
    plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 \
    iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml \
    Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash \
    Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring \
    aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve \
    oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/// The longest entity, without its first and its last character.
const MAX_NAME_BYTES: usize = 8;

/// A text in which characters were replaced, and the places of its bytes in the text before.
pub(super) struct Decoded<'t> {
    pub text: Cow<'t, str>,
    /// For each character that was replaced, the ends after and before the replacement, ascending.
    ends: Vec<(usize, usize)>,
}

impl<'t> Decoded<'t> {
    pub fn new(text: &'t str) -> Self {
        let has_variants = !text.is_ascii() && text.contains(may_be_variant);
        if !text.contains('&') && !text.contains('\\') && !has_variants {
            let (text, ends) = (Cow::Borrowed(text), Vec::new());
            return Self { text, ends };
        }
        // A text with the signs and with their entities is about entities.
        let is_own = |at: usize| entity(&text[at..]).is_none();
        let is_about_entities = text.contains("&quot;") && text.contains('"')
            || text.contains("&amp;") && text.match_indices('&').any(|(at, _)| is_own(at));
        // A text with such characters and their escapes is about escapes.
        let mut escapes = text.match_indices("\\u").map(|(at, _)| &text[at..]);
        let has_escapes = text.is_ascii() && escapes.any(|text| escape(text).is_some());
        // The lines of a text in JSON: "\n\n" on one line. A text that names an escape has a space
        // before it.
        let has_lines = !text.contains('\n')
            && !text.contains(" \\n")
            && (has_escapes || text.contains("\\n\\n"));
        let found = text.char_indices().filter_map(|(at, c)| match c {
            '&' if is_about_entities => None,
            '&' => Some((at, entity(&text[at..])?)),
            '\\' if has_lines && text[at..].starts_with("\\n") => Some((at, ('\n', 2))),
            '\\' if has_escapes => Some((at, escape(&text[at..])?)),
            c => may_be_variant(c).then_some((at, (c, c.len_utf8()))),
        });
        let (mut own, mut ends, mut last) = (String::new(), Vec::new(), 0);
        for (at, (c, len)) in found {
            own.push_str(&text[last..at]);
            last = at + len + usual_form(&mut own, c, &text[at + len..]);
            ends.push((own.len(), last));
        }
        let text = match ends.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(own + &text[last..]),
        };
        Self { text, ends }
    }

    pub fn from_parts(text: String, ends: Vec<(usize, usize)>) -> Self {
        let text = Cow::Owned(text);
        Self { text, ends }
    }

    /// The place in the text before.
    pub fn place(&self, at: usize) -> usize {
        let after = self.ends.partition_point(|(end, _)| *end <= at);
        match after.checked_sub(1) {
            Some(last) => at - self.ends[last].0 + self.ends[last].1,
            None => at,
        }
    }

    pub fn is_changed(&self) -> bool {
        !self.ends.is_empty()
    }
}

/// The character of the entity that begins here, and the bytes of the entity. An entity may be
/// escaped twice: `&amp;nbsp;`.
fn entity(text: &str) -> Option<(char, usize)> {
    let escape = "amp;";
    let mut rest = &text[1..];
    while rest.starts_with(escape) && named(&rest[escape.len()..]).is_some() {
        rest = &rest[escape.len()..];
    }
    let (c, end) = named(rest)?;
    Some((c, text.len() - rest.len() + end))
}

/// The character of the escape that begins here, and the bytes of the escape. Escapes of ASCII
/// characters are code.
fn escape(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    let c = char::from_u32(value).filter(|c| !c.is_ascii())?;
    (!c.is_control() && !is_format(c)).then_some((c, "\\u".len() + digits.len()))
}

/// The character of the name of an entity, and the bytes of the name and its semicolon.
fn named(rest: &str) -> Option<(char, usize)> {
    let limit = floor_char_boundary(rest, MAX_NAME_BYTES + 1);
    let name = &rest[..rest[..limit].find(';')?];
    let listed = ENTITIES.into_iter().find(|(entity, _)| *entity == name);
    let latin = || {
        let place = LATIN_1.split(' ').position(|entity| entity == name)?;
        char::from_u32(0xa0 + place as u32)
    };
    let number = || {
        let digits = name.strip_prefix('#')?;
        let value = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => digits.parse().ok()?,
        };
        let c = char::from_u32(value).filter(|_| !digits.starts_with('+'))?;
        (!c.is_control() && !is_format(c)).then_some(c)
    };
    let c = listed.map(|(_, c)| c).or_else(latin).or_else(number)?;
    Some((c, name.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_bytes_are_in_the_text_with_entities() {
        let text = "AT&amp;T &#8217;s &nbsp; x";
        let decoded = Decoded::new(text);
        assert_eq!(decoded.text, "AT&T ’s \u{a0} x");
        for word in ["T ", "s ", "x"] {
            let at = decoded.text.find(word).unwrap();
            assert!(text[decoded.place(at)..].starts_with(word), "{word}");
        }
        let text = "ﾊﾟﾝ ＮＯ．７ œuf";
        let decoded = Decoded::new(text);
        assert_eq!(decoded.text, "パン NO.7 oeuf");
        for (word, place) in [("ン", "ﾝ"), ("7", "７"), ("uf", "uf")] {
            let at = decoded.text.find(word).unwrap();
            assert!(text[decoded.place(at)..].starts_with(place), "{word}");
        }
        assert_eq!(Decoded::new(r"a \u6e21\u8f6e").text, "a 渡轮");
        assert_eq!(Decoded::new("a&amp;amp;b &amp;quot;c").text, "a&b \"c");
        assert_eq!(Decoded::new(r"a\n\nb\nc").text, "a\n\nb\nc");
        for text in [
            r"C:\new\name",
            r"replace \n by \n\n",
            r"\u0041 \u12 \ud83d \u+123",
            "a & b; c",
            "write &amp; for &",
            "&unknown;",
            "&#+65;",
        ] {
            assert!(!Decoded::new(text).is_changed(), "{text}");
        }
    }
}
