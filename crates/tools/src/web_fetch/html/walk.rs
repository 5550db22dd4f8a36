//! A tree, step by step, without a stack of calls.

use dom_query::NodeRef;

/// What to do below a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Look at what is in it.
    Enter,
    /// Pass it over; it is not left either.
    Skip,
    /// End the walk.
    Stop,
}

/// Somebody who looks at every node.
pub(super) trait Visitor {
    /// Comes to a node.
    fn enter(&mut self, node: &NodeRef<'_>) -> Below;

    /// Leaves a node that was entered.
    fn leave(&mut self, node: &NodeRef<'_>) {
        let _ = node;
    }
}

impl<F: FnMut(&NodeRef<'_>) -> Below> Visitor for F {
    fn enter(&mut self, node: &NodeRef<'_>) -> Below {
        self(node)
    }
}

/// Walks a node and everything in it, in the order of the page.
pub(super) fn walk(root: &NodeRef<'_>, visitor: &mut impl Visitor) {
    let mut node = *root;
    loop {
        match visitor.enter(&node) {
            Below::Stop => return,
            Below::Enter => {
                if let Some(child) = node.first_child() {
                    node = child;
                    continue;
                }
                visitor.leave(&node);
            }
            Below::Skip => {}
        }
        loop {
            if node.id == root.id {
                return;
            }
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            let Some(parent) = node.parent() else {
                return;
            };
            node = parent;
            visitor.leave(&node);
        }
    }
}
