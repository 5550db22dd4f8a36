//! Stand-ins for a home and a root that nobody told us.

use crate::place::beneath;

/// No real path has these names.
pub(crate) const UNKNOWN_HOME: &str = "/\u{fffc}home";
pub(crate) const UNKNOWN_ROOT: &str = "/\u{fffc}root";

/// A path for people: a home or root that is not known has no path.
pub(crate) fn shown(path: &str) -> String {
    for (unknown, name) in [(UNKNOWN_HOME, "~"), (UNKNOWN_ROOT, ".")] {
        if let Some(inside) = beneath(unknown, path) {
            return [name, inside].join(if inside.is_empty() { "" } else { "/" });
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_not_shown() {
        for (path, is_shown) in [
            (UNKNOWN_HOME.to_owned(), "~"),
            (format!("{UNKNOWN_HOME}/src"), "~/src"),
            (UNKNOWN_ROOT.to_owned(), "."),
            (format!("{UNKNOWN_ROOT}/src"), "./src"),
            ("/home/me".to_owned(), "/home/me"),
        ] {
            assert_eq!(shown(&path), is_shown);
        }
    }
}
