"""What answers the cases that have no response: a chat model, a command, a function."""
