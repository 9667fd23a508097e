//! Words that are two tokens, or a part of one: "don't", "cannot", "there's", "1.5 million".

use smol_str::SmolStr;

use super::lexicon::Class;
use super::scanner::{Break, Lexeme};
use super::tokens::Cutter;

/// Pronouns and adverbs behind which an apostrophe and an s are the verb "is".
const BEFORE_IS: [&str; 10] = [
    "it", "he", "she", "that", "there", "here", "what", "where", "who", "how",
];

impl Cutter {
    /// Multiplies the number before by a magnitude: 1.5 million. `false` for other words.
    pub(super) fn magnitude(&mut self, lexeme: &Lexeme) -> bool {
        let power = match &*lexeme.text {
            "hundred" => 2,
            "thousand" => 3,
            "million" | "millions" | "millionen" => 6,
            "billion" | "billions" | "milliarden" => 9,
            "trillion" => 12,
            _ => return false,
        };
        lexeme.before == Break::None && self.scale_last(power, lexeme)
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
        self.push(lexeme, Class::Turn, "not");
        true
    }

    /// Pushes the verb and the negation of a word that is written without an apostrophe. `false`
    /// for other words.
    pub(super) fn denial(&mut self, lexeme: &Lexeme) -> bool {
        let (verb, class) = match &*lexeme.text {
            "cannot" => ("can", Class::Turn),
            "dont" | "doesnt" | "didnt" | "isnt" | "arent" | "wasnt" | "werent" | "wont"
            | "couldnt" | "wouldnt" | "shouldnt" | "hasnt" | "havent" | "hadnt" => {
                let verb = lexeme.text.trim_end_matches("nt");
                (verb, self.lexicon.class(verb))
            }
            _ => return false,
        };
        self.push(lexeme, class, verb);
        self.push(lexeme, Class::Turn, "not");
        true
    }
}
