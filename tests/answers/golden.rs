//! Known texts have known fingerprints. A failure means that stored fingerprints would silently
//! stop matching: make a new version of the recipe instead.

use proptest::prelude::*;
use simdb::{Fingerprinter, Recipe};

/// A text and its fingerprints by `ngram` and `jieba`. `!` marks unreliable fingerprints.
const GOLDEN: &[(&str, &str, &str)] = &[
    ("", "0000000000000000!", "0000000000000000!"),
    (
        " \t\r\n\u{0}\u{7f}",
        "0000000000000000!",
        "0000000000000000!",
    ),
    ("👍🏽👩‍👩‍👧🇨🇳❤️", "0000000000000000!", "0000000000000000!"),
    ("。，！？…—（）", "0000000000000000!", "0000000000000000!"),
    ("好", "14984f62c286ed2d!", "0000000000000000!"),
    ("a", "e6c632b61e964e1f!", "0000000000000000!"),
    (
        "生存还是毁灭，这是一个问题。",
        "5a8bd500c3ee5bf7",
        "833a5f16e3bcd3f7",
    ),
    (
        "你妈妈喊你回家吃饭哦，回家罗回家罗",
        "92154e0a87e2af59",
        "d57724fa8ff02f2c!",
    ),
    (
        "你妈妈叫你回家吃饭啦，回家罗回家罗",
        "96030e5a07a4ac59",
        "d57724fa8ff02f2c!",
    ),
    (
        "美国“51区”雇员称内部有9架飞碟，曾看见灰色外星人",
        "9698712d1a70b195",
        "9b347e2cc8739391",
    ),
    (
        "CSDN博客结构之法算法之道的作者July",
        "53791f240f4ca0a6",
        "13f328a6b6ec202f",
    ),
    (
        "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。",
        "c152835b20f931ea",
        "92e1131d8853d29f",
    ),
    (
        "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
        "c152835b20f931ea",
        "92e1131d8853d29f",
    ),
    (
        "the cat sat on the mat",
        "46d3a35394d757cc",
        "c2d42a80139c062a!",
    ),
    (
        "the cat sat on a mat",
        "d75beb73d5d564cc",
        "c2d42a80139c062a!",
    ),
    (
        "we all scream for ice cream",
        "5fb30a9a5bff3c4c",
        "24538b2ebde66f0c!",
    ),
    (
        "The quick brown fox jumps over the lazy dog.",
        "cb3fc160459bb7ff",
        "860c8692885a92e3",
    ),
    (
        "ＴＨＥ　ＱＵＩＣＫ　ＢＲＯＷＮ　ＦＯＸ jumps over the lazy dog!",
        "cb3fc160459bb7ff",
        "860c8692885a92e3",
    ),
    (
        "Straße, ﬁnal, café, CAFE\u{301}, İstanbul, ΣΊΣΥΦΟΣ",
        "a2d7900ad24834b0",
        "ea0470d3e94e479a",
    ),
    (
        "吾輩は猫である。名前はまだ無い。ﾄﾞｺで生れたか",
        "f6e5e10894eefba6",
        "96c5c159a934f1be!",
    ),
    (
        "나는 고양이로소이다. 이름은 아직 없다.",
        "d44f51b71fb18f7e",
        "0000000000000000!",
    ),
    (
        "Съешь же ещё этих мягких французских булок, да выпей чаю",
        "d10169dd9948122f",
        "0000000000000000!",
    ),
    (
        "السَّلَامُ عَلَيْكُمْ وَرَحْمَةُ اللهِ",
        "5488ce8ee0f62304",
        "0000000000000000!",
    ),
    (
        "मैं एक बिल्ली हूँ। ฉันเป็นแมว",
        "6da6441f7546c042",
        "0000000000000000!",
    ),
    (
        "สวัสดีครับ วันนี้อากาศดีมาก เราไปเดินเล่นในสวนกันเถอะ",
        "3daa17c9922d05ac",
        "0000000000000000!",
    ),
    (
        "ມື້ນີ້ອາກາດດີຫຼາຍ ພວກເຮົາໄປຍ່າງຫຼິ້ນໃນສວນກັນເຖາະ",
        "88bf09dc31a82ca6",
        "0000000000000000!",
    ),
    (
        "ថ្ងៃនេះអាកាសធាតុល្អណាស់ តោះយើងទៅដើរលេងនៅសួនច្បារ",
        "bc961fa77f1dfb79",
        "0000000000000000!",
    ),
    (
        "ဒီနေ့ ရာသီဥတု အရမ်းကောင်းတယ်၊ ပန်းခြံထဲ လမ်းလျှောက်ရအောင်",
        "32db1ea9ad1838eb",
        "0000000000000000!",
    ),
    (
        "الطقس جميل اليوم، فلنذهب إلى الحديقة لنتنزه معًا",
        "7ca20bdcbcdcc2a3",
        "0000000000000000!",
    ),
    (
        "מזג האוויר יפה היום, בואו נצא לטייל יחד בגן",
        "51f4cdf6a188d315",
        "0000000000000000!",
    ),
    (
        "आज मौसम बहुत अच्छा है, चलो बगीचे में टहलने चलें",
        "63c35a0bed818c9c",
        "0000000000000000!",
    ),
    (
        "আজ আবহাওয়া খুব ভালো, চলো বাগানে বেড়াতে যাই",
        "0a736f183169e48a",
        "0000000000000000!",
    ),
    (
        "இன்று வானிலை மிகவும் நன்றாக இருக்கிறது, பூங்காவிற்கு நடந்து செல்வோம்",
        "7469bb1dd2080cc6",
        "0000000000000000!",
    ),
    (
        "오늘 날씨가 아주 좋으니 함께 공원에 산책하러 갑시다",
        "48861acd2f42802c",
        "0000000000000000!",
    ),
    (
        "Hôm nay thời tiết rất đẹp, chúng ta hãy cùng đi dạo trong công viên",
        "8c83e5d41e0f5088",
        "a8aa5323a59076d6",
    ),
    (
        "Bugün hava çok güzel, haydi hep birlikte parkta YÜRÜYÜŞE çıkalım İstanbul’da ılık",
        "f25b990d07c02bb0",
        "d826ddc6515feb73",
    ),
    (
        "Heute ist schönes Wetter, lasst uns große Bäume im Park besuchen, außer bei Stößen",
        "e63ca502197566ad",
        "ca059ba188b41ca5",
    ),
    (
        "Rust 1.90 与 C++20：版本3.14，价格￥１，２８０．５０元，涨幅+3.5%",
        "e2624426ff748210",
        "c0f30e243b1734f7",
    ),
    (
        "https://example.com/path?q=near-duplicate&lang=zh_CN#top",
        "78951875b517f079",
        "e92200fcb0f59c3b",
    ),
];

/// Fingerprints of texts too long to list, made by [`long_text`].
const GOLDEN_LONG: &[(usize, &str, &str)] = &[
    (100, "415113728361ea21", "af02433edccb8aa9"),
    (10_000, "2f2b7c0fe9bc980b", "af12532edccb8aa9"),
];

/// Sentences drawn from a fixed sequence.
fn long_text(sentences: usize) -> String {
    let words = [
        "海量数据",
        "相似度",
        "计算",
        "fingerprint",
        "文本",
        "Hamming",
        "距离",
        "去重",
        "网页",
    ];
    let mut state = 1_u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words[(state >> 16) as usize % words.len()]
    };
    (0..sentences)
        .map(|i| format!("{}的{}{i}，{}。", draw(), draw(), draw()))
        .collect()
}

fn shown(fingerprinter: &Fingerprinter, text: &str) -> String {
    let made = fingerprinter.fingerprint(text).unwrap();
    let mark = if made.reliable { "" } else { "!" };
    format!("{}{mark}", made.fingerprint)
}

#[test]
fn known_texts_give_known_fingerprints() {
    let ngram = Fingerprinter::new(Recipe::ngram());
    let jieba = Fingerprinter::new(Recipe::jieba());
    let long = GOLDEN_LONG
        .iter()
        .map(|&(count, a, b)| (long_text(count), a, b));
    let short = GOLDEN.iter().map(|&(text, a, b)| (text.to_owned(), a, b));
    let mut wrong = String::new();
    for (text, by_ngram, by_jieba) in short.chain(long) {
        let found = (shown(&ngram, &text), shown(&jieba, &text));
        if found != (by_ngram.to_owned(), by_jieba.to_owned()) {
            let start: String = text.chars().take(60).collect();
            wrong += &format!("{start:?}: {:?}, {:?}\n", found.0, found.1);
        }
    }
    assert!(
        wrong.is_empty(),
        "these texts have other fingerprints now:\n{wrong}"
    );
}

#[test]
fn known_texts_give_known_fingerprints_of_128_bits() {
    let text = "你妈妈喊你回家吃饭哦，回家罗回家罗";
    for (recipe, expected) in [
        (Recipe::ngram(), "05ce356a48b2ecf6a67cd645f5cfbf59"),
        (Recipe::jieba(), "85ceb2260c7acd662d1e9447dcf14f2b"),
    ] {
        let fingerprinter = Fingerprinter::new(recipe);
        let fingerprint = fingerprinter.fingerprint128(text).unwrap();
        assert_eq!(fingerprint.to_string(), expected, "{fingerprinter:?}");
    }
}

#[test]
fn cosmetic_edits_have_distance_zero() {
    let ngram = Fingerprinter::new(Recipe::ngram());
    for (original, edited) in [
        (
            "你妈妈喊你回家吃饭哦，回家罗回家罗",
            "  你妈妈 喊你回家吃饭哦\r\n回家罗……回家罗！！",
        ),
        (
            "漢語與臺灣的圖書館，開門時間",
            "汉语与台湾的图书馆：开门时间",
        ),
        (
            "Version 2.0 of the ABC library",
            "ｖｅｒｓｉｏｎ　２．０ Of THE a-b-c “library”",
        ),
        (
            "Café Zürich, 25 ℃, naïve",
            "CAFE\u{301} ZU\u{308}RICH 25°C nai\u{308}ve",
        ),
        ("ﾃﾞｰﾀﾍﾞｰｽの検索と登録", "データベース の 検索 と 登録"),
        (
            "soft hyphen and joiner here",
            "soft hy\u{ad}phen and joi\u{200d}ner here 🎉",
        ),
    ] {
        let fingerprint = |text| ngram.fingerprint(text).unwrap();
        let (a, b) = (fingerprint(original), fingerprint(edited));
        assert!(a.reliable, "{original}");
        assert_eq!(a, b, "{original} / {edited}");
    }
}

#[test]
fn edited_sentence_is_nearer_than_unrelated_one() {
    for recipe in [Recipe::ngram(), Recipe::jieba()] {
        let fingerprinter = Fingerprinter::new(recipe.clone());
        let fingerprint = |text| fingerprinter.fingerprint(text).unwrap().fingerprint;
        let original = fingerprint("你妈妈喊你回家吃饭哦，回家罗回家罗");
        let edited = fingerprint("你妈妈叫你回家吃饭啦，回家罗回家罗");
        for unrelated in [
            "美国“51区”雇员称内部有9架飞碟，曾看见灰色外星人",
            "生存还是毁灭，这是一个值得考虑的问题",
            "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
            "the cat sat on the mat",
        ] {
            let far = original.distance(fingerprint(unrelated));
            assert!(original.distance(edited) < far, "{recipe}: {unrelated}");
        }
    }
}

#[test]
fn huge_and_hostile_texts_are_fingerprinted() {
    let texts = [
        "x".repeat(1_000_000),
        "相".repeat(300_000),
        "\u{0}".repeat(300_000),
        "\u{202e}\u{5d0}\u{5d1}".repeat(70_000),
        "👨‍👩‍👧‍👦".repeat(30_000),
        "e\u{301}\u{323}".repeat(70_000),
        "a.b-c_d+e#".repeat(30_000),
        long_text(20_000),
    ];
    for recipe in Recipe::all().into_iter().filter(Recipe::takes_texts) {
        let fingerprinter = Fingerprinter::new(recipe);
        for text in &texts {
            let start: String = text.chars().take(10).collect();
            let once = fingerprinter.fingerprint(text).unwrap();
            assert_eq!(once, fingerprinter.fingerprint(text).unwrap(), "{start:?}");
        }
    }
}

#[test]
fn fingerprint_is_deterministic_and_normalisation_idempotent() {
    let fingerprinters = Recipe::all()
        .into_iter()
        .filter(Recipe::takes_texts)
        .map(|recipe| {
            (
                Fingerprinter::new(recipe.clone()),
                Fingerprinter::new(recipe),
            )
        });
    let fingerprinters: Vec<_> = fingerprinters.collect();
    proptest!(|(text: String)| {
        for (one, other) in &fingerprinters {
            let made = one.fingerprint(&text).unwrap();
            prop_assert_eq!(made, other.fingerprint(&text).unwrap());
            let normalised = one.normalise(&text);
            prop_assert_eq!(one.normalise(&normalised), normalised.clone());
            if one.recipe() == &Recipe::ngram() {
                let again = one.fingerprint(&normalised).unwrap();
                prop_assert_eq!(again.fingerprint, made.fingerprint);
            }
        }
    });
}
