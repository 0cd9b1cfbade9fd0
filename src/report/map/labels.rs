//! Writes lengths and areas the way people read them on maps.

use crate::data::Crs;
use crate::report::numbers::{number, round_down};

/// What intensities are multiplied by to be shown, and what they are then per.
pub(in crate::report) fn area_unit(crs: Option<&Crs>) -> (f64, &'static str) {
    match crs {
        Some(crs) if crs.is_geographic() => (1.0, "per square degree"),
        Some(crs) if crs.is_metric() => (1e6, "per square kilometre"),
        _ => (1.0, "per unit of area"),
    }
}

/// What intensities are per in files and options, where nothing is multiplied.
pub(in crate::report) fn file_unit(crs: Option<&Crs>) -> &'static str {
    match crs {
        Some(crs) if crs.is_metric() => "per square metre",
        crs => area_unit(crs).1,
    }
}

/// The length of a scale bar for a map so wide, and its label.
pub(super) fn scale_bar(width: f64, crs: Option<&Crs>) -> (f64, String) {
    let length = round_down(0.3 * width);
    let label = match crs {
        Some(crs) if crs.is_geographic() => format!("{}°", number(length)),
        Some(crs) if crs.is_metric() && length >= 1000.0 => {
            format!("{} km", number(length / 1000.0))
        }
        Some(crs) if crs.is_metric() => format!("{} m", number(length)),
        _ => number(length),
    };
    (length, label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_round_and_in_the_unit_of_the_map() {
        assert_eq!(scale_bar(1.0, None), (0.2, "0.2".into()));
        assert_eq!(scale_bar(8e5, Some(&Crs::Epsg(3310))), (2e5, "200 km".into()));
        assert_eq!(scale_bar(900.0, Some(&Crs::Epsg(3310))).1, "200 m");
        assert_eq!(scale_bar(10.0, Some(&Crs::Epsg(4326))).1, "2°");
    }
}
