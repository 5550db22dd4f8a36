//! A map whose copies share what they have in common.
//!
//! A scope is copied wherever a line may go two ways, and merged where the ways meet. With this
//! map a copy takes no time, a change copies one way down the tree, and two copies are compared
//! only where they differ. The tree branches by the hash of the name, four bits at a time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// How many ways a branch has.
const WIDTH: usize = 16;

/// A map from names to values.
#[derive(Debug)]
pub(crate) struct Map<V> {
    root: Link<V>,
}

type Link<V> = Option<Rc<Node<V>>>;

#[derive(Clone, Debug)]
enum Node<V> {
    Branch([Link<V>; WIDTH]),
    /// Names with the same hash.
    Leaf(u64, Vec<(Rc<str>, V)>),
}

/// A name with its values in two maps, which differ.
pub(crate) type Difference<'m, V> = (&'m str, Option<&'m V>, Option<&'m V>);

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self { root: None }
    }
}

impl<V> Clone for Map<V> {
    fn clone(&self) -> Self {
        let root = self.root.clone();
        Self { root }
    }
}

impl<V> Map<V> {
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        let hash = hash(name);
        let mut node = self.root.as_deref()?;
        for depth in 0.. {
            match node {
                Node::Branch(children) => node = children.get(slot(hash, depth))?.as_deref()?,
                Node::Leaf(_, entries) => {
                    let found = entries.iter().find(|(known, _)| **known == *name);
                    return found.map(|(_, value)| value);
                }
            }
        }
        None
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.unsorted().is_empty()
    }

    /// All names with their values.
    pub(crate) fn unsorted(&self) -> Vec<(&str, &V)> {
        let mut entries = Vec::new();
        gather(&self.root, &mut entries);
        entries
    }

    /// All names with their values, in the order of the names.
    pub(crate) fn entries(&self) -> Vec<(&str, &V)> {
        let mut entries = self.unsorted();
        entries.sort_unstable_by_key(|(name, _)| *name);
        entries
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries().into_iter().map(|(_, value)| value)
    }

    /// The names whose values are not the same in another map, in the order of the names.
    pub(crate) fn differences<'m>(
        &'m self,
        other: &'m Self,
        same: impl Fn(&V, &V) -> bool,
    ) -> Vec<Difference<'m, V>> {
        let mut found = Vec::new();
        compare(&self.root, &other.root, &same, &mut found);
        found.sort_unstable_by_key(|(name, _, _)| *name);
        found
    }
}

impl<V: Clone> Map<V> {
    /// Gives a name its value and hands back the one it had.
    pub(crate) fn insert(&mut self, name: &str, value: V) -> Option<V> {
        put(&mut self.root, 0, hash(name), name, value)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        if !self.contains(name) {
            return None;
        }
        take(&mut self.root, 0, hash(name), name)
    }

    /// The value of a name, to change it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        if !self.contains(name) {
            return None;
        }
        let hash = hash(name);
        let mut node = Rc::make_mut(self.root.as_mut()?);
        for depth in 0.. {
            match node {
                Node::Branch(children) => {
                    let child = children.get_mut(slot(hash, depth))?;
                    node = Rc::make_mut(child.as_mut()?);
                }
                Node::Leaf(_, entries) => {
                    let mut entries = entries.iter_mut();
                    let found = entries.find(|(known, _)| **known == *name);
                    return found.map(|(_, value)| value);
                }
            }
        }
        None
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Which way of a branch leads to a hash. Hashes that differ part on one of sixteen levels.
fn slot(hash: u64, depth: u32) -> usize {
    usize::try_from(hash.wrapping_shr(4 * depth) & 0xf).unwrap_or_default()
}

fn is_same<V>(one: &Link<V>, other: &Link<V>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Rc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

fn gather<'m, V>(link: &'m Link<V>, entries: &mut Vec<(&'m str, &'m V)>) {
    match link.as_deref() {
        None => {}
        Some(Node::Branch(children)) => {
            for child in children {
                gather(child, entries);
            }
        }
        Some(Node::Leaf(_, list)) => {
            entries.extend(list.iter().map(|(name, value)| (&**name, value)))
        }
    }
}

fn compare<'m, V>(
    one: &'m Link<V>,
    other: &'m Link<V>,
    same: &impl Fn(&V, &V) -> bool,
    found: &mut Vec<Difference<'m, V>>,
) {
    if is_same(one, other) {
        return;
    }
    if let (Some(Node::Branch(ours)), Some(Node::Branch(theirs))) =
        (one.as_deref(), other.as_deref())
    {
        for (ours, theirs) in ours.iter().zip(theirs) {
            compare(ours, theirs, same, found);
        }
        return;
    }
    // At least one of them is a leaf or empty.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    gather(one, &mut ours);
    gather(other, &mut theirs);
    let value = |list: &[(&'m str, &'m V)], name: &str| {
        let entry = list.iter().find(|(known, _)| *known == name);
        entry.map(|(_, value)| *value)
    };
    for (name, mine) in &ours {
        let their = value(&theirs, name);
        if !their.is_some_and(|their| same(mine, their)) {
            found.push((*name, Some(*mine), their));
        }
    }
    for (name, their) in &theirs {
        if value(&ours, name).is_none() {
            found.push((*name, None, Some(*their)));
        }
    }
}

fn put<V: Clone>(link: &mut Link<V>, depth: u32, hash: u64, name: &str, value: V) -> Option<V> {
    let Some(node) = link else {
        *link = Some(Rc::new(Node::Leaf(hash, vec![(name.into(), value)])));
        return None;
    };
    if let Node::Leaf(other, _) = &**node
        && *other != hash
    {
        let mut children: [Link<V>; WIDTH] = std::array::from_fn(|_| None);
        if let Some(child) = children.get_mut(slot(*other, depth)) {
            *child = Some(Rc::clone(node));
        }
        *node = Rc::new(Node::Branch(children));
    }
    match Rc::make_mut(node) {
        Node::Branch(children) => {
            let child = children.get_mut(slot(hash, depth))?;
            put(child, depth + 1, hash, name, value)
        }
        Node::Leaf(_, entries) => match entries.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, before)) => Some(std::mem::replace(before, value)),
            None => {
                entries.push((name.into(), value));
                None
            }
        },
    }
}

fn take<V: Clone>(link: &mut Link<V>, depth: u32, hash: u64, name: &str) -> Option<V> {
    match Rc::make_mut(link.as_mut()?) {
        Node::Branch(children) => {
            let child = children.get_mut(slot(hash, depth))?;
            take(child, depth + 1, hash, name)
        }
        Node::Leaf(_, entries) => {
            let at = entries.iter().position(|(known, _)| **known == *name)?;
            let (_, value) = entries.swap_remove(at);
            if entries.is_empty() {
                *link = None;
            }
            Some(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn differences(one: &Map<u8>, other: &Map<u8>) -> Vec<(String, Option<u8>, Option<u8>)> {
        one.differences(other, u8::eq)
            .into_iter()
            .map(|(name, ours, theirs)| (name.to_owned(), ours.copied(), theirs.copied()))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(256) })]

        #[test]
        fn it_holds_what_a_plain_map_holds(
            before in prop::collection::vec(("[a-d]{1,3}", any::<Option<u8>>()), 0..60),
            after in prop::collection::vec(("[a-d]{1,3}", any::<Option<u8>>()), 0..20),
        ) {
            let change = |map: &mut Map<u8>, plain: &mut BTreeMap<String, u8>, name: &str, value| {
                match value {
                    Some(value) => assert_eq!(map.insert(name, value), plain.insert(name.to_owned(), value)),
                    None => assert_eq!(map.remove(name), plain.remove(name)),
                }
            };
            let (mut map, mut plain) = (Map::default(), BTreeMap::new());
            for (name, value) in &before {
                change(&mut map, &mut plain, name, *value);
            }
            let (copy, plain_copy) = (map.clone(), plain.clone());
            prop_assert!(differences(&copy, &map).is_empty());
            for (name, value) in &after {
                change(&mut map, &mut plain, name, *value);
            }
            let entries: Vec<(&str, &u8)> = plain.iter().map(|(name, value)| (name.as_str(), value)).collect();
            prop_assert_eq!(map.entries(), entries);
            let names: std::collections::BTreeSet<&String> = plain.keys().chain(plain_copy.keys()).collect();
            let expected: Vec<(String, Option<u8>, Option<u8>)> = names
                .into_iter()
                .map(|name| (name.clone(), plain_copy.get(name).copied(), plain.get(name).copied()))
                .filter(|(_, ours, theirs)| ours != theirs)
                .collect();
            prop_assert_eq!(differences(&copy, &map), expected);
        }
    }
}
