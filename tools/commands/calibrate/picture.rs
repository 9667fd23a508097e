//! A picture of precision, recall and F1 against the radius, one chart for each class.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::measure::MOST_RADIUS;
use super::score::{ClassScore, Counts};
use crate::console::{counted, grouped};

/// The size of a chart, and how many are side by side.
const CHART_PIXELS: (u32, u32) = (560, 380);
const CHARTS_ACROSS: usize = 2;

/// The strip above all charts that names the curves: a row for each way.
const ROW_PIXELS: i32 = 20;
const NAME_PIXELS: i32 = 190;
const SAMPLE_PIXELS: i32 = 28;

const FONT: &str = "sans-serif";
const TITLE_PIXELS: i32 = 18;
const LABEL_PIXELS: i32 = 14;

/// The length of the strokes of a dashed curve, and of the gaps.
const DASH_PIXELS: (i32, i32) = (8, 4);

type Measure = fn(&Counts) -> Option<f64>;

/// What is drawn of each way, with its colour.
const CURVES: [(&str, Measure, RGBColor); 3] = [
    ("precision", Counts::precision, RGBColor(27, 120, 184)),
    ("recall", Counts::recall, RGBColor(217, 95, 2)),
    ("F1", Counts::f1, RGBColor(0, 130, 90)),
];

type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The picture as SVG.
pub(super) fn picture(scores: &[ClassScore]) -> Result<String> {
    let mut svg = String::new();
    draw(scores, &mut svg).map_err(|reason| anyhow!("cannot draw: {reason}"))?;
    Ok(svg)
}

fn draw(scores: &[ClassScore], svg: &mut String) -> Drawn {
    let down = scores.len().div_ceil(CHARTS_ACROSS).max(1);
    let (width, height) = CHART_PIXELS;
    let names_pixels = 3 * ROW_PIXELS;
    let size = (
        width * CHARTS_ACROSS as u32,
        height * down as u32 + names_pixels as u32,
    );
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (strip, charts) = root.split_vertically(names_pixels);
    names(&strip)?;
    for (score, area) in scores
        .iter()
        .zip(charts.split_evenly((down, CHARTS_ACROSS)))
    {
        chart(score, &area)?;
    }
    root.present()?;
    Ok(())
}

/// The names of the curves: one row for each way, one column for each measure.
fn names(strip: &Area<'_>) -> Drawn {
    let draw = |row: i32, column: i32, name: String, style: ShapeStyle, gap: i32| -> Drawn {
        let (left, top) = (16 + column * NAME_PIXELS, 4 + row * ROW_PIXELS);
        let middle = top + ROW_PIXELS / 2;
        let mut x = left;
        while x < left + SAMPLE_PIXELS {
            let end = if gap > 0 {
                x + DASH_PIXELS.0
            } else {
                left + SAMPLE_PIXELS
            };
            strip.draw(&PathElement::new([(x, middle), (end, middle)], style))?;
            x = end + gap.max(1);
        }
        let place = (left + SAMPLE_PIXELS + 8, top + 3);
        strip.draw(&Text::new(name, place, (FONT, LABEL_PIXELS)))?;
        Ok(())
    };
    for (column, (name, _, colour)) in (0..).zip(CURVES) {
        let (solid, dashed) = (colour.stroke_width(2), colour.stroke_width(1));
        draw(0, column, format!("{name}, fingerprints"), solid, 0)?;
        let checked = format!("{name}, with wording");
        draw(1, column, checked, dashed, DASH_PIXELS.1)?;
    }
    draw(2, 0, "F1, similar".to_owned(), BLACK.stroke_width(1), 0)
}

fn chart(score: &ClassScore, area: &Area<'_>) -> Drawn {
    let title = format!(
        "{}: {}, {} near-duplicates",
        score.class,
        counted(score.pairs, "pair"),
        grouped(score.near_duplicates)
    );
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, TITLE_PIXELS))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..f64::from(MOST_RADIUS), 0.0..1.0)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_labels(MOST_RADIUS as usize + 1)
        .x_label_formatter(&|radius| format!("{radius:.0}"))
        .x_desc("radius")
        .y_label_formatter(&|share| format!("{share:.1}"))
        .label_style((FONT, LABEL_PIXELS))
        .draw()?;
    let (dash, gap) = DASH_PIXELS;
    for (_, measure, colour) in CURVES {
        let alone = points(&score.fingerprints, measure);
        chart.draw_series(LineSeries::new(alone, colour.stroke_width(2)))?;
        let checked = points(&score.checked, measure);
        let thin = colour.stroke_width(1);
        chart.draw_series(DashedLineSeries::new(checked, dash, gap, thin))?;
    }
    if let Some(f1) = score.similar.f1() {
        let ends = [(0.0, f1), (f64::from(MOST_RADIUS), f1)];
        chart.draw_series(LineSeries::new(ends, BLACK.stroke_width(1)))?;
    }
    Ok(())
}

/// The points of a curve; where nothing is found there is no precision.
fn points(counts: &[Counts], measure: Measure) -> Vec<(f64, f64)> {
    let values = counts.iter().enumerate();
    let values = values.filter_map(|(radius, counts)| Some((radius as f64, measure(counts)?)));
    values.collect()
}
