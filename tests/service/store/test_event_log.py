import pytest

from pairup.service.store.event_log import decode_body, encode_body

BODY = (
    '{"games":[[1767225600000000,3]],"played":[true],"causes":null,"answers":[["accepted",null]],'
    '"heard":[[true,null]]}'
)


@pytest.mark.parametrize("body", ["{}", BODY, '{"players":["' + "x" * 50_000 + '"]}'])
def test_a_body_is_read_as_it_was_written(body):
    assert decode_body(encode_body(body)) == body


def test_an_outcome_takes_less_than_half_of_its_json():
    assert len(encode_body(BODY)) < len(BODY) / 2


def test_any_changed_bit_is_noticed():
    stored = encode_body(BODY)
    for place in range(8 * len(stored)):
        changed = bytearray(stored)
        changed[place // 8] ^= 1 << place % 8
        try:
            assert decode_body(bytes(changed)) == BODY  # bits that fill the last byte
        except ValueError:
            continue


def test_a_body_of_another_form_is_refused():
    with pytest.raises(ValueError, match="a body of form '02', expected 1"):
        decode_body(b"\2" + encode_body(BODY)[1:])
    with pytest.raises(ValueError, match="a body of form '7b', expected 1"):
        decode_body(BODY.encode())
    with pytest.raises(ValueError, match="edited by hand"):
        decode_body(BODY)
