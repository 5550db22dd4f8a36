//! Messages on the bus of the system that stop the machine or end its sessions.

use crate::expand::field::Field;
use crate::reasons::Catastrophe;
use crate::walk::Walker;

/// Methods that stop, restart or suspend a machine, whatever service has them.
const POWER: &[&str] = &[
    "halt",
    "haltwithflags",
    "hibernate",
    "hibernatewithflags",
    "hybridsleep",
    "hybridsleepwithflags",
    "kexec",
    "logoutandreboot",
    "logoutandshutdown",
    "poweroff",
    "poweroffwithflags",
    "reboot",
    "rebootwithflags",
    "requestreboot",
    "requestshutdown",
    "scheduleshutdown",
    "shutdown",
    "sleep",
    "sleepwithflags",
    "softreboot",
    "suspend",
    "suspendthenhibernate",
    "suspendthenhibernatewithflags",
    "suspendwithflags",
    "switchroot",
];

/// Methods that do so in a service that is made for it.
const STOPPING: &[&str] = &["exit", "restart", "stop"];

/// Methods that end all processes of a user.
const ENDING: &[&str] = &["killuser", "terminateuser", "killseat", "terminateseat"];

/// Parts of the names of services that manage a machine.
const MANAGERS: &[&str] = &[
    "consolekit",
    "login1",
    "systemd1",
    "upower",
    "shutdown",
    "sessionmanager",
    "ksmserver",
    "powermanagement",
    "hal.device.systempowermanagement",
];

impl Walker {
    /// `busctl call SERVICE PATH INTERFACE METHOD`, `dbus-send … INTERFACE.METHOD` and others.
    pub(super) fn bus_message(&mut self, name: &str, arguments: &[Field]) {
        let words: Vec<String> = arguments
            .iter()
            .map(|word| word.text.to_ascii_lowercase())
            .collect();
        let manages = words
            .iter()
            .any(|word| MANAGERS.iter().any(|manager| word.contains(manager)));
        for word in &words {
            let value = word.rsplit('=').next().unwrap_or_default();
            let method = value.rsplit(['.', '/', ':']).next().unwrap_or_default();
            let unit = value.rsplit(':').next().unwrap_or_default();
            let stops = POWER.contains(&method) || STOPPING.contains(&method);
            if manages && (stops || self.is_power_unit(unit)) {
                self.found.catastrophe(Catastrophe::Power {
                    program: name.to_owned(),
                });
            }
            if manages && ENDING.contains(&method) {
                self.found.catastrophe(Catastrophe::EveryProcess);
            }
        }
    }
}
