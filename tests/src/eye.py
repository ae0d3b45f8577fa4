"""Prints as JSON what the accessibility bus shows: one tree per top-level window of every application.

Run by Debian's own Python: `gi` is not there for another. It only reads. A node that vanishes while it is read is
left out, as a screen reader would. Argument 1: only windows whose name contains it (empty: all).
"""

import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

MOST = 4000  # nodes of one window
STATES = ["FOCUSED", "SHOWING", "VISIBLE", "ENABLED", "SENSITIVE", "CHECKED", "SELECTED", "ACTIVE", "MODAL",
          "EXPANDED", "FOCUSABLE", "EDITABLE"]


def text_of(node):
    try:
        text = node.get_text_iface()
        if text is None:
            return None
        # A container's text marks each child with U+FFFC.
        return Atspi.Text.get_text(text, 0, Atspi.Text.get_character_count(text))
    except GLib.Error:
        return None


def describe(node, budget):
    budget[0] -= 1
    states = node.get_state_set()
    extents = None
    component = node.get_component_iface()
    if component is not None:
        area = Atspi.Component.get_extents(component, Atspi.CoordType.SCREEN)
        extents = {"x": area.x, "y": area.y, "width": area.width, "height": area.height}
    children = []
    for index in range(node.get_child_count()):
        if budget[0] <= 0:
            break
        try:
            child = node.get_child_at_index(index)
            if child is not None:
                children.append(describe(child, budget))
        except GLib.Error:
            continue
    return {
        "role": node.get_role_name(),
        "name": node.get_name() or "",
        "description": node.get_description() or "",
        "text": text_of(node),
        "area": extents,
        "states": [name.lower() for name in STATES if states.contains(getattr(Atspi.StateType, name))],
        "children": children,
    }


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    Atspi.init()
    Atspi.set_timeout(3000, 5000)
    windows = []
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        try:
            application = desktop.get_child_at_index(index)
            if application is None:
                continue
            for place in range(application.get_child_count()):
                window = application.get_child_at_index(place)
                if window is None or wanted not in (window.get_name() or ""):
                    continue
                tree = describe(window, [MOST])
                tree["application"] = application.get_name() or ""
                tree["process"] = application.get_process_id()
                windows.append(tree)
        except GLib.Error:
            continue
    json.dump(windows, sys.stdout)


main()
