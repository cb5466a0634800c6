"""The chats that the pocket model is trained on, written by the oracle (docs/models.md)."""
