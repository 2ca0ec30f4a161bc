"""What the service says when it does not do what was asked."""


class Refusal(ValueError):  # noqa: N818
    """An answer other than yes: an HTTP status, a code for programs, a sentence for people, the field it is about."""

    def __init__(
        self, status: int, code: str, sentence: str, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.code, self.sentence, self.field, self.retry_after = status, code, sentence, field, retry_after


def busy(sentence: str) -> Refusal:
    """Nothing was done, and the same request may succeed in a moment."""
    return Refusal(503, "busy", sentence, retry_after=1)
