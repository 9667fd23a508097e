//! [`undone`]: UTF-8 text that was read as Windows-1252, "cafÃ©", is read as UTF-8 again.

use super::entities::Decoded;

/// The characters of the bytes from 0x80 to 0x9F in Windows-1252. Five bytes have none, and are
/// control characters of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text as UTF-8, if all its characters are bytes of Windows-1252 or Latin-1, and the bytes are
/// UTF-8. A text with a letter such as é beside "Ã©" is about encodings: its é is no UTF-8.
pub(super) fn undone(text: &str) -> Option<Decoded<'static>> {
    let first = text.chars().find(|c| !c.is_ascii())?;
    // The first byte of a character of several bytes.
    if !('\u{c2}'..='\u{f4}').contains(&first) {
        return None;
    }
    let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
    let utf8 = String::from_utf8(bytes?).ok()?;
    let mut at = 0;
    let mut ends = Vec::new();
    let mut misread = text.chars();
    let mut characters = utf8.char_indices().peekable();
    let mut was_ascii = true;
    while let Some((start, c)) = characters.next() {
        let parts = misread.by_ref().take(c.len_utf8());
        at += parts.map(char::len_utf8).sum::<usize>();
        let is_alone = was_ascii && characters.peek().is_none_or(|(_, next)| next.is_ascii());
        if is_alone && !stands_alone(c) {
            return None;
        }
        was_ascii = c.is_ascii();
        if !was_ascii {
            ends.push((start + c.len_utf8(), at));
        }
    }
    Some(Decoded::from_parts(utf8, ends))
}

/// Returns `true` for a character that text of Latin letters has: ASCII, Latin letters,
/// punctuation, signs, emoji. A single letter of another script is a Latin letter before a mark
/// in a text that was not misread: "Spaß”".
fn stands_alone(c: char) -> bool {
    matches!(c, '\0'..'\u{250}' | '\u{1e00}'..='\u{1eff}' | '\u{2000}'..='\u{2bff}' | '\u{10000}'..)
}

fn byte(c: char) -> Option<u8> {
    let low = u8::try_from(u32::from(c)).ok();
    low.or_else(|| {
        let at = WINDOWS_1252.iter().position(|other| *other == c)?;
        Some(0x80 + at as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_that_was_read_as_windows_1252_is_utf8_again() {
        for (misread, text) in [
            ("donâ€™t", "don’t"),
            ("cafÃ© Â· 5Â\u{a0}â‚¬", "café · 5\u{a0}€"),
            ("æ¸¡è½® é¦–ç\u{8f}\u{ad}", "渡轮 首班"),
        ] {
            let decoded = undone(misread).unwrap();
            assert_eq!(decoded.text, text);
        }
        let decoded = undone("cafÃ© x").unwrap();
        assert_eq!(decoded.place("café ".len()), "cafÃ© ".len());
        assert_eq!(decoded.place("caf".len()), "caf".len());
        for text in [
            "",
            "plain",
            "café",
            "«Ã©» is é",
            "渡轮 Ã©",
            "„Spaß“",
            "NÃO",
            "Spaß» sagte er",
            "her fiancé…” she",
            "ASÍ… NO",
        ] {
            assert!(undone(text).is_none(), "{text}");
        }
    }
}
