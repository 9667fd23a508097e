//! [`Chosen`]: which columns of a file are read, and for what.

use anyhow::{Result, anyhow, ensure};
use parquet::schema::types::ColumnDescPtr;

use super::column::Column;
use super::file::ParquetFile;
use super::kind::{Kind, Role, shown};
use super::metadata::{FINGERPRINT_COLUMN, ID_COLUMN};
use crate::formats::{Fields, RELIABLE_FIELD, excerpt};

/// The columns that are read of a file.
pub struct Chosen {
    /// Those of ids.
    pub id: Leaf,
    /// Those of texts.
    pub text: Option<Leaf>,
    /// Those of fingerprints.
    pub fingerprint: Option<Leaf>,
    /// Whether fingerprints mean anything.
    pub reliable: Option<Leaf>,
    /// Times of arrival.
    pub time: Option<Leaf>,
    /// Numbers by which documents are preferred.
    pub score: Option<Leaf>,
}

/// A column, by its place among those that are not made of others.
#[derive(Clone)]
pub struct Leaf {
    /// What it is called.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    place: usize,
    descriptor: ColumnDescPtr,
}

impl Leaf {
    /// Its values in a row group. To be called at the edge.
    pub fn column(&self, file: &ParquetFile, group: usize) -> Result<Column> {
        let pages = file.pages(group, self.place)?;
        Ok(Column::new(self.descriptor.clone(), self.kind, pages))
    }
}

impl Chosen {
    /// The columns that these fields name.
    pub fn by_fields(file: &ParquetFile, fields: &Fields) -> Result<Self> {
        let wanted = |option: &str, name: &Option<String>, role| {
            name.as_ref()
                .map(|name| required_by(option, file, name, role))
                .transpose()
        };
        let fingerprint = wanted("--fingerprint", &fields.fingerprint, Role::Fingerprint)?;
        Ok(Self {
            id: required_by("--id", file, &fields.id, Role::Id)?,
            text: wanted("--text", &fields.text, Role::Text)?,
            reliable: match fingerprint {
                Some(_) => optional(file, RELIABLE_FIELD, Role::Reliable)?,
                None => None,
            },
            fingerprint,
            time: wanted("--time", &fields.time, Role::Time)?,
            score: wanted("--score", &fields.score, Role::Score)?,
        })
    }

    /// The columns of simdb's own files. Their ids are 64 bits without a sign, though the column
    /// does not say so, because Spark would make decimal numbers of them.
    pub fn own(file: &ParquetFile) -> Result<Self> {
        let mut id = required(file, ID_COLUMN, Role::Id)?;
        if id.kind == Kind::Signed {
            id.kind = Kind::Unsigned;
        }
        Ok(Self {
            id,
            text: None,
            fingerprint: Some(required(file, FINGERPRINT_COLUMN, Role::Fingerprint)?),
            reliable: optional(file, RELIABLE_FIELD, Role::Reliable)?,
            time: None,
            score: None,
        })
    }
}

/// The column of that name, which must be there.
pub fn required(file: &ParquetFile, name: &str, role: Role) -> Result<Leaf> {
    match optional(file, name, role)? {
        Some(leaf) => Ok(leaf),
        None => Err(missing(file, name)),
    }
}

/// The same of a column that can be named by an option.
fn required_by(option: &str, file: &ParquetFile, name: &str, role: Role) -> Result<Leaf> {
    let named_by = || anyhow!("{}; name the right one with {option}", missing(file, name));
    optional(file, name, role)?.ok_or_else(named_by)
}

fn missing(file: &ParquetFile, name: &str) -> anyhow::Error {
    anyhow!(
        "cannot read {}: there is no column {name:?}; the columns are {}",
        file.name(),
        columns(file)
    )
}

/// The column of that name, or of that path through columns that are made of others.
fn optional(file: &ParquetFile, name: &str, role: Role) -> Result<Option<Leaf>> {
    let schema = file.metadata().file_metadata().schema_descr();
    let root = schema.root_schema().get_fields();
    let mut found =
        (schema.columns().iter().enumerate()).filter(|(_, column)| column.path().string() == name);
    let Some((place, column)) = found.next() else {
        return match root.iter().find(|field| field.name() == name) {
            None => Ok(None),
            Some(field) => Err(unsuitable(file, name, &shown(field), role)),
        };
    };
    let is_there_twice = root.iter().filter(|field| field.name() == name).count() > 1;
    ensure!(
        found.next().is_none() && !is_there_twice,
        "cannot read {}: column {name:?} is there twice",
        file.name()
    );
    let kind = Kind::of(column);
    if column.max_rep_level() > 0 {
        return Err(unsuitable(file, name, "part of a list", role));
    }
    if !kind.suits(role, column.physical_type()) {
        return Err(unsuitable(file, name, &shown(column.self_type()), role));
    }
    Ok(Some(Leaf {
        name: name.to_owned(),
        kind,
        place,
        descriptor: column.clone(),
    }))
}

fn unsuitable(file: &ParquetFile, name: &str, what: &str, role: Role) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot read {}: column {name:?} is {what}; {} are expected; the columns are {}",
        file.name(),
        role.expected(),
        columns(file)
    )
}

/// How many columns are named where one is missing.
const COLUMNS_SHOWN: usize = 20;

/// The names of columns and what they are, as far as a message can bear them.
fn columns(file: &ParquetFile) -> String {
    let schema = file.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let mut columns: Vec<_> = (fields.iter().take(COLUMNS_SHOWN))
        .map(|field| {
            let name = field.name().replace(char::is_control, "\u{fffd}");
            format!("{} ({})", excerpt(&name), shown(field))
        })
        .collect();
    if fields.len() > COLUMNS_SHOWN {
        columns.push("…".to_owned());
    }
    columns.join(", ")
}
