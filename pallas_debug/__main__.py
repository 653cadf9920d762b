"""`python -m pallas_debug` is `pallas-debug`."""

from pallas_debug.cli import main

raise SystemExit(main())
