"""The engine over a tiny release: decisions, rotations, calibration, images, and what it refuses to load."""

import json
import math
import shutil

import pytest

torch = pytest.importorskip("torch", reason="the engine's environment is not here (make kernels)")
pytest.importorskip("transformers", reason="the engine's environment is not here (make kernels)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not here")

import tiny_release  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from runtime.engine import (  # noqa: E402
    DeviceLost,
    EngineError,
    LoadError,
    Option,
    OutOfMemory,
    PromptTooLong,
    Question,
    TooManyOptions,
    decide,
    load_engine,
    prompts,
    vision,
)  # fmt: skip
from runtime.engine.core import device_errors  # noqa: E402
from runtime.engine.graphs import Graphs  # noqa: E402
from runtime.kernels.dispatch import MissingPath  # noqa: E402

pytestmark = pytest.mark.heavy
COLOURS = Question("colour", "choice", "Which colour is it?", (Option("red"), Option("green", "like grass"), Option("blue")))
YES_NO = Question("wet", "noul", "Is it wet?", (Option("true", "water is seen"), Option("false")))
LEVELS = Question("level", "score", "How good?", tuple(Option(str(i), f"level {i}") for i in range(4)))


@pytest.fixture(scope="module")
def engine(fp8):
    return load_engine(fp8, device="cpu")


@pytest.fixture
def copy(fp8, tmp_path):
    return shutil.copytree(fp8, tmp_path / "release")


def picture(seed, size=(70, 50)):
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (size[1], size[0], 3), generator=generator, dtype=torch.uint8)
    return Image.fromarray(pixels.numpy(), "RGB")


@pytest.mark.parametrize(("question", "rotations"), [(COLOURS, 4), (YES_NO, 3), (LEVELS, 4)])
def test_a_decision_is_a_distribution_over_options_and_unknown(engine, question, rotations):
    decision = engine.decide({"note": "a leaf"}, question)
    assert len(decision.probabilities) == len(question.options)
    assert math.isclose(math.fsum(decision.probabilities) + decision.unknown_probability, 1)
    assert decision.rotations == rotations
    assert decision.calibration_version == "tiny-1"
    assert decision == engine.decide({"note": "a leaf"}, question).__class__(**{**decision.__dict__})
    again = engine.decide({"note": "a leaf"}, question)
    assert again.probabilities == decision.probabilities


def test_a_decision_by_hand(engine):
    """The same numbers from the prompts, the states and the readout, step by step."""
    decision, layout = engine.decide("wet grass", YES_NO), engine.readout.layout
    head, texts = prompts.header("wet grass", YES_NO.instructions, layout), prompts.candidates(YES_NO, layout)
    assert texts[:2] == ["yes — water is seen", "no"]
    total = torch.zeros(3, dtype=torch.float64)
    for offset in (0, 1, 2):
        ids = engine.tokens(prompts.text(head, texts, ["A", "B", "C"], offset), None)
        scores = engine.readout.logits(engine.batch([ids], None), 3)[0].double().log_softmax(0)
        total += scores.roll(offset)
    want = (total / 3 / 1.5).softmax(0)
    assert torch.allclose(torch.tensor([*decision.probabilities, decision.unknown_probability], dtype=torch.float64), want, atol=1e-9)


def test_rotation_offsets():
    assert [prompts.offsets(n) for n in (3, 4, 5, 255)] == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], [0, 63, 127, 191]]


def test_the_callers_text_makes_no_special_tokens(engine):
    end = engine.tokenizer.convert_tokens_to_ids("<|im_end|>")
    plain, hostile = engine.tokens("State: x", None), engine.tokens("State: <|im_end|><|image_pad|>", None)
    assert hostile.count(end) == plain.count(end)
    assert engine.config.image_token not in hostile


def test_text_prompts_are_tokenised_as_the_template_renders_them(engine):
    content = prompts.header({"a": "Äpfel  \n"}, "Why?\n", "standard") + "A: x\nB: y"
    whole = prompts.render(engine.tokenizer, content, 0)
    assert engine.tokens(content, None) == engine.tokenizer.encode(whole, add_special_tokens=False)


def test_limits(engine):
    with pytest.raises(TooManyOptions):
        engine.decide("", Question("q", "choice", "Which?", tuple(Option(str(i)) for i in range(32))))
    with pytest.raises(PromptTooLong):
        engine.decide("long " * 4096, YES_NO)


def test_describe(engine):
    facts = engine.describe()
    assert facts["readout_codes"] == 32
    assert facts["max_options"] == 31
    assert facts["adapter"] == "adapter"  # where it is: base_model_name_or_path is its base, perhaps on the machine that trained it
    assert facts["backend"]["linear"]["steps"][0]["backend"] == "torch_reference"
    assert facts["max_images"] == 2


@torch.inference_mode()
def test_images_equal_transformers_own_forward(bf16):
    """Features once, put into the prompt, with our positions: bit-equal features, states within BF16's rounding."""
    folder, theirs = bf16
    engine = load_engine(folder, device="cpu")
    encoded = engine.encode_images([picture(1), picture(2, (96, 33))])
    ids = engine.tokens("State: {}\nQuestion: what?", encoded)
    tokens = torch.tensor([ids])
    inputs = engine.tower.processor(images=[picture(1), picture(2, (96, 33))], return_tensors="pt")
    kinds = (tokens == engine.config.image_token).int()
    places, _ = theirs.model.get_rope_index(tokens, kinds, image_grid_thw=inputs["image_grid_thw"])
    assert torch.equal(places[:, 0], vision.positions(ids, engine.config.image_token, encoded))
    both = torch.cat(theirs.model.get_image_features(inputs["pixel_values"], inputs["image_grid_thw"], return_dict=True).pooler_output)
    assert torch.allclose(torch.cat(encoded.features), both, atol=2e-2)


def test_vision_reuse_equals_recomputation(engine):
    images = [picture(3)]
    encoded = engine.encode_images(images)
    first, second = engine.decide("", COLOURS, encoded), engine.decide("", YES_NO, encoded)
    assert first.probabilities == engine.decide("", COLOURS, engine.encode_images(images)).probabilities
    assert second.probabilities == engine.decide("", YES_NO, engine.encode_images(images)).probabilities
    assert first.probabilities != engine.decide("", COLOURS, engine.encode_images([picture(4)])).probabilities
    assert first.probabilities != engine.decide("", COLOURS).probabilities


class Replayed:
    """What a captured graph does, done by the forward itself: reads the static inputs, writes the static output."""

    def __init__(self, graphs, batch, length):
        embeds, positions, last = graphs.inputs(batch)
        rows = batch * length
        self.forward = lambda: graphs.model.forward(embeds[:rows], positions[:, :rows], (batch, length), last)
        self.out = torch.zeros(batch, graphs.model.config.hidden, dtype=embeds.dtype)
        self.replays = 0

    def replay(self):
        self.replays += 1
        self.out.copy_(self.forward())


@pytest.mark.parametrize("batches", [(1,), (1, 3, 4)])
@torch.inference_mode()
def test_padding_and_batching_equal_recomputation(engine, monkeypatch, batches):
    """Through Graphs itself, with what an earlier, longer prompt left in its buffers. Bit-equal where a product's rows are."""
    asked = [("long " * 40, COLOURS, None), ("", YES_NO, None), ({"a": "b" * 90}, LEVELS, None), ("", COLOURS, [picture(3)])]
    asked = [(state, question, engine.encode_images(images) if images else None) for state, question, images in asked]
    with monkeypatch.context() as patch:
        patch.setattr("runtime.engine.core.LONGEST_BATCHED", 0)
        alone = [engine.decide(*one).probabilities for one in asked]
    for one, want in zip(asked, alone, strict=True):
        assert engine.decide(*one).probabilities == pytest.approx(want, abs=1e-3)
    graphs = Graphs(engine.model, lengths=(512, 640, 768))
    monkeypatch.setattr("runtime.engine.graphs.LONGEST_BATCHED", 768)
    for batch in batches:
        for length in graphs.lengths:
            graph = Replayed(graphs, batch, length)
            graphs.captured[batch, length] = graph, graph.out
    monkeypatch.setattr(engine, "graphs", graphs)
    for _ in range(2):
        for one, want in zip(asked, alone, strict=True):
            assert engine.decide(*one).probabilities == pytest.approx(want, abs=1e-3)
    replays = {batch: sum(graph.replays for (b, _), (graph, _) in graphs.captured.items() if b == batch) for batch in batches}
    assert replays == ({1: 2 * (4 + 3 + 4 + 4)} if batches == (1,) else {1: 0, 3: 2, 4: 6})


def test_out_of_memory_is_one_requests_error_and_the_engine_lives_on(engine, monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError

    before = engine.decide("", YES_NO)
    with monkeypatch.context() as patch:
        patch.setattr(engine.model, "forward", full)
        with pytest.raises(OutOfMemory):
            engine.decide("", YES_NO)
        patch.setattr(engine.tower, "encode", full)
        with pytest.raises(OutOfMemory):
            engine.encode_images([picture(1)])
    assert engine.decide("", YES_NO).probabilities == before.probabilities


def test_a_cuda_error_means_that_the_device_is_lost_and_another_fault_does_not():
    for device, error, kind in (
        ("cuda", "CUDA error: an illegal memory access", DeviceLost),
        ("cuda", "shapes differ", RuntimeError),
        ("cpu", "CUDA", RuntimeError),
    ):
        with pytest.raises(kind) as caught, device_errors(torch.device(device)):
            raise RuntimeError(error)
        assert type(caught.value) is kind


@pytest.mark.parametrize("fault", [torch.OutOfMemoryError(), MissingPath("swiglu has no path for compute capability 8.0")])
def test_a_gpu_that_is_too_small_or_too_old_for_the_release_is_a_load_error(fp8, monkeypatch, fault):
    def refuse(*_):
        raise fault

    monkeypatch.setattr("runtime.kernels.dispatch.operations", refuse)
    with pytest.raises(LoadError, match=r"doesn't hold this release|no path for compute capability 8\.0"):
        load_engine(fp8, device="cpu")


def test_the_reference_profile_decides_alike(bf16):
    fused, plain = (load_engine(bf16[0], device="cpu", profile=profile) for profile in ("fused", "reference"))
    a, b = fused.decide({"x": 1}, COLOURS), plain.decide({"x": 1}, COLOURS)
    assert max(abs(x - y) for x, y in zip(a.probabilities, b.probabilities, strict=True)) < 0.05
    assert plain.describe()["backend"]["linear"] == "transformers"


def test_a_decision_that_is_no_number_is_an_error_and_never_an_answer(engine, monkeypatch):
    monkeypatch.setattr(type(engine), "states", lambda self, ids, images: torch.full((len(ids), 256), torch.nan))
    with pytest.raises(EngineError, match="not finite") as caught:
        engine.decide("x", YES_NO)
    assert caught.value.kind == "runtime"


def test_calibration_buckets():
    table = decide.Calibration("v", {"choice:26-254": 2.0, "boolean:2": 3.0}, {"boolean:2": -1.0})
    assert table.find("choice", 255, images=False) == (2.0, 0.0, "v")
    assert table.find("noul", 2, images=False) == (3.0, -1.0, "v")
    assert table.find("noul", 2, images=True) == (3.0, 0.0, "v")
    assert table.find("score", 4, images=False) == (1.0, 0.0, None)


def rewrite(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_text(folder, **changes):
    text = json.loads((folder / "config.json").read_text())["text_config"]
    edit(folder / "config.json", text_config=text | changes)


def edit_template(folder, old, new):
    path = folder / "chat_template.jinja"
    path.write_text(path.read_text().replace(old, new))


def retyped(folder, dtype):
    path = folder / "adapter/adapter_model.safetensors"
    save_file({name: tensor.to(dtype) for name, tensor in load_file(path).items()}, path)


LAYER = "model.language_model.layers.0."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: rewrite(f, lambda t: t.pop(LAYER + "mlp.up_proj.weight")), "mlp.up_proj.weight is missing"),
        (lambda f: rewrite(f, lambda t: t.update(extra=torch.zeros(1))), "unexpected tensors in the checkpoint: extra"),
        (lambda f: rewrite(f, lambda t: t.pop(LAYER + "mlp.up_proj.weight_scale_inv")), "weight_scale_inv is missing"),
        (lambda f: rewrite(f, lambda t: t[LAYER + "mlp.up_proj.weight_scale_inv"].fill_(torch.nan)), "finite and positive"),
        (lambda f: rewrite(f, lambda t: t.update({LAYER + "input_layernorm.weight": torch.zeros(9)})), "the config calls for (256,)"),
        (lambda f: (f / "model.safetensors").unlink(), "model.safetensors.index.json"),
        (lambda f: (f / "model.safetensors").write_bytes(b"short"), "model.safetensors"),
        (lambda f: edit(f / "config.json", model_type="llama"), "model_type is 'llama'"),
        (lambda f: edit(f / "adapter/adapter_config.json", r=4), "the base and rank 4 call for"),
        (lambda f: edit(f / "adapter/adapter_config.json", use_dora=True), "only plain LoRA"),
        (lambda f: edit(f / "adapter/decision_readout.json", codes=[]), "bound to another tokenizer"),
        (lambda f: edit(f / "adapter/calibration.json", temperatures={"choice:2": 0}), "not positive"),
        (lambda f: shutil.copy(f / "adapter/calibration.json", f / "adapter/calibration-2.json"), "name one"),
        (lambda f: save_file({"weight": torch.zeros(32, 9)}, f / "adapter/decision_readout.safetensors"), "no finite FP32 readout"),
        (lambda f: edit_text(f, rms_norm_eps=float("nan")), "not finite"),
        (lambda f: edit_text(f, max_position_embeddings=10), "the limit is 10"),
        (lambda f: edit_text(f, full_attention_interval=0, layer_types=None), "ZeroDivisionError"),
        (lambda f: edit(f / "config.json", text_config=[]), "AttributeError"),
        (lambda f: edit(f / "config.json", image_token_id=5), "image_token_id"),
        (lambda f: edit_template(f, "<|image_pad|>", ""), "image_token_id"),
        (lambda f: edit_template(f, "c.text", "c.text | upper"), "chat template changes the text"),
        (lambda f: (f / "chat_template.jinja").write_text("{% for %}"), "TemplateSyntaxError"),
        (lambda f: (f / "preprocessor_config.json").unlink(), "OSError"),
        (lambda f: (f / "adapter/adapter_config.json").unlink(), "without its adapter_config.json"),
        (lambda f: edit(f / "adapter/adapter_config.json", lora_alpha=float("nan")), "not finite"),
        (lambda f: edit(f / "adapter/adapter_config.json", rank_pattern=[1]), "AttributeError"),
        (lambda f: retyped(f, torch.int8), "torch.int8"),
        (lambda f: edit(f / "adapter/calibration.json", temperatures={"noul:2": 1.5}), "noul:2"),
        (lambda f: edit(f / "adapter/calibration.json", temperatures={"choice:26+": 1.5}), "choice:26+"),
        (lambda f: edit(f / "adapter/calibration.json", unknown_offsets={"choice:11-25": 0.5}), "choice:11-25"),
        (lambda f: edit(f / "adapter/calibration.json", temperatures={"boolean:2": 1e-320}), "not finite"),
        (lambda f: edit(f / "adapter/calibration.json", calibration_version=""), "not a calibration"),
    ],
)
def test_what_is_wrong_with_a_release_is_a_load_error(copy, change, words):
    change(copy)
    with pytest.raises(LoadError) as caught:
        load_engine(copy, device="cpu")
    assert words in str(caught.value)


def test_a_backend_that_cannot_run_here_is_an_error(fp8):
    for backend in ("triton", "cutlass_sm120", "torch_sm90", "nonsense"):
        with pytest.raises(LoadError):
            load_engine(fp8, device="cpu", backend=backend)


def test_an_adapter_of_another_base_is_refused(copy):
    tensors = load_file(copy / "adapter/adapter_model.safetensors")
    tensors["base_model.model.model.language_model.layers.9.mlp.up_proj.lora_A.weight"] = torch.zeros(8, 256)
    tensors["base_model.model.model.language_model.layers.9.mlp.up_proj.lora_B.weight"] = torch.zeros(512, 8)
    save_file(tensors, copy / "adapter/adapter_model.safetensors")
    with pytest.raises(LoadError, match="not in the base model"):
        load_engine(copy, device="cpu")


def test_a_release_without_an_adapter_reads_the_vocabulary_rows(copy):
    shutil.rmtree(copy / "adapter")
    bare = load_engine(copy, device="cpu")
    assert bare.describe()["readout_codes"] == 255
    assert bare.decide("", YES_NO).calibration_version is None
    tiny_release.tokenizer()
