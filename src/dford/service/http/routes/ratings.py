"""Whole ratings over HTTP."""

from fastapi import FastAPI

from dford.service.http import bodies, models
from dford.service.http.access import Admin, Answering, Repeat
from dford.service.http.routes.items import CSV
from dford.service.projects import uploads
from dford.service.projects.ratings import RatingToCheck, checked
from dford.service.projects.uploads import limit


def add(app: FastAPI) -> None:
    @app.post("/projects/{project}/ratings", openapi_extra=bodies.described(models.Ratings))
    def rate(to: Answering, repeat: Repeat) -> models.Rated:
        """Give ratings: the levels of items, without having been asked. All are on disk when the response is sent.

        ```
        POST /projects/rain/ratings
        {"ratings": [{"item": 1, "level": "mild"}, {"item": 2, "level": "strong", "person": "anna"}]}
        → 200
        {"count": 2, "known": 0, "ratings": [5, 6]}
        ```

        They count in order with answers, all or none. The same level for the same item by the same person counts once.
        Giving them in another person's name needs the role `admin`. A program sends `"program": true`: what it says
        informs, and people decide. The learner must have probabilities, or this is 409 `no-placements`.
        """
        sent = to.service.read(to.project, to.body, bodies.parsed, models.Ratings, to.body)
        limit(len(sent.ratings), "ratings", to.service.bounds())
        given = [RatingToCheck(one.item, one.level, one.person) for one in sent.ratings]
        found = checked(to.project, given, to.person, to.admin, "ratings")
        return models.Rated(**to.service.rate(to.project, found, sent.program, repeat))

    @app.post("/projects/{project}/ratings.csv", openapi_extra=CSV)
    def rate_csv(to: Admin, repeat: Repeat) -> models.Rated:
        """Give the ratings of a table, all or none: its columns are item, level and, if it is known, person.

        ```
        POST /projects/rain/ratings.csv
        item,level,person
        1,mild,anna
        2,strong,ben
        → 200
        {"count": 2, "known": 0, "ratings": [7, 8]}
        ```
        """
        given = to.service.read(to.project, to.body, uploads.uploaded_ratings, to.body, to.service.bounds())
        found = checked(to.project, given, to.person, to.admin, "body")
        return models.Rated(**to.service.rate(to.project, found, False, repeat))

    @app.delete("/projects/{project}/ratings/{number}")
    def unrate(to: Answering, number: models.Number) -> models.Unrated:
        """Take a rating back, by its number: the project learns again without it. The log keeps both.

        ```
        DELETE /projects/rain/ratings/5
        → 200
        {"rating": 5, "sequence": 9}
        ```

        Taking back another person's rating needs the role `admin`.
        """
        return models.Unrated(rating=number, sequence=to.service.unrate(to.project, number, to.person, to.admin))
