//! The scopes of documents.

use super::View;
use crate::document::Document;
use crate::ids::DocId;
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::store::view::access::ViewAccess;

impl<A: ViewAccess> View<A> {
    pub(crate) fn keeps_scopes(&self) -> bool {
        self.tables.keeps.scopes
    }

    /// The scope of a document; the empty scope in a database without scopes.
    pub(crate) fn scope_of(&self, id: DocId) -> ScopeNumber {
        self.tables.keeps.scope_of(id)
    }

    /// The ids of the documents of some scopes. No document is in an unknown scope.
    pub(crate) fn ids_of_scopes<'n>(&self, names: impl Iterator<Item = &'n str>) -> IdRanges {
        IdRanges::of_scopes(names.filter_map(|name| self.scopes.number(name)))
    }

    /// The scopes of which some ids are.
    pub(super) fn scopes_of(&self, among: &IdRanges) -> Vec<ScopeNumber> {
        if !self.keeps_scopes() {
            return vec![ScopeNumber::default()];
        }
        let is_among = |scope: &ScopeNumber| among.contains(scope.id(0));
        self.scopes.all().filter(is_among).collect()
    }

    /// Sets the scope of a document with an id.
    pub(super) fn set_scope(&self, document: &mut Document) {
        if self.keeps_scopes() {
            let scope = self.scopes.name(ScopeNumber::of(document.id));
            document.scope = scope.map(|name| name.to_string());
        }
    }
}
