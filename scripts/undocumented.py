#!/usr/bin/env python3
"""Lists the enumerators and members without a comment in Doxygen's XML, and fails if there are any. Doxygen before 1.9.8
does not report enumerators.

    undocumented.py FOLDER
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def commented(element):
    return any("".join(part.itertext()).strip() for tag in ("briefdescription", "detaileddescription")
               for part in element.findall(tag))


def undocumented(folder):
    for page in sorted(Path(folder).glob("*_8h.xml")) + sorted(Path(folder).glob("struct*.xml")):
        for element in ElementTree.parse(page).iter():
            if element.tag in ("memberdef", "enumvalue") and not commented(element):
                yield f"{page.stem}: {element.findtext('name')}"


def main():
    found = list(undocumented(sys.argv[1]))
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
