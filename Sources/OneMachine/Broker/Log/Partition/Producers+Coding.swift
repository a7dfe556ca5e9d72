/// The part of a checkpoint that stores the producers.
extension Producers {
    func write(to writer: inout WireWriter) {
        writer.array(entries) { writer, pair in
            let (producerID, entry) = pair
            writer.int64(producerID)
            writer.int16(entry.epoch)
            writer.int64(entry.lastUsed)
            writer.array(entry.batches) { writer, batch in
                writer.int32(batch.firstSequence)
                writer.int32(batch.lastSequence)
                writer.int64(batch.baseOffset)
                writer.int64(batch.lastOffset)
                writer.int64(batch.timestamp)
            }
        }
        writer.array(openTransactions) { writer, pair in
            let (producerID, firstOffset) = pair
            writer.int64(producerID)
            writer.int64(firstOffset)
        }
        writer.array(abortedTransactions) { writer, transaction in
            writer.int64(transaction.producerID)
            writer.int64(transaction.firstOffset)
            writer.int64(transaction.markerOffset)
            writer.int64(transaction.stableOffset)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        let entriesByID = try reader.array { (reader) throws(WireError) in
            (
                try reader.int64(),
                ProducerEntry(
                    epoch: try reader.int16(), lastUsed: try reader.int64(),
                    batches: try reader.array { (reader) throws(WireError) in
                        .init(
                            firstSequence: try reader.int32(), lastSequence: try reader.int32(),
                            baseOffset: try reader.int64(), lastOffset: try reader.int64(),
                            timestamp: try reader.int64())
                    })
            )
        }
        entries = Dictionary(entriesByID) { _, new in new }
        let firstOffsetsByID = try reader.array { (reader) throws(WireError) in
            (try reader.int64(), try reader.int64())
        }
        openTransactions = Dictionary(firstOffsetsByID) { _, new in new }
        abortedTransactions = try reader.array { (reader) throws(WireError) in
            AbortedRange(
                producerID: try reader.int64(), firstOffset: try reader.int64(),
                markerOffset: try reader.int64(), stableOffset: try reader.int64())
        }
    }
}
