//! Recipes: the named, versioned ways from text to fingerprint.
//!
//! A [`Recipe`] is a name with options. A [`Fingerprinter`] is a recipe with its tables loaded.
//! Each recipe has a file: `ngram`, `jieba` and `weighted` are our own, the recipes in `compat`
//! imitate other software.
//!
//! Invariant: a description determines every bit of every fingerprint. Descriptions are stored in
//! databases, so a changed bit needs a new version, and a description never changes.

mod compat;
mod feature_list;
mod fingerprinter;
mod jieba;
mod ngram;
#[cfg(not(feature = "jieba"))]
mod no_dictionary;
mod weighted;
mod weighted_features;
mod word_files;

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use self::compat::{CharacterClass, cppjieba, java_string_hash, python_simhash};
use self::feature_list::Merging;
use self::word_files::{WordFile, WordFiles};
use crate::error::{Error, Result};
use crate::text::Traditional;

pub use fingerprinter::Fingerprinter;
pub(crate) use fingerprinter::LazyFingerprinter;

/// A named, versioned way from text to fingerprint.
///
/// Fingerprints can be compared only if they were made by the same recipe, so a database stores the
/// [description](Self::description) of its recipe. Two recipes are our own:
///
/// | name | features | weights | for |
/// |---|---|---|---|
/// | `ngram`, the default | CJK characters and their pairs, runs of 3 and 6 other letters and digits | 1 + ln tf | any language; finds more, several times faster |
/// | `jieba` | the 20 heaviest words that jieba-rs finds | tf × idf | Chinese, as usually taught |
///
/// Both normalise the text first, see [`Normaliser`](crate::Normaliser). With `ngram`, texts that
/// differ only in white space, width, punctuation, case, or traditional and simplified characters
/// have the same fingerprint. (Characters such as 著, 瞭 and 藉, which simplified texts use too, are
/// not simplified.) With `jieba` such texts nearly always have the same fingerprint; a space may
/// change the words. `ngram-traditional` and `jieba-traditional` do not simplify characters, and
/// are otherwise equal to `ngram` and `jieba`.
///
/// `jieba` finds Chinese and ASCII words and numbers. A text in another script has no keywords, and
/// so no reliable fingerprint.
///
/// Three recipes give the fingerprints of other software, bit for bit, so that existing
/// fingerprints can be imported:
///
/// | name | equal to | bits |
/// |---|---|---|
/// | `python-simhash` | the Python package simhash 2.1.2 | 64, 128 |
/// | `cppjieba` | simhash of yanyiwu in C++, and gosimhash: hashes and sums exactly, words nearly always | 64 |
/// | `java-string-hash` | the Java class `SimHash` of the Chinese articles | 64, 128 |
///
/// `weighted` takes no texts, but features with weights.
///
/// `jieba`, `jieba-traditional` and `cppjieba` need the dictionary of jieba. A build of simdb
/// without its default feature `jieba` leaves the dictionary out. These recipes then open databases
/// and take [tokens](Fingerprinter::fingerprint_tokens), but refuse texts with
/// [`Error::NoDictionary`].
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
    /// The word files for `jieba` and `cppjieba`.
    files: WordFiles,
    /// The number of keywords for `cppjieba`; `None` for a number by the length of the text.
    top: Option<u32>,
    /// The characters that `python-simhash` keeps; `None` for letters, digits and `_`.
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
    traditional: Traditional,
    /// A fingerprint of fewer distinct features is unreliable.
    min_features: usize,
    /// The weight 1 in the unit of the recipe's integer weights.
    weight_unit: i64,
    /// The arithmetic for lists of given features.
    merging: Merging,
    /// The hash whose bits vote for the 64 bits of a fingerprint.
    hash: fn(&str) -> u64,
    /// The hash for fingerprints of 128 bits; `None` if the recipe has none.
    hash128: Option<fn(&str) -> u128>,
}

impl Constants {
    /// The defaults of our own recipes. The name is always replaced.
    const OWN: Self = Self {
        name: "",
        version: 1,
        traditional: Traditional::Simplified,
        min_features: 4,
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

/// The start of the part of a description that lists the word files by their hashes.
const WORD_FILES_START: &str = "; given, by xxh3_64: ";

/// The part of a description about hashing, merging and signing, for our own recipes.
const SIMHASH: &str = "feature hash xxh3_64 seed 0 (128 bits: xxh3_128) of UTF-8; hash bit i \
                       votes for bit i; a bit is 1 if its sum is above 0";

/// The result of [`Recipe::described`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Described {
    /// The description is of this recipe.
    Recipe(Recipe),
    /// The description is of this recipe with word files, whose contents the description does not
    /// have.
    NeedsFiles { recipe: Recipe, needed: String },
    /// This version of simdb has no such recipe.
    Unknown,
}

impl Recipe {
    /// `ngram`: overlapping runs of characters, weighted by 1 + ln tf. The default.
    pub const fn ngram() -> Self {
        Self::new(RecipeKind::Ngram)
    }

    /// `ngram-traditional`: `ngram` without the simplification of traditional characters.
    pub const fn ngram_traditional() -> Self {
        Self::new(RecipeKind::NgramTraditional)
    }

    /// `jieba`: the heaviest words that jieba-rs finds, weighted by tf × idf.
    pub const fn jieba() -> Self {
        Self::new(RecipeKind::Jieba)
    }

    /// `jieba-traditional`: `jieba` without the simplification of traditional characters. Most
    /// words of the dictionary are in simplified characters, so traditional texts have fewer known
    /// words.
    pub const fn jieba_traditional() -> Self {
        Self::new(RecipeKind::JiebaTraditional)
    }

    /// `python-simhash`: the fingerprints of the Python package simhash 2.1.2, `Simhash(text)`.
    ///
    /// The text is put in lower case, and all characters except letters, digits and `_` are
    /// removed. Each window of four characters votes with its MD5 once per occurrence. A tie gives
    /// a 0. The letters are the letters of Unicode 18; an older Python knows fewer letters of rare
    /// scripts.
    ///
    /// Lists of features are merged as the package does with numpy: in doubles, in the order of the
    /// list. A weight that is a whole number counts as an `int` of Python. (With numpy 2 the
    /// package fails if all weights are whole numbers and one is above 255. This recipe does not
    /// fail.)
    pub const fn python_simhash() -> Self {
        Self::new(RecipeKind::PythonSimhash)
    }

    /// `cppjieba`: the fingerprints of <https://github.com/yanyiwu/simhash> and of gosimhash.
    ///
    /// The heaviest words that cppjieba finds, weighted by tf × idf, hashed by Jenkins' lookup3.
    /// Hashes, weights, choice of words and sums equal the original to the last bit. Words are
    /// found by the rules of cppjieba with the dictionary and the model of jieba-rs, so a text with
    /// another segmentation has another fingerprint. [`with_top`](Self::with_top) sets the number
    /// of words; the default is one for each 120 bytes of text, at least 5 and at most 200.
    pub const fn cppjieba() -> Self {
        Self::new(RecipeKind::Cppjieba)
    }

    /// `java-string-hash`: the fingerprints of the Java class `SimHash` in Chinese articles about
    /// SimHash.
    ///
    /// Tokens between white space, not normalised, each with weight 1 per occurrence. A tie gives a
    /// 1.
    pub const fn java_string_hash() -> Self {
        Self::new(RecipeKind::JavaStringHash)
    }

    /// `weighted`: features and weights of the caller, summed exactly.
    ///
    /// The recipe takes no texts. Use [`Fingerprinter::fingerprint_tokens`] and
    /// [`Fingerprinter::fingerprint_hashes`].
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

    /// All recipes without options, the default first.
    pub fn all() -> Vec<Self> {
        RecipeKind::ALL.map(Self::new).into()
    }

    /// The newest recipe with this name.
    ///
    /// # Errors
    /// [`Error::UnknownRecipe`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::all().into_iter().find(|recipe| recipe.name() == name);
        found.ok_or_else(|| Error::UnknownRecipe {
            name: name.to_owned(),
            known: RecipeKind::ALL.map(|kind| kind.constants().name).join(", "),
        })
    }

    /// The recipe with these words added to its dictionary, for `jieba` and `cppjieba`.
    ///
    /// The file has the format of jieba's user dictionaries, in UTF-8: each line is a word, an
    /// optional count, and an optional tag, which is ignored. For `cppjieba` the file replaces the
    /// three words of its default user dictionary. Errors call the file `name`. The hash of the
    /// file becomes part of the [description](Self::description).
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
    /// let shown = refused.unwrap_err().to_string();
    /// assert!(shown.starts_with("cannot use user.dict: line 1: \"many\" is not a count"));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn with_dictionary(mut self, name: &str, bytes: &[u8]) -> Result<Self> {
        self.check_takes_files("a dictionary")?;
        self.files.dictionary = Some(WordFile::read_dictionary(name, bytes)?);
        Ok(self)
    }

    /// The recipe with these inverse document frequencies instead of its own, for `jieba` and
    /// `cppjieba`.
    ///
    /// Each line of the file is a word and its idf, above 0 and at most 63. Words that are not in
    /// the file get the median of the file (`jieba`) or the mean (`cppjieba`). See
    /// [`with_dictionary`](Self::with_dictionary).
    ///
    /// # Errors
    /// [`Error::WordFile`]; [`Error::RecipeOption`] if the recipe has no dictionary.
    pub fn with_idf(mut self, name: &str, bytes: &[u8]) -> Result<Self> {
        self.check_takes_files("idf values")?;
        self.files.idf = Some(WordFile::read_idf(name, bytes)?);
        Ok(self)
    }

    /// The recipe with these stop words instead of its own, for `jieba` and `cppjieba`.
    ///
    /// Each line of the file is a word. See [`with_dictionary`](Self::with_dictionary).
    ///
    /// # Errors
    /// [`Error::WordFile`]; [`Error::RecipeOption`] if the recipe has no dictionary.
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
            Err(self.option_refused(format!("{what}; the recipes jieba and cppjieba do")))
        }
    }

    /// The recipe with at most this many keywords per text, for `cppjieba`. With fewer than 4
    /// keywords no fingerprint is reliable.
    ///
    /// # Errors
    /// [`Error::RecipeOption`] if the recipe is not `cppjieba`, or the number is 0.
    pub fn with_top(mut self, keywords: u32) -> Result<Self> {
        if self.kind != RecipeKind::Cppjieba {
            return Err(
                self.option_refused("a number of keywords; the recipe cppjieba does".to_owned())
            );
        }
        // Without keywords every text would have the fingerprint 0.
        if keywords == 0 {
            return Err(self.option_refused("a top of 0; give 1 or more".to_owned()));
        }
        self.top = Some(keywords);
        Ok(self)
    }

    /// The recipe with these characters instead of letters, digits and `_`, for `python-simhash`:
    /// the argument `reg` of the Python class. Only a single class of characters is supported, such
    /// as `[一-鿿]`, `[a-z0-9]+` or `\w`.
    ///
    /// # Errors
    /// [`Error::RecipeOption`] if the recipe is not `python-simhash`, or the class is not
    /// supported.
    pub fn with_characters(mut self, class: &str) -> Result<Self> {
        if self.kind != RecipeKind::PythonSimhash {
            let what = "a class of characters; the recipe python-simhash does";
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

    /// The name of the recipe, an argument of [`by_name`](Self::by_name).
    pub const fn name(&self) -> &'static str {
        self.kind.constants().name
    }

    /// The version of the recipe. Every change of a bit of any fingerprint is a new version.
    pub const fn version(&self) -> u32 {
        self.kind.constants().version
    }

    /// Returns `true` if the recipe makes fingerprints of texts. `weighted` does not.
    pub const fn takes_texts(&self) -> bool {
        !matches!(self.kind, RecipeKind::Weighted)
    }

    /// One line that names every choice that decides a bit, equal on every machine.
    ///
    /// A new database stores the description; opening a database compares the descriptions. Tables
    /// are named by the version of their package or by their `xxh3_64`.
    pub fn description(&self) -> String {
        let traditional = self.kind.constants().traditional;
        let choices = match self.kind {
            RecipeKind::Ngram | RecipeKind::NgramTraditional => ngram::description(traditional),
            RecipeKind::Jieba | RecipeKind::JiebaTraditional => jieba::description(traditional),
            RecipeKind::PythonSimhash => python_simhash::description(self.characters.as_ref()),
            RecipeKind::Cppjieba => cppjieba::description(self.top),
            RecipeKind::JavaStringHash => java_string_hash::description(),
            RecipeKind::Weighted => weighted::description(),
        };
        match self.files.description() {
            Some(given) => format!("{self}: {choices}{WORD_FILES_START}{given}"),
            None => format!("{self}: {choices}"),
        }
    }

    /// The recipe with this [`description`](Self::description). `None` if this version of simdb has
    /// no such recipe, or if the recipe has word files: a description has only the hashes of files.
    ///
    /// ```
    /// use simdb::Recipe;
    ///
    /// let description = Recipe::jieba().description();
    /// assert_eq!(Recipe::by_description(&description), Some(Recipe::jieba()));
    /// assert_eq!(Recipe::by_description("jieba v0: unknown"), None);
    /// ```
    pub fn by_description(description: &str) -> Option<Self> {
        // The options in the text are read leniently. The comparison of whole descriptions decides,
        // so a wrong option cannot be accepted.
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

    /// The recipe with this description, with or without word files.
    pub(crate) fn described(description: &str) -> Described {
        if let Some(recipe) = Self::by_description(description) {
            return Described::Recipe(recipe);
        }
        // From the right: a class of characters may contain the separator.
        let given = description.rsplit_once(WORD_FILES_START);
        match given.and_then(|(own, needed)| Some((Self::by_description(own)?, needed))) {
            Some((recipe, needed)) => Described::NeedsFiles {
                recipe,
                needed: needed.to_owned(),
            },
            None => Described::Unknown,
        }
    }
}

/// Reads a name, or a name and the newest version, as `Display` writes them: see
/// [`by_name`](Recipe::by_name).
impl FromStr for Recipe {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let displayed = Self::all()
            .into_iter()
            // A name with an older version is refused: this version of simdb cannot make its
            // fingerprints.
            .find(|recipe| recipe.to_string() == name);
        displayed.map_or_else(|| Self::by_name(name), Ok)
    }
}

/// The default recipe is `ngram`.
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
            assert_eq!(recipe.to_string().parse::<Recipe>().unwrap(), recipe);
        }
        assert!("ngram v1".parse::<Recipe>().is_err());
        let error = Recipe::by_name("ngrams").unwrap_err().to_string();
        assert_eq!("jieba".parse::<Recipe>().unwrap(), Recipe::jieba());
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
    fn descriptions_of_compat_recipes_never_change() {
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
    fn recipe_is_found_by_its_description() {
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
    fn package_versions_in_descriptions_equal_lock_file() {
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
