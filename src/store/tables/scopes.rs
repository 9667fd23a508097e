//! [`ScopeNames`]: the names of the scopes of a database, in memory, and in value `scopes` of table
//! `meta`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::error::{Error, Result};
use crate::ids::scope::{MAX_SCOPE, ScopeNumber};
use crate::record::SCOPE_LIMIT_BYTES;

/// The numbers of scopes by name. A scope never changes its number, and no number is given twice.
///
/// A name gets its number before the first document of the scope is committed. The record of each
/// document in the journal has the name, so a replay restores the numbers that are not in the file
/// yet.
#[derive(Debug, Default)]
pub(crate) struct ScopeNames {
    names: RwLock<Names>,
    /// The number of names in the file.
    stored: AtomicUsize,
}

#[derive(Clone, Debug, Default)]
struct Names {
    /// The name of scope 1, 2 and so on; `None` for a number whose first document was never
    /// committed.
    by_number: Vec<Option<Arc<str>>>,
    numbers: HashMap<Arc<str>, ScopeNumber>,
}

impl Names {
    fn name(&self, scope: ScopeNumber) -> Option<&Arc<str>> {
        let index = usize::try_from(scope.0).ok()?.checked_sub(1)?;
        self.by_number.get(index)?.as_ref()
    }

    /// Gives a name to the number behind all others.
    fn push(&mut self, name: &str) -> ScopeNumber {
        let name = Arc::from(name);
        self.by_number.push(Some(Arc::clone(&name)));
        let scope = ScopeNumber(self.by_number.len() as u64);
        self.numbers.insert(name, scope);
        scope
    }
}

impl Clone for ScopeNames {
    /// The names, for another file.
    fn clone(&self) -> Self {
        Self {
            names: RwLock::new(self.names.read().clone()),
            stored: AtomicUsize::new(0),
        }
    }
}

impl ScopeNames {
    /// The number of a scope; `None` for an unknown name. The empty name is the empty scope.
    pub(crate) fn number(&self, name: &str) -> Option<ScopeNumber> {
        match name {
            "" => Some(ScopeNumber(0)),
            name => self.names.read().numbers.get(name).copied(),
        }
    }

    /// The number of a scope, which is new if the name is unknown.
    ///
    /// # Errors
    /// [`Error::TooManyScopes`]
    pub(crate) fn number_or_new(&self, name: &str, path: &Path) -> Result<ScopeNumber> {
        if let Some(scope) = self.number(name) {
            return Ok(scope);
        }
        let mut names = self.names.write();
        // Race: another thread may have added the name since.
        if let Some(scope) = names.numbers.get(name) {
            return Ok(*scope);
        }
        if names.by_number.len() as u64 >= MAX_SCOPE {
            return Err(Error::TooManyScopes {
                path: path.to_path_buf(),
                scope: name.to_owned(),
            });
        }
        Ok(names.push(name))
    }

    /// The name of a scope; `None` for the empty scope, and in a damaged file.
    pub(crate) fn name(&self, scope: ScopeNumber) -> Option<Arc<str>> {
        self.names.read().name(scope).cloned()
    }

    /// The numbers of all scopes, with the empty scope.
    pub(crate) fn all(&self) -> impl Iterator<Item = ScopeNumber> {
        (0..=self.names.read().by_number.len() as u64).map(ScopeNumber)
    }

    /// Sets the name of the scope of a document in a journal. Returns `false` if the scope has
    /// another name, or the name another scope.
    pub(crate) fn set(&self, scope: ScopeNumber, name: &str) -> bool {
        let mut names = self.names.write();
        if let Some(known) = names.name(scope) {
            return **known == *name;
        }
        let is_known = names.numbers.contains_key(name);
        if is_known || scope.0 == 0 || scope.0 > MAX_SCOPE || name.is_empty() {
            return false;
        }
        let index = scope.0 as usize - 1;
        if names.by_number.len() <= index {
            names.by_number.resize(index + 1, None);
        }
        let name: Arc<str> = Arc::from(name);
        names.by_number[index] = Some(Arc::clone(&name));
        names.numbers.insert(name, scope);
        true
    }

    /// The value of table `meta`, and the number of its names: for each scope from 1 on, a byte for
    /// the length of the name, 0 without a name, and the name.
    pub(crate) fn encode(&self) -> (Vec<u8>, usize) {
        let names = self.names.read();
        let mut bytes = Vec::new();
        for name in &names.by_number {
            let name = name.as_deref().unwrap_or_default();
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
        }
        (bytes, names.by_number.len())
    }

    /// The names of a value of table `meta`; `None` for a damaged value.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut names = Names::default();
        while let Some((len, rest)) = bytes.split_first() {
            let (name, rest) = rest.split_at_checked(usize::from(*len))?;
            let name = std::str::from_utf8(name).ok()?;
            let is_twice = names.numbers.contains_key(name);
            if is_twice || name.len() > SCOPE_LIMIT_BYTES {
                return None;
            }
            if name.is_empty() {
                names.by_number.push(None);
            } else {
                names.push(name);
            }
            bytes = rest;
        }
        let stored = AtomicUsize::new(names.by_number.len());
        (names.by_number.len() as u64 <= MAX_SCOPE).then_some(Self {
            names: RwLock::new(names),
            stored,
        })
    }

    /// The value to write, and the number of its names; `None` if the file has all names.
    pub(crate) fn not_stored(&self) -> Option<(Vec<u8>, usize)> {
        let is_stored = self.names.read().by_number.len() == self.stored.load(Ordering::Relaxed);
        (!is_stored).then(|| self.encode())
    }

    /// Notes that the file has the first `count` names.
    pub(crate) fn set_stored(&self, count: usize) {
        self.stored.store(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(names: &ScopeNames) -> Vec<Option<Arc<str>>> {
        names.all().map(|scope| names.name(scope)).collect()
    }

    #[test]
    fn names_keep_their_numbers_through_the_file() {
        let names = ScopeNames::default();
        assert!(names.not_stored().is_none());
        let path = Path::new("docs.simdb");
        for (number, name) in (1..).zip(["zh", "en", "范围"]) {
            assert_eq!(names.number(name), None);
            let given = names.number_or_new(name, path).unwrap();
            assert_eq!(given, ScopeNumber(number));
            assert_eq!(names.number_or_new(name, path).unwrap(), given);
        }
        assert_eq!(names.number(""), Some(ScopeNumber(0)));
        // Scope 4 had no document before the crash.
        assert!(names.set(ScopeNumber(5), "fr"));
        assert!(names.set(ScopeNumber(5), "fr"));
        assert!(!names.set(ScopeNumber(5), "de"));
        assert!(!names.set(ScopeNumber(6), "fr"));
        assert!(!names.set(ScopeNumber(0), "de"));
        assert!(!names.set(ScopeNumber(MAX_SCOPE + 1), "de"));
        let (bytes, count) = names.not_stored().unwrap();
        names.set_stored(count);
        assert!(names.not_stored().is_none());
        let read = ScopeNames::decode(&bytes).unwrap();
        assert!(read.not_stored().is_none());
        assert_eq!(names_of(&read), names_of(&names));
        assert_eq!(read.number_or_new("de", path).unwrap(), ScopeNumber(6));
        for cut in 1..bytes.len() {
            let decoded = ScopeNames::decode(&bytes[..cut]);
            assert!(
                decoded.is_none_or(|read| read.encode().0 == bytes[..cut]),
                "{cut}"
            );
        }
    }

    #[test]
    fn more_scopes_than_numbers_are_refused() {
        let names = ScopeNames::default();
        let path = Path::new("docs.simdb");
        for number in 1..=MAX_SCOPE {
            names.number_or_new(&number.to_string(), path).unwrap();
        }
        let refused = names.number_or_new("one more", path);
        assert!(
            matches!(refused, Err(Error::TooManyScopes { .. })),
            "{refused:?}"
        );
        let (bytes, _) = names.encode();
        assert!(ScopeNames::decode(&bytes).is_some());
        assert!(ScopeNames::decode(&[&*bytes, b"\x01x"].concat()).is_none());
    }
}
