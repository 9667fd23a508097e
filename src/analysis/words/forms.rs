//! [`replace`]: the common forms of values that are written in several tokens.

use std::ops::Range;

use super::scanner::Break;
use super::token::Token;

/// A token and its bytes in the text.
pub(super) type PlacedToken = (Token, Range<usize>);

/// The common form of a value, in place of some tokens.
pub(super) struct Form {
    pub pieces: Vec<Token>,
    /// The number of tokens that the form replaces, at least 1.
    pub replaced: usize,
}

impl Form {
    pub fn new(pieces: Vec<Token>, replaced: usize) -> Self {
        Self { pieces, replaced }
    }
}

/// The token at a position, if no break is before it.
pub(super) fn next_in_clause(tokens: &[PlacedToken], at: usize) -> Option<&Token> {
    let token = tokens.get(at).map(|(token, _)| token);
    token.filter(|token| token.before == Break::None)
}

/// Replaces the tokens of values by their common forms. `form` returns the form of the value that
/// begins at a token.
pub(super) fn replace(
    tokens: &mut Vec<PlacedToken>,
    form: impl Fn(&[PlacedToken], usize) -> Option<Form>,
) {
    let mut forms = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let form = form(tokens, at);
        at += form.as_ref().map_or(1, |form| form.replaced);
        forms.extend(form.map(|form| (at - form.replaced, form)));
    }
    if forms.is_empty() {
        return;
    }
    let mut rest = std::mem::take(tokens).into_iter();
    let mut taken = 0;
    for (at, mut form) in forms {
        tokens.extend(rest.by_ref().take(at - taken));
        taken = at + form.replaced;
        let replaced: Vec<PlacedToken> = rest.by_ref().take(form.replaced).collect();
        let (Some((first, start)), Some((last, end))) = (replaced.first(), replaced.last()) else {
            continue;
        };
        for piece in &mut form.pieces {
            (piece.before, piece.end, piece.is_label) = Default::default();
        }
        if let [piece, ..] = &mut form.pieces[..] {
            piece.before = first.before;
        }
        if let [.., piece] = &mut form.pieces[..] {
            (piece.end, piece.is_label) = (last.end, last.is_label);
        }
        // The first piece has the bytes of all.
        let ranges =
            std::iter::once(start.start..end.end).chain(std::iter::repeat(end.end..end.end));
        tokens.extend(form.pieces.into_iter().zip(ranges));
    }
    tokens.extend(rest);
}
