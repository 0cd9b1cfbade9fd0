//! Puts a stationary field on a regular grid into a torus, where its covariance is diagonal.
//!
//! Σ = F' diag(σ² S(ℓ)) F with F the orthonormal real Fourier basis of [`torus`](self) and w = (log σ, log ℓ), ℓ in map units.
//! The window's cells are the observed ones; the rest of the torus are latents like masked cells.

mod anisotropy;
mod factor;
mod images;
mod kernel;
mod layout;
mod spde;
mod table;
mod torus;

pub use anisotropy::Anisotropy;
pub use factor::SpectralFactor;
pub(crate) use factor::variance;
pub use kernel::{Correlation, Kernel};
pub(crate) use layout::Layout;
pub(crate) use table::Eigenvalues;
pub use table::{Embedding, SpectrumTable};
pub(crate) use table::{NODES, Place};
pub(crate) use torus::Transform;
pub use torus::{Sides, Torus};

use super::Information;
use crate::error::{Error, Result};
use std::sync::Arc;

/// A stationary field on a grid; cheap to clone (the table is shared).
#[derive(Clone, Debug)]
pub struct Spectral {
    torus: Torus,
    sides: Sides,
    cell: f64,
    table: Arc<SpectrumTable>,
}

impl Spectral {
    /// A field on `rows` × `columns` cells of side `cell`, whose range the prior keeps within `ranges` (map units).
    ///
    /// The correlation is a [`Kernel`], the same in all directions, or a [`Correlation`] with a direction of its own.
    /// The exact embedding is taken if its eigenvalues are positive over the whole of `ranges`, the periodised kernel
    /// otherwise. Ranges beyond twice the longest side of the window are outside the model.
    pub fn new(
        rows: usize,
        columns: usize,
        cell: f64,
        correlation: impl Into<Correlation>,
        ranges: (f64, f64),
    ) -> Result<Self> {
        Self::with_sides(rows, columns, cell, correlation, ranges, Sides::Smooth)
    }

    /// The same in a torus with sides of a chosen kind.
    pub fn with_sides(
        rows: usize,
        columns: usize,
        cell: f64,
        correlation: impl Into<Correlation>,
        ranges: (f64, f64),
        sides: Sides,
    ) -> Result<Self> {
        let correlation = correlation.into();
        let ranges = (ranges.0 / cell, ranges.1 / cell);
        if rows == 0 || columns == 0 || !(cell > 0.0 && cell.is_finite()) {
            return Err(Error::input(
                "grid",
                "at least one row and one column of cells with a positive side",
                format!("{rows} x {columns} cells of side {cell}"),
                "give the grid a size",
            ));
        }
        let torus = Torus::with_sides(rows, columns, sides);
        let longest = ranges.1.min(2.0 * rows.max(columns) as f64);
        let exact = ranges.1 <= longest && positive(torus, correlation, (ranges.0, longest));
        let embedding = if exact { Embedding::Exact } else { Embedding::Periodised };
        let table = Arc::new(SpectrumTable::new(torus, correlation, embedding, longest));
        Ok(Self { torus, sides, cell, table })
    }

    /// Whether a smaller torus could serve shorter ranges: the kernel is periodised and the torus twice the window's size.
    pub fn can_shrink(&self) -> bool {
        self.table.embedding() == Embedding::Periodised
            && self.torus == Torus::with_sides(self.torus.rows, self.torus.columns, self.sides)
    }

    /// The same field with the kernel periodised on the smallest torus that leaves a margin of this share of the window's
    /// longer side.
    pub fn with_margin(&self, share: f64) -> Self {
        let torus = Torus::with_margin(self.torus.rows, self.torus.columns, share, self.sides);
        let table = &self.table;
        let table =
            SpectrumTable::new(torus, table.correlation(), Embedding::Periodised, table.longest());
        Self { torus, sides: self.sides, cell: self.cell, table: Arc::new(table) }
    }

    /// Window and torus.
    pub fn torus(&self) -> Torus {
        self.torus
    }

    /// Which sides its torus may have.
    pub fn sides(&self) -> Sides {
        self.sides
    }

    /// Side of a cell in map units.
    pub fn cell(&self) -> f64 {
        self.cell
    }

    /// The largest difference between this field's correlation and the planar kernel's in the window, at a range in map
    /// units.
    pub fn window_error(&self, range: f64) -> f64 {
        self.table.window_error(range / self.cell)
    }

    /// The largest eigenvalue of Σ(w), the variance of the field's smoothest mode; zero outside the model.
    pub fn largest_variance(&self, w: &[f64]) -> f64 {
        let Some(eigenvalues) = self.table.at(w[1] - self.cell.ln()) else { return 0.0 };
        let layout = self.table.layout();
        let (mut s, mut ds) = (vec![0.0; layout.width()], vec![0.0; layout.width()]);
        let mut largest = 0.0f64;
        for k2 in 0..self.torus.half2() {
            eigenvalues.write_row(k2, &mut s, &mut ds);
            largest = s.iter().fold(largest, |most, &v| most.max(v));
        }
        (2.0 * w[0]).exp() * largest
    }

    /// The eigenvalue table.
    pub fn table(&self) -> &SpectrumTable {
        &self.table
    }

    pub(crate) fn factor(&self, information: &Information) -> Result<SpectralFactor> {
        SpectralFactor::new(self.torus, self.table.clone(), self.cell.ln(), information)
    }
}

/// Whether the exact embedding has only positive eigenvalues on a range of ranges (checked at 33 of them; the smallest
/// eigenvalue falls with the range, so its sign changes at most once).
fn positive(torus: Torus, correlation: Correlation, (shortest, longest): (f64, f64)) -> bool {
    // Aliased densities are those of the sum over images.
    if correlation.kernel.has_density() {
        return false;
    }
    let table = SpectrumTable::new(torus, correlation, Embedding::Exact, longest);
    // Where the wrapped correlation is not quite positive it must not use up the nugget.
    let least = 0.5 * correlation.kernel.nugget();
    let shortest = shortest.max(1e-2).min(longest);
    let step = (longest / shortest).ln() / 32.0;
    (0..=32).rev().all(|i| {
        let s = table.eigenvalues(shortest * (step * i as f64).exp());
        s.iter().all(|&v| v > least.max(1e-12 * s[0]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_short_ranges_are_embedded_exactly_and_others_periodised() {
        let short = Spectral::new(16, 16, 0.5, Kernel::Exponential, (0.05, 1.0)).unwrap();
        assert_eq!(short.table().embedding(), Embedding::Exact);
        let long = Spectral::new(16, 16, 0.5, Kernel::Exponential, (0.05, 4.0)).unwrap();
        assert_eq!(long.table().embedding(), Embedding::Periodised);
        let open = Spectral::new(16, 16, 1.0, Kernel::Exponential, (0.0, f64::INFINITY)).unwrap();
        assert_eq!(open.table().embedding(), Embedding::Periodised);
        assert_eq!(open.table().longest(), 32.0);
    }
}
