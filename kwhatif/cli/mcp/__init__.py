"""`kwhatif mcp`: questions of assistants and agents, over the Model Context Protocol.

`tools` derives the arguments of each question from its command, `desk` asks one question at a time, `pages` cuts
reports that are too large for one message, `server` speaks the protocol with its official SDK, and `command` is the
command.
"""
