"""Why the service did not do what was asked."""


class Refusal(ValueError):  # noqa: N818
    """Why a request is refused: an HTTP status, a code for programs, a sentence for people, the field it is about."""

    def __init__(
        self, status: int, code: str, sentence: str, field: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.code, self.sentence, self.field, self.retry_after = status, code, sentence, field, retry_after

    def __reduce__(self) -> tuple[object, ...]:  # so that it can be pickled by the worker process
        return type(self), (self.status, self.code, self.sentence, self.field, self.retry_after)


def busy(sentence: str) -> Refusal:
    """A refusal for now: nothing was done, and the same request may succeed in a moment."""
    return Refusal(503, "busy", sentence, retry_after=1)


def shutting_down() -> Refusal:
    return busy("the server is shutting down; try again in a moment")


def key_reused() -> Refusal:
    sentence = "this Idempotency-Key was already used for a different request; use a new one"
    return Refusal(409, "key-reused", sentence, "Idempotency-Key")


def no_page() -> Refusal:
    return Refusal(404, "http-404", "there is nothing at this path; see the HTTP reference at /docs")


def defect() -> Refusal:
    return Refusal(500, "defect", "something went wrong on the server; its log has the details")


# Every refusal, for the reference. A test fails if one is missing or no longer raised.
CODES = {
    (401, "no-key"): "The request has no key, or one that is unknown or revoked.",
    (403, "foreign"): "The server has no keys, and the request is for another host, comes through a proxy, or comes "
    "from another site's page.",
    (
        403,
        "not-allowed",
    ): "The key's role is too low, or the key is for one project and the request for all of them; or "
    "items name images that only an admin of all projects may name.",
    (403, "not-shown"): "The project does not show people their own figures.",
    (403, "not-yours"): "Another person was asked this question, or gave this answer or rating, and the key is not an "
    "admin's.",
    (404, "http-404"): "There is nothing at this path.",
    (404, "no-image"): "The project's image folder has no such file, or the file is too large or not a PNG, JPEG, WebP "
    "or GIF.",
    (404, "no-item"): "The project has no item with this number.",
    (404, "no-project"): "There is no project with this name, or the key is for another one.",
    (404, "no-question"): "The project has no question with this number.",
    (404, "no-rating"): "The project has no rating with this number.",
    (404, "no-such-key"): "The project has no key with this id.",
    (
        404,
        "nothing-to-ask",
    ): "All items are settled or assigned to other people right now, or there are none. Add items, or wait.",
    (408, "slow"): "The body did not arrive within `request_seconds`. Nothing was done.",
    (409, "answered"): "An answered question cannot be skipped. Retract the answer instead.",
    (409, "answered-otherwise"): "The question was already answered otherwise, and the first answer stands.",
    (409, "columns-set"): "The project already has other columns, and columns cannot be changed.",
    (409, "differs"): "A project with this name exists, but its scale, columns or items differ from the file's.",
    (409, "first-key"): "The first key of a server must be an admin key for all projects.",
    (
        409,
        "item-taken",
    ): "The item has an open question already, someone else's or yours. Ask about another one.",
    (409, "key-reused"): "The Idempotency-Key was already used for a different request. Use a new one.",
    (409, "no-answers"): "There are no answers to export yet.",
    (409, "no-columns"): "The project has no columns yet. Set them or add items.",
    (409, "no-placements"): "The project's learner has no probabilities, so its items are not placed.",
    (409, "not-answered"): "The question has no answer to take back.",
    (409, "project-exists"): "There is already a project with this name.",
    (409, "retracted"): "The answer was taken back, and the question takes no other answer. Ask again.",
    (409, "settled"): "The level of the item is settled, so nothing is asked about it. Undo the settling first.",
    (409, "skipped"): "The question was skipped and takes no answer. Ask again.",
    (
        413,
        "too-large",
    ): "The body is larger than `body_bytes`, than the operation says, or, if it says nothing and takes "
    "no list or file, than 16,384 bytes. It is refused before it is read.",
    (422, "bad-archive"): "The file is not a ZIP archive of images, is encrypted, or is too large when unpacked.",
    (422, "bad-columns"): "Two columns have the same name, a column lists a category twice or is described in a way "
    "that its kind cannot be, or the columns make no feature or more than `features_per_item`.",
    (422, "bad-learner"): "There is no such learner, or it does not take these parameters.",
    (422, "bad-log"): "The file is not a log of this project: its columns, levels or numbers do not fit.",
    (422, "bad-rules"): "Gold questions, auditors and several answers per item need a project whose `choice` is "
    "`pool`.",
    (422, "invalid"): "The request does not have the form described here; `field` says where.",
    (422, "no-column"): "No row has a column that is learned from. Where its value is missing, send null.",
    (422, "no-encoder"): "The images were encoded by an encoder that this server does not have.",
    (422, "no-folder"): "The server has no image folder, or no such folder in it.",
    (422, "not-a-category"): "A column of ordered categories got a value that is not one of them.",
    (422, "not-a-date"): "A column of dates got something else.",
    (
        422,
        "not-a-level",
    ): "The project has no such level, or the range from lowest to highest is empty or the whole scale.",
    (422, "not-a-number"): "A column of numbers got something else, or a number beyond 1e40.",
    (422, "not-a-vector"): "A column of vectors got something else, or a vector of another length.",
    (422, "not-an-image"): "A file is too large, or not a readable PNG, JPEG, WebP or GIF.",
    (422, "not-csv"): "The file is not CSV with a header of distinct names and as many values in every row.",
    (422, "not-text"): "The file is not UTF-8.",
    (422, "too-many"): "There are no items, predictions or answers, or more than `items_per_call`; or the image folder "
    "has too many files to search.",
    (422, "unknown-column"): "The project has no column with this name.",
    (429, "too-many-open"): "The project has `open_questions` waiting for an answer, or the person has "
    "`open_per_person`. Answer or skip some.",
    (500, "defect"): "Something went wrong on the server. Its log has the details.",
    (503, "busy"): "Too many writes, requests or large bodies are waiting, or the server is shutting down. Nothing was "
    "done, unless the sentence says that this is unknown. Sending it again is safe.",
    (503, "catching-up"): "The learner has not learned all answers yet; the sentence says how far it is.",
    (503, "not-read"): "The database could not be read, for example because it does not respond.",
    (503, "not-written"): "The database or the image folder could not be written, for example because the disk is "
    "full. Nothing was done, unless the sentence says that this is unknown. Sending it again is safe.",
    (503, "too-much"): "The work took longer than `work_seconds`, or more memory than is available.",
}
