"""`python -m memoranda`: the command line."""

from memoranda.cli.main import main

main()
