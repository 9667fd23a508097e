//! Words that are two tokens, or a part of one: "don't", "cannot", "there's", "1.5 million", "1st".

use smol_str::SmolStr;

use super::english::English;
use super::lexicon::Class;
use super::scanner::{Break, End, Lexeme};
use super::token::Token;
use super::tokens::Cutter;
use super::values::{is_currency, is_number};
use crate::text::is_digits;

/// Behind these words, an apostrophe and an s are the verb "is": there's.
const BEFORE_IS: [&str; 10] = [
    "it", "he", "she", "that", "there", "here", "what", "where", "who", "how",
];

/// The two words of an English word without its apostrophe that is no other word.
#[rustfmt::skip]
fn words_without_apostrophe(word: &str) -> Option<[&'static str; 2]> {
    Some(match word {
        "cant" => ["can", "not"], "heres" => ["here", "is"], "hes" => ["he", "is"],
        "im" => ["i", "am"], "itll" => ["it", "will"], "ive" => ["i", "have"],
        "oclock" => ["o", "clock"], "shes" => ["she", "is"], "thats" => ["that", "is"],
        "theres" => ["there", "is"], "theyd" => ["they", "would"], "theyll" => ["they", "will"],
        "theyre" => ["they", "are"], "theyve" => ["they", "have"], "weve" => ["we", "have"],
        "whats" => ["what", "is"], "wheres" => ["where", "is"], "whos" => ["who", "is"],
        "wont" => ["will", "not"], "youll" => ["you", "will"], "youre" => ["you", "are"],
        "youve" => ["you", "have"],
        _ => return None,
    })
}

impl Cutter {
    /// Joins a word to the number before it: 1st, 1.5 million, $3m, a hundred, twenty-five, 5 per
    /// cent. `false` for other words.
    pub(super) fn extends_number(&mut self, lexeme: &Lexeme, text: &str) -> bool {
        let [before @ .., (last, range)] = &mut self.tokens[..] else {
            return false;
        };
        if lexeme.before != Break::None {
            return false;
        }
        let before = before.last().map(|(before, _)| before);
        let gap = text.get(range.end..lexeme.range.start).unwrap_or_default();
        let is_lower = |at: usize| text[at..].starts_with(char::is_lowercase);
        let is_behind_number = last.class == Class::Number;
        let word = &*lexeme.text;
        let power = match word {
            "hundred" => 2,
            "thousand" | "тысяч" | "тысячи" | "тыс" => 3,
            "million" | "millions" | "millionen" | "mio" | "миллион" | "миллиона" | "миллионов"
            | "млн" => 6,
            "billion"
            | "billions"
            | "milliarden"
            | "mrd"
            | "миллиард"
            | "миллиарда"
            | "миллиардов"
            | "млрд" => 9,
            "trillion" => 12,
            "k" if is_behind_number && gap.len() <= 1 && before.is_some_and(is_currency) => 3,
            "m" if is_behind_number && gap.len() <= 1 && before.is_some_and(is_currency) => 6,
            "mn" if is_behind_number && gap.len() <= 1 && is_lower(lexeme.range.start) => 6,
            "bn" if is_behind_number && gap.len() <= 1 && is_lower(lexeme.range.start) => 9,
            "st" | "nd" | "rd" | "th"
                if is_behind_number && gap.is_empty() && is_digits(&last.text) =>
            {
                let ordinal = format!("{}th", last.text);
                self.replace_last(Class::Number, &ordinal, lexeme);
                return true;
            }
            "cent" if last.text == "per" => {
                let is_share = before.is_some_and(is_number);
                if is_share {
                    self.replace_last(Class::Word, "percent", lexeme);
                }
                return is_share;
            }
            _ if matches!(gap, "-" | "‑" | "‐") => {
                let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
                let entry = self.lexicon.entry(word).filter(|_| is_word(word));
                let ones = entry.and_then(|entry| entry.canonical?.parse::<u8>().ok());
                let tens = last.key.parse::<u8>().ok().filter(|_| is_word(&last.text));
                let parts = tens.zip(ones);
                let parts = parts.filter(|(tens, ones)| {
                    tens % 10 == 0 && (20..100).contains(tens) && (1..10).contains(ones)
                });
                let Some((tens, ones)) = parts else {
                    return false;
                };
                self.replace_last(Class::Number, &(tens + ones).to_string(), lexeme);
                return true;
            }
            _ => return false,
        };
        if last.text == "a" && is_lower(range.start) {
            last.key = "1".into();
        }
        self.scale_last(power, lexeme.range.end)
    }

    /// Pushes the verb of a contraction, from behind the apostrophe on. `false` for other words.
    pub(super) fn contraction(&mut self, lexeme: &Lexeme) -> bool {
        let verb = match &*lexeme.text {
            "s" => {
                let before = self.tokens.last().map(|(token, _)| &*token.text);
                let is_pronoun = before.is_some_and(|before| BEFORE_IS.contains(&before));
                let (class, word) = match before {
                    Some("let") => (Class::Turn, "us"),
                    _ if is_pronoun => (self.lexicon.class("is"), "is"),
                    _ => (Class::Light, "s"),
                };
                self.push(lexeme, class, word);
                return true;
            }
            "re" => "are",
            "ve" => "have",
            "m" => "am",
            "d" => "would",
            "ll" => "will",
            "t" => return self.denied_verb(lexeme),
            _ => return false,
        };
        self.push(lexeme, self.lexicon.class(verb), verb);
        true
    }

    /// Gives the verb before its letters, and pushes the negation: `don't`. `false` behind other
    /// words.
    fn denied_verb(&mut self, lexeme: &Lexeme) -> bool {
        let Some((last, _)) = self.tokens.last_mut() else {
            return false;
        };
        let Some(verb) = last.text.strip_suffix('n') else {
            return false;
        };
        let verb = match verb {
            "ca" => "can",
            "wo" => "will",
            "sha" => "shall",
            verb => verb,
        };
        let verb = SmolStr::from(verb);
        last.class = self.lexicon.class(&verb);
        last.key = verb.clone();
        last.text = verb;
        self.give_lemma();
        self.push(lexeme, Class::Turn, "not");
        true
    }

    /// Pushes the verb and the negation of a word that is written without an apostrophe. `false`
    /// for other words.
    pub(super) fn denial(&mut self, lexeme: &Lexeme) -> bool {
        let (verb, class) = match &*lexeme.text {
            "cannot" => ("can", Class::Turn),
            "dont" | "doesnt" | "didnt" | "isnt" | "arent" | "wasnt" | "werent" | "couldnt"
            | "wouldnt" | "shouldnt" | "hasnt" | "havent" | "hadnt" => {
                let verb = lexeme.text.trim_end_matches("nt");
                (verb, self.lexicon.class(verb))
            }
            _ => return false,
        };
        self.push(lexeme, class, verb);
        self.give_lemma();
        self.push(lexeme, Class::Turn, "not");
        true
    }

    /// Gives the verb of a denial the key that it has alone: "has" is a form of "have".
    fn give_lemma(&mut self) {
        if let Some((last, _)) = self
            .tokens
            .last_mut()
            .filter(|(last, _)| last.class == Class::Word)
            && let Some(base) = English::builtin().base(&last.text)
        {
            last.key = SmolStr::from(base);
        }
    }

    /// Replaces words without their apostrophes in English texts by their two words: "theyve".
    pub(super) fn restore_apostrophes(&mut self) {
        let words_of = |token: &Token| {
            let is_own = token.is_english && !token.is_name && !token.is_exact;
            is_own.then(|| words_without_apostrophe(&token.text))?
        };
        let mut tokens = self.tokens.iter();
        if !tokens.any(|(token, _)| words_of(token).is_some()) {
            return;
        }
        for (token, range) in std::mem::take(&mut self.tokens) {
            let Some(words) = words_of(&token) else {
                self.tokens.push((token, range));
                continue;
            };
            let [mut first, mut second] = words.map(|word| Token {
                class: self.lexicon.class(word),
                key: self.key_of(&SmolStr::from(word)),
                ..token.with_text(SmolStr::from(word))
            });
            (first.end, first.is_label) = (End::None, false);
            (second.before, second.is_capital) = (Break::None, false);
            let end = range.end;
            self.tokens.push((first, range));
            self.tokens.push((second, end..end));
        }
    }
}
