//! Images turned about their centre.

/// For each pixel of an image turned by an angle, four pixels of the image and their weights: bilinear
/// interpolation. What comes from outside is black. A quarter turn brings the last column to the first
/// row.
pub(crate) fn rotation(rows: usize, columns: usize, degrees: f64) -> Vec<[(u32, f32); 4]> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let centre = [(rows as f64 - 1.0) / 2.0, (columns as f64 - 1.0) / 2.0];
    let source = |pixel: usize| {
        let y = (pixel / columns) as f64 - centre[0];
        let x = (pixel % columns) as f64 - centre[1];
        let from = [centre[0] + cos * y + sin * x, centre[1] - sin * y + cos * x];
        // Quarter turns stay exact: what rounding adds would blend neighbours.
        let from = from.map(|at| (at * 1e9).round() / 1e9);
        let corner = from.map(f64::floor);
        let share = |axis: usize, step: usize| {
            let part = from[axis] - corner[axis];
            if step == 1 { part } else { 1.0 - part }
        };
        [[0, 0], [0, 1], [1, 0], [1, 1]].map(|[down, right]: [usize; 2]| {
            let (row, column) = (corner[0] + down as f64, corner[1] + right as f64);
            let is_inside =
                (0.0..rows as f64).contains(&row) && (0.0..columns as f64).contains(&column);
            if !is_inside {
                return (0, 0.0);
            }
            let weight = share(0, down) * share(1, right);
            ((row as usize * columns + column as usize) as u32, weight as f32)
        })
    };
    (0..rows * columns).map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(image: &[f32], degrees: f64) -> Vec<f32> {
        let sum = |source: &[(u32, f32); 4]| source.iter().map(|s| s.1 * image[s.0 as usize]).sum();
        rotation(3, 3, degrees).iter().map(sum).collect()
    }

    #[test]
    fn quarter_turns_are_exact() {
        let image = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        assert_eq!(turned(&image, 0.0), image);
        assert_eq!(turned(&image, 90.0), [3.0, 6.0, 9.0, 2.0, 5.0, 8.0, 1.0, 4.0, 7.0]);
        assert_eq!(turned(&turned(&image, 90.0), 90.0), turned(&image, 180.0));
        assert_eq!(turned(&turned(&image, 90.0), 270.0), image);
    }

    #[test]
    fn the_centre_stays_and_corners_leave_the_image() {
        let some = turned(&[1.0; 9], 45.0);
        assert!((some[4] - 1.0).abs() < 1e-6);
        assert!(some[0] < 1.0 && some.iter().all(|x| (0.0..=1.000_001).contains(x)));
    }
}
