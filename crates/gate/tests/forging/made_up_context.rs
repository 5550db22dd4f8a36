// The context has no public fields and no public constructor.
use toolgate_gate::tool::RunCtx;

fn by_hand() -> RunCtx {
    RunCtx { parts: todo!(), hold: None, _permit: todo!() }
}

fn by_constructor() -> RunCtx {
    RunCtx::new(todo!(), todo!())
}

fn main() {}
