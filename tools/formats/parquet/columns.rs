//! [`ParquetColumn`]: a column that is read, by its name and with a type that suits its use.

use anyhow::{Result, anyhow, ensure};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type};
use parquet::schema::types::{ColumnDescriptor, Type as SchemaType};

use super::ParquetFile;
use super::metadata::{FINGERPRINT_COLUMN, ID_COLUMN, recipe_of};
use crate::formats::{DocumentFields, RELIABLE_FIELD, excerpt};

/// A column that is read.
pub struct ParquetColumn {
    /// The name of the column; of one within others, their names too, separated by dots.
    pub name: String,
    /// The use of its values.
    pub role: ColumnRole,
    pub(super) kind: ColumnKind,
    /// The index of the column among those that do not consist of others.
    pub(super) leaf: usize,
    /// The definition level of a value that is not null.
    pub(super) max_definition: i16,
}

/// The use of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// The ids of documents.
    Id,
    /// Ids as 64 bits, whether or not the column has a sign.
    IdBits,
    /// The texts of documents.
    Text,
    /// The fingerprints of documents.
    Fingerprint,
    /// Flags that say whether a fingerprint is reliable.
    Reliable,
    /// The times at which documents arrived.
    Time,
    /// The numbers by which documents are preferred.
    Score,
    /// The distances of documents.
    Distance,
}

/// The values of a column, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Signed,
    Unsigned,
    Number,
    /// Strings, or bytes without an annotation.
    Text,
    Boolean,
    /// Times since 1970.
    Time {
        units_per_ms: i64,
    },
    Other,
}

/// Finds the columns of documents that `fields` names, or those of simdb's own files.
pub fn document_columns(file: &ParquetFile, fields: &DocumentFields) -> Result<Vec<ParquetColumn>> {
    let reliable = || find(file, RELIABLE_FIELD, ColumnRole::Reliable);
    if has_default_names(fields) && recipe_of(file)?.is_some() {
        let mut columns = vec![
            required(file, ID_COLUMN, ColumnRole::IdBits)?,
            required(file, FINGERPRINT_COLUMN, ColumnRole::Fingerprint)?,
        ];
        columns.extend(reliable()?);
        return Ok(columns);
    }
    let mut columns = Vec::new();
    for (option, name, role) in [
        ("--id", Some(&fields.id), ColumnRole::Id),
        ("--text", fields.text.as_ref(), ColumnRole::Text),
        (
            "--fingerprint",
            fields.fingerprint.as_ref(),
            ColumnRole::Fingerprint,
        ),
        ("--time", fields.time.as_ref(), ColumnRole::Time),
        ("--score", fields.score.as_ref(), ColumnRole::Score),
    ] {
        let Some(name) = name else {
            continue;
        };
        let missing = || {
            let missing = missing(file, name);
            anyhow!("{missing}; name the right one with {option}")
        };
        columns.push(find(file, name, role)?.ok_or_else(missing)?);
    }
    if fields.fingerprint.is_some() {
        columns.extend(reliable()?);
    }
    Ok(columns)
}

/// Returns `true` if no option names columns, so that simdb's own files are read by their metadata.
pub fn has_default_names(fields: &DocumentFields) -> bool {
    let unnamed = (fields.id.as_str(), fields.text.as_deref()) == ("id", Some("text"));
    unnamed && fields.fingerprint.is_none() && fields.time.is_none()
}

/// Finds the column of a name; an error if there is none.
pub fn required(file: &ParquetFile, name: &str, role: ColumnRole) -> Result<ParquetColumn> {
    find(file, name, role)?.ok_or_else(|| missing(file, name))
}

fn missing(file: &ParquetFile, name: &str) -> anyhow::Error {
    anyhow!(
        "cannot read {}: there is no column {name:?}; the columns are {}",
        file.name(),
        list(file)
    )
}

/// Finds the column of a name, or of a path through columns that consist of others. An error if the
/// column has a type that does not suit its role.
fn find(file: &ParquetFile, name: &str, role: ColumnRole) -> Result<Option<ParquetColumn>> {
    let unsuitable = |kind: &str| {
        let (_, expected) = role.suits(ColumnKind::Other, Type::BYTE_ARRAY);
        anyhow!(
            "cannot read {}: column {name:?} is {kind}; {expected} are expected; the columns are {}",
            file.name(),
            list(file)
        )
    };
    let fields: Vec<_> = (file.schema().root_schema().get_fields().iter())
        .filter(|field| field.name() == name)
        .collect();
    let leaves = file.schema().columns();
    let mut leaves = (leaves.iter().enumerate()).filter(|(_, leaf)| leaf.path().string() == name);
    let Some((index, leaf)) = leaves.next() else {
        return match fields.first() {
            None => Ok(None),
            Some(field) => Err(unsuitable(&describe(field))),
        };
    };
    ensure!(
        leaves.next().is_none() && fields.len() <= 1,
        "cannot read {}: column {name:?} is there twice",
        file.name()
    );
    if leaf.max_rep_level() > 0 {
        return Err(unsuitable("part of a list"));
    }
    let kind = ColumnKind::from_type(leaf);
    if !role.suits(kind, leaf.physical_type()).0 {
        return Err(unsuitable(&describe(leaf.self_type())));
    }
    Ok(Some(ParquetColumn {
        name: name.to_owned(),
        role,
        // Spark makes decimal numbers of INT64 without a sign, so ids are written with one.
        kind: match role {
            ColumnRole::IdBits => ColumnKind::Unsigned,
            _ => kind,
        },
        leaf: index,
        max_definition: leaf.max_def_level(),
    }))
}

impl ColumnKind {
    fn from_type(leaf: &ColumnDescriptor) -> Self {
        use {ConvertedType as Converted, LogicalType as Logical};
        let time = |units_per_ms| Self::Time { units_per_ms };
        // The crate fills in the converted type wherever there is a logical type that has one.
        match (leaf.physical_type(), leaf.converted_type()) {
            (Type::BOOLEAN, _) => Self::Boolean,
            (Type::FLOAT | Type::DOUBLE, _) => Self::Number,
            (Type::INT96, _) | (Type::INT64, Converted::TIMESTAMP_MILLIS) => time(1),
            (Type::INT64, Converted::TIMESTAMP_MICROS) => time(1_000),
            (Type::BYTE_ARRAY, Converted::UTF8 | Converted::ENUM | Converted::JSON) => Self::Text,
            (
                Type::INT32 | Type::INT64,
                Converted::INT_8 | Converted::INT_16 | Converted::INT_32 | Converted::INT_64,
            ) => Self::Signed,
            (
                Type::INT32 | Type::INT64,
                Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64,
            ) => Self::Unsigned,
            (physical, Converted::NONE) => match (physical, leaf.logical_type_ref()) {
                (Type::INT32 | Type::INT64, None) => Self::Signed,
                (Type::INT64, Some(Logical::Timestamp(_))) => time(1_000_000),
                (Type::BYTE_ARRAY, None) => Self::Text,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

impl ColumnRole {
    /// Returns `true` if a column of this type suits the role, and the types that do, for messages.
    fn suits(self, kind: ColumnKind, physical: Type) -> (bool, &'static str) {
        let is_integer = matches!(kind, ColumnKind::Signed | ColumnKind::Unsigned);
        let is_bits = is_integer && physical == Type::INT64;
        let is_number = is_integer || kind == ColumnKind::Number;
        let is_text = kind == ColumnKind::Text;
        let is_time = matches!(kind, ColumnKind::Time { .. });
        match self {
            Self::Id => (is_integer || is_text, "integers or strings of digits"),
            Self::IdBits => (is_bits, "INT64"),
            Self::Text => (is_text, "strings"),
            Self::Fingerprint => (
                is_bits || is_text,
                "INT64, or strings of 16 hexadecimal digits,",
            ),
            Self::Reliable => (kind == ColumnKind::Boolean, "true and false"),
            Self::Time => (
                is_time || is_number || is_text,
                "timestamps, numbers or strings",
            ),
            Self::Score => (is_number || is_text, "numbers or strings of digits"),
            Self::Distance => (is_integer, "integers"),
        }
    }
}

/// The most columns that a message lists.
const LISTED_COLUMNS: usize = 20;

/// The names and types of the columns, for messages.
fn list(file: &ParquetFile) -> String {
    let fields = file.schema().root_schema().get_fields();
    let mut columns: Vec<_> = (fields.iter().take(LISTED_COLUMNS))
        .map(|field| format!("{} ({})", printable(field.name()), describe(field)))
        .collect();
    if fields.len() > LISTED_COLUMNS {
        columns.push("…".to_owned());
    }
    columns.join(", ")
}

/// A name, cut and without control characters.
pub(super) fn printable(name: &str) -> String {
    excerpt(&name.replace(char::is_control, "\u{fffd}"))
}

/// The type of a column: `INT32 INTEGER`, `nested`, `repeated BYTE_ARRAY STRING`.
pub(super) fn describe(column: &SchemaType) -> String {
    let info = column.get_basic_info();
    let is_repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    let repeated = if is_repeated { "repeated " } else { "" };
    if column.is_group() {
        return format!("{repeated}nested");
    }
    let annotation = match (info.logical_type_ref(), info.converted_type()) {
        (Some(logical), _) => format!(" {}", variant_name(logical)),
        (None, ConvertedType::NONE) => String::new(),
        (None, converted) => format!(" {converted}"),
    };
    format!("{repeated}{}{annotation}", column.get_physical_type())
}

/// The name of a logical type, without its parameters.
fn variant_name(logical: &LogicalType) -> String {
    let debug = format!("{logical:?}");
    let name = debug.split(|c: char| !c.is_alphanumeric()).next();
    name.unwrap_or_default().to_uppercase()
}
