//! Draws small charts as SVG that scales with the page.

use crate::report::numbers::{number, steps};
use std::fmt::Write;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 210.0;
/// Left, right, top, bottom.
const MARGINS: [f64; 4] = [52.0, 12.0, 24.0, 30.0];

/// Colours of chains: distinct to most of the colour-blind (Okabe and Ito 2008).
pub(super) const COLOURS: [&str; 6] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];

/// A chart being drawn.
pub(super) struct Chart {
    x: (f64, f64),
    y: (f64, f64),
    body: String,
}

impl Chart {
    /// Axes with a title; ends that do not differ are moved apart.
    pub(super) fn new(title: &str, x: (f64, f64), y: (f64, f64)) -> Self {
        let apart = |(low, high): (f64, f64)| match high > low && (high - low).is_finite() {
            true => (low, high),
            false if low.is_finite() => (low - 0.5, low + 0.5),
            false => (0.0, 1.0),
        };
        let mut chart = Self { x: apart(x), y: apart(y), body: String::new() };
        chart.axes(title);
        chart
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let [left, right, top, bottom] = MARGINS;
        let across = (x - self.x.0) / (self.x.1 - self.x.0);
        let up = ((y - self.y.0) / (self.y.1 - self.y.0)).clamp(-0.05, 1.05);
        (left + across * (WIDTH - left - right), HEIGHT - bottom - up * (HEIGHT - top - bottom))
    }

    fn axes(&mut self, title: &str) {
        let [left, _, _, bottom] = MARGINS;
        let (base, title) = (HEIGHT - bottom, super::html::escape(title));
        let _ = write!(self.body, "<text x=\"{left}\" y=\"14\" class=\"t\">{title}</text>");
        for value in steps(self.x.0, self.x.1, 5) {
            let (x, label) = (self.at(value, self.y.0).0, number(value));
            let _ = write!(
                self.body,
                "<line x1=\"{x:.1}\" y1=\"{base}\" x2=\"{x:.1}\" y2=\"{}\" class=\"a\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                base + 4.0,
                base + 16.0
            );
        }
        for value in steps(self.y.0, self.y.1, 4) {
            let (y, label) = (self.at(self.x.0, value).1, number(value));
            let _ = write!(
                self.body,
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\" class=\"g\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                WIDTH - MARGINS[1],
                left - 5.0,
                y + 4.0
            );
        }
    }

    fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let finite = points.into_iter().filter(|p| p.0.is_finite() && p.1.is_finite());
        let place = |(x, y)| {
            let (x, y) = self.at(x, y);
            format!("{x:.1},{y:.1} ")
        };
        finite.map(place).collect()
    }

    /// A line through points.
    pub(super) fn line(
        &mut self,
        points: impl IntoIterator<Item = (f64, f64)>,
        colour: &str,
        width: f64,
        dashed: bool,
    ) {
        let (path, dash) =
            (self.path(points), if dashed { " stroke-dasharray=\"5 4\"" } else { "" });
        let _ = write!(
            self.body,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>"
        );
    }

    /// The area between two lines over the same places.
    pub(super) fn band(&mut self, x: &[f64], low: &[f64], high: &[f64], colour: &str) {
        let upper = x.iter().copied().zip(high.iter().copied());
        let lower = x.iter().copied().zip(low.iter().copied()).rev();
        let path = self.path(upper.chain(lower).collect::<Vec<_>>());
        let _ = write!(
            self.body,
            "<polygon points=\"{path}\" fill=\"{colour}\" fill-opacity=\"0.25\"/>"
        );
    }

    /// The finished drawing.
    pub(super) fn finish(self) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"><style>text{{font:11px \
             system-ui,sans-serif;fill:#3c4856}}.t{{font-size:13px;fill:#1d2733}}.a{{stroke:#8a96a3}}.g{{stroke:#e6eaee}}</style>{}</svg>",
            self.body
        )
    }
}

/// The smallest and largest finite value.
pub(super) fn extent<'a>(values: impl IntoIterator<Item = &'a f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|v| v.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)))
}
