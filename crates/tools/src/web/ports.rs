//! Which ports a web server may be asked on.
//!
//! A request line that reaches a mail server or a database is a command to it, so ports
//! where something else is known to listen are not contacted.

/// Ports above the first 1,024 where something other than a web server listens: what
/// browsers refuse, and databases, caches, queues and remote controls.
const OTHERS: &[u16] = &[
    1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432,
    5672, 5900, 5901, 5985, 5986, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042,
    10080, 11211, 27017,
];

/// Whether a web server is expected on a port.
pub(super) fn is_for_web(port: u16) -> bool {
    match port {
        80 | 443 => true,
        0..1024 => false,
        _ => OTHERS.binary_search(&port).is_err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_other_services_are_told_apart() {
        assert!(OTHERS.is_sorted());
        for port in [80, 443, 1024, 3000, 5000, 8000, 8080, 8443, 9200, 65535] {
            assert!(is_for_web(port), "{port}");
        }
        for port in [0, 1, 21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 993] {
            assert!(!is_for_web(port), "{port}");
        }
        for port in [2049, 2375, 3306, 5432, 6000, 6379, 6667, 11211, 27017] {
            assert!(!is_for_web(port), "{port}");
        }
    }
}
