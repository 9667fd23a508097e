//! The replacement for `Jieba` and `Cppjieba` in a build without the feature `jieba`: a type
//! without a value, so that the dictionary, its model and its tables are not linked.

use std::ops::Range;

use super::weighted_features::WeightedFeatures;
use super::word_files::WordFiles;
use crate::text::Normaliser;

pub(super) enum NoDictionary {}

impl NoDictionary {
    pub(super) fn load<O>(_options: O, _files: &WordFiles) -> Option<Self> {
        None
    }

    pub(super) fn normaliser(&self) -> &Normaliser {
        match *self {}
    }

    pub(super) fn weigh<P>(
        &self,
        _text: &str,
        _position_of: impl Fn(Range<usize>) -> P,
    ) -> WeightedFeatures<P> {
        match *self {}
    }

    pub(super) fn keywords<'t>(&self, _text: &'t str) -> Vec<(&'t str, f64)> {
        match *self {}
    }

    pub(super) fn words(&self, _text: &str) -> Vec<String> {
        match *self {}
    }

    pub(super) fn idf(&self, _word: &str) -> Option<f64> {
        match *self {}
    }
}
