//! Says in plain words how the cells of a grid compare with what the points show.

use sshmc::data::Grid;
use sshmc::spatial::Detail;

/// An error of the range that no posterior is narrow enough to notice, or few.
const SMALL: f64 = 0.1;

/// What the points show, what follows for the range on these cells, and what to type for others.
pub(super) fn advice(grid: &Grid, detail: &Detail, chosen: bool) -> String {
    let cell = grid.cell();
    let cells = |length: f64| format!("{:.1} cells", length / cell);
    let shown = match detail.clustering {
        Some(clusters) => format!(
            "the points cluster on a scale of about {}, {}, and show nothing finer than {}",
            length(clusters.range),
            cells(clusters.range),
            cells(detail.finest)
        ),
        None => "the points show no clear clustering, so weak clusters a tenth of the map wide are looked for".to_owned(),
    };
    let others = if chosen { "; --grid N or --cell SIZE choose others" } else { "" };
    format!(
        "{} x {} cells of side {}: {shown}; {}{others}",
        grid.rows(),
        grid.columns(),
        length(cell),
        verdict(grid, detail, chosen)
    )
}

/// Whether the cells are too coarse, too fine or right.
fn verdict(grid: &Grid, detail: &Detail, chosen: bool) -> String {
    let (along, resolving) = (grid.rows().max(grid.columns()), detail.resolving());
    let share = detail.range_error(grid.cell());
    let error = match (100.0 * share).ceil() {
        percent if percent < 50.0 => format!("about {percent} %"),
        _ => "half or more".to_owned(),
    };
    if along > 2 * resolving {
        format!("--grid {resolving} would do and be faster")
    } else if along >= resolving || share < SMALL {
        format!("that is fine enough: it makes the range too long by {error}")
    } else if chosen {
        format!(
            "that makes the range too long by {error}; --grid {resolving} would not, and take longer"
        )
    } else {
        format!(
            "that is coarse: it makes the range too long by {error}; --grid {resolving} would not"
        )
    }
}

/// A length with four digits.
fn length(value: f64) -> String {
    let digits = (3.0 - value.abs().max(1e-12).log10().floor()).clamp(0.0, 15.0);
    format!("{value:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sshmc::data::Window;
    use sshmc::simulate::{PatternTruth, lgcp};
    use sshmc::structure::{Anisotropy, Kernel};

    fn detail(sigma: f64, total: f64) -> Detail {
        let truth = PatternTruth {
            rows: 64,
            columns: 64,
            sigma,
            range: 0.1,
            total,
            kernel: Kernel::Exponential,
            anisotropy: Anisotropy::NONE,
        };
        let window = Window::rectangle((0.0, 0.0), (1.0, 1.0), None).unwrap();
        Detail::of(&window, &lgcp(&truth, 4).unwrap().points)
    }

    fn told(cells: usize, detail: &Detail, chosen: bool) -> String {
        advice(&Grid::unit(cells, cells).unwrap(), detail, chosen)
    }

    #[test]
    fn coarse_fine_and_right_grids_are_told_apart() {
        let detail = detail(1.0, 300.0);
        let right = detail.cells();
        assert_eq!(right, detail.resolving());
        let text = told(right, &detail, true);
        assert!(text.starts_with(&format!("{right} x {right} cells of side 0.")), "{text}");
        for part in [
            "the points cluster on a scale of about 0.",
            "fine enough",
            "too long by about ",
            "--grid N",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let coarse = told(8, &detail, false);
        assert!(coarse.contains("too long by half or more"), "{coarse}");
        assert!(coarse.contains(&format!("--grid {right} would not")), "{coarse}");
        assert!(!coarse.contains("--grid N"), "{coarse}");
        let fine = told(2 * right + 1, &detail, false);
        assert!(fine.contains(&format!("--grid {right} would do and be faster")), "{fine}");
    }

    #[test]
    fn a_grid_that_would_take_long_is_not_chosen_but_named() {
        let detail = detail(1.5, 20_000.0);
        let text = told(detail.cells(), &detail, true);
        assert!(detail.resolving() > detail.cells());
        let finer = format!("--grid {} would not, and take longer", detail.resolving());
        assert!(text.contains("too long by") && text.contains(&finer), "{text}");
    }

    #[test]
    fn points_placed_by_chance_are_called_so() {
        let detail = detail(0.01, 1000.0);
        assert!(detail.clustering.is_none());
        let text = told(detail.cells(), &detail, true);
        assert!(text.contains("no clear clustering"), "{text}");
    }

    #[test]
    fn lengths_have_four_digits() {
        let shown = [704_652.49, 45_613.7, 12.3456, 0.012_345_6].map(length);
        assert_eq!(shown, ["704652", "45614", "12.35", "0.01235"]);
    }
}
