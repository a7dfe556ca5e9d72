import Schedules
import Testing

@Test(arguments: ["s1", "a:b", "é/x"])
func `a position in a list reads back from its cursor`(_ id: String) {
    let position = TimerPosition(dueAt: 1_795_809_600_000, id: id)
    #expect(TimerPosition(cursor: position.cursor) == position)
}

@Test(arguments: ["", "1", ":a", "-1:a", "01:a", "x:a", "1:", "1:a\u{7}"])
func `a text that is no cursor is refused`(_ text: String) {
    #expect(TimerPosition(cursor: text) == nil)
}

@Test func `positions are ordered by time and then by id`() {
    let positions = [(1, "b"), (1, "c"), (2, "a")].map { TimerPosition(dueAt: $0.0, id: $0.1) }
    #expect(positions.reversed().sorted() == positions)
}
