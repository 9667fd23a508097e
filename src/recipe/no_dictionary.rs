//! Replacements for `Jieba` and `Cppjieba` in a build without the feature `jieba`: types without a
//! value, so that the dictionary, its model and its tables are not linked.

use std::ops::Range;

use super::weighted_features::WeightedFeatures;
use super::word_files::WordFiles;
use crate::text::{Normaliser, Traditional};

pub(super) enum NoJieba {}

impl NoJieba {
    pub(super) fn load(_traditional: Traditional, _files: &WordFiles) -> Option<Self> {
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

    pub(super) fn words(&self, _text: &str) -> Vec<String> {
        match *self {}
    }

    pub(super) fn idf(&self, _word: &str) -> Option<f64> {
        match *self {}
    }
}

pub(super) enum NoCppjieba {}

impl NoCppjieba {
    pub(super) fn load(_top: Option<u32>, _files: &WordFiles) -> Option<Self> {
        None
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
