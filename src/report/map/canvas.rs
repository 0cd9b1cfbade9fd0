//! Paints lines, areas and letters on a picture, in points that are two pixels wide so that it is sharp on any screen.

use crate::error::{Error, Result};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Rect, Stroke, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// Pixels to a point.
const SCALE: f32 = 2.0;

/// A colour: red, green, blue and opacity.
pub(super) type Ink = (u8, u8, u8, u8);

pub(super) const BLACK: Ink = (30, 30, 30, 255);
pub(super) const WHITE: Ink = (255, 255, 255, 255);

/// Which part of a text stands at the given place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Left,
    Right,
}

/// A picture being painted.
pub(super) struct Canvas {
    pixels: Pixmap,
    face: Face<'static>,
    mask: Option<Mask>,
}

impl Canvas {
    /// A white picture of so many points.
    pub(super) fn new(width: f32, height: f32) -> Result<Self> {
        let broken = |what: &str| Error::Numeric(format!("cannot draw the map: {what}"));
        let size = |points: f32| (points * SCALE).ceil().max(1.0) as u32;
        let mut pixels =
            Pixmap::new(size(width), size(height)).ok_or_else(|| broken("no memory"))?;
        pixels.fill(Color::WHITE);
        let face =
            Face::parse(crate::report::FONT, 0).map_err(|error| broken(&error.to_string()))?;
        Ok(Self { pixels, face, mask: None })
    }

    /// The picture as a PNG file.
    pub(super) fn into_png(self) -> Result<Vec<u8>> {
        self.pixels.encode_png().map_err(|e| Error::Numeric(format!("cannot encode the map: {e}")))
    }

    /// From now on rectangles are painted only inside rings, or everywhere again if there are none.
    pub(super) fn clip(&mut self, rings: &[Vec<(f32, f32)>]) {
        let mut path = PathBuilder::new();
        for ring in rings {
            for (k, &(x, y)) in ring.iter().enumerate() {
                if k == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
            }
            path.close();
        }
        let mask = Mask::new(self.pixels.width(), self.pixels.height());
        self.mask = path.finish().zip(mask).map(|(path, mut mask)| {
            mask.fill_path(&path, FillRule::EvenOdd, true, doubled());
            mask
        });
    }

    /// Fills a rectangle whose edges lie on pixels, so that neighbours meet without a seam.
    pub(super) fn fill_rect(&mut self, left: f32, top: f32, right: f32, bottom: f32, ink: Ink) {
        let snap = |points: f32| (points * SCALE).round();
        let (left, right, top, bottom) = (snap(left), snap(right), snap(top), snap(bottom));
        if let Some(rect) = Rect::from_ltrb(left, top, right.max(left + 1.0), bottom.max(top + 1.0))
        {
            let mask = self.mask.as_ref();
            self.pixels.fill_rect(rect, &paint(ink, false), Transform::identity(), mask);
        }
    }

    /// Draws a line through places.
    pub(super) fn line(&mut self, places: &[(f32, f32)], width: f32, ink: Ink) {
        let mut path = PathBuilder::new();
        for (k, &(x, y)) in places.iter().enumerate() {
            if k == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
        }
        let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
        let stroke = Stroke { width, line_cap, line_join, ..Stroke::default() };
        if let Some(path) = path.finish() {
            self.pixels.stroke_path(&path, &paint(ink, true), &stroke, doubled(), None);
        }
    }

    /// Fills a circle.
    pub(super) fn dot(&mut self, (x, y): (f32, f32), radius: f32, ink: Ink) {
        let rule = FillRule::Winding;
        if let Some(path) = PathBuilder::from_circle(x, y, radius) {
            self.pixels.fill_path(&path, &paint(ink, true), rule, doubled(), None);
        }
    }

    /// Writes a text on a line of writing at (x, y).
    pub(super) fn text(
        &mut self,
        text: &str,
        (x, y): (f32, f32),
        size: f32,
        anchor: Anchor,
        ink: Ink,
    ) {
        let share = match anchor {
            Anchor::Left => 0.0,
            Anchor::Right => 1.0,
        };
        let scale = size / f32::from(self.face.units_per_em());
        let mut pen =
            Pen { path: PathBuilder::new(), x: x - share * self.width(text, size), y, scale };
        for letter in text.chars() {
            if let Some(glyph) = self.face.glyph_index(letter) {
                self.face.outline_glyph(glyph, &mut pen);
            }
            pen.x += scale * self.advance(letter);
        }
        if let Some(path) = pen.path.finish() {
            self.pixels.fill_path(&path, &paint(ink, true), FillRule::Winding, doubled(), None);
        }
    }

    /// The width of a text in points.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        let units: f32 = text.chars().map(|letter| self.advance(letter)).sum();
        units * size / f32::from(self.face.units_per_em())
    }

    /// The width of a letter in the font's units; of one it does not have, that of a blank.
    fn advance(&self, letter: char) -> f32 {
        let glyph = self.face.glyph_index(letter).or(self.face.glyph_index(' '));
        glyph.and_then(|glyph| self.face.glyph_hor_advance(glyph)).map_or(0.0, f32::from)
    }
}

fn doubled() -> Transform {
    Transform::from_scale(SCALE, SCALE)
}

fn paint((red, green, blue, alpha): Ink, smooth: bool) -> Paint<'static> {
    let mut paint = Paint { anti_alias: smooth, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, alpha);
    paint
}

/// Turns the outline of a letter into a path, with y downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, self.y - self.scale * y)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_ink_and_widths() {
        let mut canvas = Canvas::new(60.0, 20.0).unwrap();
        assert!(canvas.width("Wide", 12.0) > canvas.width("il", 12.0));
        let blank = canvas.pixels.data().to_vec();
        canvas.text("5 × 10⁻³ km²", (2.0, 15.0), 10.0, Anchor::Left, BLACK);
        assert_ne!(canvas.pixels.data(), blank);
        let png = canvas.into_png().unwrap();
        assert!(png.starts_with(b"\x89PNG"));
    }

    #[test]
    fn rectangles_meet_without_a_seam() {
        let mut canvas = Canvas::new(10.0, 10.0).unwrap();
        for k in 0..30 {
            let at = |k: i32| k as f32 / 3.0;
            canvas.fill_rect(at(k), 0.0, at(k + 1), 10.0, BLACK);
        }
        assert!(canvas.pixels.pixels().iter().all(|p| (p.red(), p.alpha()) == (30, 255)));
    }
}
