"""`kwhatif mcp`: the questions for assistants and agents, by the Model Context Protocol.

`tools` reads off the commands what each question takes, `desk` asks them one after the other, `pages` cuts what is too
large for one message, `server` speaks the protocol with its official SDK, and `command` is the command.
"""
