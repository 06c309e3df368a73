"""What the pages use of curl, for machines that have no curl or an old one without --json."""

import argparse
import sys
import urllib.error
import urllib.request


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("url")
    parser.add_argument("-X", dest="method", default="GET")
    parser.add_argument("-s", action="store_true")
    parser.add_argument("--fail", action="store_true")
    parser.add_argument("--json")
    given = parser.parse_args()
    request = urllib.request.Request(given.url, method=given.method)
    if given.json is not None:
        request.data = given.json.encode()
        request.add_header("Content-Type", "application/json")
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as refused:
        answer = refused
    sys.stdout.buffer.write(answer.read())
    return 22 if given.fail and answer.status >= 400 else 0


if __name__ == "__main__":
    sys.exit(main())
