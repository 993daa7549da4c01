import json
import sys
from pathlib import Path

from tests.queue_scripts.play import play


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.queue_scripts SCRIPT")
    states = play(json.loads(Path(sys.argv[1]).read_text()))
    print("[\n" + ",\n".join(json.dumps(state, separators=(",", ":")) for state in states) + "\n]")


if __name__ == "__main__":
    main()
