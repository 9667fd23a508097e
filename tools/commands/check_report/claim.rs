//! [`Claim`]: a line of a report.

use serde_json::{Map, Value};

use crate::commands::certificate::Certificate;
use crate::corpus::uncompared::UncomparedRule;

/// A line of a report of removals.
#[derive(Debug)]
pub struct Claim {
    /// The number of the line.
    pub line: u64,
    pub id: u64,
    pub keeper: u64,
    pub place: ClaimedPlace,
    /// `None` if the keeper is in another database, or not in the inputs.
    pub keeper_place: Option<ClaimedPlace>,
    /// `true` if the keeper is in another database.
    pub is_against: bool,
    /// `true` if ids are the numbers of records, counted over all inputs.
    pub is_by_place: bool,
    /// The kind of the parts that were not compared; `None` if texts were compared whole.
    pub uncompared: Option<UncomparedRule>,
    /// The frames of the removed text and of the text of its keeper.
    pub frames: [Vec<String>; 2],
    /// `None` if a text was unknown.
    pub certificate: Option<Certificate>,
}

/// The place of a record in a report.
#[derive(Debug)]
pub struct ClaimedPlace {
    pub file: String,
    /// The line or the row.
    pub number: u64,
}

impl Claim {
    /// The claim of a line, or the reason why the line is no line of a report.
    pub fn parse(line: u64, fields: Map<String, Value>) -> Result<Self, String> {
        let integer = |name: &str| {
            let value = fields.get(name).and_then(Value::as_u64);
            value.ok_or_else(|| format!("it is no line of dedup --report: {name:?} is no integer"))
        };
        let (id, keeper) = (integer("id")?, integer("keeper")?);
        let place = place(&fields, "").ok_or("it is no line of dedup --report: it has no place")?;
        if !fields.contains_key("verdict") {
            return Err("it has no verdict: another version of simdb wrote the report".to_owned());
        }
        let mut uncompared = None;
        for rule in [UncomparedRule::Paragraphs, UncomparedRule::Frames] {
            let (name, _) = rule(0).field();
            match fields.get(name).map(Value::as_u64) {
                None => {}
                Some(Some(number @ 2..)) => uncompared = Some(rule(number)),
                Some(_) => return Err(format!("{name:?} is no integer above 1")),
            }
        }
        let frames = ["frames", "keeper_frames"].map(|name| {
            let frames = fields.get(name).and_then(Value::as_array);
            let frames = frames.into_iter().flatten().filter_map(Value::as_str);
            frames.map(str::to_owned).collect()
        });
        let (keeper_place, is_against) = (
            self::place(&fields, "keeper_"),
            fields.get("against") == Some(&Value::Bool(true)),
        );
        let is_by_place = fields.get("by_place") == Some(&Value::Bool(true));
        let certificate = match fields.get("verdict") {
            Some(Value::Null) | None => None,
            Some(_) => {
                let certificate = serde_json::from_value(Value::Object(fields));
                Some(certificate.map_err(|error| format!("its certificate is bad: {error}"))?)
            }
        };
        Ok(Self {
            line,
            id,
            keeper,
            place,
            keeper_place,
            is_against,
            is_by_place,
            uncompared,
            frames,
            certificate,
        })
    }
}

fn place(fields: &Map<String, Value>, prefix: &str) -> Option<ClaimedPlace> {
    let field = |name: &str| fields.get(&format!("{prefix}{name}"));
    let number = |name| field(name).and_then(Value::as_u64);
    Some(ClaimedPlace {
        file: field("file")?.as_str()?.to_owned(),
        number: number("line").or_else(|| number("row"))?,
    })
}
