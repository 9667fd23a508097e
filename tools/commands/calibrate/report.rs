//! What `simdb-cli calibrate` says for people.

use anyhow::Result;

use super::score::{ClassScore, Counts, Radii};
use crate::console::table::{Align, Table};
use crate::console::{Output, counted, grouped};

/// Prints one class.
pub(super) fn print(score: &ClassScore, precision: f64, output: &mut Output) -> Result<()> {
    output.line(format_args!(
        "{}: {}, {} of them near-duplicates; {} of {} have an unreliable fingerprint",
        score.class,
        counted(score.pairs, "pair"),
        grouped(score.near_duplicates),
        percent(score.unreliable, score.documents),
        counted(score.documents, "document"),
    ))?;
    for line in table(score).lines() {
        output.line(line)?;
    }
    for line in recommendations(score, precision) {
        output.line(line)?;
    }
    output.line("")
}

fn table(score: &ClassScore) -> Table {
    let mut table = Table::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    table.row([
        "radius",
        "precision",
        "recall",
        "F1",
        "checked: precision",
        "recall",
        "F1",
    ]);
    let ways = score.fingerprints.iter().zip(&score.checked);
    for (radius, (alone, checked)) in ways.enumerate() {
        let cells = [vec![radius.to_string()], cells(alone), cells(checked)];
        table.row(cells.concat());
    }
    let nothing = vec![String::new(); 3];
    let cells = [vec!["similar".to_owned()], nothing, cells(&score.similar)];
    table.row(cells.concat());
    table
}

fn cells(counts: &Counts) -> Vec<String> {
    [counts.precision(), counts.recall(), counts.f1()]
        .map(decimal)
        .to_vec()
}

fn decimal(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{share:.4}"))
}

fn percent(part: u64, of: u64) -> String {
    match of {
        0 => "none".to_owned(),
        _ => format!("{:.1}%", part as f64 / of as f64 * 100.0),
    }
}

/// What follows: the radii, and whether the wording check pays.
fn recommendations(score: &ClassScore, precision: f64) -> [String; 3] {
    let recommended = &score.recommended;
    let best = |radii: &Radii, counts: &[Counts]| match radii.best {
        Some(radius) => {
            let f1 = decimal(counts[radius as usize].f1());
            format!("radius {radius} (F1 {f1})")
        }
        None => "no radius finds anything".to_owned(),
    };
    let precise = |radii: &Radii| match radii.precise {
        Some(radius) => format!("radius {radius}"),
        None => "no radius".to_owned(),
    };
    let (alone, checked) = (&recommended.fingerprints, &recommended.checked);
    [
        format!(
            "best F1: fingerprints alone {}, with the wording check {}, similar {}",
            best(alone, &score.fingerprints),
            best(checked, &score.checked),
            decimal(score.similar.f1()),
        ),
        format!(
            "largest with a precision of at least {precision}: fingerprints alone {}, with the wording \
             check {}",
            precise(alone),
            precise(checked),
        ),
        match recommended.check_pays {
            true => "the wording check pays: the best F1 with it is higher".to_owned(),
            false => "the wording check does not pay: the best F1 without it is as high".to_owned(),
        },
    ]
}
