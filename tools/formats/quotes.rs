//! [`Quotes`]: what a reader of delimited values does not tell of the records it reads.
//!
//! The reader takes whatever comes after a closing quotation mark as more of the field. So one mark
//! too many makes it read all records up to the next mark as one, with nothing wrong about it.

use std::collections::VecDeque;

/// What must be known of a record beside its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Something follows a closing quotation mark that is no end of a field.
    pub goes_on_after_quote: bool,
    /// A carriage return stands outside of quotation marks and before no line feed.
    pub has_lone_return: bool,
    /// A quotation mark closes its last field, with no carriage return after it.
    pub ends_in_quote: bool,
}

/// Follows the bytes that a reader is given, in the states of that reader.
pub struct Quotes {
    delimiter: u8,
    /// Whether a quotation mark is more than that.
    is_quoting: bool,
    place: Place,
    /// Whether the last byte was a carriage return outside of quotation marks.
    after_return: bool,
    /// That of the record that is being read.
    form: Form,
    read_bytes: u64,
    /// How many bytes there were before the record that is being read.
    before_bytes: u64,
    /// Records that are not plain, by where they end: no more than a buffer of the reader holds.
    odd: VecDeque<(u64, Form)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the start of a field.
    Start,
    /// In a field without quotation marks, or behind them.
    Plain,
    /// Between quotation marks.
    Quoted,
    /// After a mark that closes a field, or is the first of two that mean one.
    Closed,
}

impl Quotes {
    pub fn new(delimiter: u8, is_quoting: bool) -> Self {
        Self {
            delimiter,
            is_quoting,
            place: Place::Start,
            after_return: false,
            form: Form::default(),
            read_bytes: 0,
            before_bytes: 0,
            odd: VecDeque::new(),
        }
    }

    /// Follows the next bytes.
    pub fn follow(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.read_bytes += 1;
            let Some(form) = self.step(*byte) else {
                continue;
            };
            if form != Form::default() {
                self.odd.push_back((self.read_bytes, form));
            }
            self.before_bytes = self.read_bytes;
        }
    }

    /// How many bytes of a record were read that has not ended yet.
    pub fn record_bytes(&self) -> u64 {
        self.read_bytes - self.before_bytes
    }

    /// Whether a field between quotation marks is open.
    pub fn is_quoted(&self) -> bool {
        self.place == Place::Quoted
    }

    /// Follows the next byte where the reader is not given it. The form of the record that it ends.
    pub fn skip(&mut self, byte: u8) -> Option<Form> {
        self.step(byte)
    }

    /// The reader is given so many bytes in place of those that were skipped, with which a record
    /// ends.
    pub fn resume(&mut self, bytes: u64) {
        self.end_record();
        self.read_bytes += bytes;
        self.before_bytes = self.read_bytes;
    }

    /// The form of the record that ends before so many bytes, after those that were asked for.
    pub fn form_before(&mut self, end_bytes: u64) -> Form {
        let mut found = Form::default();
        while let Some((end, form)) = self.odd.front()
            && *end <= end_bytes
        {
            found = *form;
            self.odd.pop_front();
        }
        found
    }

    /// The form of the record that a byte ends.
    fn step(&mut self, byte: u8) -> Option<Form> {
        if self.place == Place::Quoted {
            if byte == b'"' {
                self.place = Place::Closed;
            }
            return None;
        }
        if byte == b'\n' {
            self.form.ends_in_quote = self.place == Place::Closed && !self.after_return;
            return Some(self.end_record());
        }
        // Only the end of a line may follow it.
        self.form.has_lone_return |= self.after_return;
        let follows_quote = self.place == Place::Closed;
        let was_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        self.place = match byte {
            b'"' if follows_quote && !was_return => Place::Quoted,
            b'"' if self.is_quoting && self.place == Place::Start => Place::Quoted,
            b'\r' if follows_quote && !was_return => Place::Closed,
            byte => {
                let ends_field = byte == self.delimiter;
                self.form.goes_on_after_quote |= follows_quote && (was_return || !ends_field);
                match ends_field {
                    true => Place::Start,
                    false => Place::Plain,
                }
            }
        };
        None
    }

    fn end_record(&mut self) -> Form {
        self.place = Place::Start;
        self.after_return = false;
        std::mem::take(&mut self.form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of each record, in letters.
    fn forms(text: &str) -> Vec<String> {
        let mut quotes = Quotes::new(b',', true);
        let mut forms = Vec::new();
        for (end, byte) in (1..).zip(text.bytes()) {
            quotes.follow(&[byte]);
            if quotes.place == Place::Start && byte == b'\n' {
                let form = quotes.form_before(end);
                let letters = [
                    (form.goes_on_after_quote, 'g'),
                    (form.has_lone_return, 'r'),
                    (form.ends_in_quote, 'q'),
                ];
                let letters = letters.into_iter().filter(|(is_so, _)| *is_so);
                forms.push(letters.map(|(_, letter)| letter).collect());
            }
        }
        assert!(quotes.odd.is_empty());
        forms
    }

    #[test]
    fn records_end_where_they_end_for_the_reader_and_are_known_by_their_form() {
        for (text, expected) in [
            ("a,b\n\n,\r\n", &["", "", ""][..]),
            ("\"a\",\"b\"\n\"a\",\"b\"\r\n", &["q", ""]),
            ("\"a\n\"\"\n\",b\nc\n", &["", ""]),
            ("a \"b\" c,\"\"\n", &["q"]),
            ("1,\"a\n2,b\n3,\"c d\"\n4,e\n", &["g", ""]),
            ("\"a\" ,b\n\"a\"b\"\n\"c\"\n", &["g", "g", "q"]),
            ("a,b\r1,c\r2,d\n\"a\"\r,b\n", &["r", "gr"]),
            ("\"a\r\",\"b\r\"\n\"b\r\"\r\n", &["q", ""]),
            ("a\r\rb\n\"a\"\r\r\n", &["r", "gr"]),
        ] {
            assert_eq!(forms(text), expected, "{text:?}");
        }
    }

    #[test]
    fn forms_wait_for_a_reader_that_is_behind() {
        let mut quotes = Quotes::new(b',', true);
        quotes.follow(b"a\n\"b\"c\nd\ne\rf\n");
        assert_eq!(quotes.form_before(2), Form::default());
        assert!(quotes.form_before(7).goes_on_after_quote);
        assert_eq!(quotes.form_before(9), Form::default());
        assert!(quotes.form_before(13).has_lone_return);
    }

    #[test]
    fn marks_are_nothing_special_where_nothing_is_quoted() {
        let mut quotes = Quotes::new(b'\t', false);
        quotes.follow(b"\"a\"b\n\"\n");
        assert_eq!(quotes.form_before(8), Form::default());
    }
}
