import Kafka
import StageSupport
import Testing

/// Tests of `SentDeadLetters`, which keeps a loop from sending the dead letter of a record again.
@Suite final class SentDeadLettersTests {
    private var letters = SentDeadLetters()
    private let partition = TopicPartition("sends", 3)
    private let other = TopicPartition("sends", 4)

    /// Returns whether the dead letter of a record has to be sent.
    private func mustSend(_ offset: Int64, of partition: TopicPartition) -> Bool {
        letters.noteRejection(ofRecordAt: offset, of: partition)
    }

    @Test func `a dead letter is sent once, however often its record is read again`() {
        #expect(mustSend(7, of: partition))
        #expect(!mustSend(7, of: partition))
        letters.markAllStored()
        #expect(!mustSend(7, of: partition))
        #expect(mustSend(8, of: partition))
        #expect(mustSend(7, of: other))
    }

    @Test func `after a failed write only the dead letters that are not stored are sent again`() {
        _ = mustSend(7, of: partition)
        letters.markAllStored()
        _ = mustSend(8, of: partition)
        letters.forgetUnacknowledged()
        #expect(!mustSend(7, of: partition))
        #expect(mustSend(8, of: partition))
    }

    @Test func `committed records are forgotten, and the records behind them are not`() {
        for offset in Int64(5)..<9 { _ = mustSend(offset, of: partition) }
        letters.markAllStored()
        letters.recordCommit(of: partition, below: 7)
        letters.recordCommit(of: other, below: 100)
        #expect(mustSend(6, of: partition))
        #expect(!mustSend(7, of: partition))
    }

    @Test func `at the limit of stored dead letters all are forgotten but the newest`() {
        let last = Int64(SentDeadLetters.storedMax)
        for offset in 0..<last {
            _ = mustSend(offset, of: partition)
            letters.markAllStored()
        }
        #expect(!mustSend(0, of: partition))
        _ = mustSend(last, of: partition)
        letters.markAllStored()
        #expect(!mustSend(last, of: partition))
        #expect(mustSend(0, of: partition))
    }
}
