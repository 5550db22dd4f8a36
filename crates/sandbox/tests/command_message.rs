//! Orders as bytes: encoding round-trips, and nothing else decodes.
#![allow(clippy::unwrap_used, missing_docs)]

use proptest::prelude::*;
use toolgate_sandbox::command::{
    BadOrder, Limits, Mask, MaskKind, Network, Omit, Order, Outcome, Refused, Report,
    SharedDirectory,
};

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1_u8..=255, 0..20)
}

fn absolute() -> impl Strategy<Value = Vec<u8>> {
    "(/[a-z.]{1,6}x){1,4}".prop_map(String::into_bytes)
}

fn beneath() -> impl Strategy<Value = Vec<u8>> {
    "[a-z]{1,6}(/[a-z.]{1,6}x){0,3}".prop_map(String::into_bytes)
}

prop_compose! {
    fn order()(
        flags in any::<[bool; 3]>(),
        network in prop::sample::select(vec![Network::Off, Network::Loopback, Network::On]),
        numbers in any::<(u32, u64, u32, u64)>(),
        cpu in prop::option::of(1_u32..),
        program in absolute(),
        arguments in prop::collection::vec(text(), 0..6),
        env in prop::collection::vec(("[A-Z]{1,8}", text()), 0..6),
        home in prop::collection::vec(("[a-z.]{3,9}", text()), 0..3),
        cwd in absolute(),
        directories in prop::collection::vec((absolute(), any::<bool>()), 1..5),
        masks in prop::collection::vec((0_u16..5, beneath(), 0..4_usize), 0..8),
    ) -> Order {
        let [namespaces, landlock, seccomp] = flags;
        let kinds = [MaskKind::Hide, MaskKind::Freeze, MaskKind::Vacant, MaskKind::Pin];
        let count = u16::try_from(directories.len()).unwrap();
        Order {
            namespaces,
            omit: Omit { landlock, seccomp },
            network,
            limits: Limits {
                processes: numbers.0,
                file_size: numbers.1,
                open_files: numbers.2,
                cpu_seconds: cpu,
                scratch_bytes: numbers.3,
            },
            argv: std::iter::once(program).chain(arguments).collect(),
            env: env
                .into_iter()
                .map(|(name, value)| [name.as_bytes(), b"=", &value].concat())
                .collect(),
            home: home
                .into_iter()
                .map(|(name, content)| (name.into_bytes(), content))
                .collect(),
            cwd,
            directories: directories
                .into_iter()
                .map(|(path, writable)| SharedDirectory {
                    path,
                    writable,
                    layered: false,
                })
                .collect(),
            masks: masks
                .into_iter()
                .filter_map(|(directory, path, kind)| {
                    let kind = *kinds.get(kind)?;
                    Some(Mask { directory: directory % count, path, kind })
                })
                .collect(),
        }
    }
}

fn report() -> impl Strategy<Value = Report> {
    let outcome = prop_oneof![
        any::<i32>().prop_map(Outcome::Exited),
        any::<i32>().prop_map(Outcome::Signaled),
        Just(Outcome::Killed),
    ];
    let refused = prop::collection::btree_map(any::<i32>(), any::<u32>(), 1..127);
    prop_oneof![
        Just(Report::Started),
        Just(Report::Ready),
        any::<bool>().prop_map(|as_made| Report::Taken { as_made }),
        outcome.clone().prop_map(Report::Ended),
        outcome.prop_map(Report::Over),
        refused.prop_map(|calls| {
            let calls = calls.into_iter();
            Report::Refused(
                calls
                    .map(|(number, times)| Refused { number, times })
                    .collect(),
            )
        }),
    ]
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn a_report_that_is_written_is_read(report in report()) {
        prop_assert_eq!(Report::decode(&report.encode()), Some(report));
    }

    #[test]
    fn a_failed_step_is_reported_and_cut_to_fit(
        step in 0_u8..21, errno in any::<i32>(), about in "[a-zäß€😀]{0,600}", over in any::<bool>()
    ) {
        let tag = if over { b'F' } else { b'f' };
        let bytes = [&[tag, step], errno.to_le_bytes().as_slice(), about.as_bytes()].concat();
        match Report::decode(&bytes) {
            Some(report) => prop_assert_eq!(report.encode(), bytes),
            None => prop_assert!(bytes.len() > 1024),
        }
    }

    #[test]
    fn any_bytes_are_a_report_that_writes_the_same_or_none(
        report in report(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut bytes = report.encode();
        let at = at.index(bytes.len());
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        if let Some(read) = Report::decode(&bytes) {
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn orders_round_trip(order in order()) {
        let bytes = order.encode().unwrap();
        prop_assert_eq!(Order::decode(&bytes).unwrap(), order);
    }

    #[test]
    fn no_part_of_an_order_and_nothing_longer_is_one(order in order(), cut in any::<prop::sample::Index>()) {
        let mut bytes = order.encode().unwrap();
        let short = bytes.get(..cut.index(bytes.len())).unwrap();
        prop_assert!(Order::decode(short).is_err());
        bytes.push(0);
        prop_assert_eq!(Order::decode(&bytes), Err(BadOrder::Length));
    }

    #[test]
    fn any_bytes_are_an_order_that_writes_the_same_or_none(
        order in order(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut bytes = order.encode().unwrap();
        let at = at.index(bytes.len());
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        if let Ok(read) = Order::decode(&bytes) {
            prop_assert_eq!(read.encode().unwrap(), bytes);
        }
    }

    #[test]
    fn noise_is_no_order(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(read) = Order::decode(&bytes) {
            prop_assert_eq!(read.encode().unwrap(), bytes);
        }
    }
}

#[test]
fn invalid_arguments_and_variables_are_refused() {
    let good = Order {
        namespaces: true,
        omit: Omit::default(),
        network: Network::Off,
        limits: Limits::default(),
        argv: vec![b"/bin/true".to_vec()],
        env: Vec::new(),
        home: Vec::new(),
        cwd: b"/w".to_vec(),
        directories: vec![SharedDirectory {
            path: b"/w".to_vec(),
            writable: true,
            layered: false,
        }],
        masks: Vec::new(),
    };
    assert!(good.encode().is_ok());
    let mask = |directory, path: &[u8]| {
        vec![Mask {
            directory,
            path: path.to_vec(),
            kind: MaskKind::Hide,
        }]
    };
    type Spoil = Box<dyn Fn(&mut Order)>;
    let bad: [(&str, Spoil); 11] = [
        ("no program", Box::new(|o| o.argv.clear())),
        (
            "a relative program",
            Box::new(|o| o.argv = vec![b"true".to_vec()]),
        ),
        ("a zero byte", Box::new(|o| o.argv.push(b"a\0b".to_vec()))),
        (
            "a variable without a name",
            Box::new(|o| o.env.push(b"=x".to_vec())),
        ),
        (
            "a variable without a value",
            Box::new(|o| o.env.push(b"x".to_vec())),
        ),
        (
            "a relative directory to start in",
            Box::new(|o| o.cwd = b"w".to_vec()),
        ),
        ("the way up", Box::new(|o| o.cwd = b"/w/..".to_vec())),
        (
            "a mask in no directory",
            Box::new(move |o| o.masks = mask(1, b"a")),
        ),
        (
            "a mask above",
            Box::new(move |o| o.masks = mask(0, b"../a")),
        ),
        (
            "an absolute mask",
            Box::new(move |o| o.masks = mask(0, b"/a")),
        ),
        ("an empty mask", Box::new(move |o| o.masks = mask(0, b""))),
    ];
    for (name, spoil) in bad {
        let mut order = good.clone();
        spoil(&mut order);
        assert_eq!(order.encode(), Err(BadOrder::Text), "{name}");
    }
}

#[test]
fn too_much_is_refused_before_it_is_read() {
    assert_eq!(
        Order::decode(&vec![1; (16 << 20) + 1]),
        Err(BadOrder::TooLarge)
    );
}
