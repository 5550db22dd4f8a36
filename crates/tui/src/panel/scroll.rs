//! Which rows of a question are on the screen, and which were.

/// The window over the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The first row on the screen.
    pub top: usize,
    /// How many rows fit.
    page: usize,
    /// Every row before this one was on the screen.
    seen: usize,
}

impl Scroll {
    /// Moves by rows.
    pub fn by(&mut self, rows: isize, total: usize) {
        self.to(self.top.saturating_add_signed(rows), total);
    }

    /// Moves by pages, one row less than fits.
    pub fn page(&mut self, pages: isize, total: usize) {
        let page = isize::try_from(self.page.saturating_sub(1).max(1)).unwrap_or(1);
        self.by(page.saturating_mul(pages), total);
    }

    /// Moves to a row.
    pub fn to(&mut self, row: usize, total: usize) {
        self.top = row.min(total.saturating_sub(self.page.max(1)));
    }

    /// The rows that will be shown where so many fit.
    pub fn window(&self, fits: usize, total: usize) -> std::ops::Range<usize> {
        let top = self.top.min(total.saturating_sub(fits));
        top..(top + fits).min(total)
    }

    /// A frame showed a window of so many rows. Rows that were jumped over are not seen.
    pub fn painted(&mut self, fits: usize, total: usize) {
        self.page = fits;
        let window = self.window(fits, total);
        self.top = window.start;
        if window.start <= self.seen {
            self.seen = self.seen.max(window.end);
        }
    }

    /// Whether all of so many rows were on the screen.
    pub fn has_seen(&self, total: usize) -> bool {
        self.page > 0 && self.seen >= total
    }

    /// How many rows are below the window.
    pub fn below(&self, total: usize) -> usize {
        total.saturating_sub(self.top + self.page)
    }
}
