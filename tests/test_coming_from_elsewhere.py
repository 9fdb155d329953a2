"""The page "Coming from another library": its own lines, with fitted models and foreign ids.

What a library says of its model is compared with what the lines of the page say. A library that is
not installed is skipped; `make peers` installs those that are too large for every day, and to be
without one is a failure where REQUIRE_LIBRARIES is set. Nothing is downloaded: models are fitted
here within a second, and the one that encodes texts has random vectors of words.

They passed with RecTools 0.19.0, implicit 0.7.3, ranx 0.3.21, pytrec_eval 0.5.11, ir_measures
0.4.3, RecBole 1.2.1, LensKit 2025.8.1, Cornac 3.0.1, PyKEEN 1.11.1, scikit-learn 1.9.1,
lightfm-next 1.19.0, scikit-surprise 1.1.5, recommenders 1.2.1, sentence-transformers 6.2.0, BEIR
2.2.0 and mlflow-skinny 3.17.2. Elliot and WarpRec are on no such list: their files are written by
hand.
"""

import re
import warnings

import chapters
import numpy as np
import pandas as pd
import pytest
from libraries import modules
from scipy import sparse

import recsample as rs

PAGE = chapters.source("book/coming_from_elsewhere")
CELLS = re.findall(r"^```\{code-cell\}.*\n((?:.*\n)*?)```$", PAGE, re.M)


def lines_of(library):
    """The code below the heading of a library."""
    section = re.search(rf"^### {library}\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)[1]
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    return code


def cell(words):
    """The cell of the page in which these words stand."""
    (code,) = [one for one in CELLS if words in one]
    return code


# 60 users and 80 items, whose ids say nothing of their order. The rows are shuffled.
RNG = np.random.default_rng(0)
USERS = [f"u{n}" for n in RNG.permutation(1_000)[:60]]
ITEMS = [f"i{n}" for n in RNG.permutation(5_000)[:80]]
TASTE = RNG.normal(size=(60, 4)) @ RNG.normal(size=(4, 80)) + RNG.gumbel(size=(60, 80))
KNOWN = pd.DataFrame(
    {
        "user": np.repeat(USERS, 16),
        "item": np.take(ITEMS, np.argsort(TASTE)[:, -16:].ravel()),
        "rating": RNG.integers(1, 6, 960).astype(float),
    }
).sample(frac=1, random_state=0, ignore_index=True)
LATE = KNOWN.groupby("user").cumcount() < KNOWN["user"].map(
    dict(zip(USERS, np.resize([1, 3, 8, 12], 60)))
)
RATED = KNOWN[~LATE]
TRAIN = RATED[["user", "item"]]
HELD_OUT = KNOWN.loc[LATE & KNOWN["item"].isin(RATED["item"]), ["user", "item"]]
CATALOGUE = RATED["item"].unique()

METRICS = ["Recall@10", "NDCG@10", "AP@10", "AP(relevant)@10", "RR@10", "AUC"]
SHARED = {"np": np, "pd": pd, "rs": rs}
exec(cell("def numbered"), SHARED)
exec(cell("def rows_of"), SHARED)
numbered = SHARED["numbered"]


def by_loop(scores):
    """The means of some metrics, from a score for each pair of a user and an item."""
    seen = TRAIN.groupby("user")["item"].agg(set)
    found = []
    for user, wanted in HELD_OUT.groupby("user")["item"].agg(set).items():
        items = [item for item in CATALOGUE if item not in seen[user]]
        best = sorted(items, key=lambda item: -scores[user, item])[:10]
        hits = [place for place, item in enumerate(best, 1) if item in wanted]
        possible = range(1, min(10, len(wanted)) + 1)
        ndcg = sum(1 / np.log2(r + 1) for r in hits) / sum(1 / np.log2(r + 1) for r in possible)
        recall, capped = len(hits) / len(wanted), len(hits) / len(possible)
        found.append([recall, ndcg, 1 / hits[0] if hits else 0.0, capped])
    return dict(zip(["Recall@10", "NDCG@10", "RR@10", "capped"], np.mean(found, axis=0)))


def without_capped(scores):
    return {name: value for name, value in by_loop(scores).items() if name != "capped"}


def as_dictionary(matrix, users, items):
    """A score for each pair, where rows and columns follow lists of ids."""
    return {
        (user, item): matrix[row, column]
        for row, user in enumerate(users)
        for column, item in enumerate(items)
    }


@pytest.fixture
def old_numpy(monkeypatch):
    """What some libraries have not noticed yet that NumPy dropped."""
    for name, kept in {"NaN": np.nan, "float": float, "float_": np.float64}.items():
        monkeypatch.setattr(np, name, kept, raising=False)
    for name in ("bool8", "complex_", "object_", "str_", "unicode_", "long"):
        kept = {"bool8": np.bool_, "complex_": np.complex128, "unicode_": np.str_, "long": int}
        monkeypatch.setattr(np, name, kept.get(name, getattr(np, name, None)), raising=False)


# For each library what its lines need, and what the library says itself, by our names.


def cornac(_):
    (library, methods) = modules("cornac", "cornac.eval_methods.base_method")
    triples = [
        list(pairs.assign(rating=1.0).itertuples(index=False, name=None))
        for pairs in (TRAIN, HELD_OUT)
    ]
    method = methods.BaseMethod.from_splits(*triples, rating_threshold=1.0, exclude_unknowns=True)
    model = library.models.BPR(k=6, max_iter=30, seed=1).fit(method.train_set)
    metrics = library.metrics
    names = {"Recall@10": metrics.Recall(k=10), "NDCG@10": metrics.NDCG(k=10)}
    names |= {"HitRate@10": metrics.HitRatio(k=10), "F1@10": metrics.FMeasure(k=10)}
    found = {}
    # MRR and MAP read what a cut-off beside them leaves unsorted.
    for some in (names, {"RR": metrics.MRR(), "AP": metrics.MAP(), "AUC": metrics.AUC()}):
        means, _ = methods.ranking_eval(
            model, [*some.values()], method.train_set, method.test_set, rating_threshold=1.0
        )
        found |= dict(zip(some, means))
    assert [*model.uid_map] != sorted(model.uid_map)
    return {"model": model}, found


def implicit_factors():
    als, evaluation = modules("implicit.als", "implicit.evaluation")
    maps = [{one: n for n, one in enumerate(TRAIN[name].unique())} for name in ("user", "item")]
    train, test = (
        sparse.csr_matrix((np.ones(len(pairs)), (pairs["user"], pairs["item"])), (60, 80))
        for pairs in (numbered(TRAIN, *maps), numbered(HELD_OUT, *maps))
    )
    model = als.AlternatingLeastSquares(factors=8, iterations=5, random_state=0, num_threads=1)
    model.fit(train.astype(np.float32), show_progress=False)
    found = evaluation.ranking_metrics_at_k(
        model, train, test, K=10, show_progress=False, num_threads=1
    )
    return model, maps, found


def implicit(_):
    model, (users, items), found = implicit_factors()
    theirs = {"AP@10": found["map"], "NDCG@10": found["ndcg"]}
    return {"model": model, "users": users, "items": items}, theirs


def lightfm(_):
    library, data, evaluation = modules("lightfm", "lightfm.data", "lightfm.evaluation")
    dataset = data.Dataset()
    dataset.fit(TRAIN["user"], TRAIN["item"])
    train, test = (
        dataset.build_interactions(pairs.itertuples(index=False, name=None))[0]
        for pairs in (TRAIN, HELD_OUT)
    )
    model = library.LightFM(no_components=6, loss="warp", random_state=0).fit(train, epochs=10)
    assert abs(model.get_item_representations()[0]).max() > 0.01  # the biases matter
    names = {"Recall@10": "recall_at_k", "Precision@10": "precision_at_k"}
    found = {
        ours: getattr(evaluation, theirs)(model, test, train, k=10).mean()
        for ours, theirs in names.items()
    }
    found["RR"] = evaluation.reciprocal_rank(model, test, train).mean()
    found["AUC"] = evaluation.auc_score(model, test, train).mean()
    return {"model": model, "dataset": dataset}, found


def recbole(path):
    config, data, models, study, trainer = modules(
        *("recbole.config", "recbole.data", "recbole.model.general_recommender"),
        *("recbole.utils.case_study", "recbole.trainer"),
    )
    # Of each user the last is tested and the one before validates, by the order of the rows.
    dated = KNOWN[["user", "item"]].assign(time=range(len(KNOWN)))
    dated.columns = ["user_id:token", "item_id:token", "timestamp:float"]
    (path / "own").mkdir()
    dated.to_csv(path / "own/own.inter", sep="\t", index=False)
    how = {
        "data_path": str(path),
        "checkpoint_dir": str(path),
        "load_col": {"inter": ["user_id", "item_id", "timestamp"]},
        "eval_args": {"split": {"LS": "valid_and_test"}, "order": "TO", "mode": "full"},
        "metrics": ["Recall", "NDCG", "MRR", "MAP", "Hit"],
        "topk": [10],
        "metric_decimal_place": 12,
        "epochs": 5,
        "embedding_size": 8,
        "learning_rate": 0.05,
        "use_gpu": False,
        "show_progress": False,
        "state": "ERROR",
    }
    settings = config.Config(model="BPR", dataset="own", config_dict=how)
    dataset = data.create_dataset(settings)
    fitted, validated, test_data = data.data_preparation(settings, dataset)
    model = models.BPR(settings, fitted.dataset)
    by = trainer.Trainer(settings, model)
    by.fit(fitted, validated, saved=False, verbose=False)
    found = by.evaluate(test_data, load_best_model=False)
    names = {"Recall@10": "recall@10", "NDCG@10": "ndcg@10", "RR@10": "mrr@10", "AP@10": "map@10"}
    last = KNOWN.drop_duplicates("user", keep="last")[["user", "item"]]
    given = {"dataset": dataset, "model": model, "test_data": test_data}
    given |= {"full_sort_scores": study.full_sort_scores, "held_out": last}
    given |= {"train": KNOWN.drop(last.index)[["user", "item"]]}
    return given, {ours: found[theirs] for ours, theirs in names.items()}


def texts():
    """Queries and documents, each of a few words, and a model of random vectors of words."""
    library, parts, tokenizers = modules(
        *("sentence_transformers", "sentence_transformers.sentence_transformer.modules"),
        "tokenizers",
    )
    rng = np.random.default_rng(1)
    words = [f"w{n}" for n in range(200)]
    kind = tokenizers.models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="w0")
    tokenizer = tokenizers.Tokenizer(kind)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = rng.normal(size=(200, 12)).astype(np.float32)
    encoder = parts.StaticEmbedding(tokenizer, embedding_weights=vectors)
    model = library.SentenceTransformer(modules=[encoder], device="cpu")
    corpus = {f"d{n}": " ".join(rng.choice(words, 6)) for n in rng.permutation(1_000)[:80]}
    relevant = {
        f"q{n}": {*map(str, rng.choice([*corpus], rng.integers(1, 15), replace=False))}
        for n in rng.permutation(300)[:30]
    }
    queries = {
        query: " ".join(" ".join(corpus[one].split()[:2]) for one in sorted(found)[:3])
        for query, found in relevant.items()
    }
    return model, queries, corpus, relevant


def sentence_transformers(_):
    model, queries, corpus, relevant = texts()
    (evaluation,) = modules("sentence_transformers.evaluation")
    evaluator = evaluation.InformationRetrievalEvaluator(
        queries, corpus, relevant, map_at_k=[10], show_progress_bar=False
    )
    found = evaluator(model)
    names = {"Recall@10": "recall", "NDCG@10": "ndcg", "AP@10": "map", "RR@10": "mrr"}
    theirs = {ours: found[f"cosine_{name}@10"] for ours, name in names.items()}
    theirs["Hits@5"] = found["cosine_accuracy@5"]
    return {"model": model, "queries": queries, "corpus": corpus, "relevant_docs": relevant}, theirs


class Encoder:
    """As BEIR asks for it."""

    def __init__(self, model):
        self.model = model

    def encode_queries(self, queries, batch_size, **options):
        return self.model.encode(queries, convert_to_tensor=True)

    def encode_corpus(self, corpus, batch_size, **options):
        return self.model.encode([one["text"] for one in corpus], convert_to_tensor=True)


def beir(_):
    model, queries, texts_of, relevant = texts()
    evaluation, dense = modules(
        "beir.retrieval.evaluation", "beir.retrieval.search.dense.exact_search"
    )
    corpus = {one: {"title": "", "text": text} for one, text in texts_of.items()}
    search = dense.DenseRetrievalExactSearch(Encoder(model), batch_size=16)
    retriever = evaluation.EvaluateRetrieval(search, [10, 20], "cos_sim")
    qrels = {
        query: {one: 1 + n % 2 for n, one in enumerate(sorted(found))}
        for query, found in relevant.items()
    }
    results = retriever.retrieve(corpus, queries)
    ndcg, precision, recall, _ = retriever.evaluate(qrels, results, [10])
    theirs = {"NDCG@10": ndcg["NDCG@10"], "Recall@10": recall["Recall@10"]}
    theirs = theirs | {"AP(relevant)@10": precision["MAP@10"]}
    theirs["RR@10"] = retriever.evaluate_custom(qrels, results, [10], "mrr")["MRR@10"]
    return {"retriever": retriever, "corpus": corpus, "queries": queries, "qrels": qrels}, theirs


def rectools(_):
    data, models, metrics = modules("rectools.dataset", "rectools.models", "rectools.metrics")
    names = {"user": "user_id", "item": "item_id"}
    dated = TRAIN.rename(columns=names).astype(object)  # it cannot read the strings of pandas 3
    dated = dated.assign(weight=1.0, datetime="2026-01-01")
    dataset = data.Dataset.construct(dated)
    model = models.EASEModel().fit(dataset)
    users = [*HELD_OUT["user"].unique()]
    reco = model.recommend(users, dataset, k=20, filter_viewed=True)
    theirs = {"Recall@10": metrics.Recall(10), "AP(relevant)@10": metrics.MAP(10)}
    theirs["RR@10"] = metrics.MRR(10)
    theirs["NDCG@10"] = metrics.NDCG(10, divide_by_achievable=True)
    found = metrics.calc_metrics(theirs, reco, HELD_OUT.rename(columns=names))
    return {"model": model, "users": users, "dataset": dataset}, found


def lenskit(_):
    data, pipelines, als, batch, metrics = modules(
        "lenskit.data", "lenskit.pipeline", "lenskit.als", "lenskit.batch", "lenskit.metrics"
    )
    pipeline = pipelines.topn_pipeline(als.ImplicitMFScorer(features=6, epochs=3))
    pipeline.train(data.from_interactions_df(TRAIN, user_col="user", item_col="item"))
    recs = batch.recommend(pipeline, [*HELD_OUT["user"].unique()], n=20, n_jobs=1)
    weight = metrics.LogRankWeight(offset=1)
    theirs = {"NDCG@10": metrics.NDCG(n=10, weight=weight), "RR@10": metrics.RecipRank(n=10)}
    theirs |= {"HitRate@10": metrics.Hit(n=10), "Precision@10": metrics.Precision(n=10)}
    wanted = HELD_OUT.groupby("user")["item"].agg(list)
    found = {
        name: np.mean(
            [
                metric.measure_list(one, data.ItemList(item_ids=wanted[key.user_id]))
                for key, one in recs
            ]
        )
        for name, metric in theirs.items()
    }
    return {"recs": recs}, found


def recommenders(_):
    sar, evaluation = modules(
        "recommenders.models.sar", "recommenders.evaluation.python_evaluation"
    )
    names = {"user": "userID", "item": "itemID"}
    train, test = RATED.rename(columns=names), HELD_OUT.rename(columns=names).assign(rating=1.0)
    model = sar.SAR(col_user="userID", col_item="itemID", col_rating="rating")
    model.fit(train)
    top = model.recommend_k_items(test, top_k=20, remove_seen=True)
    found = {"Recall@10": "recall_at_k", "Precision@10": "precision_at_k"}
    found |= {"NDCG@10": "ndcg_at_k", "AP@10": "map_at_k", "AP(relevant)@10": "map"}
    theirs = {ours: getattr(evaluation, name)(test, top, k=10) for ours, name in found.items()}
    some = top[top["userID"] != test["userID"].iloc[0]]
    others = test[test["userID"] != test["userID"].iloc[0]]
    assert evaluation.recall_at_k(test, some) == evaluation.recall_at_k(others, some)
    share = others["userID"].nunique() / test["userID"].nunique()
    assert evaluation.ndcg_at_k(test, some) == pytest.approx(
        share * evaluation.ndcg_at_k(others, some)
    )
    return {"model": model, "test": test}, theirs


def surprise(_):
    (library,) = modules("surprise")
    rated = library.Dataset.load_from_df(RATED, library.Reader()).build_full_trainset()
    model = library.SVD(n_factors=5, n_epochs=60, lr_all=0.05, random_state=0).fit(rated)
    estimates = {(u, i): model.predict(u, i, clip=False).est for u in USERS for i in CATALOGUE}
    clipped = [model.predict(*pair).est for pair in estimates]
    assert clipped.count(5) > len(clipped) / 50  # so it matters
    return {"model": model}, without_capped(estimates)


def cooccurring():
    """Counts of the items that users have together, less than a tie apart: a fitted model."""
    users, items = sorted(TRAIN["user"].unique()), sorted(CATALOGUE)
    codes = (pd.Categorical(TRAIN["user"], users).codes, pd.Categorical(TRAIN["item"], items).codes)
    known = sparse.csr_matrix((np.ones(len(TRAIN)), codes), (len(users), len(items))).toarray()
    scores = known @ (known.T @ known) + np.random.default_rng(2).random(known.shape) / 10
    return as_dictionary(scores, users, items), known


def run_and_qrels():
    scores, _ = cooccurring()
    seen = {*TRAIN.itertuples(index=False, name=None)}
    run, qrels = {}, {}
    for (user, item), score in scores.items():
        if (user, item) not in seen:
            run.setdefault(user, {})[item] = float(score)
    for n, (user, item) in enumerate(HELD_OUT.itertuples(index=False)):
        qrels.setdefault(user, {})[item] = 1 + n % 2
    return run, qrels


def ranx(_):
    (library,) = modules("ranx")
    run, qrels = (kind(one) for kind, one in zip((library.Run, library.Qrels), run_and_qrels()))
    names = {"Recall@10": "recall@10", "NDCG@10": "ndcg@10", "RR@10": "mrr@10"}
    names["AP(relevant)@10"] = "map@10"
    found = library.evaluate(qrels, run, [*names.values()])
    count = library.evaluate(qrels, run, "hits@10")
    assert count > 1  # no share of the users
    given = {"run": run.to_dict(), "qrels": qrels.to_dict()}
    return given, {ours: found[theirs] for ours, theirs in names.items()}


def pytrec_eval(_):
    (library,) = modules("pytrec_eval")
    run, qrels = run_and_qrels()
    names = {"Recall@10": "recall_10", "NDCG@10": "ndcg_cut_10", "RR": "recip_rank"}
    names["AP(relevant)@10"] = "map_cut_10"
    measures = {"recall.10", "ndcg_cut.10", "map_cut.10", "recip_rank"}
    found = pd.DataFrame(library.RelevanceEvaluator(qrels, measures).evaluate(run)).mean(axis=1)
    return {"run": run, "qrels": qrels}, {name: found[theirs] for name, theirs in names.items()}


def ir_measures(_):
    (library,) = modules("ir_measures")
    run, qrels = run_and_qrels()
    names = {"Recall@10": library.R @ 10, "NDCG@10": library.nDCG @ 10, "RR@10": library.RR @ 10}
    names["AP(relevant)@10"] = library.AP @ 10
    found = library.calc_aggregate([*names.values()], qrels, run)
    return {"run": run, "qrels": qrels}, {name: found[theirs] for name, theirs in names.items()}


def pykeen(_):
    triples, models, training, evaluation = modules(
        "pykeen.triples", "pykeen.models", "pykeen.training", "pykeen.evaluation"
    )
    likes, held_out = (
        np.array([(user, "likes", item) for user, item in pairs.itertuples(index=False)])
        for pairs in (TRAIN, HELD_OUT)
    )
    factory = triples.TriplesFactory.from_labeled_triples(likes)
    test = triples.TriplesFactory.from_labeled_triples(
        held_out, entity_to_id=factory.entity_to_id, relation_to_id=factory.relation_to_id
    )
    model = models.TransE(triples_factory=factory, embedding_dim=8, random_seed=0)
    loop = training.SLCWATrainingLoop(model=model, triples_factory=factory)
    loop.train(factory, num_epochs=2, batch_size=64, use_tqdm=False)
    evaluator = evaluation.RankBasedEvaluator(clear_on_finalize=False)
    found = evaluator.evaluate(
        model,
        test.mapped_triples,
        additional_filter_triples=[factory.mapped_triples],
        batch_size=32,
        use_tqdm=False,
    )
    index = found.get_metric("tail.realistic.adjusted_arithmetic_mean_rank_index")
    names = {"HitRate@10": "hits_at_10", "RR": "inverse_harmonic_mean_rank"}
    theirs = {
        ours: found.get_metric(f"tail.realistic.{name}") for ours, name in names.items()
    }  # of distinct scores, so all kinds of ranks are the same
    return {"evaluator": evaluator}, theirs | {"AUC": (1 + index) / 2}


def scikit_learn(_):
    metrics, decomposition = modules("sklearn.metrics", "sklearn.decomposition")
    _, known = cooccurring()
    model = decomposition.TruncatedSVD(6, random_state=0).fit(known)
    scores = model.inverse_transform(model.transform(known))
    relevant = np.random.default_rng(3).random(scores.shape) < 0.1
    theirs = {
        "NDCG@10": metrics.ndcg_score(relevant, scores, k=10),
        "AUC": metrics.roc_auc_score(relevant, scores, average="samples"),
        "AP": metrics.average_precision_score(relevant, scores, average="samples"),
    }
    assert relevant.any(axis=1).all()
    return {"relevant": relevant, "scores": scores}, theirs


def a_file(path):
    """As Elliot writes it: a user, an item and a score, 20 of each user."""
    scores, _ = cooccurring()
    run, _ = run_and_qrels()
    rows = [
        (user, item, score)
        for user, found in run.items()
        for item, score in sorted(found.items(), key=lambda one: -one[1])[:20]
    ]
    lists = pd.DataFrame(rows, columns=["user_id", "item_id", "rating"])
    lists.to_csv(path / "recs.tsv", sep="\t", header=False, index=False)
    lists.to_csv(path / "with_header.tsv", sep="\t", index=False)
    return {"path": path / "recs.tsv"}, without_capped(scores)


# The heading, and what is fitted below it. Several libraries may share their lines.
FITTED = {
    "cornac": ("Cornac", cornac),
    "implicit": ("implicit", implicit),
    "lightfm": ("LightFM", lightfm),
    "recbole": ("RecBole", recbole),
    "sentence-transformers": ("sentence-transformers", sentence_transformers),
    "rectools": ("RecTools", rectools),
    "lenskit": ("LensKit", lenskit),
    "recommenders": ("Microsoft recommenders", recommenders),
    "surprise": ("Surprise", surprise),
    "ranx": ("ranx, pytrec_eval, ir_measures", ranx),
    "pytrec_eval": ("ranx, pytrec_eval, ir_measures", pytrec_eval),
    "ir_measures": ("ranx, pytrec_eval, ir_measures", ir_measures),
    "beir": ("BEIR", beir),
    "pykeen": ("PyKEEN", pykeen),
    "scikit-learn": ("scikit-learn", scikit_learn),
    "a file of Elliot": ("Elliot and WarpRec", a_file),
}


@pytest.mark.parametrize("library", FITTED)
def test_the_lines_give_what_the_library_says(library, tmp_path, monkeypatch, old_numpy):
    monkeypatch.chdir(tmp_path)  # where some leave their logs
    heading, fitted = FITTED[library]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given, theirs = fitted(tmp_path)
        asked = {"train": TRAIN, "held_out": HELD_OUT, "items": CATALOGUE, "metrics": [*theirs]}
        known = {**SHARED, **asked, **given}
        exec(lines_of(heading), known)
    result = known["result"]
    ours = result.loc["model"] if library == "pykeen" else result.table["value"]
    tolerance = 1e-5 if library == "beir" else 1e-6  # five digits; single precision
    for name, value in theirs.items():
        assert ours[str(rs.metric(name))] == pytest.approx(value, abs=tolerance), name
        assert 0 < value < 1


def test_every_library_of_the_page_is_tried():
    headings = {one for one in re.findall(r"^### (.*)$", PAGE, re.M)}
    assert headings == {heading for heading, _ in FITTED.values()}


def test_each_library_has_a_row_and_few_lines():
    rows = re.findall(r"^\| (?!library|---)(.*)\|$", PAGE, re.M)
    for heading in {heading for heading, _ in FITTED.values()}:
        for name in re.split(", | and |Microsoft ", heading):
            assert any(name in row for row in rows), name
        assert len(lines_of(heading).splitlines()) <= 10


def test_ids_are_in_no_order_in_which_they_could_be_taken_for_numbers():
    for pairs in (TRAIN, HELD_OUT):
        assert [*pairs["user"].unique()] != sorted(pairs["user"].unique())
    known = {**SHARED, "train": TRAIN, "held_out": HELD_OUT, "metrics": METRICS}
    model, maps, _ = implicit_factors()
    known |= {"model": model, "users": maps[0], "items": maps[1]}
    exec(lines_of("implicit"), known)
    by_order = [{one: n for n, one in enumerate(sorted(one))} for one in maps]
    right = known["result"].table.loc["NDCG@10", "value"]
    exec(lines_of("implicit"), known | {"users": by_order[0], "items": by_order[1]})
    other = {**known, "users": by_order[0], "items": by_order[1]}
    exec(lines_of("implicit"), other)
    assert other["result"].table.loc["NDCG@10", "value"] < right / 2


def test_an_id_that_the_library_never_saw_is_refused():
    model, (users, items), _ = implicit_factors()
    more = pd.concat([HELD_OUT, pd.DataFrame({"user": [USERS[0]], "item": ["never seen"]})])
    known = {**SHARED, "train": TRAIN, "held_out": more, "metrics": METRICS}
    with pytest.raises(ValueError, match="held_out must not have missing values"):
        exec(lines_of("implicit"), known | {"model": model, "users": users, "items": items})


def test_files_of_warprec_have_a_header(tmp_path):
    _, theirs = a_file(tmp_path)
    lines = lines_of("Elliot and WarpRec").replace("path,", "path, header=0,")
    known = {**SHARED, "train": TRAIN, "held_out": HELD_OUT, "items": CATALOGUE}
    known |= {"path": tmp_path / "with_header.tsv", "metrics": [*theirs]}
    exec(lines, known)
    assert [*known["result"].table["value"]] == pytest.approx([*theirs.values()])


def test_lightfm_puts_ties_ahead():
    library, evaluation = modules("lightfm", "lightfm.evaluation")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = sparse.coo_matrix(np.eye(5, 30))
        model = library.LightFM(random_state=0).fit(train, epochs=1)
        for name in ("item_embeddings", "item_biases"):
            setattr(model, name, 0 * getattr(model, name))
        assert evaluation.reciprocal_rank(model, train).mean() == pytest.approx(1 / 30)


def test_average_precision_of_scikit_learn_takes_ties_as_one_block():
    (metrics,) = modules("sklearn.metrics")
    scores, relevant = np.array([[1.0, 1.0, 0.0]]), np.array([[True, False, False]])
    mean_of_both_orders = (1 + 1 / 2) / 2
    assert rs.AP(rs.predicted_ranks(scores, [0]))[0] == mean_of_both_orders
    assert metrics.average_precision_score(relevant[0], scores[0]) < mean_of_both_orders


# What stands beside the libraries


def evaluated(*names):
    """Scores of all pairs, as dictionaries, and the evaluation of these recommenders."""
    rng = np.random.default_rng(4)
    first, _ = cooccurring()
    scores = {
        name: {pair: first[pair] + n * rng.normal() for pair in first}
        for n, name in enumerate(names)
    }
    frames = {
        name: pd.Series(one).rename_axis(["user", "item"]).rename("score").reset_index()
        for name, one in scores.items()
    }
    given = frames if len(names) > 1 else frames[names[0]]
    return scores, rs.evaluate(given, HELD_OUT, train=TRAIN, metrics=METRICS)


def test_recall_over_no_more_than_there_are_places():
    scores, result = evaluated("only")
    known = {**SHARED, "result": result, "held_out": HELD_OUT}
    exec(cell("capped ="), known)
    by_hand = by_loop(scores["only"])["capped"]
    assert known["capped"] == pytest.approx(by_hand)
    assert by_hand > result.table.loc["Recall@10", "value"] + 1e-3
    assert len([line for line in cell("capped =").splitlines() if line]) == 3


def test_papers_on_captions_mean_hits():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(40, 200)) + 2 * np.kron(np.eye(40), np.ones(5))
    own = np.arange(200) // 5
    hits = np.mean([own[row.argmax()] == image for image, row in enumerate(scores)])
    pairs = pd.DataFrame({"user": own, "item": range(200)})
    values = rs.evaluate(scores, pairs, metrics=["R@1", "Hits@1"]).table["value"]
    assert values["HitRate@1"] == pytest.approx(hits)
    assert values["Recall@1"] == pytest.approx(hits / 5) and hits > 0.3


@pytest.mark.parametrize("names", [("only",), ("mine", "BPR (k = 8)", "pop/2")])
def test_numbers_for_a_log(names):
    _, result = evaluated(*names)
    known = {**SHARED, "result": result}
    exec(cell("mlflow.log_metrics"), known)
    numbers = known["numbers"]
    ends = result.table[["value", "low", "high"]].to_numpy().ravel()
    assert [*numbers.values()] == pytest.approx([*ends]) and len(numbers) == 18 * len(names)
    assert all(re.fullmatch(r"[\w./ -]+", name) for name in numbers)
    assert all(type(number) is float for number in numbers.values())
    if len(names) > 1:
        assert (
            numbers["BPR _k _ 8__AP_relevant_10_value"]
            == result.table.loc[(names[1], "AP(relevant)@10"), "value"]
        )


def test_mlflow_takes_them(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a folder needs no database
    (mlflow,) = modules("mlflow")
    _, result = evaluated("mine", "BPR (k = 8)")
    known = {**SHARED, "result": result}
    exec(cell("mlflow.log_metrics"), known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.set_tracking_uri((tmp_path / "log").as_uri())
        with mlflow.start_run() as run:
            mlflow.log_metrics(known["numbers"])
        logged = mlflow.get_run(run.info.run_id).data.metrics
    assert logged == pytest.approx(known["numbers"])


def test_splits_are_those_of_rectools():
    data, selection = modules("rectools.dataset", "rectools.model_selection")
    rng = np.random.default_rng(7)
    days = (
        np.repeat(np.arange(60) * 3, 16)
        + rng.permuted(np.tile(range(30), (60, 1)), axis=1)[:, :16].ravel()
    )
    events = KNOWN[["user", "item"]].sort_values("user").assign(day=days)
    known = {**SHARED, "known": events[["user", "item"]], "n_users": 60, "rng": rng}
    exec(re.sub(r"arrived = .*\nevents = .*\n", "", cell("def newest")), known)
    dated = events.rename(columns={"user": "user_id", "item": "item_id"}).assign(
        weight=1.0, datetime=pd.Timestamp("2026-01-01") + pd.to_timedelta(events["day"], "D")
    )
    every = dict.fromkeys(["filter_cold_users", "filter_cold_items", "filter_already_seen"], False)
    for splitter, ours in (
        (selection.TimeRangeSplitter("60D", **every), known["newest"](events, 60)),
        (selection.LastNSplitter(2, **every), known["last_of_each"](events, 2)),
    ):
        # RecTools wants numbers for ids.
        numbers = dated.assign(
            user_id=pd.factorize(dated["user_id"])[0], item_id=pd.factorize(dated["item_id"])[0]
        ).reset_index(drop=True)
        ((before, after, _),) = splitter.split(data.Interactions(numbers.drop(columns="day")))
        for theirs, mine in zip((before, after), ours):
            assert {*events.index[theirs]} == {*mine.index} and len(mine)


def test_folds_of_users_test_each_once():
    events = KNOWN[["user", "item"]].assign(day=range(len(KNOWN)))
    known = {**SHARED, "known": KNOWN, "n_users": 60, "rng": np.random.default_rng(8)}
    exec(re.sub(r"arrived = .*\nevents = .*\n", "", cell("def newest")), known)
    tested = [known["fold_of_users"](events, fold, 5, 2)[1] for fold in range(5)]
    assert [one["user"].nunique() for one in tested] == [12] * 5
    assert pd.concat(tested)["user"].value_counts().eq(2).all()
