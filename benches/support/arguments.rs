//! The command line of a bench: numbers of documents, flags, and options with numbers.

use std::collections::BTreeMap;

/// The arguments that a bench accepts.
pub struct Usage {
    /// The usage line that is printed with an error.
    pub line: &'static str,
    /// Options without a value, with their leading dashes.
    pub flags: &'static [&'static str],
    /// Options with a number as value, or several numbers separated by commas.
    pub options: &'static [&'static str],
}

/// The parsed arguments of a bench.
pub struct Arguments {
    sizes: Vec<u64>,
    flags: Vec<String>,
    options: BTreeMap<String, Vec<u64>>,
}

impl Usage {
    /// Parses the arguments of this process. Prints the usage and exits with 2 if an argument is
    /// unknown.
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
            // Cargo passes `--bench` to every bench.
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
    /// The numbers of documents, or `default` if none is given.
    pub fn sizes(&self, default: &[u64]) -> Vec<u64> {
        let given = if self.sizes.is_empty() {
            default
        } else {
            &self.sizes
        };
        given.to_vec()
    }

    /// The number of documents. Panics if several numbers are given.
    pub fn size(&self, default: u64) -> u64 {
        let sizes = self.sizes(&[default]);
        assert_eq!(sizes.len(), 1, "this bench takes one number of documents");
        sizes[0]
    }

    pub fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    pub fn number(&self, name: &str, default: u64) -> u64 {
        self.numbers(name, &[default])[0]
    }

    pub fn numbers(&self, name: &str, default: &[u64]) -> Vec<u64> {
        self.options
            .get(name)
            .cloned()
            .unwrap_or_else(|| default.to_vec())
    }
}

/// Parses a number whose digits may be separated by `_`.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    digits
        .parse()
        .map_err(|_| format!("{text} is not a number such as 1000000 or 1_000_000"))
}
