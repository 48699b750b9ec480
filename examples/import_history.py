"""Read a ChatGPT or Claude data export with a progress bar, and write its longest conversation as a Markdown page.

python examples/import_history.py chatgpt|claude export.zip [page.md]
"""

import sys

from memoranda.transfer.chats import export_conversation, read_chatgpt_export, read_claude_export

READERS = {"chatgpt": read_chatgpt_export, "claude": read_claude_export}
WIDTH = 40


def show_progress(done: int, total: int) -> None:
    filled = WIDTH * done // total
    print(f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}", end="", file=sys.stderr, flush=True)


def main(vendor: str, path: str, page: str | None = None) -> None:
    conversations = READERS[vendor](path, progress=show_progress)
    print(file=sys.stderr)
    for conversation in conversations:
        print(f"{len(conversation.messages):5} messages  {conversation.title}")
    if page and conversations:
        longest = max(conversations, key=lambda conversation: len(conversation.messages))
        export_conversation(longest.messages, page, title=longest.title)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in READERS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
