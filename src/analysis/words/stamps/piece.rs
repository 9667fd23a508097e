//! [`Piece`]: the kinds of words and numbers in a line of stamps.

/// The kind of a word or a number in a line of stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A word between the others: "at".
    Word,
    /// A time of the text follows: "posted", 更新于.
    Time,
    /// A counter: "views", 浏览量.
    Counter,
    /// A counter beside another one, or beside a time; otherwise a task or an answer: 回复.
    WeakCounter,
    /// A month, a day, a time of day.
    Date,
    Year,
    /// A number that may be a day.
    Small,
    /// Another number.
    Quantity,
    /// A unit that makes a task of a counter: 点击3次.
    Unit,
}

impl Piece {
    /// The kind of a number.
    pub(super) fn of_number(digits: &str) -> Self {
        let digits = digits.trim_end_matches(|c: char| !c.is_numeric());
        let separators = digits.chars().filter(|c| matches!(c, '-' | '/' | '.'));
        let is_dated = separators.count() == 2;
        match digits.parse::<u32>() {
            Ok(0..=31) => Self::Small,
            Ok(1900..=2099) => Self::Year,
            Err(_) if digits.contains(':') || is_dated => Self::Date,
            _ => Self::Quantity,
        }
    }
}
