//! PNG from SVG: a renderer of the few elements that [`crate::svg`] writes, one element per line.
//! An element or attribute that it does not know is an error, so that nothing is dropped silently.

mod outline;

use std::rc::Rc;

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, Pixmap, Shader, Stroke, StrokeDash,
    Transform,
};

use crate::error::PlotError;

/// Largest side of an image in pixels.
const LIMIT: u32 = 16_384;

/// Renders a drawing at `scale` pixels per unit.
pub(crate) fn to_png(svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    let mut lines = svg.lines();
    let root = Element::parse(lines.next().unwrap_or_default())?;
    let (width, height) =
        ((root.number("width")? * scale).round(), (root.number("height")? * scale).round());
    let sides = 1.0..=LIMIT as f32;
    if !sides.contains(&width) || !sides.contains(&height) {
        return Err(PlotError::Scale { scale, width, height, limit: LIMIT });
    }
    let image = Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| failed("the image is too large for memory"))?;
    let group = Group {
        transform: Transform::from_scale(scale, scale),
        fill: color(root.attribute("fill").unwrap_or("#000"))?,
        anti_alias: true,
        clip: None,
    };
    let mut canvas = Canvas { image, groups: vec![group], clip: None, in_clip: false };
    for line in lines {
        canvas.draw(&Element::parse(line)?)?;
    }
    canvas.image.encode_png().map_err(failed)
}

fn failed(what: impl ToString) -> PlotError {
    PlotError::Render(what.to_string())
}

/// What the elements of a group inherit.
#[derive(Clone)]
struct Group {
    transform: Transform,
    fill: Option<Color>,
    anti_alias: bool,
    clip: Option<Rc<Mask>>,
}

/// An image and the groups that are open.
struct Canvas {
    image: Pixmap,
    groups: Vec<Group>,
    /// The region defined last. [`crate::svg`] uses it in the next group only.
    clip: Option<Rc<Mask>>,
    in_clip: bool,
}

impl Canvas {
    fn draw(&mut self, element: &Element<'_>) -> Result<(), PlotError> {
        let group = self.groups.last().ok_or_else(|| failed("too many </g>"))?.clone();
        match element.name {
            "g" => self.groups.push(self.opened(group, element)?),
            "/g" => drop(self.groups.pop()),
            "clipPath" | "/clipPath" => self.in_clip = element.name == "clipPath",
            "rect" if self.in_clip => {
                let mut mask = Mask::new(self.image.width(), self.image.height())
                    .ok_or_else(|| failed("the image is too large for memory"))?;
                if let Some(path) = outline::rectangle(element)? {
                    mask.fill_path(&path, FillRule::Winding, true, group.transform);
                }
                self.clip = Some(Rc::new(mask));
            }
            "rect" => self.paint(outline::rectangle(element)?, &group, element)?,
            "path" => self.paint(outline::path(element.required("d")?)?, &group, element)?,
            "text" => self.paint(outline::text(element)?, &group, element)?,
            "/svg" => {}
            other => return Err(failed(format!("unknown element <{other}>"))),
        }
        Ok(())
    }

    fn opened(&self, mut group: Group, element: &Element<'_>) -> Result<Group, PlotError> {
        for (name, value) in element.attributes() {
            match name {
                "fill" => group.fill = color(value)?,
                "shape-rendering" => group.anti_alias = value != "crispEdges",
                "transform" => group.transform = group.transform.pre_concat(transform(value)?),
                "clip-path" => group.clip = self.clip.clone(),
                _ => return Err(failed(format!("unknown attribute {name} of <g>"))),
            }
        }
        Ok(group)
    }

    fn paint(
        &mut self,
        path: Option<Path>,
        group: &Group,
        element: &Element<'_>,
    ) -> Result<(), PlotError> {
        let Some(path) = path else { return Ok(()) };
        let look = Look::read(element, group)?;
        let clip = group.clip.as_deref();
        let mut paint = Paint { anti_alias: group.anti_alias, ..Paint::default() };
        if let Some(mut fill) = look.fill {
            fill.apply_opacity(look.fill_opacity);
            paint.shader = Shader::SolidColor(fill);
            self.image.fill_path(&path, &paint, FillRule::Winding, look.transform, clip);
        }
        if let Some(mut ink) = look.ink {
            ink.apply_opacity(look.ink_opacity);
            paint.shader = Shader::SolidColor(ink);
            self.image.stroke_path(&path, &paint, &look.stroke, look.transform, clip);
        }
        Ok(())
    }
}

/// How an element is filled and stroked.
struct Look {
    transform: Transform,
    fill: Option<Color>,
    fill_opacity: f32,
    ink: Option<Color>,
    ink_opacity: f32,
    stroke: Stroke,
}

impl Look {
    fn read(element: &Element<'_>, group: &Group) -> Result<Self, PlotError> {
        let mut look = Self {
            transform: group.transform,
            fill: group.fill,
            fill_opacity: 1.0,
            ink: None,
            ink_opacity: 1.0,
            stroke: Stroke::default(),
        };
        for (name, value) in element.attributes() {
            match name {
                "fill" => look.fill = color(value)?,
                "fill-opacity" => look.fill_opacity = number(value)?,
                "stroke" => look.ink = color(value)?,
                "stroke-opacity" => look.ink_opacity = number(value)?,
                "stroke-width" => look.stroke.width = number(value)?,
                "stroke-linecap" if value == "round" => look.stroke.line_cap = LineCap::Round,
                "stroke-linejoin" if value == "round" => look.stroke.line_join = LineJoin::Round,
                "stroke-dasharray" => {
                    let lengths = value.split(' ').map(number).collect::<Result<_, _>>()?;
                    look.stroke.dash = StrokeDash::new(lengths, 0.0);
                }
                "transform" => look.transform = look.transform.pre_concat(transform(value)?),
                "d" | "x" | "y" | "rx" | "width" | "height" | "font-size" | "text-anchor" => {}
                _ => return Err(failed(format!("unknown attribute {name}=\"{value}\""))),
            }
        }
        Ok(look)
    }
}

/// One line of the document: a tag, and what stands between it and its end tag.
struct Element<'a> {
    name: &'a str,
    head: &'a str,
    content: &'a str,
}

impl<'a> Element<'a> {
    fn parse(line: &'a str) -> Result<Self, PlotError> {
        let inner = line.strip_prefix('<').ok_or_else(|| failed(format!("no tag in {line:?}")))?;
        let (head, content) = inner.split_once('>').ok_or_else(|| failed("an unclosed tag"))?;
        let head = head.strip_suffix('/').unwrap_or(head);
        let (name, head) = head.split_once(' ').unwrap_or((head, ""));
        Ok(Self { name, head, content })
    }

    fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = self.head;
        std::iter::from_fn(move || {
            let (name, tail) = rest.split_once("=\"")?;
            let (value, tail) = tail.split_once('"')?;
            rest = tail;
            Some((name.trim_start(), value))
        })
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    fn required(&self, name: &str) -> Result<&'a str, PlotError> {
        self.attribute(name).ok_or_else(|| failed(format!("<{}> without {name}", self.name)))
    }

    fn number(&self, name: &str) -> Result<f32, PlotError> {
        number(self.required(name)?)
    }

    /// A number that is zero where it is not given.
    fn number_or_zero(&self, name: &str) -> Result<f32, PlotError> {
        self.attribute(name).map_or(Ok(0.0), number)
    }
}

fn number(text: &str) -> Result<f32, PlotError> {
    text.parse().map_err(|_| failed(format!("{text:?} is not a number")))
}

/// `#rgb`, `#rrggbb` or `none`.
fn color(text: &str) -> Result<Option<Color>, PlotError> {
    let unknown = || failed(format!("unknown colour {text:?}"));
    if text == "none" {
        return Ok(None);
    }
    let digits = text.strip_prefix('#').ok_or_else(unknown)?;
    let value = u32::from_str_radix(digits, 16).map_err(|_| unknown())?;
    let channel = |at: u32| match digits.len() {
        3 => Ok(((value >> (4 * at)) & 0xf) as u8 * 0x11),
        6 => Ok((value >> (8 * at)) as u8),
        _ => Err(unknown()),
    };
    Ok(Some(Color::from_rgba8(channel(2)?, channel(1)?, channel(0)?, 255)))
}

/// A list of `translate(x y)`, `scale(s)` and `rotate(degrees x y)`.
fn transform(text: &str) -> Result<Transform, PlotError> {
    let mut whole = Transform::identity();
    for part in text.split_terminator(')') {
        let unknown = || failed(format!("unknown transform {part:?}"));
        let (name, arguments) = part.trim_start().split_once('(').ok_or_else(unknown)?;
        let arguments = arguments.split(' ').map(number).collect::<Result<Vec<_>, _>>()?;
        let one = match (name, &arguments[..]) {
            ("translate", &[x, y]) => Transform::from_translate(x, y),
            ("scale", &[factor]) => Transform::from_scale(factor, factor),
            ("rotate", &[degrees, x, y]) => Transform::from_rotate_at(degrees, x, y),
            _ => return Err(unknown()),
        };
        whole = whole.pre_concat(one);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(body: &str) -> String {
        format!("<svg width=\"10\" height=\"10\" fill=\"#1a1a1a\">\n{body}\n</svg>\n")
    }

    fn pixel(body: &str, x: u32, y: u32) -> [u8; 4] {
        let image = Pixmap::decode_png(&to_png(&document(body), 1.0).unwrap()).unwrap();
        let pixel = image.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]
    }

    const RED: [u8; 4] = [255, 0, 0, 255];
    const NOTHING: [u8; 4] = [0; 4];

    #[test]
    fn groups_pass_on_their_colour_place_and_clip() {
        let square = r#"<rect x="0" y="0" width="4" height="4"/>"#;
        assert_eq!(pixel(square, 3, 3), [0x1a, 0x1a, 0x1a, 255]);
        let moved =
            format!("<g transform=\"translate(4 2) scale(0.5)\" fill=\"#f00\">\n{square}\n</g>");
        assert_eq!(
            [pixel(&moved, 5, 3), pixel(&moved, 6, 3), pixel(&moved, 5, 4)],
            [RED, NOTHING, NOTHING]
        );
        let clipped = format!(
            "<clipPath id=\"clip0\">\n<rect x=\"2\" y=\"0\" width=\"8\" height=\"8\" />\n</clipPath>\n\
             <g clip-path=\"url(#clip0)\" fill=\"#f00\">\n{square}\n</g>"
        );
        assert_eq!([pixel(&clipped, 1, 1), pixel(&clipped, 2, 1)], [NOTHING, RED]);
    }

    #[test]
    fn paths_have_lines_and_arcs() {
        let half = r##"<path d="M1 1H9V4L1 4z" fill="#ff0000"/>"##;
        assert_eq!([pixel(half, 8, 3), pixel(half, 8, 5)], [RED, NOTHING]);
        let circle = r##"<path d="M2 5a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z" fill="#ff0000"/>"##;
        assert_eq!([pixel(circle, 5, 3), pixel(circle, 5, 6)], [RED, RED]);
        assert_eq!([pixel(circle, 1, 1), pixel(circle, 8, 8), pixel(circle, 5, 8)], [NOTHING; 3]);
        let dot = r##"<path d="M5 5h0" fill="none" stroke="#f00" stroke-width="4" stroke-linecap="round"/>"##;
        assert_eq!([pixel(dot, 4, 4), pixel(dot, 2, 2)], [RED, NOTHING]);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for body in [
            "<circle r=\"1\"/>",
            "<path d=\"M0 0Q1 1 2 2\"/>",
            "<path d=\"M0 0L1 1\" filter=\"none\"/>",
            "<g transform=\"skewX(3)\">",
            "<path d=\"M0 0L1 1\" stroke=\"red\"/>",
            "text",
        ] {
            assert!(matches!(to_png(&document(body), 1.0), Err(PlotError::Render(_))), "{body}");
        }
    }
}
