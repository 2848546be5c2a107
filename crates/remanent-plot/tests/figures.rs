//! Figures as a user gets them: documents, images, files.

use remanent_plot::{
    Axis, Band, Color, Corner, Curve, Dash, Figure, HorizontalLine, Inset, Map, Marker, Note,
    Panel, PlotError, Points, Side, VerticalLine, VerticalSpan, check_writable,
};
use tiny_skia::Pixmap;

fn panel(title: &str) -> Panel {
    Panel::new(title, Axis::linear("x"), Axis::linear("y"))
}

/// The path data of the elements drawn in a colour.
fn paths(svg: &str, color: Color) -> Vec<&str> {
    let stroke = format!("stroke=\"{color}\"");
    svg.lines()
        .filter(|line| line.contains(&stroke))
        .filter_map(|line| line.split("d=\"").nth(1)?.split('"').next())
        .collect()
}

/// The value of an attribute of an element.
fn number(element: &str, name: &str) -> Option<f64> {
    element.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok()
}

fn ink(png: &[u8]) -> usize {
    let image = Pixmap::decode_png(png).unwrap();
    image.pixels().iter().filter(|pixel| pixel.red() < 250 || pixel.blue() < 250).count()
}

fn everything() -> Figure {
    let x = vec![1.0, 2.0, 3.0];
    let first = panel("all layers")
        .with(Band::new(x.clone(), vec![0.5; 3], vec![1.5; 3]))
        .with(Curve::new(x.clone(), vec![1.0, 2.0, 0.5]).label("curve").markers())
        .with(Points::new(x.clone(), vec![1.0; 3]).label("points").error(vec![0.1; 3]))
        .with(VerticalLine::new(1.5).label("v"))
        .with(HorizontalLine::new(0.7).label("h"));
    let second =
        panel("map").with(Map::new(x.clone(), x, (0..9).map(f64::from).collect()).label("z"));
    let inner = panel("inner").with(Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]).label("inner"));
    let second = second.inset(Inset::new(inner));
    Figure::grid(vec![first, second], 2).title("everything")
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    assert_eq!(everything().to_svg(), everything().to_svg());
    assert_eq!(everything().to_png(1.0).unwrap(), everything().to_png(1.0).unwrap());
}

#[test]
fn what_cannot_be_shown_breaks_the_line() {
    let color = Color::Rgb(1, 2, 3);
    let x: Vec<f64> = (0..7).map(f64::from).collect();
    let y = vec![1.0, 2.0, f64::NAN, 3.0, 4.0, f64::INFINITY, 5.0];
    let svg = Figure::single(panel("").with(Curve::new(x.clone(), y).color(color))).to_svg();
    let data = paths(&svg, color);
    assert_eq!(data.len(), 1);
    assert_eq!(data[0].matches('M').count(), 3, "{}", data[0]);

    let y = vec![1.0, 2.0, 0.0, 3.0, -4.0, 1.0, 5.0];
    let log = Panel::new("", Axis::linear("x"), Axis::log("y")).with(Curve::new(x, y).color(color));
    let svg = Figure::single(log).to_svg();
    assert_eq!(paths(&svg, color)[0].matches('M').count(), 3);
}

#[test]
fn far_values_do_not_reach_the_file() {
    let color = Color::Rgb(1, 2, 3);
    let mut far =
        panel("").with(Curve::new(vec![0.0, 1.0, 2.0], vec![0.0, 1e300, 0.5]).color(color));
    far.y = far.y.range(0.0, 1.0);
    let svg = Figure::single(far).to_svg();
    assert!(paths(&svg, color)[0].len() < 60, "{:?}", paths(&svg, color));
}

#[test]
fn text_is_escaped_and_the_document_is_well_formed() {
    let odd = panel("a < b & \"c\" ]]> \u{1}")
        .with(Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]).label("<q_d>"));
    let figure = Figure::single(odd).title("x_{<}");
    let svg = figure.to_svg();
    assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
    roxmltree::Document::parse(&svg).unwrap();
    roxmltree::Document::parse(&everything().to_svg()).unwrap();
}

#[test]
fn labels_have_subscripts() {
    let with = Panel::new("", Axis::linear("q_d"), Axis::log("y"))
        .with(Curve::new(vec![1.0, 2.0], vec![1e-3, 1.0]));
    let svg = Figure::single(with).to_svg();
    assert!(svg.contains(r#">q<tspan dy="2.86" font-size="9.36">d</tspan></text>"#), "{svg}");
    assert!(
        svg.contains(">10<tspan dy=\"-4.32\" font-size=\"8.64\">\u{2212}3</tspan></text>"),
        "{svg}"
    );
}

#[test]
fn equal_labels_are_one_entry() {
    let curve = |y: f64| Curve::new(vec![0.0, 1.0], vec![y, y]).label("branch");
    let svg = Figure::single(panel("").with(curve(0.0)).with(curve(1.0))).to_svg();
    assert_eq!(svg.matches(">branch<").count(), 1);
}

#[test]
fn points_are_joined_under_the_symbols_and_in_the_legend() {
    let color = Color::Rgb(1, 2, 3);
    let points = Points::new(vec![0.0, 1.0, 2.0, 3.0], vec![1.0, 2.0, f64::NAN, 3.0])
        .color(color)
        .label("joined");
    let links = |points: Points| {
        let svg = Figure::single(panel("").with(points)).to_svg();
        svg.matches(&format!(r#"stroke="{color}" stroke-width="1" "#)).count()
    };
    assert_eq!(links(points.clone()), 0);
    assert_eq!(links(points.clone().connected(Dash::Dashed)), 2);
    let svg = Figure::single(panel("").with(points.connected(Dash::Dashed))).to_svg();
    assert!(svg.find("stroke-dasharray=\"4.2 2.4\"") < svg.find(&format!("fill=\"{color}\"")));
    assert_eq!(paths(&svg, color)[0].matches('M').count(), 2, "the missing point breaks the line");
}

#[test]
fn hollow_points_have_a_white_inside() {
    let color = Color::Rgb(1, 2, 3);
    let outline = format!(r##"fill="#fff" stroke="{color}""##);
    let svg = |marker: Marker| {
        let points = Points::new(vec![0.0, 1.0], vec![0.0, 1.0]).color(color).marker(marker);
        Figure::single(panel("").with(points.hollow())).to_svg()
    };
    assert!(svg(Marker::Square).contains(&outline));
    assert!(!svg(Marker::Square).contains(&format!("fill=\"{color}\"")));
    assert!(!svg(Marker::Cross).contains(&outline));
}

/// The colour of a pixel of a single panel, given in units of the figure.
fn pixel(figure: &Figure, x: f64, y: f64) -> [u8; 3] {
    let image = Pixmap::decode_png(&figure.to_png(2.0).unwrap()).unwrap();
    let pixel = image.pixel((2.0 * x) as u32, (2.0 * y) as u32).unwrap();
    [pixel.red(), pixel.green(), pixel.blue()]
}

#[test]
fn nothing_shines_through_an_inset() {
    let x = || Axis::linear("").range(0.0, 1.0);
    let band = Band::new(vec![0.0, 1.0], vec![0.0; 2], vec![1.0; 2]).color(Color::Rgb(255, 0, 0));
    let outer = Panel::new("", x(), x()).with(band);
    let inner = Panel::new("", x(), x()).with(Curve::new(vec![0.0, 1.0], vec![0.9; 2]));
    let bare = Figure::single(outer.clone());
    let with = Figure::single(outer.inset(Inset::new(inner).place(0.25, 0.25, 0.5, 0.5)));
    assert_ne!(pixel(&bare, 245.0, 170.0), [255; 3]);
    assert_eq!(pixel(&with, 245.0, 170.0), [255; 3]);
    assert_eq!(pixel(&with, 60.0, 170.0), pixel(&bare, 60.0, 170.0));
}

/// Left, upper end, width and height of the white boxes in a panel: insets, legends.
fn white_boxes(svg: &str) -> Vec<[f64; 4]> {
    let whites = svg.lines().filter(|line| line.starts_with("<rect x") && line.contains("#fff"));
    whites
        .map(|line| ["x", "y", "width", "height"].map(|name| number(line, name).unwrap()))
        .collect()
}

#[test]
fn insets_and_legends_share_the_corners() {
    // The data leave the two corners to the right free.
    let curve = Curve::new(vec![0.0, 0.1, 1.0], vec![0.0, 1.0, 0.5]).label("outer");
    let inner = || panel("").with(Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]));
    let outer = || {
        let mut outer = panel("").with(curve.clone());
        outer.y = outer.y.range(-3.0, 4.0);
        outer
    };
    for (inset, above) in [
        (Inset::new(inner()), true),
        (Inset::new(inner()).at(Corner::TopRight), true),
        (Inset::new(inner()).at(Corner::BottomRight), false),
        (Inset::new(inner()).place(0.5, 0.5, 0.5, 0.5), true),
    ] {
        let svg = Figure::single(outer().inset(inset)).to_svg();
        let [inset, legend] = white_boxes(&svg)[..] else { panic!("{svg}") };
        assert!(inset[0] > 200.0 && (inset[1] < 100.0) == above, "{inset:?}");
        let apart = legend[0] + legend[2] < inset[0]
            || legend[1] + legend[3] < inset[1]
            || legend[1] > inset[1] + inset[3];
        assert!(apart, "{inset:?} {legend:?}");
    }
}

#[test]
fn a_frame_made_smaller_by_its_neighbour_lets_its_legend_out() {
    // One line, which the legend just clears in a frame of its own.
    let low = |y: f64| {
        let mut low = panel("").with(Curve::new(vec![0.0, 1.0], vec![y, y]).label("low"));
        low.y = low.y.range(0.0, 1.0);
        low.with(Curve::new(vec![0.0, 1.0], vec![0.05, 0.05]))
    };
    let full = Map::new(vec![0.0, 1.0], vec![0.0, 1.0], vec![0.0; 4]);
    let border = Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]).label("border");
    let neighbour = panel("").with(full).with(border);
    let inside = |figure: Figure| white_boxes(&figure.to_svg()).len();
    assert_eq!(inside(Figure::single(low(0.863))), 1);
    assert_eq!(inside(Figure::grid(vec![low(0.863), neighbour.clone()], 2)), 0);
    assert_eq!(inside(Figure::grid(vec![low(0.5), neighbour], 2)), 1);
}

#[test]
fn an_inset_is_a_smaller_panel() {
    let inner = Panel::new("inner title", Axis::log("inner x"), Axis::linear("inner y"))
        .with(Curve::new(vec![1e-3, 1.0], vec![0.0, 1.0]).label("inner curve"))
        .with(VerticalLine::new(0.1).label("inner line"));
    let outer = panel("").with(Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]));
    let svg = Figure::single(outer.inset(Inset::new(inner).size(0.6, 0.6))).to_svg();
    let (outside, inside) = svg.split_once("scale(0.8)").unwrap();
    for label in ["inner title", "inner x", "inner y", "inner curve", "inner line"] {
        let label = format!(">{label}<");
        assert!(inside.contains(&label) && !outside.contains(&label), "{label}");
    }
    assert!(outside.contains("id=\"clip0\"") && inside.contains("id=\"clip1\""));
}

/// Left end and width of the rectangles of a colour.
fn boxes(svg: &str, color: Color) -> Vec<(f64, f64)> {
    svg.lines()
        .filter(|line| line.starts_with("<rect") && line.contains(&format!("fill=\"{color}\"")))
        .filter_map(|line| Some((number(line, "x")?, number(line, "width")?)))
        .collect()
}

#[test]
fn spans_reach_the_edge_and_lie_behind_everything() {
    let color = Color::Rgb(1, 2, 3);
    let drawn = |x: Axis, from: f64, to: f64| {
        let curve = Curve::new(vec![1.0, 100.0], vec![0.0, 1.0]);
        let panel = Panel::new("", x.range(1.0, 100.0), Axis::linear("y")).with(curve);
        let span = VerticalSpan::new(from, to).color(color).label("span");
        Figure::single(panel.with(span)).to_svg()
    };
    let (below, above) = (f64::NEG_INFINITY, f64::INFINITY);
    for axis in [Axis::linear("x"), Axis::log("x")] {
        let whole = boxes(&drawn(axis.clone(), below, above), color)[0];
        let low = boxes(&drawn(axis.clone(), 10.0, below), color)[0];
        let high = boxes(&drawn(axis.clone(), 10.0, 1e9), color)[0];
        assert_eq!(whole.0, low.0);
        assert!((low.1 + high.1 - whole.1).abs() < 0.05, "{low:?} {high:?} {whole:?}");
        assert!(boxes(&drawn(axis.clone(), f64::NAN, above), color).is_empty());
        assert!(boxes(&drawn(axis.clone(), 200.0, above), color).is_empty());
    }
    let svg = drawn(Axis::linear("x"), 10.0, above);
    assert!(svg.find(&color.to_string()) < svg.find("#e6e6e6"), "the grid is over the span");
    assert_eq!(svg.matches(&color.to_string()).count(), 2, "one in the panel, one in the legend");
}

#[test]
fn a_png_has_its_signature_its_size_and_its_text() {
    let curve = || Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]);
    let bare = Panel::new("", Axis::linear("x").range(0.0, 1.0), Axis::linear("y").range(0.0, 1.0))
        .with(curve());
    let png = Figure::single(bare.clone()).to_png(2.0).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let image = Pixmap::decode_png(&png).unwrap();
    assert_eq!((image.width(), image.height()), (920, 680));
    assert!(ink(&png) > 1000);

    // A title of the figure adds a strip on top and moves the rest by whole
    // pixels: all additional ink is text.
    let titled = Figure::single(bare).title("WWWWWWWW").to_png(2.0).unwrap();
    assert!(ink(&titled) > ink(&png) + 800, "{} {}", ink(&titled), ink(&png));
}

#[test]
fn every_letter_of_the_field_is_in_the_embedded_typeface() {
    let title = |text: &str| ink(&Figure::single(panel("")).title(text).to_png(2.0).unwrap());
    let none = title(" ");
    for letter in "αβγδεζηθλμρσφψωΔΣΩ⟨⟩⋆∞∂±≤≥·×−–→".chars()
    {
        assert!(title(&letter.to_string()) > none, "{letter} left no ink");
    }
}

#[test]
fn impossible_scales_are_refused() {
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e6] {
        assert!(matches!(everything().to_png(scale), Err(PlotError::Scale { .. })), "{scale}");
    }
}

#[test]
fn a_panel_without_data_says_so() {
    let nothing = panel("").with(Curve::new(vec![0.0, 1.0], vec![f64::NAN; 2]));
    assert!(Figure::single(nothing).to_svg().contains(">no data<"));
    assert!(!everything().to_svg().contains("no data"));
    assert!(Figure::default().to_svg().starts_with("<svg"));
}

#[test]
fn files_are_written_by_extension_and_nothing_else_is_left() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.svg", "b.PNG"] {
        let path = directory.path().join(name);
        check_writable(&path).unwrap();
        assert!(!path.exists());
        everything().write(&path).unwrap();
        everything().write(&path).unwrap();
    }
    let mut names: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a.svg", "b.PNG"]);
    assert_eq!(
        std::fs::read_to_string(directory.path().join("a.svg")).unwrap(),
        everything().to_svg()
    );
    assert!(std::fs::read(directory.path().join("b.PNG")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn bad_paths_are_refused_and_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::write(root.join("file"), "kept").unwrap();
    std::fs::create_dir(root.join("taken.svg")).unwrap();
    for name in ["missing/a.svg", "file/a.svg", "taken.svg"] {
        let path = root.join(name);
        for error in [check_writable(&path).unwrap_err(), everything().write(&path).unwrap_err()] {
            let expected = match name {
                "missing/a.svg" => matches!(error, PlotError::NoDirectory { .. }),
                "file/a.svg" => matches!(error, PlotError::NotADirectory { .. }),
                _ => matches!(error, PlotError::IsADirectory { .. }),
            };
            assert!(expected, "{name}: {error}");
        }
    }
    assert!(everything().write(&root.join("a.pdf")).is_err());
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 2);
    assert_eq!(std::fs::read_to_string(root.join("file")).unwrap(), "kept");
}

/// A note stands at its place, line below line, and is left out where its place is outside.
#[test]
fn notes_stand_at_their_places() {
    let curve = || Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]);
    let panel = |note: Note| {
        let axis = |name: &str| Axis::linear(name).range(0.0, 1.0);
        Panel::new("", axis("x"), axis("y")).size(600.0, 500.0).with(curve()).with(note)
    };
    let svg = Figure::single(panel(Note::new(0.5, 0.5, "first\nsecond").side(Side::Left))).to_svg();
    assert!(svg.contains("width=\"600\" height=\"500\""), "{svg}");
    let place = |text: &str| {
        let line = svg.lines().find(|line| line.contains(text)).unwrap();
        assert!(line.contains("text-anchor=\"end\""), "{line}");
        (number(line, "x").unwrap(), number(line, "y").unwrap())
    };
    let (first, second) = (place("first"), place("second"));
    assert!(first.0 == second.0 && first.1 < second.1, "{first:?} {second:?}");
    assert!((200.0..400.0).contains(&first.0) && (150.0..350.0).contains(&first.1), "{first:?}");
    let outside = Figure::single(panel(Note::new(1.5, 0.5, "nowhere"))).to_svg();
    assert!(!outside.contains("nowhere"));
}
