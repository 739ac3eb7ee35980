"""Folders, lists and archives give the same pictures with the right people, every time."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from picture_files import noise, saved

from efface.errors import DataError, PictureError
from efface.pictures.entry import Entry, Source
from efface.pictures.identity import rule
from efface.pictures.source import open_source

PNG = saved(noise(), "PNG")


def fill(root: Path, *names: str, data: bytes = PNG) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def told(source: Source) -> list[tuple[str, str]]:
    """(name, identity), listed twice alike; a problem stands in for an identity."""
    first = [(e.name, e.identity or f"? {e.problem}") for e in source.entries()]
    assert first == [(e.name, e.identity or f"? {e.problem}") for e in source.entries()]
    return first


def tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


# --- folders --------------------------------------------------------------------------------


def test_a_folder_names_the_person_of_the_pictures_in_it(tmp_path: Path) -> None:
    fill(
        tmp_path, "Ann/b.jpg", "Ann/a.PNG", "Bo/2019/x.jpeg", "Bo/notes.txt", "top.jpg", "Bo/.h.jpg"
    )
    source = open_source(tmp_path)
    assert told(source) == [
        ("Ann/a.PNG", "Ann"),
        ("Ann/b.jpg", "Ann"),
        ("Bo/2019/x.jpeg", "2019"),
        ("top.jpg", "? lies in no folder that names its person"),
    ]
    assert source.passed_over() == {".txt": 1, "hidden": 1}
    assert source.rule == "the folder a picture is in"


def test_a_pattern_finds_the_person_anywhere_in_the_path(tmp_path: Path) -> None:
    fill(tmp_path, "2019/ann-1.jpg", "2020/bo-7.jpg", "2020/odd.jpg")
    for pattern in (r"(?P<identity>\w+)-\d", r"(\w+)-\d"):
        found = told(open_source(tmp_path, pattern=pattern))
        assert found[:2] == [("2019/ann-1.jpg", "ann"), ("2020/bo-7.jpg", "bo")]
        assert found[2][1] == "? does not match the pattern"


def test_names_as_in_lfw_side_by_side(tmp_path: Path) -> None:
    fill(tmp_path, "Ann_Lee_0001.jpg", "Ann_Lee_0002.jpg", "Bo_0001.jpg")
    assert [who for _, who in told(open_source(tmp_path))] == ["Ann_Lee", "Ann_Lee", "Bo"]
    fill(tmp_path, "somebody.jpg")
    with pytest.raises(DataError, match=r"side by side.*--pattern"):
        open_source(tmp_path)
    found = told(open_source(tmp_path, identity_by="lfw"))
    assert found[-1] == ("somebody.jpg", "? its name does not end in _ and a number")


def test_lfw_as_it_is_published(tmp_path: Path) -> None:
    fill(tmp_path, "Ann_Lee/Ann_Lee_0001.jpg", "Bo/Bo_0001.jpg")
    assert [who for _, who in told(open_source(tmp_path))] == ["Ann_Lee", "Bo"]


def test_one_person_has_one_name_however_it_is_spelled(tmp_path: Path) -> None:
    fill(tmp_path, "Zoe\u0308/a.jpg", "Zo\u00eb/b.jpg", "张伟/c.jpg")
    assert {who for _, who in told(open_source(tmp_path))} == {"Zo\u00eb", "张伟"}


def test_names_that_are_no_text_can_still_be_read(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/Ann"
    os.mkdir(folder)
    with open(folder + b"/caf\xe9.png", "wb") as file:
        file.write(PNG)
    (entry,) = open_source(tmp_path).entries()
    assert entry.name == r"Ann/caf\xe9.png"
    assert entry.name.encode()
    assert entry.read() == PNG


def test_long_paths(tmp_path: Path) -> None:
    deep = tmp_path / "Ann"
    while len(os.fsencode(deep)) < 3600:
        deep = deep / ("d" * 240)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:  # deeper than one path can name
        for part in deep.relative_to(tmp_path).parts + ("e" * 240,) * 4:
            os.mkdir(part, dir_fd=handle)
            handle, last = os.open(part, os.O_RDONLY, dir_fd=handle), handle
            os.close(last)
        fill(tmp_path, "Ann/a.jpg")
        with pytest.raises(DataError, match="cannot be listed"):
            list(open_source(tmp_path).entries())
    finally:
        os.close(handle)
    with pytest.raises(DataError, match="cannot be read"):
        open_source("x" * 5000)
    long = Entry("x", "Ann", str(tmp_path / ("y" * 300)))
    with pytest.raises(PictureError, match="too long"):
        long.read()


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    fill(tmp_path, "Ann/a.jpg", "Ann/more/b.jpg")
    (tmp_path / "Ann" / "again").symlink_to(tmp_path)
    (tmp_path / "Bo").symlink_to(tmp_path / "Ann" / "more")
    (tmp_path / "Ann" / "gone.jpg").symlink_to(tmp_path / "nowhere")
    found = dict(told(open_source(tmp_path)))
    assert found["Bo/b.jpg"] == "Bo"
    assert len(found) == 4
    gone = next(e for e in open_source(tmp_path).entries() if e.name == "Ann/gone.jpg")
    with pytest.raises(PictureError) as caught:
        gone.read()
    assert caught.value.kind == "missing"


@pytest.mark.parametrize(
    ("names", "says"), [([], "holds no pictures"), (["a.txt", "b.txt"], r"but 2 \.txt")]
)
def test_a_folder_without_pictures_says_what_is_in_it(
    tmp_path: Path, names: list[str], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        open_source(fill(tmp_path, *names))


# --- lists ----------------------------------------------------------------------------------


def listed(folder: Path, text: str, name: str = "list.csv", encoding: str = "utf-8") -> Path:
    (folder / name).write_text(text, encoding=encoding)
    return folder / name


def test_a_list_names_pictures_people_and_more(tmp_path: Path) -> None:
    text = 'path,identity,age,split\na/1.jpg,"Lee, Ann",30,fit\n/abs/2.jpg,Bo,,test\n3.jpg,,,\n'
    source = open_source(listed(tmp_path, text, encoding="utf-8-sig"))
    entries = list(source.entries())
    assert source.columns == ("age", "split")
    assert [e.identity for e in entries] == ["Lee, Ann", "Bo", ""]
    assert [e.file for e in entries] == [
        str(tmp_path / "a/1.jpg"),
        "/abs/2.jpg",
        str(tmp_path / "3.jpg"),
    ]
    assert entries[0].extra == ("30", "fit")
    with pytest.raises(PictureError, match="row 4 of the list names nobody"):
        entries[2].read()


def test_columns_of_other_names_and_tabs(tmp_path: Path) -> None:
    path = listed(tmp_path, "who\tjpg\nAnn\t1.jpg\n\n", "list.tsv")
    source = open_source(path, identity="who", picture="jpg")
    assert told(source) == [("1.jpg", "Ann")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one row of distinct column names"),
        ("path,path\n", "one row of distinct column names"),
        ("path,person\n1.jpg,Ann\n", "no column 'identity'"),
        ("jpg,identity\n1.jpg,Ann\n", "no column 'path'"),
        ("path,identity\n1.jpg\n", "row 2 has 1 cells where the first has 2"),
        ("path,identity\n,Ann\n", "row 2 names no picture"),
        ('path,identity\n"1.jpg,Ann\n', "is no CSV list"),
        ("path,identity\n1\0.jpg,Ann\n", "row|is no CSV list|null"),
    ],
)
def test_a_damaged_list_is_refused_with_its_row(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises((DataError, PictureError), match=says):
        [entry.read() for entry in open_source(listed(tmp_path, text)).entries()]


def test_a_list_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(b"path,identity\n\xff\xfe,Ann\n")
    with pytest.raises(DataError, match="is no CSV list in UTF-8"):
        list(open_source(tmp_path / "list.csv").entries())


# --- archives -------------------------------------------------------------------------------


def test_archives_are_read_in_place(tmp_path: Path) -> None:
    other = saved(noise(seed=5))
    tar(tmp_path / "b.tar", {"Bo/2.png": other, "Bo/readme.md": b"x"})
    tar(tmp_path / "a.tar", {"./Ann/1.png": PNG})
    source = open_source(tmp_path)
    assert told(source) == [("a.tar/Ann/1.png", "Ann"), ("b.tar/Bo/2.png", "Bo")]
    assert [e.read() for e in source.entries()] == [PNG, other]
    assert source.passed_over() == {".md": 1}
    assert told(open_source(tmp_path / "b.tar")) == [("b.tar/Bo/2.png", "Bo")]


def test_labels_beside_the_pictures(tmp_path: Path) -> None:
    held = {"001.png": PNG, "001.cls": b"17\n", "002.seg.png": PNG, "002.png": PNG, "002.cls": b"4"}
    source = open_source(tar(tmp_path / "a.tar", {**held, "003.png": PNG}))
    assert told(source) == [
        ("a.tar/001.png", "17"), ("a.tar/002.seg.png", "4"), ("a.tar/002.png", "4"),
        ("a.tar/003.png", "? the archive holds no label for it"),
    ]  # fmt: skip
    as_json = json.dumps({"person": "Ann", "age": 3}).encode()
    path = tar(tmp_path / "j.tar", {"1.json": as_json, "1.png": PNG, "2.png": PNG, "2.json": b"[]"})
    found = told(open_source(path, identity="person"))
    assert found == [("j.tar/1.png", "Ann"), ("j.tar/2.png", "? the archive holds no label for it")]


def test_links_within_an_archive_are_named(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("Ann/1.png")
        info.size = len(PNG)
        archive.addfile(info, io.BytesIO(PNG))
        link = tarfile.TarInfo("Ann/2.png")
        link.type, link.linkname = tarfile.SYMTYPE, "../../etc/passwd"
        archive.addfile(link)
    entries = list(open_source(tmp_path / "a.tar").entries())
    assert entries[0].read() == PNG
    with pytest.raises(PictureError, match="link within its archive"):
        entries[1].read()


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
def test_a_compressed_archive_is_refused_with_the_way_out(tmp_path: Path, mode: str) -> None:
    hidden = tar(tmp_path / "a.tar", {"Ann/1.png": PNG}, mode)
    with pytest.raises(DataError, match=r"no plain tar archive.*gunzip"):
        open_source(hidden)
    with pytest.raises(DataError, match=r"unpack it to \.tar first"):
        open_source(tar(tmp_path / "a.tar.gz", {"Ann/1.png": PNG}, mode))


def test_a_truncated_archive_is_not_taken_for_a_small_one(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", {f"Ann/{i}.png": PNG for i in range(9)})
    whole = path.read_bytes()
    for size in (len(PNG) // 2, 3 * len(PNG), 4 * 1024 + 700):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"damaged|ends in the middle|no plain tar|no pictures"):
            list(open_source(path).entries())


# --- what cannot be a source ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["nothing", "faces.zip", "one.jpg"])
def test_what_is_no_source(tmp_path: Path, name: str) -> None:
    if name != "nothing":
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=r"no such folder|give a folder"):
        open_source(tmp_path / name)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pattern": "("}, "correct the regular expression"),
        ({"pattern": "no group"}, "name the part that is the person"),
        ({"pattern": "(a)", "identity_by": "folder"}, "give one"),
        ({"identity_by": "pattern"}, "needs --pattern"),
        ({"identity_by": "column"}, "only a CSV list"),
        ({"picture": "path"}, "only a CSV list"),
        ({"identity_by": "label"}, "only tar archives"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: dict[str, str], says: str) -> None:
    fill(tmp_path, "Ann/a.jpg")
    with pytest.raises(DataError, match=says):
        open_source(tmp_path, **options)  # type: ignore[arg-type]


def test_a_group_without_a_name_keeps_what_is_before_it() -> None:
    found = rule("auto", r"\(x\)/([a-z]+)")
    assert found.identity("(x)/ann") == "ann"
