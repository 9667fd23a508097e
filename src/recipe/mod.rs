//! Recipes: the named, versioned ways from text to fingerprint.
//!
//! A [`Recipe`] is a name with its options; a [`Fingerprinter`] is a recipe with its tables loaded.
//! Each recipe has a file: `ngram`, `jieba` and `weighted` are our own, those in `compat` imitate
//! other software.

mod compat;
mod feature_list;
mod fingerprinter;
mod jieba;
mod ngram;
mod weighted;
mod weighted_features;
mod word_files;

use std::fmt;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use self::compat::{CharacterClass, cppjieba, java_string_hash, python_simhash};
use self::feature_list::Merging;
use self::word_files::{WordFile, WordFiles};
use crate::error::{Error, Result};
use crate::text::Script;

pub use fingerprinter::{Fingerprinter, TextFingerprint};

/// A named, versioned way from text to fingerprint.
///
/// Fingerprints can be compared only if the same recipe made them, so a database keeps the
/// [description](Self::description) of its recipe. There are two of our own:
///
/// | name | features | weights | for |
/// |---|---|---|---|
/// | `ngram`, the default | CJK characters and their pairs, threes to sixes of other letters and digits | 1 + ln tf | any language; finds more, several times faster |
/// | `jieba` | the 20 heaviest words jieba-rs finds | tf × idf | Chinese, as it is usually taught |
///
/// Both normalise first. `ngram` compares nothing but letters and digits: for it, texts that
/// differ in white space, width, punctuation, case, or in traditional against simplified
/// characters are the same text. (A character that stands for itself in simplified texts as well as
/// for another, as 著, 瞭 and 藉 do, stays as it is.) For `jieba` they nearly always are; where words
/// end may depend on a space. For `ngram-traditional` and `jieba-traditional` a traditional character and its
/// simplified form are two characters; all else is the same.
///
/// `jieba` knows Chinese, ASCII words and numbers; a text in another script has no keywords for
/// it, and so no reliable fingerprint.
///
/// Three recipes give the fingerprints of other software, bit for bit, so that a collection of them
/// can be carried over:
///
/// | name | what it equals | bits |
/// |---|---|---|
/// | `python-simhash` | the Python package simhash 2.1.2 | 64, 128 |
/// | `cppjieba` | simhash of yanyiwu in C++, and gosimhash: hashes and sums exactly, words nearly always | 64 |
/// | `java-string-hash` | the Java class `SimHash` of the Chinese articles | 64, 128 |
///
/// `weighted` takes no texts, but features with the weights that the caller gives them.
///
/// # Examples
///
/// ```
/// use simdb::Recipe;
///
/// let recipe = Recipe::by_name("jieba")?;
/// assert_eq!(recipe, Recipe::jieba());
/// assert_eq!(recipe.to_string(), "jieba v1");
/// assert_eq!(Recipe::default(), Recipe::ngram());
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    kind: RecipeKind,
    /// The files given to `jieba` and `cppjieba`.
    files: WordFiles,
    /// The number of keywords given to `cppjieba`.
    top: Option<u32>,
    /// The characters given to `python-simhash`.
    characters: Option<CharacterClass>,
}

/// The names of the recipes, in the order of [`Recipe::all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RecipeKind {
    Ngram,
    Jieba,
    NgramTraditional,
    JiebaTraditional,
    PythonSimhash,
    Cppjieba,
    JavaStringHash,
    Weighted,
}

/// The parts of a recipe that no option changes.
struct Constants {
    name: &'static str,
    version: u32,
    script: Script,
    /// Fewer distinct features than this make an unreliable fingerprint.
    least_features: usize,
    /// The integer that stands for a weight of 1 in the features of a text.
    weight_unit: i64,
    /// The way in which a list of features is merged.
    merging: Merging,
    /// The 64 bits that a token votes with.
    hash: fn(&str) -> u64,
    /// The 128 bits that a token votes with, if there are that many.
    hash128: Option<fn(&str) -> u128>,
}

impl Constants {
    /// Constants that are the same for our own recipes.
    const OWN: Self = Self {
        name: "",
        version: 1,
        script: Script::Folded,
        least_features: 4,
        weight_unit: 1,
        merging: Merging::Exact,
        hash: |token| xxh3_64(token.as_bytes()),
        hash128: Some(|token| xxh3_128(token.as_bytes())),
    };
}

impl RecipeKind {
    const ALL: [Self; 8] = [
        Self::Ngram,
        Self::Jieba,
        Self::NgramTraditional,
        Self::JiebaTraditional,
        Self::PythonSimhash,
        Self::Cppjieba,
        Self::JavaStringHash,
        Self::Weighted,
    ];

    const fn constants(self) -> &'static Constants {
        match self {
            Self::Ngram => &ngram::CONSTANTS,
            Self::NgramTraditional => &ngram::TRADITIONAL,
            Self::Jieba => &jieba::CONSTANTS,
            Self::JiebaTraditional => &jieba::TRADITIONAL,
            Self::PythonSimhash => &python_simhash::CONSTANTS,
            Self::Cppjieba => &cppjieba::CONSTANTS,
            Self::JavaStringHash => &java_string_hash::CONSTANTS,
            Self::Weighted => &weighted::CONSTANTS,
        }
    }
}

/// The start of the part of a description that lists the files given, by their hashes.
const GIVEN: &str = "; given, by xxh3_64: ";

/// The hashing, merging and signing of our own recipes, in a description.
const SIMHASH: &str = "feature hash xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i \
                       votes for bit i; a bit is 1 if its sum is above 0";

/// The recipe that a stored description is of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Described {
    /// This recipe.
    Recipe(Recipe),
    /// This recipe, with files that must be given.
    NeedsFiles { recipe: Recipe, needed: String },
    /// No recipe that this version of simdb knows.
    Unknown,
}

impl Recipe {
    /// `ngram`: overlapping runs of characters, weighted by 1 + ln tf. The default.
    pub const fn ngram() -> Self {
        Self::new(RecipeKind::Ngram)
    }

    /// `ngram-traditional`: `ngram`, but traditional characters stay apart from simplified ones.
    pub const fn ngram_traditional() -> Self {
        Self::new(RecipeKind::NgramTraditional)
    }

    /// `jieba`: the heaviest words that jieba-rs finds, weighted by tf × idf.
    pub const fn jieba() -> Self {
        Self::new(RecipeKind::Jieba)
    }

    /// `jieba-traditional`: `jieba`, but traditional characters stay apart from simplified ones,
    /// which most words of the dictionary are made of.
    pub const fn jieba_traditional() -> Self {
        Self::new(RecipeKind::JiebaTraditional)
    }

    /// `python-simhash`: the fingerprints of the Python package simhash 2.1.2, `Simhash(text)`.
    ///
    /// The text in lower case, all but letters, digits and `_` left out, in windows of four
    /// characters; each votes with its MD5, as often as it occurs; a tie gives a 0. Which
    /// characters are letters is fixed by our tables (Unicode 18); Python has those of its own
    /// version, which has fewer, of rare scripts.
    ///
    /// Lists of features are merged as the package does it with numpy, in doubles and in their
    /// order; a weight that is a whole number counts as an `int` of Python. (The package fails, by
    /// numpy 2, where a feature weighs more than 255 and all are whole numbers; this does not.)
    pub const fn python_simhash() -> Self {
        Self::new(RecipeKind::PythonSimhash)
    }

    /// `cppjieba`: the fingerprints of <https://github.com/yanyiwu/simhash> and of gosimhash.
    ///
    /// The heaviest words that cppjieba finds, weighted by tf × idf, hashed by Jenkins' lookup3.
    /// Hashes, weights, choice and sums are those of the original to the last bit. Words are found
    /// by its rules but with the dictionary and the model of jieba-rs, so a text that it cuts
    /// otherwise may get another fingerprint. [`with_top`](Self::with_top) sets how many words are
    /// kept; unless set, one for each 120 bytes of text, at least 5 and at most 200.
    pub const fn cppjieba() -> Self {
        Self::new(RecipeKind::Cppjieba)
    }

    /// `java-string-hash`: the fingerprints of the Java class `SimHash` that Chinese articles
    /// about SimHash print.
    ///
    /// Tokens between white space, nothing normalised, each occurrence with weight 1; a tie gives
    /// a 1.
    pub const fn java_string_hash() -> Self {
        Self::new(RecipeKind::JavaStringHash)
    }

    /// `weighted`: features that the caller finds, with weights that the caller gives, merged
    /// exactly.
    ///
    /// There is no fingerprint of a text: [`Fingerprinter::fingerprint_tokens`] and
    /// [`Fingerprinter::fingerprint_hashes`] make those of features.
    pub const fn weighted() -> Self {
        Self::new(RecipeKind::Weighted)
    }

    const fn new(kind: RecipeKind) -> Self {
        Self {
            kind,
            files: WordFiles::NONE,
            top: None,
            characters: None,
        }
    }

    /// All recipes by their names, the default first, without options.
    pub fn all() -> Vec<Self> {
        RecipeKind::ALL.map(Self::new).into()
    }

    /// The newest recipe of that name.
    ///
    /// # Errors
    /// [`Error::UnknownRecipe`] if there is none.
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::all().into_iter().find(|recipe| recipe.name() == name);
        found.ok_or_else(|| Error::UnknownRecipe {
            name: name.to_owned(),
            known: RecipeKind::ALL.map(|kind| kind.constants().name).join(", "),
        })
    }

    /// The recipe with these words added to its dictionary, for `jieba` and `cppjieba`.
    ///
    /// A line of the file is a word, and perhaps a count of how often it was seen, and a tag,
    /// which is not looked at: the format of jieba's user dictionaries, in UTF-8. For `cppjieba` it
    /// takes the place of the three words of its usual user dictionary. `name` is what an error
    /// calls the file. The hash of the file becomes part of the
    /// [description](Self::description).
    ///
    /// # Errors
    /// [`Error::WordFile`]; [`Error::RecipeOption`] if the recipe has no dictionary.
    ///
    /// ```
    /// use simdb::{Fingerprinter, Recipe};
    ///
    /// let recipe = Recipe::jieba().with_dictionary("user.dict", "海康云视界 100 n\n".as_bytes())?;
    /// let features = Fingerprinter::new(recipe).features("他们去看海康云视界了")?;
    /// assert!(features.iter().any(|feature| feature.token == "海康云视界"));
    ///
    /// let refused = Recipe::jieba().with_dictionary("user.dict", "海康云 many n\n".as_bytes());
    /// let said = refused.unwrap_err().to_string();
    /// assert!(said.starts_with("cannot use user.dict: line 1: \"many\" is not a count"));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn with_dictionary(mut self, name: &str, bytes: &[u8]) -> Result<Self> {
        self.check_takes_files("a dictionary")?;
        self.files.dictionary = Some(WordFile::read_dictionary(name, bytes)?);
        Ok(self)
    }

    /// The recipe with these inverse document frequencies in the place of its own, for `jieba` and
    /// `cppjieba`.
    ///
    /// A line of the file is a word and its idf, from above 0 to 63. Words that are not there get
    /// the median of the file (`jieba`), or the mean (`cppjieba`). See
    /// [`with_dictionary`](Self::with_dictionary).
    ///
    /// # Errors
    /// Those of [`with_dictionary`](Self::with_dictionary).
    pub fn with_idf(mut self, name: &str, bytes: &[u8]) -> Result<Self> {
        self.check_takes_files("idf values")?;
        self.files.idf = Some(WordFile::read_idf(name, bytes)?);
        Ok(self)
    }

    /// The recipe with these stop words in the place of its own, for `jieba` and `cppjieba`.
    ///
    /// Each line of the file is a word. See [`with_dictionary`](Self::with_dictionary).
    ///
    /// # Errors
    /// Those of [`with_dictionary`](Self::with_dictionary).
    pub fn with_stop_words(mut self, name: &str, bytes: &[u8]) -> Result<Self> {
        self.check_takes_files("stop words")?;
        self.files.stop_words = Some(WordFile::read_stop_words(name, bytes)?);
        Ok(self)
    }

    fn check_takes_files(&self, what: &str) -> Result<()> {
        use RecipeKind::{Cppjieba, Jieba, JiebaTraditional};
        if matches!(self.kind, Jieba | JiebaTraditional | Cppjieba) {
            Ok(())
        } else {
            Err(self.option_refused(format!("{what}; jieba and cppjieba do")))
        }
    }

    /// The recipe with at most this many keywords of a text, for `cppjieba`. With fewer than 4 no
    /// fingerprint is reliable.
    ///
    /// # Errors
    /// [`Error::RecipeOption`] if the recipe has no such number, or it is 0.
    pub fn with_top(mut self, keywords: u32) -> Result<Self> {
        if self.kind != RecipeKind::Cppjieba {
            return Err(self.option_refused("a number of keywords; cppjieba does".to_owned()));
        }
        if keywords == 0 {
            return Err(self.option_refused("a top of 0; give 1 or more".to_owned()));
        }
        self.top = Some(keywords);
        Ok(self)
    }

    /// The recipe with these characters in the place of letters, digits and `_`, for
    /// `python-simhash`: its `reg`, as far as that is one class of characters, such as `[一-鿿]`,
    /// `[a-z0-9]+` or `\w`.
    ///
    /// # Errors
    /// [`Error::RecipeOption`] if the recipe has no such class, or it is not understood.
    pub fn with_characters(mut self, class: &str) -> Result<Self> {
        if self.kind != RecipeKind::PythonSimhash {
            let what = "a class of characters; python-simhash does";
            return Err(self.option_refused(what.to_owned()));
        }
        let parsed = CharacterClass::parse(class)
            .map_err(|why| self.option_refused(format!("the characters {class:?}: {why}")))?;
        self.characters = Some(parsed);
        Ok(self)
    }

    fn option_refused(&self, what: String) -> Error {
        Error::RecipeOption {
            recipe: self.to_string(),
            what,
        }
    }

    /// The name of the recipe, as the tools' `--recipe` takes it.
    pub const fn name(&self) -> &'static str {
        self.kind.constants().name
    }

    /// The version of the recipe. Whatever changes a bit of any fingerprint is a new version.
    pub const fn version(&self) -> u32 {
        self.kind.constants().version
    }

    /// Returns `true` if the recipe makes fingerprints of texts. `weighted` does not.
    pub const fn takes_texts(&self) -> bool {
        !matches!(self.kind, RecipeKind::Weighted)
    }

    /// One line that names every choice that decides a bit, the same on every machine.
    ///
    /// A database stores it when it is created and compares it when it is opened. Tables are
    /// named by the version of their package or by their `xxh3_64`.
    pub fn description(&self) -> String {
        let script = self.kind.constants().script;
        let choices = match self.kind {
            RecipeKind::Ngram | RecipeKind::NgramTraditional => ngram::description(script),
            RecipeKind::Jieba | RecipeKind::JiebaTraditional => jieba::description(script),
            RecipeKind::PythonSimhash => python_simhash::description(self.characters.as_ref()),
            RecipeKind::Cppjieba => cppjieba::description(self.top),
            RecipeKind::JavaStringHash => java_string_hash::description(),
            RecipeKind::Weighted => weighted::description(),
        };
        match self.files.description() {
            Some(given) => format!("{self}: {choices}{GIVEN}{given}"),
            None => format!("{self}: {choices}"),
        }
    }

    /// The recipe of this [`description`](Self::description), if it is one that this version of simdb
    /// knows and was given no files; a description does not hold the contents of files.
    ///
    /// ```
    /// use simdb::Recipe;
    ///
    /// let description = Recipe::jieba().description();
    /// assert_eq!(Recipe::by_description(&description), Some(Recipe::jieba()));
    /// assert_eq!(Recipe::by_description("jieba v0: unknown"), None);
    /// ```
    pub fn by_description(description: &str) -> Option<Self> {
        let top = cppjieba::described_top(description);
        let characters = python_simhash::described_characters(description);
        let options = [
            top.map(|_| Self {
                top,
                ..Self::cppjieba()
            }),
            characters.map(|characters| Self {
                characters: Some(characters),
                ..Self::python_simhash()
            }),
        ];
        Self::all()
            .into_iter()
            .chain(options.into_iter().flatten())
            .find(|recipe| recipe.description() == description)
    }

    /// The recipe that has this description, files given or not.
    pub(crate) fn described(description: &str) -> Described {
        if let Some(recipe) = Self::by_description(description) {
            return Described::Recipe(recipe);
        }
        let given = description.rsplit_once(GIVEN);
        match given.and_then(|(own, needed)| Some((Self::by_description(own)?, needed))) {
            Some((recipe, needed)) => Described::NeedsFiles {
                recipe,
                needed: needed.to_owned(),
            },
            None => Described::Unknown,
        }
    }
}

/// `ngram`.
impl Default for Recipe {
    fn default() -> Self {
        Self::ngram()
    }
}

/// Name and version: `ngram v2`.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.name(), self.version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_found_by_name() {
        for recipe in Recipe::all() {
            assert_eq!(Recipe::by_name(recipe.name()).unwrap(), recipe);
        }
        let error = Recipe::by_name("ngrams").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no recipe \"ngrams\"; known are ngram, jieba, ngram-traditional, \
             jieba-traditional, python-simhash, cppjieba, java-string-hash, weighted"
        );
    }

    #[test]
    fn descriptions_never_change_without_a_new_version() {
        assert_eq!(
            Recipe::ngram().description(),
            "ngram v2: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, \
             simplified characters 3ede2e415f2f44e4, categories unicode-properties \
             0.1.5, to a fixed point; letters, digits and marks of one script; shingles \
             of 2 in runs of CJK, and of 1 at 717/1024; of 3 and 6 in other runs, short \
             runs whole, the share of the latter growing with the logarithm of the other \
             characters from 1024 to 8 times as many; weight round(1024 (1 + ln tf)), ln \
             by libm 0.2.16, times the share in 1024ths, rounded; feature hash xxh3_64 \
             seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i votes for bit i; a bit is \
             1 if its sum is above 0; unreliable without two different words and a \
             letter, below 5 distinct, if one outweighs the rest, or below 32 distinct \
             occurring 2 times each, below 100 distinct occurring 4 times each, below \
             5000 distinct occurring 8 times each"
        );
        assert_eq!(
            Recipe::jieba().description(),
            "jieba v1: NFKC unicode-normalization 0.1.26, case folding caseless 0.2.2, \
             simplified characters 3ede2e415f2f44e4, categories unicode-properties \
             0.1.5, to a fixed point; separators to spaces except +#&._%-; words of 2 \
             and more characters by jieba-rs 0.11.0 with its dictionary and the model of \
             jieba-macros 0.11.0, in pieces of 65536 bytes cut at spaces, without stop words 8b1aa2ffa17a34be; weight tf x idf, of table \
             e1678ae38e085d59, other words 12242; top 20, ties by word; feature hash \
             xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i votes for bit i; a \
             bit is 1 if its sum is above 0; unreliable below 4 distinct or if one \
             outweighs the rest"
        );
    }

    #[test]
    fn descriptions_of_what_equals_other_software_never_change_either() {
        for (recipe, expected) in [
            (
                Recipe::python_simhash(),
                "python-simhash v1: as simhash 2.1.2 of Python; lower case 149da5233446b373, \
                 sigma by its place; of it letters and numbers (categories unicode-properties \
                 0.1.5) and _ joined, in windows of 4, a short text whole; weight 1 each time; \
                 the last 8 bytes of MD5 of UTF-8 (128 bits: all 16), most significant first; a \
                 bit is 1 if more than half of the weight says so; unreliable below 5 distinct, \
                 if one outweighs the rest, below 32 distinct occurring 2 times each, or below \
                 300 distinct occurring 4 times each",
            ),
            (
                Recipe::cppjieba(),
                "cppjieba v1: as simhash of yanyiwu; words by the rules of cppjieba's mixed \
                 segmenter with dictionary and model of jieba-rs 0.11.0, jieba-macros 0.11.0 and \
                 the words 云计算 3, 蓝翔 3, 区块链 10, in pieces of 65536 bytes; of 2 and more \
                 characters, without stop words 48feafe657d240fa; weight tf x idf of table \
                 e1678ae38e085d59 f052b7857828d814, other words the mean; top by length, one for \
                 120 bytes, 5 to 200, by partial_sort of libstdc++ from the order of UTF-8; \
                 lookup3 hashlittle2 seeds 0 0; sums of doubles in that order; a bit is 1 if its \
                 sum is above 0; unreliable below 4 keywords or if one outweighs the rest",
            ),
            (
                Recipe::java_string_hash(),
                "java-string-hash v1: as the class SimHash in Java; tokens between space, \\t, \
                 \\n, \\r, \\f; weight 1 each time; string hash of UTF-16 by 1000003, first unit \
                 shifted by 7, xor length, modulo 2^64 (128 bits: 2^128); a bit is 1 if its sum \
                 is 0 or above; unreliable below 4 distinct or if one outweighs the rest",
            ),
            (
                Recipe::weighted(),
                "weighted v1: features and weights as they are given, weights rounded to 2^-40; \
                 feature hash xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i votes for \
                 bit i; a bit is 1 if its sum is above 0, or a hash that is given; unreliable \
                 below 4 distinct or if one outweighs the rest",
            ),
        ] {
            assert_eq!(recipe.description(), expected);
        }
        for (recipe, other) in [
            (Recipe::ngram_traditional(), Recipe::ngram()),
            (Recipe::jieba_traditional(), Recipe::jieba()),
        ] {
            let expected = other.description().replace(
                "simplified characters 3ede2e415f2f44e4",
                "traditional characters as they are",
            );
            let expected = expected.replacen(other.name(), recipe.name(), 1);
            assert_eq!(recipe.description(), expected);
        }
    }

    #[test]
    fn descriptions_lead_back_to_their_recipes() {
        let mut recipes = Recipe::all();
        recipes.push(Recipe::cppjieba().with_top(10).unwrap());
        for class in [r"\w", "[; given, by xxh3_64: of it characters joined,]+"] {
            recipes.push(Recipe::python_simhash().with_characters(class).unwrap());
        }
        for recipe in recipes {
            let described = Recipe::described(&recipe.description());
            assert_eq!(described, Described::Recipe(recipe.clone()));
            if let Ok(given) = recipe.clone().with_idf("idf", b"a 1") {
                let needed = "idf b5b3d6cb6b1de9a5".len();
                let described = Recipe::described(&given.description());
                let Described::NeedsFiles {
                    recipe: found,
                    needed: files,
                } = described
                else {
                    panic!("{described:?}");
                };
                assert_eq!((found, files.len()), (recipe, needed));
            }
        }
        assert_eq!(Recipe::described("ngram v0: something"), Described::Unknown);
        assert_eq!(Recipe::described(""), Described::Unknown);
    }

    #[test]
    fn described_packages_are_those_built_in() {
        let lock = include_str!("../../Cargo.lock");
        for package in [
            "caseless\"\nversion = \"0.2.2",
            "jieba-macros\"\nversion = \"0.11.0",
            "jieba-rs\"\nversion = \"0.11.0",
            "libm\"\nversion = \"0.2.16",
            "unicode-normalization\"\nversion = \"0.1.26",
            "unicode-properties\"\nversion = \"0.1.5",
        ] {
            assert!(lock.contains(package), "{package}");
        }
    }
}
