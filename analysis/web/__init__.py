"""Reports as one HTML file that opens from disk, on a phone and in print: no network, no script (`run.py report`)."""
