//! Charts of numbers: stacked columns and a line over time, and bars by name. SVG for a page of ours, without
//! script, in the colours that the page's light or dark sets.
//!
//! Invariant: the same numbers give the same bytes, and no text can leave its place in the output.

use std::fmt::Write;

use crate::markup::escaped;
use crate::svg::shortened;

/// What a page has to contain for charts to look right on a light and on a dark ground.
pub const CHART_STYLE: &str = include_str!("chart.css");

const WIDTH: f64 = 960.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;
const HEIGHT: f64 = 180.0;
/// About how many lines of the scale are drawn.
const LINES: f64 = 5.0;
/// How many columns of text the name of a bar has room for.
const NAME_COLUMNS: usize = 26;

/// Numbers over time, one place for every moment.
pub struct Timeline<'c> {
    /// Read out where the chart cannot be seen.
    pub title: &'c str,
    /// What each moment is called when it is pointed at.
    pub moments: &'c [String],
    /// The labels below the chart, at the moments with these numbers.
    pub ticks: &'c [(usize, String)],
    pub series: &'c [Series<'c>],
    /// How a number is written.
    pub shown: &'c dyn Fn(f64) -> String,
    /// The top of the scale, when it is not the greatest number.
    pub top: Option<f64>,
}

/// One number for every moment; `None` where there is none.
pub struct Series<'c> {
    pub name: &'c str,
    pub tone: ChartTone,
    pub values: Vec<Option<f64>>,
}

impl std::fmt::Debug for Timeline<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Timeline")
            .field("title", &self.title)
            .field("series", &self.series)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Series<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Series({}, {} values)", self.name, self.values.len())
    }
}

/// What a colour stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartTone {
    Main,
    Good,
    Bad,
    Quiet,
}

impl ChartTone {
    fn class(self) -> &'static str {
        match self {
            ChartTone::Main => "tone-main",
            ChartTone::Good => "tone-good",
            ChartTone::Bad => "tone-bad",
            ChartTone::Quiet => "tone-quiet",
        }
    }
}

/// A bar with its name before it and its number after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub shown: String,
    pub tone: ChartTone,
}

/// The series on top of each other; numbers below zero hang from the line.
#[must_use]
pub fn columns(timeline: &Timeline<'_>) -> String {
    let count = timeline.moments.len().max(1);
    let at = |index: usize| timeline.series.iter().filter_map(move |series| *series.values.get(index)?);
    let sums = (0..timeline.moments.len()).map(|index| {
        let above: f64 = at(index).filter(|value| *value > 0.0).sum();
        let below: f64 = at(index).filter(|value| *value < 0.0).sum();
        (above, below)
    });
    let (most, least) =
        sums.fold((0.0_f64, 0.0_f64), |(most, least), (above, below)| (most.max(above), least.min(below)));
    let frame = Frame::new(timeline.top.unwrap_or(most), least);
    let mut svg = frame.open(timeline);
    let step = (WIDTH - LEFT - RIGHT) / count as f64;
    let width = (step * 0.8).clamp(0.5, 48.0);
    for (index, moment) in timeline.moments.iter().enumerate() {
        let x = LEFT + (index as f64 + 0.5) * step - width / 2.0;
        let (mut above, mut below) = (0.0, 0.0);
        let mut drawn = String::new();
        let mut told = escaped(moment);
        for series in timeline.series {
            let Some(value) = series.values.get(index).copied().flatten() else { continue };
            let _ = write!(told, "&#10;{}: {}", escaped(series.name), escaped(&(timeline.shown)(value)));
            let side = if value < 0.0 { &mut below } else { &mut above };
            let (from, to) = (*side, *side + value);
            *side = to;
            let (upper, lower) = (frame.y(from.max(to)), frame.y(from.min(to)));
            if lower - upper > 0.0 {
                let _ = write!(
                    drawn,
                    "<rect class=\"{}\" x=\"{x:.1}\" y=\"{upper:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                    series.tone.class(),
                    lower - upper
                );
            }
        }
        // An invisible column over the whole height, so that small numbers can be pointed at too.
        let _ = writeln!(
            svg,
            "<g><title>{told}</title><rect class=\"point\" x=\"{:.1}\" y=\"{TOP}\" width=\"{step:.1}\" height=\"{HEIGHT}\"/>{drawn}</g>",
            LEFT + index as f64 * step
        );
    }
    frame.close(&mut svg);
    svg
}

/// The series as lines, broken where there is no number.
#[must_use]
pub fn lines(timeline: &Timeline<'_>) -> String {
    let values = timeline.series.iter().flat_map(|series| series.values.iter().copied().flatten());
    let most = values.fold(0.0_f64, f64::max);
    let frame = Frame::new(timeline.top.unwrap_or(most), 0.0);
    let mut svg = frame.open(timeline);
    let step = (WIDTH - LEFT - RIGHT) / timeline.moments.len().max(1) as f64;
    let x = |index: usize| LEFT + (index as f64 + 0.5) * step;
    for series in timeline.series {
        let class = series.tone.class();
        let mut path = String::new();
        let mut pen_down = false;
        for (index, value) in series.values.iter().enumerate() {
            if let Some(value) = value {
                let _ = write!(
                    path,
                    "{}{:.1} {:.1}",
                    if pen_down { 'L' } else { 'M' },
                    x(index),
                    frame.y(*value)
                );
            }
            pen_down = value.is_some();
        }
        let _ = writeln!(svg, "<path class=\"line {class}\" d=\"{path}\"/>");
        for (index, value) in series.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let moment = timeline.moments.get(index).map(String::as_str).unwrap_or_default();
            let _ = writeln!(
                svg,
                "<g><title>{}&#10;{}: {}</title><rect class=\"point\" x=\"{:.1}\" y=\"{TOP}\" width=\"{step:.1}\" height=\"{HEIGHT}\"/>\
                 <circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/></g>",
                escaped(moment),
                escaped(series.name),
                escaped(&(timeline.shown)(*value)),
                x(index) - step / 2.0,
                x(index),
                frame.y(*value)
            );
        }
    }
    frame.close(&mut svg);
    svg
}

/// One bar below the other. Numbers below zero go to the left of the line.
#[must_use]
pub fn bars(title: &str, bars: &[Bar]) -> String {
    const ROW: f64 = 24.0;
    const NAME: f64 = 210.0;
    const NUMBER: f64 = 110.0;
    let most = bars.iter().map(|bar| bar.value).fold(0.0_f64, f64::max);
    let least = bars.iter().map(|bar| bar.value).fold(0.0_f64, f64::min);
    let span = if most - least > 0.0 { most - least } else { 1.0 };
    let room = WIDTH - NAME - NUMBER;
    let x = |value: f64| NAME + (value - least) / span * room;
    let height = ROW * bars.len() as f64 + 8.0;
    let mut svg = open(title, height);
    for (index, bar) in bars.iter().enumerate() {
        let y = ROW * index as f64 + 4.0;
        let (from, to) = (x(bar.value.min(0.0)), x(bar.value.max(0.0)));
        let _ = writeln!(
            svg,
            "<g><title>{}: {}</title>\
             <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            escaped(&bar.name),
            escaped(&bar.shown),
            NAME - 10.0,
            y + 15.0,
            escaped(&shortened(&bar.name, NAME_COLUMNS)),
            bar.tone.class(),
            y + 3.0,
            (to - from).max(1.0),
            ROW - 8.0,
            to + 8.0,
            y + 15.0,
            escaped(&bar.shown)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The scale of a chart.
struct Frame {
    most: f64,
    least: f64,
    step: f64,
}

impl Frame {
    fn new(most: f64, least: f64) -> Frame {
        let most = if most > 0.0 || least < 0.0 { most } else { 1.0 };
        let step = round_step((most - least) / LINES);
        // The scale ends on a line of it, so that no column touches the edge unmarked.
        Frame { most: (most / step).ceil() * step, least: (least / step).floor() * step, step }
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (self.most - value) / (self.most - self.least) * HEIGHT
    }

    fn open(&self, timeline: &Timeline<'_>) -> String {
        let mut svg = open(timeline.title, TOP + HEIGHT + BOTTOM);
        let count = ((self.most - self.least) / self.step).round() as usize;
        for index in 0..=count {
            let value = self.least + index as f64 * self.step;
            let y = self.y(value);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0,
                escaped(&(timeline.shown)(value))
            );
        }
        let step = (WIDTH - LEFT - RIGHT) / timeline.moments.len().max(1) as f64;
        for (index, text) in timeline.ticks {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                LEFT + (*index as f64 + 0.5) * step,
                TOP + HEIGHT + 20.0,
                escaped(text)
            );
        }
        svg
    }

    fn close(&self, svg: &mut String) {
        let y = self.y(0.0);
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\n</svg>\n",
            WIDTH - RIGHT
        );
    }
}

fn open(title: &str, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{}\">\n",
        escaped(title)
    )
}

/// The nearest of 1, 2 and 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    if !least.is_finite() || least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}
