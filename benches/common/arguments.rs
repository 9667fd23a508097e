//! The arguments of a bench: numbers of documents, flags, and options with numbers.

use std::collections::BTreeMap;

/// What a bench takes on its command line.
pub struct Usage {
    /// The line that is shown with an error.
    pub line: &'static str,
    /// Options without a value, with their dashes.
    pub flags: &'static [&'static str],
    /// Options followed by a number, or several with commas between them.
    pub options: &'static [&'static str],
}

/// What a bench was given.
pub struct Arguments {
    sizes: Vec<u64>,
    flags: Vec<String>,
    options: BTreeMap<String, Vec<u64>>,
}

impl Usage {
    /// The arguments of this process. One that is not known ends it, with the usage.
    pub fn arguments(&self) -> Arguments {
        self.parse(std::env::args().skip(1))
            .unwrap_or_else(|problem| {
                println!("{problem}\nusage: {}", self.line);
                std::process::exit(2);
            })
    }

    fn parse(&self, mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            sizes: Vec::new(),
            flags: Vec::new(),
            options: BTreeMap::new(),
        };
        while let Some(word) = words.next() {
            // Cargo passes this to every bench.
            if word == "--bench" {
                continue;
            }
            if self.flags.contains(&word.as_str()) {
                arguments.flags.push(word);
            } else if self.options.contains(&word.as_str()) {
                let value = words
                    .next()
                    .ok_or_else(|| format!("{word} needs a number"))?;
                let numbers = value.split(',').map(number).collect::<Result<_, _>>()?;
                arguments.options.insert(word, numbers);
            } else if word.starts_with('-') {
                return Err(format!("unknown argument {word}"));
            } else {
                arguments.sizes.push(number(&word)?);
            }
        }
        Ok(arguments)
    }
}

impl Arguments {
    /// The numbers of documents, or the usual ones if none is given.
    pub fn sizes(&self, usual: &[u64]) -> Vec<u64> {
        let given = if self.sizes.is_empty() {
            usual
        } else {
            &self.sizes
        };
        given.to_vec()
    }

    /// The one number of documents.
    pub fn size(&self, usual: u64) -> u64 {
        let sizes = self.sizes(&[usual]);
        assert_eq!(sizes.len(), 1, "this bench takes one number of documents");
        sizes[0]
    }

    pub fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    pub fn number(&self, name: &str, usual: u64) -> u64 {
        self.numbers(name, &[usual])[0]
    }

    pub fn numbers(&self, name: &str, usual: &[u64]) -> Vec<u64> {
        self.options
            .get(name)
            .cloned()
            .unwrap_or_else(|| usual.to_vec())
    }
}

/// A number, in which `_` may separate digits.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    digits
        .parse()
        .map_err(|_| format!("{text} is not a number such as 1000000 or 1_000_000"))
}
