//! Styles. Without colours, everything is still told apart by bold, dim, underlined and reversed text.

use ratatui::style::{Color, Modifier, Style};

/// The styles of the browser.
#[derive(Clone, Copy)]
pub(super) struct Theme {
    has_colours: bool,
}

#[expect(clippy::unused_self, reason = "callers need not know which styles have a colour")]
impl Theme {
    pub(super) fn new(has_colours: bool) -> Self {
        Self { has_colours }
    }

    fn coloured(self, colour: Color, without: Modifier) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new().add_modifier(without) }
    }

    pub(super) fn plain(self) -> Style {
        Style::new()
    }

    pub(super) fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn head(self, has_focus: bool) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if has_focus { bold.add_modifier(Modifier::UNDERLINED) } else { self.dim() }
    }

    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn folder(self) -> Style {
        self.coloured(Color::Blue, Modifier::BOLD).add_modifier(Modifier::BOLD)
    }

    pub(super) fn selected(self, style: Style, has_focus: bool) -> Style {
        style.add_modifier(if has_focus { Modifier::REVERSED } else { Modifier::UNDERLINED })
    }

    pub(super) fn found(self) -> Style {
        self.coloured(Color::Red, Modifier::UNDERLINED).add_modifier(Modifier::BOLD)
    }

    pub(super) fn added(self) -> Style {
        self.coloured(Color::Green, Modifier::BOLD)
    }

    pub(super) fn removed(self) -> Style {
        self.coloured(Color::Red, Modifier::DIM)
    }

    pub(super) fn place(self) -> Style {
        self.coloured(Color::Cyan, Modifier::UNDERLINED)
    }

    pub(super) fn warning(self) -> Style {
        self.coloured(Color::Yellow, Modifier::BOLD)
    }
}
