"""What the service says when it does not do what was asked."""


class Refusal(ValueError):  # noqa: N818
    """An answer other than yes: an HTTP status, a code for programs, a sentence for people, the field it is about."""

    def __init__(
        self, status: int, code: str, sentence: str, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.code, self.sentence, self.field, self.retry_after = status, code, sentence, field, retry_after

    def __reduce__(self) -> tuple[object, ...]:  # it may come from another process
        return type(self), (self.status, self.code, self.sentence, self.field, self.retry_after)


def busy(sentence: str) -> Refusal:
    """Nothing was done, and the same request may succeed in a moment."""
    return Refusal(503, "busy", sentence, retry_after=1)


def defect() -> Refusal:
    return Refusal(500, "defect", "something is wrong with the server; its log says what")


# Every refusal there is, for the reference; a test fails where one is missing, or is no more.
CODES = {
    (401, "no-key"): "There is no key in the request, or one that is unknown or revoked.",
    (403, "foreign"): "The server has no keys, and the request names another host than this machine, or comes through "
    "a proxy or from another site's page.",
    (403, "not-allowed"): "The key's role is too low, or it is for one project and this is for all.",
    (403, "not-shown"): "The project does not show people what is known of them.",
    (403, "not-yours"): "Another person was asked this question, or gave this answer, and the key is no admin's.",
    (404, "http-404"): "Nothing is at this path.",
    (404, "no-image"): "The folder of the project's images has no such file, or it is no PNG, JPEG, WebP or GIF, or is "
    "too large.",
    (404, "no-item"): "The project has no item of this number.",
    (404, "no-key"): "The project has no key of this id.",
    (404, "no-project"): "There is no project of this name, or the key is for another one.",
    (404, "no-question"): "The project has no question of this number.",
    (404, "nothing-to-ask"): "All items are assigned to other people right now, or there are none. Add items, or wait.",
    (408, "slow"): "The body did not arrive within `request_seconds`. Nothing was done.",
    (409, "answered"): "An answered question cannot be skipped. Retract the answer instead.",
    (409, "answered-otherwise"): "The question has the other answer already, which stands.",
    (409, "columns-set"): "The project has other columns, and they do not change.",
    (409, "differs"): "A project of this name has another scale, other columns or other items than the file.",
    (409, "first-key"): "The first key of a server is an admin's, for all projects.",
    (409, "item-taken"): "The item is assigned to somebody else right now. Ask about another one.",
    (409, "key-reused"): "The Idempotency-Key came before, with another request. Take a new one.",
    (409, "no-answers"): "There is no answer to export yet.",
    (409, "no-columns"): "The project has no columns yet. Set them, or add items.",
    (409, "no-placements"): "The project's learner has no probabilities, so nothing is expected of its items' levels.",
    (409, "not-answered"): "The question has no answer to take back.",
    (409, "project-exists"): "There is a project of this name already.",
    (409, "retracted"): "The answer was taken back, and the question takes no other. Ask again.",
    (409, "settled"): "The level of the item is settled, so nothing is asked about it. Take that back first.",
    (409, "skipped"): "The question was skipped, and takes no answer. Ask again.",
    (413, "too-large"): "The body is larger than `body_bytes`.",
    (422, "bad-archive"): "The file is not a ZIP archive of images, is encrypted, or unpacks to too much.",
    (422, "bad-columns"): "The columns have a name twice, categories that do not differ, or make no feature or more "
    "than `features_per_item`.",
    (422, "bad-learner"): "There is no such learner, or it cannot have these parameters.",
    (422, "bad-log"): "The file is not a log of this project: its columns, its levels or its numbers.",
    (422, "bad-rules"): "A project whose choice of the next item is not `pool` cannot have gold questions, auditors or "
    "several answers per item.",
    (422, "invalid"): "The request is not of the form described here: `field` says where.",
    (422, "no-encoder"): "Images were described by an encoder that this server does not have.",
    (422, "not-a-category"): "A column of categories in order got another one.",
    (422, "not-a-date"): "A column of dates got something else.",
    (
        422,
        "not-a-level",
    ): "The project has no such level, or the range from the lowest to the highest is empty or the whole scale.",
    (422, "not-a-number"): "A column of numbers got something else, or a number beyond 1e40.",
    (422, "not-a-vector"): "A column of vectors got something else, or one of another length.",
    (422, "not-an-image"): "A file is no PNG, JPEG, WebP or GIF that can be read, or is too large.",
    (422, "not-csv"): "The file is not CSV with a first line of different names and as many values in every row.",
    (422, "not-text"): "The file is not UTF-8.",
    (422, "too-many"): "There are more items, predictions or answers than `items_per_call`, or none; or the "
    "folder of images has more files than are searched.",
    (422, "unknown-column"): "The project has no column of this name.",
    (429, "too-many-open"): "The project has `open_questions` that wait for an answer, or the person "
    "`open_per_person`. Answer or skip some.",
    (500, "defect"): "Something is wrong with the server. Its log says what.",
    (503, "busy"): "Too many writes or requests wait, or the server is shutting down. Nothing was done.",
    (503, "catching-up"): "The learner has not learned all answers yet; the sentence says how far it is.",
    (503, "not-read"): "The database could not be read: it does not answer, say.",
    (503, "not-written"): "The database or the folder of images could not be written: a full disk, say. Nothing was "
    "done, unless the sentence says that this is not known; sent again, it is done once.",
    (503, "too-much"): "The work took longer than `work_seconds`, or more memory than there is for it.",
}
