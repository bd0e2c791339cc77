//! A prompt that explains the memory to the model, for clients that do not pass on a server's instructions.

use rmcp::model::{GetPromptResult, Prompt, PromptMessage, Role};

/// The name of the prompt, which clients show as a command.
const NAME: &str = "memory";

const DESCRIPTION: &str = "Tells the model how to use its memory in this conversation";

pub(super) fn definition() -> Prompt {
    Prompt::new(NAME, Some(DESCRIPTION), None)
}

/// The prompt of this name, with these instructions.
pub(super) fn get(name: &str, instructions: &str) -> Option<GetPromptResult> {
    if name != NAME {
        return None;
    }
    let message = PromptMessage::new_text(Role::User, instructions);
    Some(GetPromptResult::new(vec![message]).with_description(DESCRIPTION))
}
