//! Kinds of changes of real texts: one word that turns a sentence, and additions without a fact.

/// Words and their replacements, by language. A pair of words is a kind. An empty replacement drops
/// the word.
pub const ONE_WORD: [(&str, &[(&str, &str)]); 2] = [("en", ENGLISH), ("zh", CHINESE)];

const ENGLISH: &[(&str, &str)] = &[
    ("only", ""),
    ("not", ""),
    ("is", "is not"),
    ("will", "will not"),
    ("all", "almost all"),
    ("if", ""),
    ("every", ""),
    ("and", "or"),
    ("or", "and"),
    ("may", "must"),
    ("can", "must"),
    ("must", "may"),
    ("he", "she"),
    ("all", "some"),
    ("some", "all"),
    ("most", "all"),
    ("for", "against"),
    ("from", "to"),
    ("to", "from"),
    ("before", "after"),
    ("is", "was"),
    ("a", "no"),
    ("you", "they"),
    ("this", "that"),
    ("in", "out of"),
    ("the", "the lesser"),
    ("the", "the broken"),
];

const CHINESE: &[(&str, &str)] = &[
    ("是", "不是"),
    ("有", "没有"),
    ("不", ""),
    ("只", ""),
    ("将", ""),
    ("或", "和"),
    ("和", "或"),
    ("可以", "应当"),
    ("他", "她"),
    ("元", "万元"),
    ("前", "后"),
    ("上", "下"),
    ("三", "四"),
    ("所有", "有些"),
];

/// By language, what stands before and after a report in its copies: a lead-in, a line of the
/// editor, an advertisement, a mark of a repost, a footer. Each is a kind.
pub const ADDITIONS: [(&str, &[&str], &[&str]); 2] = [
    (
        "en",
        &[
            "Here is what we know so far.\n",
            "In breaking news this morning, ",
            "Reposted from the evening edition\n",
            "Home > News > World\n",
        ],
        &[
            "\nEditor's note: this story has been updated.",
            "\nSign up for our daily newsletter and never miss a story.",
            "\nAdvertisement",
            "\nThe story continues on the next page.",
            "\nComments (3) | Permalink | Report this post",
            "\nCopyright 2024 Example News. All rights reserved.",
        ],
    ),
    (
        "zh",
        &[
            "据最新消息，",
            "以下是最新情况：\n",
            "【转】",
            "首页 > 新闻 > 正文\n",
        ],
        &[
            "\n责任编辑：王明",
            "\n扫码关注我们的公众号，获取更多资讯。",
            "\n欢迎大家在下面留言讨论。",
            "\n广告",
            "\n浏览次数：403　评论：13",
            "\n本文来源于网络，版权归原作者所有。",
        ],
    ),
];

/// Phrases of lines about a page, of which a text may lack a word.
const ABOUT_A_PAGE: [&str; 5] = [
    "Permalink",
    "views |",
    "views expressed",
    "You are here",
    "网",
];

/// Returns `true` if a text has a phrase of a line about a page, where a changed word may be lost.
pub fn is_about_a_page(text: &str) -> bool {
    ABOUT_A_PAGE.iter().any(|phrase| text.contains(phrase))
}

/// The copies of a text with one place of a word replaced, by place. White space is around a whole
/// word of English.
pub fn replaced(text: &str, word: &str, by: &str) -> impl Iterator<Item = String> {
    let is_apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let places = text.match_indices(word).filter(move |(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !word.is_ascii() || is_apart(before) && is_apart(after)
    });
    places.map(move |(at, _)| {
        let rest = &text[at + word.len()..];
        let rest = if by.is_empty() {
            rest.trim_start()
        } else {
            rest
        };
        format!("{}{by}{rest}", &text[..at])
    })
}
