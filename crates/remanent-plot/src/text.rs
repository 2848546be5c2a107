//! Labels: a small markup, its width on the page, its form in SVG.
//!
//! `_` lowers and `^` raises what follows: one character, or a group in braces.
//! `q_d`, `q_{0}`, `10^{-3}` and `ε_1` read as in TeX; what stands in the braces
//! is taken as it is. A backslash takes the next character literally, and
//! [`plain`] puts backslashes into text that is no markup, such as a file name.

use std::fmt::Write;
use std::sync::LazyLock;

use ttf_parser::Face;

use crate::number::coordinate;

/// Size of a subscript or superscript, in sizes of the text.
const SMALL: f64 = 0.72;
/// How far a subscript is lowered and a superscript raised, in sizes of the text.
const LOWERED: f64 = 0.22;
const RAISED: f64 = 0.36;
/// Width taken for a character that the typeface lacks, in sizes of the text.
const UNKNOWN: f64 = 0.8;

/// The embedded font.
pub(crate) static FONT: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(dejavu::sans::regular(), 0).expect("the embedded font is valid"));

/// Where a run of characters stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Base,
    Sub,
    Super,
}

/// Characters of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    level: Level,
    text: String,
}

/// Marks every character that the markup would take for itself as literal.
pub fn plain(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '_' | '^' | '\\') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal
}

/// The characters of `text` that XML gives a meaning, and those it forbids.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The text that [`escape`] was given, apart from forbidden characters.
#[cfg(feature = "png")]
pub(crate) fn unescape(escaped: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    names.iter().fold(escaped.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

fn parse(markup: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut put = |level: Level, text: &str| match runs.last_mut() {
        Some(run) if run.level == level => run.text.push_str(text),
        _ => runs.push(Run { level, text: text.to_owned() }),
    };
    let mut rest = markup;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let level = match first {
            '_' => Level::Sub,
            '^' => Level::Super,
            _ => Level::Base,
        };
        let group = if level == Level::Base { None } else { group(after) };
        rest = if let Some((inner, end)) = group {
            put(level, inner);
            &after[end..]
        } else if first == '\\' && !after.is_empty() {
            let end = after.chars().next().map_or(0, char::len_utf8);
            put(Level::Base, &after[..end]);
            &after[end..]
        } else {
            put(Level::Base, &rest[..first.len_utf8()]);
            after
        };
    }
    runs
}

/// What a `_` or `^` applies to at the start of `text`, and where it ends.
/// `None` if nothing follows: then the sign stands for itself.
fn group(text: &str) -> Option<(&str, usize)> {
    if let Some(inner) = text.strip_prefix('{') {
        let end = inner.find('}')?;
        return Some((&inner[..end], end + 2));
    }
    let first = text.chars().next().filter(|c| !c.is_whitespace())?;
    Some((&text[..first.len_utf8()], first.len_utf8()))
}

/// Width of a label in pixels at a font size.
pub(crate) fn width(markup: &str, size: f64) -> f64 {
    let em = f64::from(FONT.units_per_em());
    let advance = |c: char| {
        let glyph = FONT.glyph_index(c).and_then(|glyph| FONT.glyph_hor_advance(glyph));
        glyph.map_or(UNKNOWN, |units| f64::from(units) / em)
    };
    parse(markup)
        .iter()
        .map(|run| {
            let factor = if run.level == Level::Base { 1.0 } else { SMALL };
            factor * size * run.text.chars().map(advance).sum::<f64>()
        })
        .sum()
}

/// The inside of a `<text>` element of the given font size.
pub(crate) fn to_spans(markup: &str, size: f64) -> String {
    let mut spans = String::new();
    let mut shift = 0.0;
    for run in parse(markup) {
        let wanted = match run.level {
            Level::Base => 0.0,
            Level::Sub => LOWERED * size,
            Level::Super => -RAISED * size,
        };
        let text = escape(&run.text);
        // Writing to a string cannot fail.
        let _ = if run.level == Level::Base && shift == 0.0 {
            write!(spans, "{text}")
        } else if run.level == Level::Base {
            write!(spans, r#"<tspan dy="{}">{text}</tspan>"#, coordinate(-shift))
        } else {
            let dy = coordinate(wanted - shift);
            let small = coordinate(SMALL * size);
            write!(spans, r#"<tspan dy="{dy}" font-size="{small}">{text}</tspan>"#)
        };
        shift = wanted;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(markup: &str) -> Vec<(Level, String)> {
        parse(markup).into_iter().map(|run| (run.level, run.text)).collect()
    }

    fn run(level: Level, text: &str) -> (Level, String) {
        (level, text.to_owned())
    }

    #[test]
    fn one_character_or_a_group_is_shifted() {
        use Level::{Base, Sub, Super};
        assert_eq!(runs("q_d"), [run(Base, "q"), run(Sub, "d")]);
        assert_eq!(
            runs("q_{0}^2 x"),
            [run(Base, "q"), run(Sub, "0"), run(Super, "2"), run(Base, " x")]
        );
        assert_eq!(runs("10^{-3}"), [run(Base, "10"), run(Super, "-3")]);
        assert_eq!(runs("ε_α,"), [run(Base, "ε"), run(Sub, "α"), run(Base, ",")]);
    }

    #[test]
    fn incomplete_and_escaped_markup_is_literal() {
        for text in ["a_", "a^{b", "x _ y", "_"] {
            assert_eq!(runs(text), [run(Level::Base, text)], "{text}");
        }
        assert_eq!(runs(&plain(r"run_1^a\b")), [run(Level::Base, r"run_1^a\b")]);
    }

    #[test]
    fn the_baseline_is_restored_after_a_shift() {
        assert_eq!(
            to_spans("a_b^c d", 10.0),
            r#"a<tspan dy="2.2" font-size="7.2">b</tspan><tspan dy="-5.8" font-size="7.2">c</tspan><tspan dy="3.6"> d</tspan>"#
        );
    }

    #[test]
    fn xml_is_escaped() {
        assert_eq!(to_spans("a<b & \"c\">\u{1}", 12.0), "a&lt;b &amp; &quot;c&quot;&gt;\u{fffd}");
    }

    #[test]
    fn width_follows_the_glyphs() {
        assert!(width("iii", 12.0) < width("mmm", 12.0));
        assert!((width("mm", 24.0) - 4.0 * width("m", 12.0)).abs() < 1e-3);
        assert!(width("q_d", 12.0) < width("qd", 12.0));
        assert_eq!(width("", 12.0), 0.0);
    }
}
