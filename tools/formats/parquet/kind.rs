//! [`Kind`]: what the values of a column are, by its type, and what they are good for.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type};
use parquet::schema::types::{ColumnDescriptor, Type as SchemaType};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integers of which the first bit is the sign, in 32 or 64 bits.
    Signed,
    /// Integers without a sign.
    Unsigned,
    /// Numbers with fractions.
    Number,
    /// Texts, or bytes that may be texts.
    Text,
    /// True and false.
    Boolean,
    /// Times since 1970, in units of which so many make a millisecond.
    Time {
        /// How many.
        in_ms: i64,
    },
    /// Something else.
    Other,
}

/// What a column is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ids.
    Id,
    /// Texts.
    Text,
    /// Fingerprints.
    Fingerprint,
    /// Whether they mean anything.
    Reliable,
    /// Times of arrival.
    Time,
    /// Numbers by which documents are preferred.
    Score,
    /// Ids, as 64 bits whatever their sign.
    IdBits,
    /// In how many bits fingerprints differ.
    Distance,
}

impl Kind {
    /// What the values of a column are.
    pub fn of(column: &ColumnDescriptor) -> Self {
        let logical = column.logical_type_ref();
        let converted = match logical {
            Some(_) => ConvertedType::NONE,
            None => column.converted_type(),
        };
        match column.physical_type() {
            Type::BOOLEAN => Self::Boolean,
            Type::INT32 | Type::INT64 => integer(logical, converted),
            Type::INT96 => Self::Time { in_ms: 1 },
            Type::FLOAT | Type::DOUBLE => Self::Number,
            Type::BYTE_ARRAY => match (logical, converted) {
                (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => {
                    Self::Text
                }
                (Some(_), _) => Self::Other,
                (
                    None,
                    ConvertedType::NONE
                    | ConvertedType::UTF8
                    | ConvertedType::ENUM
                    | ConvertedType::JSON,
                ) => Self::Text,
                (None, _) => Self::Other,
            },
            Type::FIXED_LEN_BYTE_ARRAY => Self::Other,
        }
    }

    /// Whether it can be read for that, of a column of this physical type.
    pub fn suits(self, role: Role, physical: Type) -> bool {
        match role {
            Role::Id => matches!(self, Self::Signed | Self::Unsigned | Self::Text),
            Role::Text => self == Self::Text,
            Role::Fingerprint => match self {
                Self::Signed | Self::Unsigned => physical == Type::INT64,
                _ => self == Self::Text,
            },
            Role::Reliable => self == Self::Boolean,
            Role::Time => !matches!(self, Self::Boolean | Self::Other),
            Role::IdBits => {
                matches!(self, Self::Signed | Self::Unsigned) && physical == Type::INT64
            }
            Role::Distance => matches!(self, Self::Signed | Self::Unsigned),
            Role::Score => matches!(
                self,
                Self::Signed | Self::Unsigned | Self::Number | Self::Text
            ),
        }
    }
}

fn integer(logical: Option<&LogicalType>, converted: ConvertedType) -> Kind {
    match (logical, converted) {
        (Some(LogicalType::Integer(integer)), _) if integer.is_signed => Kind::Signed,
        (Some(LogicalType::Integer(_)), _) => Kind::Unsigned,
        (Some(LogicalType::Timestamp(time)), _) => Kind::Time {
            in_ms: match time.unit {
                TimeUnit::MILLIS => 1,
                TimeUnit::MICROS => 1_000,
                TimeUnit::NANOS => 1_000_000,
            },
        },
        (Some(_), _) => Kind::Other,
        (None, ConvertedType::TIMESTAMP_MILLIS) => Kind::Time { in_ms: 1 },
        (None, ConvertedType::TIMESTAMP_MICROS) => Kind::Time { in_ms: 1_000 },
        (
            None,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
        ) => Kind::Unsigned,
        (
            None,
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => Kind::Signed,
        (None, _) => Kind::Other,
    }
}

impl Role {
    /// What is expected of a column that is read for it.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Id => "integers or strings of digits",
            Self::Text => "strings",
            Self::Fingerprint => "INT64, or strings of 16 hexadecimal digits,",
            Self::Reliable => "true and false",
            Self::Time => "timestamps, numbers or strings",
            Self::Score => "numbers or strings of digits",
            Self::IdBits => "INT64",
            Self::Distance => "integers",
        }
    }
}

/// What a column is, as messages say it.
pub fn shown(column: &SchemaType) -> String {
    let repeated = match column.get_basic_info().has_repetition()
        && column.get_basic_info().repetition() == Repetition::REPEATED
    {
        true => "repeated ",
        false => "",
    };
    if column.is_group() {
        return format!("{repeated}nested");
    }
    let logical = column.get_basic_info().logical_type_ref();
    let annotation = match (logical, column.get_basic_info().converted_type()) {
        (Some(logical), _) => annotation(&format!("{logical:?}")),
        (None, ConvertedType::NONE) => String::new(),
        (None, converted) => format!(" {converted}"),
    };
    format!("{repeated}{}{annotation}", column.get_physical_type())
}

/// The name of an annotation, without what it holds.
fn annotation(debug: &str) -> String {
    let name = debug.split(|c: char| !c.is_alphanumeric()).next();
    format!(" {}", name.unwrap_or_default().to_uppercase())
}
