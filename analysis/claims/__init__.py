"""Claims as files: what is claimed, of whom, and the differences that it rests on ([Claims](claims.md))."""
