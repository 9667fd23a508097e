//! A picture of precision, recall and F1 against the radius, one chart for each class.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::calibrate_measure::MOST_RADIUS;
use super::calibrate_score::{ClassScore, Counts};

/// The size of a chart, and how many are side by side.
const CHART_PIXELS: (u32, u32) = (560, 380);
const CHARTS_ACROSS: usize = 2;

const FONT: &str = "sans-serif";
const TITLE_PIXELS: i32 = 16;
const LABEL_PIXELS: i32 = 11;

/// The length of the strokes of a dashed curve, and of the gaps.
const DASH_PIXELS: (i32, i32) = (5, 4);

type Measure = fn(&Counts) -> Option<f64>;

/// The curves of either way, with their colours.
const CURVES: [(&str, Measure, RGBColor); 3] = [
    ("precision", Counts::precision, RGBColor(27, 120, 184)),
    ("recall", Counts::recall, RGBColor(217, 95, 2)),
    ("F1", Counts::f1, RGBColor(0, 130, 90)),
];

/// The picture as SVG.
pub(super) fn picture(scores: &[ClassScore]) -> Result<String> {
    let mut svg = String::new();
    draw(scores, &mut svg).map_err(|reason| anyhow!("cannot draw: {reason}"))?;
    Ok(svg)
}

fn draw(scores: &[ClassScore], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let across = CHARTS_ACROSS.min(scores.len().max(1));
    let down = scores.len().div_ceil(across).max(1);
    let (width, height) = CHART_PIXELS;
    let size = (width * across as u32, height * down as u32);
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    for (score, area) in scores.iter().zip(root.split_evenly((down, across))) {
        chart(score, &area)?;
    }
    root.present()?;
    Ok(())
}

fn chart(
    score: &ClassScore,
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Result<(), Box<dyn std::error::Error>> {
    let title = format!(
        "{}: {} pairs, {} near-duplicates",
        score.class, score.pairs, score.near_duplicates
    );
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, TITLE_PIXELS))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(40)
        .build_cartesian_2d(0.0..f64::from(MOST_RADIUS), 0.0..1.0)?;
    chart
        .configure_mesh()
        .x_labels(MOST_RADIUS as usize + 1)
        .x_label_formatter(&|radius| format!("{radius:.0}"))
        .x_desc("radius")
        .y_label_formatter(&|share| format!("{share:.1}"))
        .label_style((FONT, LABEL_PIXELS))
        .light_line_style(WHITE)
        .draw()?;
    let legend =
        |x: i32, y: i32, style: ShapeStyle| PathElement::new(vec![(x, y), (x + 16, y)], style);
    for (name, measure, colour) in CURVES {
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points(&score.fingerprints, measure), style))?
            .label(format!("{name}, fingerprints"))
            .legend(move |(x, y)| legend(x, y, style));
        let thin = colour.stroke_width(1);
        let (dash, gap) = DASH_PIXELS;
        let dashed = DashedLineSeries::new(points(&score.checked, measure), dash, gap, thin);
        chart
            .draw_series(dashed)?
            .label(format!("{name}, with wording (dashed)"))
            .legend(move |(x, y)| legend(x, y, thin));
    }
    if let Some(f1) = score.similar.f1() {
        let style = BLACK.stroke_width(1);
        let ends = [(0.0, f1), (f64::from(MOST_RADIUS), f1)];
        chart
            .draw_series(LineSeries::new(ends, style))?
            .label("F1, similar")
            .legend(move |(x, y)| legend(x, y, style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, LABEL_PIXELS))
        .draw()?;
    Ok(())
}

/// The points of a curve; where nothing is found there is no precision.
fn points(counts: &[Counts], measure: Measure) -> Vec<(f64, f64)> {
    let values = counts.iter().enumerate();
    let values = values.filter_map(|(radius, counts)| Some((radius as f64, measure(counts)?)));
    values.collect()
}
