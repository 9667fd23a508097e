//! [`TimeOptions`]: the options about the times that `--time` names.

use clap::{Args, ValueEnum};
use simdb::time_reader::{TimeReader, TimeUnit};

use crate::formats::time::TimeRules;

/// The options about the times that `--time` names.
#[derive(Clone, Debug, Args)]
pub struct TimeOptions {
    /// The zone of times without one: an offset such as +08:00, or a name such as Europe/Berlin
    ///
    /// A date without a time of day (20240531, 2024-05-31, 2024年5月31日) is then its first moment in
    /// this zone. Without this option both are bad records.
    #[arg(
        long,
        value_name = "ZONE",
        value_parser = parse_zone,
        requires = "time",
        allow_hyphen_values = true,
        help_heading = "Input"
    )]
    default_zone: Option<TimeReader>,

    /// The unit of all times that are numbers, also of 20240531 [default: seconds or milliseconds,
    /// whichever is in the years 1990 to 2100]
    #[arg(
        long,
        value_name = "UNIT",
        value_enum,
        requires = "time",
        help_heading = "Input"
    )]
    time_unit: Option<UnitName>,

    /// Let a document arrive now if it has no time, or if its time is null or empty; otherwise it
    /// is a bad record
    #[arg(long, requires = "time", help_heading = "Input")]
    time_or_now: bool,
}

/// The value of `--time-unit`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitName {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// The clap parser of `--default-zone`.
fn parse_zone(zone: &str) -> Result<TimeReader, String> {
    let reader = TimeReader::new().with_default_zone(zone);
    reader.map_err(|error| error.to_string())
}

impl TimeOptions {
    /// The rules by which times are read.
    pub fn rules(&self) -> TimeRules {
        let reader = self.default_zone.clone().unwrap_or_default();
        let unit = self.time_unit.map(|unit| match unit {
            UnitName::S => TimeUnit::Seconds,
            UnitName::Ms => TimeUnit::Milliseconds,
            UnitName::Us => TimeUnit::Microseconds,
            UnitName::Ns => TimeUnit::Nanoseconds,
        });
        TimeRules {
            reader: match unit {
                Some(unit) => reader.with_unit(unit),
                None => reader,
            },
            or_now: self.time_or_now,
            without_options: false,
        }
    }
}
