"""Tests of deploy/mutate. They use small trees in temporary folders."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import textwrap
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy" / "mutate"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("mutate", str(TOOL))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)

SOURCE = '''\
// The pool. It says "guard".
struct Pool {
    /* A /* nested */ comment. */
    func first(at now: Int) -> Int {
        guard now < limit else { return 0 }  // A comment behind the code.
        return now + 1
    }

    func second() {
        work()
        return
    }

    func third() {
        work()
        return
    }
}
'''


def values(text, is_swift=True):
    return mutate.Lexer(text, is_swift).values


class TokenTests(unittest.TestCase):
    def test_comments_and_space_do_not_count(self):
        self.assertEqual(values("a(b) // c\n/* d /* e */ f */ + 1"), values("a ( b )\n    + 1"))

    def test_comments_inside_strings_are_text(self):
        for literal in ['"// a"', '#"a" // b"#', '"\\" // a"', '#""""#', '#"\\(a"#']:
            self.assertEqual(values(f"f({literal}, 1)"), ["f", "(", literal, ",", "1", ")"])

    def test_interpolated_code_is_code(self):
        self.assertEqual(values('"a \\(f("b)", c)) d" + e'), ['"a \\(', "f", "(", '"b)"', ",", "c", ")", ') d"', "+", "e"])
        self.assertEqual(values('#"a \\#(b) \\(c)"#'), ['#"a \\#(', "b", ') \\(c)"#'])

    def test_the_indent_of_a_long_string_does_not_count(self):
        one = 'f("""\n    a \\(b)\n      "c"\n    """)'
        self.assertEqual(values(one), values(one.replace("\n    ", "\n")))
        self.assertNotEqual(values(one), values(one.replace("      ", "    ")))

    def test_regexes_are_tokens(self):
        self.assertEqual(values('x = #/"a/# + 1'), ["x", "=", '#/"a/#', "+", "1"])
        self.assertEqual(values('f(of: /"[/]a/)'), ["f", "(", "of", ":", '/"[/]a/', ")"])
        self.assertEqual(values("a / b / c"), ["a", "/", "b", "/", "c"])

    def test_operators_are_whole(self):
        self.assertEqual(values("!a == b && 0..<c"), ["!", "a", "==", "b", "&&", "0", "..<", "c"])

    def test_quotes_of_other_languages(self):
        self.assertEqual(values("f('\"', `a ${b}`) // c", is_swift=False), ["f", "(", "'\"'", ",", "`a ${b}`", ")"])


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.source = self.write("Sources/APNs/Pool.swift", SOURCE)
        mutate.read.cache_clear()
        mutate.test_names.cache_clear()
        previous, mutate.ROOT = mutate.ROOT, self.root
        self.addCleanup(setattr, mutate, "ROOT", previous)

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def fault(self, edits, name="a-fault"):
        text = "found by: PoolTests\n\n" + textwrap.dedent(edits).strip("\n") + "\n"
        return self.write(f"Tests/Mutants/apns/{name}.fault", text)

    def applied(self, edits):
        """The source after a fault."""
        mutate.Tree(self.root).apply(mutate.Fault(self.fault(edits)))
        return self.source.read_text()

    def refused(self, edits, reason):
        with self.assertRaisesRegex(mutate.Problem, reason):
            mutate.Tree(self.root).mutated(mutate.Fault(self.fault(edits)))

    def run_command(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = mutate.main(*arguments)
        return status, output.getvalue()


class ApplyTests(TreeTest):
    def test_old_code_matches_whatever_its_lines_and_comments(self):
        edit = """
            file: Pool.swift
            old:
                guard
                    now < limit // Another comment.
                else { return 0 }
            new:
                guard now <= limit else { return 0 }
            """
        self.assertEqual(self.applied(edit), SOURCE.replace("now < limit", "now <= limit"))

    def test_a_fault_is_taken_out_with_every_comment(self):
        edit = "file: Pool.swift\nold:\n    return 0 }\n    return now\nnew:\n    return now }\n    return 0\n"
        self.assertNotIn("behind the code", self.applied(edit))
        with self.assertRaisesRegex(mutate.Problem, "has a fault already"):
            self.applied(edit)
        mutate.Tree(self.root).revert()
        self.assertEqual(self.source.read_text(), SOURCE)
        with self.assertRaisesRegex(mutate.Problem, "has no fault"):
            mutate.Tree(self.root).revert()

    def test_deleted_lines_leave_nothing(self):
        edit = "file: Pool.swift\ndelete:\n    return now + 1\n"
        self.assertEqual(self.applied(edit), SOURCE.replace("        return now + 1\n", ""))

    def test_code_is_inserted_at_the_indent_of_its_anchor(self):
        edit = """
            file: APNs/Pool.swift
            after:
                guard now < limit else { return 0 }
            insert:
                if now == 1 {
                    return 7
                }

            file: Pool.swift
            before:
                return now + 1
            insert:
                wait()
            """
        new = "        if now == 1 {\n            return 7\n        }"
        self.assertIn(f"return 0 }}\n{new}  // A comment behind the code.\n        wait()\n        return now", self.applied(edit))

    def test_a_declaration_narrows_the_search(self):
        edit = "file: Pool.swift\nin: func third()\ndelete:\n    work()\n"
        before, after = SOURCE.split("    func third() {\n        work()\n")
        self.assertEqual(self.applied(edit), before + "    func third() {\n" + after)

    def test_declarations_nest(self):
        edit = "file: Pool.swift\nin: struct Pool\nin: func second(\nold:\n    return\nnew:\n    stop()\n"
        self.assertEqual(self.applied(edit), SOURCE.replace("return\n", "stop()\n", 1))


class RefusalTests(TreeTest):
    def test_old_code_is_there_exactly_once(self):
        self.refused("file: Pool.swift\ndelete:\n    work()\n", "lines 10, 15 have the code of 'delete:'")
        self.refused(
            "file: Pool.swift\nold:\n    guard now > limit else { return 0 }\nnew:\n    guard\n",
            "the code of 'old:' is not there; line 5 has '<' and not '>'",
        )
        self.refused("file: Pool.swift\nin: func second\ndelete:\n    guard\n", "is not there in 'func second'")

    def test_declarations_are_there_exactly_once(self):
        self.refused("file: Pool.swift\nin: func\ndelete:\n    work()\n", "lines 4, 9, 14 have a declaration 'func'")
        self.refused("file: Pool.swift\nin: class Pool\ndelete:\n    work()\n", "does not have a declaration 'class Pool'")

    def test_a_file_is_there_exactly_once(self):
        self.refused("file: Pond.swift\ndelete:\n    work()\n", "no source file has this name")
        self.write("Sources/Other/Pool.swift", "")
        self.refused("file: Pool.swift\ndelete:\n    work()\n", "several source files have this name")

    def test_a_fault_changes_something_and_nothing_else(self):
        same = "file: Pool.swift\nold:\n    guard now\nnew:\n    guard  now // A comment.\n"
        self.refused(same, "reads differently|changes nothing")
        self.refused("file: Pool.swift\nold:\n    now + 1\nnew:\n    now + 1\n", "changes nothing")
        self.refused("file: Pool.swift\nold:\n    guard now\nnew:\n    guard // now\n", "reads differently")
        overlap = "file: Pool.swift\ndelete:\n    guard now < limit\n\nfile: Pool.swift\ndelete:\n    < limit else\n"
        self.refused(overlap, "two edits change the same code")

    def test_the_form_is_checked(self):
        self.refused("", "a fault has a line 'found by:' and an edit")
        self.refused("file: Pool.swift\n", "an edit is old and new, delete")
        self.refused("file: Pool.swift\nold:\n    a\n", "an edit is old and new, delete")
        self.refused("file: Pool.swift\ndelete:\n    // A comment.\n", "'delete:' has no code")
        self.refused("file: Pool.swift\nremove:\n    a\n", "is no header and no section")
        self.refused("delete:\n    a\n", "'delete:' has no place here")
        self.refused("file: Pool.swift\n    a\n", "this code is in no section")
        self.refused("file: Pool.swift\ndelete:\n    a\ndelete:\n    b\n", "begins with 'file:' again")


class CommandTests(TreeTest):
    def test_check_names_each_fault_that_does_not_apply(self):
        self.write("Tests/PoolTests/PoolTests.swift", "struct PoolTests {\n    @Test func `a pool works`() {}\n}\n")
        self.fault("file: Pool.swift\ndelete:\n    guard now < limit else { return 0 }\n")
        self.assertEqual(self.run_command("check"), (0, "flotilla: 1 of 1 faults apply\n"))
        self.fault("file: Pool.swift\ndelete:\n    nothing\n", "lost")
        status, output = self.run_command("check")
        self.assertEqual(status, 1)
        self.assertIn("✘ apns/lost: Pool.swift: the code of 'delete:' is not there", output)

    def test_check_looks_for_the_tests(self):
        self.write("Tests/PoolTests/PoolTests.swift", "struct PoolTests {\n    @Test func `a pool works`() {}\n}\n")
        self.write("Tests/PoolTests/Free.swift", "@Test func `free`() {}\n")
        path = self.fault("file: Pool.swift\ndelete:\n    guard now < limit else { return 0 }\n")
        text = path.read_text()
        for tests, status in {
            "PoolTests.*a pool": 0, "PoolTests.PoolTests": 0, "PoolTests.*free": 0, "PoolTests.(Else|Pool)": 0,
            "PoolTests.*a pond": 1, "PoolTests.PondTests": 1, "PondTests": 1,
        }.items():  # fmt: skip
            path.write_text(text.replace("found by: PoolTests", f"found by: {tests}"))
            self.assertEqual(self.run_command("check")[0], status, tests)
        path.write_text(text.replace("\n", "\nwith: flotilla\n", 1))
        self.assertIn("there is no target called 'flotilla'", self.run_command("check")[1])

    def test_apply_and_revert_take_a_name(self):
        self.fault("file: Pool.swift\nold:\n    now + 1\nnew:\n    now\n")
        self.assertEqual(self.run_command("apply", "apns/a-fault", str(self.root))[0], 0)
        self.assertNotEqual(self.source.read_text(), SOURCE)
        self.assertEqual(self.run_command("revert", str(self.root))[0], 0)
        self.assertEqual(self.source.read_text(), SOURCE)
        self.assertEqual(self.run_command("apply", "apns/none", str(self.root))[0], 1)
        self.assertEqual(self.run_command("applaud")[0], 64)

    def test_rename_carries_the_code_along(self):
        edit = 'file: Pool.swift\nin: func first(at now: Int)\nold:\n    now + nowhere\nnew:\n    now + f("now \\(now)")\n'
        path = self.fault(edit)
        self.assertEqual(self.run_command("rename", "now", "time"), (0, "flotilla: 1 faults changed\n"))
        after = edit.replace("now: ", "time: ").replace("now +", "time +").replace("\\(now", "\\(time")
        self.assertEqual(path.read_text().split("\n\n")[1], after)
        self.assertEqual(self.run_command("rename", "time", "hour", "Other.swift"), (0, "flotilla: 0 faults changed\n"))
        self.assertEqual(self.run_command("rename", "time", "hour", "Pool.swift"), (0, "flotilla: 1 faults changed\n"))

    def test_rename_carries_files_and_suites_along(self):
        path = self.fault("file: Pool.swift\ndelete:\n    Pool()\n")
        self.run_command("rename", "Pool", "Fleet")
        self.assertIn("file: Pool.swift\ndelete:\n    Fleet()", path.read_text())
        self.source.rename(self.source.with_name("Lake.swift"))
        self.run_command("rename", "Pool", "Lake")
        self.assertIn("file: Lake.swift", path.read_text())
        self.run_command("rename", "Lake.swift", "Sea.swift")
        self.assertIn("file: Sea.swift", path.read_text())
        path.write_text(path.read_text().replace("PoolTests", "PoolTests.(LakeTests|SeaTests)", 1))
        self.run_command("rename", "SeaTests", "BayTests")
        self.run_command("rename", "PoolTests", "PondTests")
        self.assertIn("found by: PondTests.(LakeTests|BayTests)\n", path.read_text())


if __name__ == "__main__":
    unittest.main()
