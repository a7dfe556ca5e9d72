import RecordFormat
import Replay
import Testing

/// The order of listed dead letters, and the pages of the list.
struct NewestDeadLettersTests {
    @Test(arguments: ["", "x", "1", "1.2", "1.2/3", "-1.2.3", "1.2.x"])
    func `a text that is not a cursor is refused`(text: String) {
        #expect(DeadLetterPosition(cursor: text) == nil)
    }

    @Test func `a cursor reads back`() {
        let position = DeadLetterPosition(
            at: 1_795_809_600_000, id: DeadLetterID(partition: 3, offset: 1042))
        #expect(position.cursor == "1795809600000.3.1042")
        #expect(DeadLetterPosition(cursor: position.cursor) == position)
    }

    @Test func `a later dead letter comes first, and within a millisecond the higher id`() {
        func position(_ at: Int64, _ partition: Int32, _ offset: Int64) -> DeadLetterPosition {
            DeadLetterPosition(at: at, id: DeadLetterID(partition: partition, offset: offset))
        }
        #expect(position(2, 0, 0).isNewer(than: position(1, 5, 5)))
        #expect(position(2, 1, 0).isNewer(than: position(2, 0, 9)))
        #expect(position(2, 1, 8).isNewer(than: position(2, 1, 7)))
        #expect(!position(2, 1, 8).isNewer(than: position(2, 1, 8)))
    }
}
