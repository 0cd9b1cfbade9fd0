//! Turns a figure's SVG into PNG, with a font of its own so that text looks the same on every machine.

use super::FONT;
use crate::error::{Error, Result};
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, OnceLock};

/// Pixels of the picture for each unit of the figure: sharp on dense screens, and whole, so that neighbouring cells leave no seam.
const DENSITY: f32 = 2.0;

fn options() -> usvg::Options<'static> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    });
    usvg::Options {
        font_family: "DejaVu Sans".into(),
        fontdb: fonts.clone(),
        ..usvg::Options::default()
    }
}

/// The figure as PNG.
pub fn draw_png(svg: &str) -> Result<Vec<u8>> {
    let failed = |why: String| Error::Numeric(format!("cannot turn the figure into PNG: {why}"));
    let tree = usvg::Tree::from_str(svg, &options()).map_err(|e| failed(e.to_string()))?;
    let size = tree.size();
    let side = |length: f32| (DENSITY * length).ceil() as u32;
    let mut image = tiny_skia::Pixmap::new(side(size.width()), side(size.height()))
        .ok_or_else(|| failed("it has no size".into()))?;
    image.fill(tiny_skia::Color::WHITE);
    let scale = tiny_skia::Transform::from_scale(DENSITY, DENSITY);
    resvg::render(&tree, scale, &mut image.as_mut());
    image.encode_png().map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of pixels that are not white.
    fn ink(svg: &str) -> f64 {
        let image = tiny_skia::Pixmap::decode_png(&draw_png(svg).unwrap()).unwrap();
        let dark = image.pixels().iter().filter(|p| p.red() < 128).count();
        dark as f64 / image.pixels().len() as f64
    }

    fn page(body: &str) -> String {
        format!(r#"<svg width="100" height="40" xmlns="http://www.w3.org/2000/svg">{body}</svg>"#)
    }

    #[test]
    fn text_leaves_ink_and_nothing_leaves_none() {
        let text = |t: &str| {
            page(&format!(
                r#"<text x="5" y="25" font-family="sans-serif" font-size="20">{t}</text>"#
            ))
        };
        assert_eq!(ink(&page("")), 0.0);
        let (greek, latin) = (ink(&text("φσβ")), ink(&text("abc")));
        assert!(greek > 0.01 && latin > 0.01, "{greek} {latin}");
        assert!(draw_png("no picture").is_err());
    }
}
