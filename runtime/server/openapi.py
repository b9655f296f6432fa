"""The OpenAPI 3.1 description at /openapi.json: the contract's form for clients. The rules themselves are contract.py's."""

from __future__ import annotations

from typing import Any

from server import contract, images
from server.bodies import MAX_BODY_BYTES

VERSION = "1.0.0"
Json = dict[str, Any]


def document(max_options: int) -> Json:
    """The whole description; `max_options` is that of the loaded readout."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "System One decisions",
            "version": VERSION,
            "description": "Questions about a state, answered with probabilities.",
        },
        "paths": {
            "/v1/models": {"get": read("models", "What is loaded, and how it runs.", "Models")},
            "/v1/systemone": {"post": systemone()},
            "/healthz": {"get": read("health", "200 once requests are answered.", "Health")},
            "/metrics": {"get": metrics()},
            "/openapi.json": {"get": read("description", "This description.", "Description")},
        },
        "components": {"schemas": schemas(max_options)},
    }


def read(name: str, summary: str, schema: str) -> Json:
    unready = {} if schema == "Description" else {"503": failure("Not ready, or closing.", True)}
    return {"operationId": name, "summary": summary, "responses": {"200": content(summary, schema), **unready}}


def metrics() -> Json:
    text = {"text/plain": {"schema": {"type": "string"}}}
    return {
        "operationId": "metrics",
        "summary": "Counters for Prometheus.",
        "responses": {"200": {"description": "Counters.", "content": text}},
    }


def systemone() -> Json:
    file = {"type": "array", "maxItems": contract.MAX_IMAGES, "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
    form = {
        "type": "object",
        "required": ["request"],
        "properties": {"request": {"type": "string"}, "image": file},
        "additionalProperties": False,
    }
    form["description"] = "request: the JSON of a request without images. image: up to two files."
    return {
        "operationId": "systemone",
        "summary": "Answers one to eight questions about a state.",
        "description": f"Bodies up to {MAX_BODY_BYTES} bytes. Prompts that are too long are refused, never cut.",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ref("Request")}, "multipart/form-data": {"schema": form}},
        },
        "responses": {
            "200": content("An answer for every question, in their order.", "Response"),
            "408": failure("The body did not arrive in time."),
            "413": failure("The body or an image is too large."),
            "422": failure("The request is not what this description and the limits ask for."),
            "500": failure("A fault of the server, or too little memory for this request."),
            "503": failure("Not ready, the queue is full, or the server is closing.", True),
        },
    }


def content(description: str, schema: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": ref(schema)}}}


def failure(description: str, retry: bool = False) -> Json:
    header = {"headers": {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}}} if retry else {}
    return {**content(description, "Error"), **header}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def schemas(max_options: int) -> Json:
    return {
        "Request": request(),
        "Question": {"oneOf": [ref("Choice"), ref("Noul"), ref("Score")], "discriminator": discriminator("Choice", "Noul", "Score")},
        "Choice": question("choice", choice_criteria(max_options), True),
        "Noul": question("noul", noul_criteria(), False),
        "Score": question("score", score_criteria(), True),
        "Text": {"description": "A text; an object is written as lines `key: value`, an array as one line an item.", "oneOf": text_forms()},
        "Response": closed({"model": STRING, "answers": {"type": "object", "additionalProperties": ref("Answer")}, "usage": ref("Usage")}),
        "Answer": {
            "oneOf": [ref("ChoiceAnswer"), ref("NoulAnswer"), ref("ScoreAnswer")],
            "discriminator": discriminator("ChoiceAnswer", "NoulAnswer", "ScoreAnswer"),
        },
        "ChoiceAnswer": answer("choice", {"choice": STRING, "probabilities": PROBABILITIES, "confidence": SHARE}),
        "NoulAnswer": answer("noul", {"noul": SHARE}),
        "ScoreAnswer": answer(
            "score", {"score": {"type": "number", "minimum": 0}, "legend": LEGEND, "probabilities": PROBABILITIES, "confidence": SHARE}
        ),
        "Usage": usage(),
        "Models": models(),
        "Health": closed({"status": {"const": "ready"}}),
        "Error": closed({"error": {"type": "string", "pattern": "^[a-z_]+$"}, "detail": STRING}),
        "Description": {"type": "object"},
    }


STRING: Json = {"type": "string"}
NUMBER: Json = {"type": "number", "minimum": 0}
COUNT: Json = {"type": "integer", "minimum": 0}
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
PROBABILITIES: Json = {"type": "object", "additionalProperties": SHARE}
LEGEND: Json = {"type": "object", "additionalProperties": STRING}


def closed(properties: Json, optional: tuple[str, ...] = ()) -> Json:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def discriminator(*names: str) -> Json:
    return {"propertyName": "type", "mapping": {n.removesuffix("Answer").lower(): f"#/components/schemas/{n}" for n in names}}


def request() -> Json:
    url = {"type": "string", "pattern": f"^data:({'|'.join(images.TYPES)});base64,"}
    pictures = {
        "type": "array",
        "maxItems": contract.MAX_IMAGES,
        "items": url,
        "description": "The first is the reference, the second the target.",
    }
    state = {"oneOf": [STRING, {"type": "object"}, {"type": "array"}]}
    state["description"] = f"Nested at most {contract.MAX_STATE_NESTING} levels, at most {contract.MAX_STATE_BYTES} bytes of compact JSON."
    asked = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": contract.MAX_QUESTIONS,
        "propertyNames": {"pattern": f"^{contract.ID.pattern}$"},
        "additionalProperties": ref("Question"),
    }
    model = {"description": "Taken for compatibility and ignored."}
    return closed({"model": model, "state": state, "questions": asked, "images": pictures}, ("model", "state", "images"))


def question(kind: str, criteria: Json, needed: bool) -> Json:
    return closed({"type": {"const": kind}, "instructions": ref("Text"), "criteria": criteria}, () if needed else ("criteria",))


def text_forms() -> list[Json]:
    return [
        {"type": "string", "minLength": 1, "maxLength": contract.MAX_TEXT},
        {"type": "object", "minProperties": 1},
        {"type": "array", "minItems": 1},
    ]


def or_nothing() -> Json:
    return {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": contract.MAX_TEXT}, {"type": "object"}, {"type": "array"}]}


def choice_criteria(max_options: int) -> Json:
    label = {"minLength": 1, "maxLength": contract.MAX_LABEL, "not": {"const": contract.RESERVED}}
    shape = {"minProperties": contract.MIN_OPTIONS, "maxProperties": max_options, "propertyNames": label}
    return {"type": "object", **shape, "additionalProperties": or_nothing(), "description": "Option and description."}


def noul_criteria() -> Json:
    sides = {"type": "object", "properties": {"true": or_nothing(), "false": or_nothing()}, "additionalProperties": False}
    return {"oneOf": [{"type": "null"}, sides]}


def score_criteria() -> Json:
    return {"type": "array", "minItems": contract.MIN_LEVELS, "maxItems": contract.MAX_LEVELS, "items": ref("Text")}


def answer(kind: str, own: Json) -> Json:
    shared = {"unknown_probability": SHARE, "abstained": {"type": "boolean"}, "calibration_version": STRING}
    return closed({"type": {"const": kind}, **own, **shared}, ("calibration_version",))


def usage() -> Json:
    picture = closed({"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}, "width": COUNT, "height": COUNT, "bytes": COUNT})
    times = {"prefill_ms": NUMBER, "questions_ms": NUMBER, "total_ms": NUMBER}
    counts = {"input_tokens": COUNT, "prompt_tokens": COUNT, "rotations": COUNT}
    return closed({**times, **counts, "images": {"type": "array", "items": picture}})


def models() -> Json:
    release = {"version": STRING, "payloadDigest": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "Of the release served."}}
    facts = {
        "model": STRING,
        "adapter": {"type": ["string", "null"]},
        "backend": {"type": "object", "description": "Which kernels were chosen, by which self-test."},
        "loaded": {"const": True},
        "load_seconds": NUMBER,
        "readout_codes": COUNT,
        "prompt_layout": STRING,
        "max_options": COUNT,
    }
    return {"type": "object", "properties": facts | release, "required": list(facts)}
