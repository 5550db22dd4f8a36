//! `write_todos`: a list of tasks, kept for the workspace.
//!
//! ```text
//!  add ──▶ next number ("todo_numbers") ──▶ task under that number ("todos")
//!  complete, remove, list ──▶ "todos"
//!  replace ──▶ new tasks under new numbers, then the old ones go
//! ```
//!
//! Each task is a value of its own, changed in one step, so several processes lose nothing
//! of each other's. Numbers are never given twice.
//!
//! What can go wrong: an argument is missing, a task is not there (the error says which
//! are), or the store cannot be used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_gate::store::{Edit, Space};
use toolgate_gate::tool::{Output, RunCtx, TypedTool, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};

use crate::memory::{Kept, Notes, space};

const DESCRIPTION: &str = "Keeps a list of tasks for this workspace. `add` puts a task on it and \
    returns its id, `complete` marks a task as done, `remove` takes it off, `list` shows all tasks, \
    `replace` puts the tasks of `todos` in the place of all that are there.";

/// How many ids are told to somebody who named one that is not there.
const NAMED: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Add,
    Complete,
    Remove,
    List,
    Replace,
}

impl Action {
    const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Complete => "complete",
            Self::Remove => "remove",
            Self::List => "list",
            Self::Replace => "replace",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteTodos {
    /// What to do: `add`, `complete`, `remove`, `list` or `replace`.
    action: Action,
    /// What is to be done. Needed for `add`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 10_000))]
    task: Option<String>,
    /// The id of a task, as `add` and `list` tell it. Needed for `complete` and `remove`.
    #[serde(default)]
    id: Option<Id>,
    /// All tasks that the list is to have, in order. Needed for `replace`.
    #[serde(default)]
    #[schemars(length(max = 200))]
    todos: Option<Vec<Wanted>>,
}

/// A task of a list that replaces another.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// What is to be done.
    #[schemars(length(min = 1, max = 10_000))]
    task: String,
    /// How far it is.
    #[serde(default)]
    status: Status,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
}

/// An id, written as text or as a number.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

impl Id {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// What a call asks for.
enum Request {
    Add(String),
    Complete(String),
    Remove(String),
    List,
    Replace(Vec<Wanted>),
}

/// Refuses a task that says nothing, or that would disturb a list: one task is shown after the
/// other, and what moves the cursor would hide some.
fn check_task(task: &str) -> Result<(), ToolError> {
    let disturbs = |c: char| c.is_control() && c != '\n' && c != '\t';
    if task.chars().any(disturbs) {
        return Err(ToolError::bad_args("task holds control characters"));
    }
    Ok(())
}

impl WriteTodos {
    fn request(&self) -> Result<Request, ToolError> {
        let name = self.action.name();
        let refused = |what: &str| {
            Err(ToolError::bad_args(format!(
                "{name} takes no {what}; leave it out"
            )))
        };
        if self.task.is_some() && self.action != Action::Add {
            return refused("task");
        }
        let takes_id = matches!(self.action, Action::Complete | Action::Remove);
        if self.id.is_some() && !takes_id {
            return refused("id");
        }
        if self.todos.is_some() && self.action != Action::Replace {
            return refused("todos");
        }
        let missing = |what: &str| ToolError::bad_args(format!("{name} needs {what}"));
        let id = || {
            let id = self.id.as_ref().map(Id::text);
            id.filter(|id| !id.is_empty()).ok_or_else(|| missing("id"))
        };
        Ok(match self.action {
            Action::List => Request::List,
            Action::Replace => {
                let todos = self.todos.clone().ok_or_else(|| missing("todos"))?;
                for todo in &todos {
                    if todo.task.trim().is_empty() {
                        return Err(ToolError::bad_args("a task of todos is blank"));
                    }
                    check_task(&todo.task)?;
                }
                Request::Replace(todos)
            }
            Action::Complete => Request::Complete(id()?),
            Action::Remove => Request::Remove(id()?),
            Action::Add => {
                let task = self.task.as_deref().unwrap_or_default();
                if task.trim().is_empty() {
                    return Err(missing("task"));
                }
                check_task(task)?;
                Request::Add(task.to_owned())
            }
        })
    }
}

/// A task as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Todo {
    task: String,
    completed: bool,
    /// Whether somebody works on it. Only a list that was replaced as a whole says it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_progress: bool,
    created_at_ms: u64,
}

impl Todo {
    fn read(text: &str) -> Result<Self, ToolError> {
        serde_json::from_str(text)
            .map_err(|error| ToolError::failed(format!("a task in the store is damaged: {error}")))
    }

    fn written(&self) -> Result<String, ToolError> {
        serde_json::to_string(self).map_err(|error| ToolError::failed(error.to_string()))
    }

    fn line(&self, id: &str) -> String {
        let mark = match (self.completed, self.in_progress) {
            (true, _) => 'x',
            (false, true) => '>',
            (false, false) => ' ',
        };
        // Further lines are moved in, so that none of them looks like a task.
        format!("[{mark}] {id}: {}", self.task.replace('\n', "\n      "))
    }
}

/// The tool.
pub(crate) fn tool(notes: &Notes) -> TypedTool<WriteTodos> {
    let notes = notes.clone();
    typed("write_todos", DESCRIPTION, move |args: WriteTodos, cx| {
        let notes = notes.clone();
        async move { keep(args.request()?, notes.store(), &cx).await }
    })
    .check(|args| args.request().map(drop))
    .summary(|args| match (&args.task, &args.id) {
        (Some(task), _) => format!("Todo {}: {task}", args.action.name()),
        (None, Some(id)) => format!("Todo {} {}", args.action.name(), id.text()),
        (None, None) => match &args.todos {
            Some(todos) => format!("Todo {} all with {}", args.action.name(), todos.len()),
            None => format!("Todo {}", args.action.name()),
        },
    })
    // What it changes are the model's own notes, nothing of the person's, so it is not asked about.
    .facts(|_| Facts::none())
    .category(Category::Other)
    .risk(Risk::Low)
}

async fn keep(request: Request, store: &Kept, cx: &RunCtx) -> Result<Output, ToolError> {
    let todos = space(cx, "todos");
    match request {
        Request::Add(task) => {
            let todo = Todo {
                task,
                completed: false,
                in_progress: false,
                created_at_ms: cx.clock().now_ms(),
            };
            let id = next_number(store, &space(cx, "todo_numbers")).await?;
            store.set(&todos, &id, todo.written()?).await?;
            Ok(Output::plain(format!("Added todo: {id}"))
                .display(format!("Added: {}", todo.task))
                .with("id", id))
        }
        Request::Complete(id) => {
            let complete = |now: Option<&str>| {
                let Some(now) = now else {
                    return Ok((Edit::Keep, None));
                };
                let mut todo = Todo::read(now)?;
                (todo.completed, todo.in_progress) = (true, false);
                Ok((Edit::Set(todo.written()?), Some(todo)))
            };
            match store.change(&todos, &id, complete).await? {
                Some(todo) => Ok(Output::plain(format!("Completed todo: {id}"))
                    .display(format!("Completed: {}", todo.task))),
                None => Err(not_found(store, &todos, &id).await?),
            }
        }
        Request::Remove(id) => {
            match store.delete(&todos, &id).await? {
                Some(text) => {
                    let task = Todo::read(&text).map(|todo| todo.task).unwrap_or_default();
                    Ok(Output::plain(format!("Removed todo: {id}"))
                        .display(format!("Removed: {task}")))
                }
                None => Err(not_found(store, &todos, &id).await?),
            }
        }
        Request::List => list(store, &todos).await,
        Request::Replace(wanted) => replace(store, &todos, wanted, cx).await,
    }
}

/// Puts tasks in the place of all that are there. The new ones are written before the old ones
/// go, so a failure between the two shows too many and loses none.
async fn replace(
    store: &Kept,
    todos: &Space,
    wanted: Vec<Wanted>,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let before = store.list(todos).await?;
    for Wanted { task, status } in wanted {
        let todo = Todo {
            task,
            completed: status == Status::Completed,
            in_progress: status == Status::InProgress,
            created_at_ms: cx.clock().now_ms(),
        };
        let id = next_number(store, &space(cx, "todo_numbers")).await?;
        store.set(todos, &id, todo.written()?).await?;
    }
    for (id, _) in before {
        store.delete(todos, &id).await?;
    }
    list(store, todos).await
}

/// A number that nobody else gets.
async fn next_number(store: &Kept, numbers: &Space) -> Result<String, ToolError> {
    let next = |now: Option<&str>| {
        let last: u64 = now.map_or(Ok(0), str::parse).map_err(|error| {
            ToolError::failed(format!("the last id in the store is damaged: {error}"))
        })?;
        let next = last.saturating_add(1).to_string();
        Ok((Edit::Set(next.clone()), next))
    };
    store.change(numbers, "last", next).await
}

async fn list(store: &Kept, todos: &Space) -> Result<Output, ToolError> {
    let mut all = Vec::new();
    for (id, text) in store.list(todos).await? {
        all.push((id, Todo::read(&text)?));
    }
    // As they were added; the store sorts as text.
    all.sort_by_key(|(id, _)| id.parse::<u64>().unwrap_or(u64::MAX));
    let done = all.iter().filter(|(_, todo)| todo.completed).count();
    let lines: Vec<String> = all.iter().map(|(id, todo)| todo.line(id)).collect();
    let noun = if all.len() == 1 { "todo" } else { "todos" };
    let content = if lines.is_empty() {
        "No todos.".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(Output::exact(content)
        .display(format!("{} {noun}, {done} completed", all.len()))
        .with("count", all.len())
        .with("completed", done))
}

async fn not_found(store: &Kept, todos: &Space, id: &str) -> Result<ToolError, ToolError> {
    let all = store.list(todos).await?;
    let ids: Vec<&str> = all.iter().take(NAMED).map(|(id, _)| id.as_str()).collect();
    let there = if ids.is_empty() {
        "The list is empty.".to_owned()
    } else {
        format!("Ids there are: {}.", ids.join(", "))
    };
    Ok(ToolError::new(
        ErrorKind::NotFound,
        format!("Todo not found: {id}. {there}"),
    ))
}
