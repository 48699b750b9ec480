"""Makes the models of tests/data/tiny_models, with random weights, and their vectors as transformers computes them.

Not a test: run `python tests/unit/embedding/make_tiny_models.py FOLDER` where torch and transformers are installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TEXTS = ["The cat sat on the mat.", "Die Katze saß auf der Matte, und der Hund lief.", "猫坐在垫子上。", "dog " * 40]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
ROBERTA = {**SIZES, "max_position_embeddings": 26, "pad_token_id": 1, "layer_norm_eps": 1e-5}
DISTILBERT = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 24}
WINDOW = 24


def train_tokenizer(kind: str) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    if kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=SPECIAL, unk_token="<unk>")
    else:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(vocab_size=90, special_tokens=SPECIAL)
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return tokenizer


def make(folder: Path, name: str, kind: str, sizes: dict[str, Any]) -> list[list[float]]:
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(3)
    tokenizer = train_tokenizer(kind)
    config = AutoConfig.for_model(name, vocab_size=tokenizer.get_vocab_size(), **sizes)
    model = AutoModel.from_config(config).eval()
    rows = []
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
        model.save_pretrained(folder / name)
        tokenizer.save(str(folder / name / "tokenizer.json"))
        tokenizer.enable_truncation(WINDOW)
        for text in TEXTS:
            ids = torch.tensor([tokenizer.encode(text).ids])
            state = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].mean(0)
            rows.append([round(value, 6) for value in (state / state.norm()).tolist()])
    return rows


def main(folder: Path) -> None:
    models: dict[str, tuple[str, dict[str, Any]]] = {
        "xlm-roberta": ("unigram", ROBERTA | {"type_vocab_size": 1}),
        "roberta": ("bpe", ROBERTA | {"type_vocab_size": 1}),
        "mpnet": ("unigram", ROBERTA),
        "distilbert": ("bpe", DISTILBERT),
    }
    vectors = {name: make(folder, name, *settings) for name, settings in models.items()}
    content = {"texts": TEXTS, "vectors": vectors}
    (folder / "expected.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
