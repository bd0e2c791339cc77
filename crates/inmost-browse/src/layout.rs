//! Where the parts of the screen are. Does no I/O.

use ratatui::layout::Rect;

/// The parts of the screen.
#[derive(Clone, Copy)]
pub(super) struct Areas {
    pub(super) title: Rect,
    /// The heads of the two panes.
    pub(super) left_head: Rect,
    pub(super) right_head: Rect,
    pub(super) left: Rect,
    pub(super) right: Rect,
    pub(super) keys: Rect,
}

impl Areas {
    pub(super) fn of((columns, rows): (u16, u16)) -> Self {
        let left = columns.saturating_mul(2).checked_div(5).unwrap_or(0).min(WIDEST_TREE);
        let right_x = left.saturating_add(1).min(columns);
        let right = columns.saturating_sub(right_x);
        let height = rows.saturating_sub(3);
        Self {
            title: Rect::new(0, 0, columns, rows.min(1)),
            left_head: Rect::new(0, 1, left, 1),
            right_head: Rect::new(right_x, 1, right, 1),
            left: Rect::new(0, 2, left, height),
            right: Rect::new(right_x, 2, right, height),
            keys: Rect::new(0, rows.saturating_sub(1), columns, 1),
        }
    }
}

/// Whether the screen is large enough.
pub(super) fn fits((columns, rows): (u16, u16)) -> bool {
    columns >= COLUMNS && rows >= ROWS
}

pub(super) const COLUMNS: u16 = 80;
pub(super) const ROWS: u16 = 24;

/// Longer names are rare, and texts need the room.
const WIDEST_TREE: u16 = 48;
