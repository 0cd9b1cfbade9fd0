//! Remembers which panels of the table of eigenvalues are on the device.

/// Which panels of the table are on the device.
pub(super) struct Slots {
    panels: Vec<Option<usize>>,
    used: Vec<u64>,
    clock: u64,
}

impl Slots {
    /// Room for this many panels, none of them there yet.
    pub(super) fn new(count: usize) -> Self {
        Self { panels: vec![None; count], used: vec![0; count], clock: 0 }
    }

    /// The slot of a panel, and whether it must be filled.
    pub(super) fn find(&mut self, panel: usize) -> (usize, bool) {
        self.clock += 1;
        let known = self.panels.iter().position(|p| *p == Some(panel));
        let slot = known.unwrap_or_else(|| {
            (0..self.used.len()).min_by_key(|&slot| self.used[slot]).unwrap_or(0)
        });
        self.used[slot] = self.clock;
        self.panels[slot] = Some(panel);
        (slot, known.is_none())
    }
}
