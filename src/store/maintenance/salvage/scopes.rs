//! [`LostScopes`]: the scopes of salvaged documents.

use std::collections::BTreeSet;

use crate::document::Document;
use crate::ids::scope::ScopeNumber;
use crate::store::bulk::Load;
use crate::store::tables::schema::Keeps;
use crate::store::tables::scopes::ScopeNames;

/// The names of the scopes of a damaged database.
pub(super) struct LostScopes {
    names: ScopeNames,
    keeps: Keeps,
    /// The scopes without a name.
    lost: BTreeSet<ScopeNumber>,
}

/// The name of a scope whose name is lost.
fn lost_name(scope: ScopeNumber) -> String {
    format!("lost-{}", scope.0)
}

impl LostScopes {
    pub(super) fn new(names: ScopeNames, keeps: Keeps) -> Self {
        Self {
            names,
            keeps,
            lost: BTreeSet::new(),
        }
    }

    /// Sets the scope of a document, which keeps its id and so the number of its scope.
    pub(super) fn restore(&mut self, document: &mut Document, load: &Load) {
        let scope = self.keeps.scope_of(document.id);
        if scope.0 == 0 {
            return;
        }
        let name = self
            .names
            .name(scope)
            .filter(|name| load.name_scope(scope, name));
        document.scope = Some(match name {
            Some(name) => name.to_string(),
            None => {
                self.lost.insert(scope);
                let name = lost_name(scope);
                load.name_scope(scope, &name);
                name
            }
        });
    }

    /// A sentence for each scope whose name is lost.
    pub(super) fn damage(&self) -> impl Iterator<Item = String> {
        self.lost.iter().map(|scope| {
            let (number, name) = (scope.0, lost_name(*scope));
            format!("the name of scope {number} is lost: its documents are in scope {name}")
        })
    }
}
