import Testing

@testable import Broker

/// `Producers`, a partition's table of producers: their sequence numbers, epochs and transactions. All batches are of
/// producer 7. The sequence is the number of a producer's first record in a batch.
struct ProducersTests {
    private func batch(
        epoch: Int16 = 0, sequence: Int32, count: Int32 = 1, at offset: Int64 = 0, transactional: Bool = false
    ) -> BatchHeader {
        var header = BatchHeader(
            baseOffset: offset, producerID: 7, producerEpoch: epoch, baseSequence: sequence)
        header.recordCount = count
        header.lastOffsetDelta = count - 1
        header.maxTimestamp = 100
        header.attributes = transactional ? BatchHeader.transactionalBit : 0
        return header
    }

    /// Returns the table after some appends.
    private func producers(_ batches: BatchHeader...) -> Producers {
        var producers = Producers()
        for batch in batches { producers.recordAppend(batch, now: 100) }
        return producers
    }

    @Test func `an unknown producer may begin with any sequence`() throws {
        #expect(try Producers().checkAppend(batch(sequence: 41)) == .append)
    }

    @Test func `the next sequence is appended and a gap is refused`() throws {
        let known = producers(batch(sequence: 0, count: 3))
        #expect(try known.checkAppend(batch(sequence: 3)) == .append)
        #expect(throws: LogError.outOfOrderSequence(producer: 7, sequence: 4, last: 2)) {
            try known.checkAppend(batch(sequence: 4))
        }
        #expect(throws: LogError.outOfOrderSequence(producer: 7, sequence: 1, last: 2)) {
            try known.checkAppend(batch(sequence: 1))
        }
    }

    @Test func `one of the last five batches is a duplicate and is answered with its offset`() throws {
        var known = Producers()
        for index in 0..<7 as Range<Int32> {
            known.recordAppend(batch(sequence: index * 2, count: 2, at: Int64(index) * 10), now: 100)
        }
        for index in 2..<7 as Range<Int32> {
            #expect(
                try known.checkAppend(batch(sequence: index * 2, count: 2))
                    == .duplicate(baseOffset: Int64(index) * 10, timestamp: 100))
        }
        #expect(throws: LogError.self) { try known.checkAppend(batch(sequence: 2, count: 2)) }
    }

    @Test func `the sequence after the largest number is zero`() throws {
        // The three records have the sequences max - 1, max, and 0.
        let known = producers(batch(sequence: .max - 1, count: 3))
        #expect(try known.checkAppend(batch(sequence: 1)) == .append)
        let exact = producers(batch(sequence: .max, count: 1))
        #expect(try exact.checkAppend(batch(sequence: 0)) == .append)
    }

    @Test func `a newer epoch begins at zero and fences the older one`() throws {
        let known = producers(batch(sequence: 0), batch(epoch: 1, sequence: 0))
        #expect(throws: LogError.fencedProducer(producer: 7, epoch: 0, current: 1)) {
            try known.checkAppend(batch(sequence: 1))
        }
        #expect(throws: LogError.outOfOrderSequence(producer: 7, sequence: 5, last: -1)) {
            try known.checkAppend(batch(epoch: 2, sequence: 5))
        }
        #expect(try known.checkAppend(batch(epoch: 2, sequence: 0)) == .append)
    }

    @Test func `a marker of a newer epoch fences the older one, before any record of the newer epoch`() throws
    {
        var known = producers(batch(sequence: 0, transactional: true))
        known.recordMarker(producerID: 7, epoch: 1, commit: false, at: 1, now: 100)
        #expect(throws: LogError.fencedProducer(producer: 7, epoch: 0, current: 1)) {
            try known.checkAppend(batch(sequence: 1, transactional: true))
        }
        #expect(throws: LogError.fencedProducer(producer: 7, epoch: 0, current: 1)) {
            try known.checkMarker(producerID: 7, epoch: 0)
        }
        #expect(try known.checkAppend(batch(epoch: 1, sequence: 0, transactional: true)) == .append)
    }

    @Test func `plain records within a transaction are refused`() throws {
        let known = producers(batch(sequence: 0, transactional: true))
        #expect(throws: LogError.invalidTransactionState(producer: 7)) {
            try known.checkAppend(batch(sequence: 1))
        }
    }

    @Test func `committed readers stop at the oldest open transaction, and at a marker that is not durable`()
    {
        var known = producers(batch(sequence: 0, at: 5, transactional: true))
        #expect(known.stableOffset(highWatermark: 9) == 5)
        known.recordMarker(producerID: 7, epoch: 0, commit: true, at: 9, now: 1)
        #expect(known.stableOffset(highWatermark: 9) == 5)
        #expect(known.stableOffset(highWatermark: 10) == 10)
    }

    @Test func `a range of offsets has the aborted transactions that overlap it`() {
        var known = Producers()
        for (producer, start, end) in [(1, 0, 4), (2, 2, 9), (3, 10, 12)] as [(Int64, Int64, Int64)] {
            known.openTransactions[producer] = start
            known.recordMarker(producerID: producer, epoch: 0, commit: false, at: end, now: 0)
        }
        #expect(known.aborted(from: 0, to: 1).map(\.producerID) == [1])
        #expect(known.aborted(from: 3, to: 5).map(\.producerID) == [1, 2])
        #expect(known.aborted(from: 5, to: 20).map(\.producerID) == [2, 3])
        #expect(known.aborted(from: 13, to: 20).isEmpty)
        known.forget(below: 10)
        #expect(known.abortedTransactions.map(\.producerID) == [3])
    }

    @Test func `idle producers are forgotten but never one with an open transaction`() {
        var known = producers(batch(sequence: 0, transactional: true))
        known.expire(usedBefore: 1000)
        #expect(known.entries.count == 1)
        known.recordMarker(producerID: 7, epoch: 0, commit: true, at: 3, now: 100)
        known.expire(usedBefore: 1000)
        #expect(known.entries.isEmpty)
    }
}
