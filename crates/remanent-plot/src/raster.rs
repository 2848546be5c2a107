//! The PNG of an SVG, with the embedded typeface and no other.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::error::PlotError;

/// Largest side of an image in pixels.
const LIMIT: u32 = 16_384;
const FAMILY: &str = "DejaVu Sans";

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(dejavu::sans::regular())));
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Renders a drawing at `scale` pixels per unit.
pub(crate) fn to_png(svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    let options = Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let render = |what: String| PlotError::Render(what);
    let tree = Tree::from_str(svg, &options).map_err(|error| render(error.to_string()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * scale).round(), (size.height() * scale).round());
    let sides = 1.0..=LIMIT as f32;
    if !sides.contains(&width) || !sides.contains(&height) {
        return Err(PlotError::Scale { scale, width, height, limit: LIMIT });
    }
    let mut image = Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| render("the image is too large for memory".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut image.as_mut());
    image.encode_png().map_err(|error| render(error.to_string()))
}
