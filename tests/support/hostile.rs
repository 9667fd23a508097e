//! Hostile texts, made to be slow to process, and ordinary texts for comparison.

use xxhash_rust::xxh3::xxh3_64;

/// A kind of text, with a function that makes at least the given number of bytes.
pub struct Kind {
    pub name: &'static str,
    make: fn(usize) -> String,
}

impl Kind {
    /// A text of this kind of at least `bytes` bytes.
    pub fn text(&self, bytes: usize) -> String {
        (self.make)(bytes)
    }
}

/// Ordinary texts.
pub const ORDINARY: [Kind; 2] = [
    Kind {
        name: "ordinary Chinese",
        make: |bytes| {
            drawn(
                bytes,
                "",
                "我们 海量 数据 相似度 计算 文本 的 距离 去重 网页 系统 用户 可以 ， 。 算法 问题 \
                 北京 发展 经济 了 在 是 新闻 记者 报道 昨天 市场 公司 技术 研究 科学 ： 人类 历史",
            )
        },
    },
    Kind {
        name: "ordinary English",
        make: |bytes| {
            drawn(
                bytes,
                " ",
                "we large scale data similarity of text the distance web page system user can \
                 algorithm problem Beijing economy market company, technology research science. \
                 human history was",
            )
        },
    },
];

/// Texts made to be slow, or as far from ordinary texts as possible.
pub const HOSTILE: [Kind; 30] = [
    Kind {
        name: "one letter",
        make: |n| repeated("a", n),
    },
    Kind {
        name: "one capital letter",
        make: |n| repeated("Ａ", n),
    },
    Kind {
        name: "one CJK character",
        make: |n| repeated("哈", n),
    },
    Kind {
        name: "all CJK characters in turn",
        make: |n| cycled(n, '\u{4e00}', 0x5000),
    },
    Kind {
        name: "rare CJK characters in turn",
        make: |n| cycled(n, '\u{20000}', 0xa000),
    },
    Kind {
        name: "CJK compatibility characters",
        make: |n| cycled(n, '\u{2f800}', 0x21d),
    },
    Kind {
        name: "Hangul syllables in turn",
        make: |n| cycled(n, '\u{ac00}', 11_000),
    },
    Kind {
        name: "Hangul, each syllable in three parts",
        make: |n| repeated("\u{1112}\u{1161}\u{11ab}", n),
    },
    Kind {
        name: "one base letter and an accent over and over",
        make: |n| format!("a{}", repeated("\u{301}", n)),
    },
    Kind {
        name: "one base letter and accents in the wrong order",
        make: |n| format!("a{}", repeated("\u{301}\u{323}\u{345}\u{334}", n)),
    },
    Kind {
        name: "one base letter and marks of all kinds",
        make: |n| format!("a{}", random_of(n, marks())),
    },
    Kind {
        name: "letters with an accent apart",
        make: |n| repeated("e\u{301}a\u{323}\u{308}", n),
    },
    Kind {
        name: "Arabic with all vowel marks",
        make: |n| repeated("\u{643}\u{64e}\u{62a}\u{64e}\u{628}\u{64e} ", n),
    },
    Kind {
        name: "one character that becomes eighteen",
        make: |n| repeated("\u{fdfa}", n),
    },
    Kind {
        name: "capitals that become two characters",
        make: |n| repeated("İẞ", n),
    },
    Kind {
        name: "sigmas and accents",
        make: |n| repeated("Σ\u{301}\u{301}'", n),
    },
    Kind {
        name: "mathematical letters",
        make: |n| cycled(n, '\u{1d400}', 0x300),
    },
    Kind {
        name: "rare scripts",
        make: |n| cycled(n, '\u{10400}', 0x900),
    },
    Kind {
        name: "emoji with joiners",
        make: |n| repeated("👩\u{200d}👩\u{200d}👧❤\u{fe0f}", n),
    },
    Kind {
        name: "zero-width spaces",
        make: |n| repeated("\u{200b}", n),
    },
    Kind {
        name: "a zero-width space after each letter",
        make: |n| repeated("a\u{200b}中\u{feff}", n),
    },
    Kind {
        name: "two scripts in turn",
        make: |n| repeated("a一б二", n),
    },
    Kind {
        name: "a letter and a space in turn",
        make: |n| repeated("a ", n),
    },
    Kind {
        name: "one word of random letters",
        make: |n| random_of(n, ('a'..='z').collect()),
    },
    Kind {
        name: "one run of random Han",
        make: |n| random_of(n, ('\u{4e00}'..='\u{6fff}').collect()),
    },
    Kind {
        name: "digits",
        make: |n| random_of(n, ('0'..='9').collect()),
    },
    Kind {
        name: "digits and points",
        make: |n| repeated("1.", n),
    },
    Kind {
        name: "line feeds",
        make: |n| repeated("\n", n),
    },
    Kind {
        name: "punctuation",
        make: |n| repeated("。.!-_%#", n),
    },
    Kind {
        name: "words that want the same slots",
        make: clashing,
    },
];

fn repeated(part: &str, bytes: usize) -> String {
    part.repeat(bytes.div_ceil(part.len()))
}

/// `count` characters from `first` on, repeated.
fn cycled(bytes: usize, first: char, count: u32) -> String {
    let characters = (0..count).filter_map(|at| char::from_u32(first as u32 + at));
    let mut text = String::new();
    for character in characters.collect::<Vec<_>>().iter().cycle() {
        if text.len() >= bytes {
            break;
        }
        text.push(*character);
    }
    text
}

/// Numbers of a fixed sequence.
fn draws() -> impl FnMut(usize) -> usize {
    let mut state = 20_020_519_u64;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    }
}

/// Random characters of a set.
fn random_of(bytes: usize, characters: Vec<char>) -> String {
    let mut draw = draws();
    let mut text = String::new();
    while text.len() < bytes {
        text.push(characters[draw(characters.len())]);
    }
    text
}

fn drawn(bytes: usize, gap: &str, words: &str) -> String {
    let words: Vec<_> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let mut draw = draws();
    let mut text = String::new();
    while text.len() < bytes {
        text += words[draw(words.len())];
        text += gap;
    }
    text
}

/// Marks of many combining classes.
fn marks() -> Vec<char> {
    let blocks = [
        '\u{300}'..='\u{36f}',
        '\u{5b0}'..='\u{5bd}',
        '\u{64b}'..='\u{65f}',
        '\u{1dc0}'..='\u{1dff}',
    ];
    blocks.into_iter().flatten().collect()
}

/// Distinct words whose hashes agree in nearly all of the last sixteen bits. In a hash table
/// indexed by the last bits they collide.
fn clashing(bytes: usize) -> String {
    const SAME_BITS: u64 = 0xfff0;
    let mut text = String::new();
    let mut word = *b"aaaaaaaa";
    while text.len() < bytes {
        // The next word in dictionary order, the first letter being the lowest digit.
        for letter in &mut word {
            *letter = if *letter == b'z' { b'a' } else { *letter + 1 };
            if *letter != b'a' {
                break;
            }
        }
        if xxh3_64(&word) & SAME_BITS == 0 {
            text.extend(word.map(char::from));
            text.push(' ');
        }
    }
    text
}
