//! [`ParquetColumn`]: a column that is read, found by name, with a type that suits its role.

use anyhow::{Result, anyhow, ensure};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type};
use parquet::schema::types::{ColumnDescriptor, Type as SchemaType};

use super::ParquetFile;
use super::metadata::{FINGERPRINT_COLUMN, FORMAT_KEY, ID_COLUMN, recipe_of};
use crate::formats::{DocumentFields, DocumentPart, list_columns, printable};

/// A column that is read.
pub struct ParquetColumn {
    /// The path of the column, its names separated by dots.
    pub name: String,
    /// The use of the values.
    pub role: ColumnRole,
    pub(super) kind: ColumnKind,
    /// The index of the column among the leaf columns.
    pub(super) leaf: usize,
    /// The definition level of a value that is not null.
    pub(super) max_definition: i16,
}

/// The use of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    Part(DocumentPart),
    /// Ids as 64 bits, whether or not the column has a sign.
    IdBits,
}

/// The type of the values of a column.
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
        /// `true` for the times of a clock without a zone.
        is_local: bool,
    },
    Other,
}

/// The columns of documents that `fields` names, or the columns of simdb's own files.
pub fn document_columns(file: &ParquetFile, fields: &DocumentFields) -> Result<Vec<ParquetColumn>> {
    let (fields, id_role) = document_fields(file, fields)?;
    let role = |part| match part {
        DocumentPart::Id => id_role,
        part => ColumnRole::Part(part),
    };
    let columns = fields.find_columns(
        |part, name| find(file, name, role(part)),
        |name| missing(file, name),
    )?;
    Ok(columns.into_iter().flatten().collect())
}

/// The fields to read, and the role of the ids: the columns of simdb's own files if no option names
/// columns.
pub(super) fn document_fields(
    file: &ParquetFile,
    fields: &DocumentFields,
) -> Result<(DocumentFields, ColumnRole)> {
    if !has_default_names(fields) || recipe_of(file)?.is_none() {
        let is_own = fields.id == ID_COLUMN && file.value(FORMAT_KEY).is_some();
        let role = match is_own {
            true => ColumnRole::IdBits,
            false => ColumnRole::Part(DocumentPart::Id),
        };
        return Ok((fields.clone(), role));
    }
    let fields = DocumentFields {
        id: ID_COLUMN.to_owned(),
        text: None,
        fingerprint: Some(FINGERPRINT_COLUMN.to_owned()),
        features: None,
        score: None,
        group: None,
        ..fields.clone()
    };
    Ok((fields, ColumnRole::IdBits))
}

/// Returns `true` if no option names columns, so that simdb's own files are read by their metadata.
pub fn has_default_names(fields: &DocumentFields) -> bool {
    let unnamed = (fields.id.as_str(), fields.text.as_deref()) == ("id", Some("text"));
    let has_one_text = fields.more_texts.is_empty();
    unnamed && has_one_text && fields.fingerprint.is_none() && fields.time.is_none()
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

/// Finds a leaf column by its path. An error if its type does not suit its role.
fn find(file: &ParquetFile, name: &str, role: ColumnRole) -> Result<Option<ParquetColumn>> {
    let unsuitable = |kind: &str| {
        let (_, expected) = role.suits(ColumnKind::Other, Type::BYTE_ARRAY);
        anyhow!(
            "cannot read {}: column {name:?} is {kind}; {expected} are expected; the columns are {}",
            file.name(),
            list(file)
        )
    };
    let schema = file.schema();
    let fields = schema.root_schema().get_fields();
    let mut fields = fields.iter().filter(|field| field.name() == name);
    let leaves = schema.columns().iter().enumerate();
    let mut leaves = leaves.filter(|(_, leaf)| leaf.path().string() == name);
    let (field, leaf) = (fields.next(), leaves.next());
    let Some((index, leaf)) = leaf else {
        // A group has no leaf of its name.
        return field.map_or(Ok(None), |field| Err(unsuitable(&describe(field))));
    };
    ensure!(
        leaves.next().is_none() && fields.next().is_none(),
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
        // simdb writes ids with a sign, because Spark reads unsigned INT64 as decimal numbers.
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
        let is_local = matches!(
            leaf.logical_type_ref(),
            Some(Logical::Timestamp(time)) if !time.is_adjusted_to_u_t_c
        );
        let time = |units_per_ms| Self::Time {
            units_per_ms,
            is_local,
        };
        // `parquet` derives the converted type from a logical type, except for times in
        // nanoseconds.
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
    /// The part of a document in the column.
    pub fn part(self) -> DocumentPart {
        match self {
            Self::Part(part) => part,
            Self::IdBits => DocumentPart::Id,
        }
    }

    /// Returns `true` if a column of this type suits the role, and the types that do, for messages.
    fn suits(self, kind: ColumnKind, physical: Type) -> (bool, &'static str) {
        let is_integer = matches!(kind, ColumnKind::Signed | ColumnKind::Unsigned);
        let is_bits = is_integer && physical == Type::INT64;
        let is_number = is_integer || kind == ColumnKind::Number;
        let is_text = kind == ColumnKind::Text;
        let is_time = matches!(kind, ColumnKind::Time { .. });
        match self {
            Self::IdBits => (is_bits, "INT64"),
            Self::Part(part) => match part {
                DocumentPart::Id => (is_integer || is_text, "integers or strings of digits"),
                DocumentPart::Key => (is_integer || is_text, "strings or integers"),
                DocumentPart::Scope
                | DocumentPart::Text
                | DocumentPart::SecondText
                | DocumentPart::ThirdText
                | DocumentPart::FourthText => (is_text, "strings"),
                DocumentPart::Fingerprint => (
                    is_bits || is_text,
                    "INT64, or strings of 16 hexadecimal digits,",
                ),
                DocumentPart::Features => (false, "JSON Lines instead of columns"),
                DocumentPart::Reliable => (kind == ColumnKind::Boolean, "true and false"),
                DocumentPart::Time | DocumentPart::FirstCopy | DocumentPart::LastCopy => (
                    is_time || is_number || is_text,
                    "timestamps, numbers or strings",
                ),
                DocumentPart::Group => (
                    is_time || is_number || is_text || kind == ColumnKind::Boolean,
                    "strings, numbers, timestamps, or true and false",
                ),
                DocumentPart::Copies => (is_integer || is_text, "integers or strings of JSON"),
                DocumentPart::Score => (is_number || is_text, "numbers or strings of digits"),
            },
        }
    }
}

/// The names and types of the columns, for messages.
fn list(file: &ParquetFile) -> String {
    let fields = file.schema().root_schema().get_fields().iter();
    list_columns(fields.map(|field| format!("{} ({})", printable(field.name()), describe(field))))
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
