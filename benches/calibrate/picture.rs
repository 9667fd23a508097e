//! The curves of precision, recall and F1 by radius, a chart for each class.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::measure::MAX_RADIUS;
use super::score::{ClassScore, WayScore};

/// The size of a chart, and the number of charts side by side.
const CHART_PIXELS: (u32, u32) = (560, 380);
const CHARTS_ACROSS: usize = 2;

/// The rows and columns of the legend above all charts.
const ROW_PIXELS: i32 = 20;
const NAME_PIXELS: i32 = 220;

const FONT: &str = "sans-serif";
const TITLE_PIXELS: i32 = 18;
const LABEL_PIXELS: i32 = 14;

/// The lengths of dashes and gaps of a dashed curve.
const DASH_PIXELS: (i32, i32) = (8, 4);

type Measure = fn(&WayScore) -> Option<f64>;

/// The measures that are drawn, with their colours.
const CURVES: [(&str, Measure, RGBColor); 3] = [
    ("precision", |score| score.precision, RGBColor(27, 120, 184)),
    ("recall", |score| score.recall, RGBColor(217, 95, 2)),
    ("F1", |score| score.f1, RGBColor(0, 130, 90)),
];

type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

pub fn picture(scores: &[ClassScore]) -> Result<String> {
    let mut svg = String::new();
    draw(scores, &mut svg).map_err(|reason| anyhow!("cannot draw the picture: {reason}"))?;
    Ok(svg)
}

fn draw(scores: &[ClassScore], svg: &mut String) -> Drawn {
    let down = scores.len().div_ceil(CHARTS_ACROSS);
    let (width, height) = CHART_PIXELS;
    let strip_pixels = 3 * ROW_PIXELS as u32;
    let height = height * down as u32 + strip_pixels;
    let size = (width * CHARTS_ACROSS as u32, height);
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (strip, charts) = root.split_vertically(strip_pixels);
    let name = |row: i32, column: i32, name: String, colour: RGBColor| {
        let style = (FONT, LABEL_PIXELS).into_font().color(&colour);
        let corner = (16 + column * NAME_PIXELS, 4 + row * ROW_PIXELS);
        strip.draw(&Text::new(name, corner, style))
    };
    for (column, (measure, _, colour)) in (0..).zip(CURVES) {
        name(0, column, format!("{measure}, fingerprints"), colour)?;
        let checked = format!("{measure}, with wording (dashed)");
        name(1, column, checked, colour)?;
    }
    name(2, 0, "F1, similar".to_owned(), BLACK)?;
    let areas = charts.split_evenly((down, CHARTS_ACROSS));
    for (score, area) in scores.iter().zip(areas) {
        chart(score, &area)?;
    }
    root.present()?;
    Ok(())
}

fn chart(score: &ClassScore, area: &Area<'_>) -> Drawn {
    let title = score.title();
    let max_radius = f64::from(MAX_RADIUS);
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, TITLE_PIXELS))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..max_radius, 0.0..1.0)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_labels(MAX_RADIUS as usize + 1)
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
    if let Some(f1) = score.similar.f1 {
        let ends = [(0.0, f1), (max_radius, f1)];
        chart.draw_series(LineSeries::new(ends, BLACK.stroke_width(1)))?;
    }
    Ok(())
}

/// The points of a curve, without the radii at which no pair is found.
fn points(scores: &[WayScore], measure: Measure) -> Vec<(f64, f64)> {
    let points = scores.iter().enumerate();
    let points = points.filter_map(|(radius, score)| Some((radius as f64, measure(score)?)));
    points.collect()
}
