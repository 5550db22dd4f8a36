//! Styles as the sequences of a terminal.

use ratatui_core::style::{Color, Modifier, Style};

/// How many colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// The sixteen of the terminal's own theme.
    Sixteen,
    /// None: weights alone.
    None,
}

const WEIGHTS: [(Modifier, &str); 6] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::CROSSED_OUT, "9"),
];

/// The sequence that turns this style on after everything is off. Empty for plain text.
pub(super) fn sequence(style: Style, colours: Colours) -> String {
    let mut codes: Vec<String> = Vec::new();
    for (weight, code) in WEIGHTS {
        if style.add_modifier.contains(weight) {
            codes.push(code.to_owned());
        }
    }
    if colours == Colours::Sixteen {
        codes.extend(style.fg.and_then(|colour| code(colour, 30)));
        codes.extend(style.bg.and_then(|colour| code(colour, 40)));
    }
    match codes.is_empty() {
        true => String::new(),
        false => format!("\u{1b}[{}m", codes.join(";")),
    }
}

/// A colour of the sixteen, as foreground (30) or background (40).
fn code(colour: Color, base: u8) -> Option<String> {
    let (offset, bright) = match colour {
        Color::Black => (0, false),
        Color::Red => (1, false),
        Color::Green => (2, false),
        Color::Yellow => (3, false),
        Color::Blue => (4, false),
        Color::Magenta => (5, false),
        Color::Cyan => (6, false),
        Color::Gray => (7, false),
        Color::DarkGray => (0, true),
        Color::LightRed => (1, true),
        Color::LightGreen => (2, true),
        Color::LightYellow => (3, true),
        Color::LightBlue => (4, true),
        Color::LightMagenta => (5, true),
        Color::LightCyan => (6, true),
        Color::White => (7, true),
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    };
    let base = if bright { base + 60 } else { base };
    Some((base + offset).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_weights_stay() {
        let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        assert_eq!(sequence(style, Colours::Sixteen), "\u{1b}[1;31m");
        assert_eq!(sequence(style, Colours::None), "\u{1b}[1m");
        assert_eq!(sequence(Style::new(), Colours::Sixteen), "");
        let bright = Style::new().bg(Color::DarkGray);
        assert_eq!(sequence(bright, Colours::Sixteen), "\u{1b}[100m");
    }
}
