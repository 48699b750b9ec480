"""`python -m memoranda`: the command line."""

from memoranda.cli.app import main

main()
