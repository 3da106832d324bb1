"""The structure of lattices: order, parts on no path, and what is not a lattice."""

import re
from collections.abc import Callable

import pytest

from charlm.errors import DataError
from charlm.nbest.lattices.lattice import Lattice

Read = Callable[..., list[Lattice]]


def test_every_arc_leads_onward_in_the_order(
    read: Read, random_lattice: Callable[..., str]
) -> None:
    lattice = read(random_lattice(3))[0]
    place = {node: number for number, node in enumerate(lattice.order)}
    assert all(place[arc.source] < place[arc.target] for arc in lattice.arcs)


def test_states_are_sorted_although_the_file_numbers_them_backwards(read: Read) -> None:
    lattice = read("u\n9 4 a\n4 1 b\n1\n\n")[0]
    assert [lattice.nodes[node] for node in lattice.order] == ["9", "4", "1"]


def test_a_node_that_no_path_passes_is_in_the_lattice_and_not_in_its_order(read: Read) -> None:
    lattice = read("u\n0 1 a\n0 2 b\n3 1 c\n1\n\n")[0]
    assert lattice.n_useless == 2
    assert [lattice.nodes[node] for node in lattice.order] == ["0", "1"]


def test_a_cycle_is_one_line_that_names_a_node_on_it(read: Read) -> None:
    with pytest.raises(DataError) as error:
        read("u\n0 1 a\n1 2 b\n2 1 c\n2 3 d\n3\n\n")
    message = str(error.value)
    assert ":1: utterance 'u': a cycle through node " in message
    assert re.search(r"node [12]; expected", message)
    assert message.endswith("expected a lattice without cycles")


def test_a_cycle_that_no_whole_path_passes_does_no_harm(read: Read) -> None:
    lattice = read("u\n0 1 a\n0 2 b\n2 3 c\n3 2 d\n1\n\n")[0]
    assert len(lattice.order) == 2


@pytest.mark.parametrize("ending", ["", "3\n", "1 Infinity,Infinity\n"])
def test_a_lattice_without_a_reachable_final_state_is_one_line(read: Read, ending: str) -> None:
    with pytest.raises(DataError, match=r":1: utterance 'u': no final state can be reached"):
        read(f"u\n0 1 a\n{ending}\n")


def test_ten_thousand_states_in_a_row_are_no_trouble(read: Read) -> None:
    rows = [f"{i} {i + 1} w" for i in range(10_000)]
    lattice = read("\n".join(["u", *rows, "10000", "", ""]))[0]
    assert len(lattice.order) == 10_001
