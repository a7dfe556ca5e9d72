internal import Kafka
internal import LiveActivity

/// Sends the output of a lane. Heads and bodies of sheets are encoded once.
struct JobSender {
    /// The longest wait for space in a full producer queue.
    private static let roomMilliseconds = 5000

    private let producer: TransactionalProducer

    init(_ producer: TransactionalProducer) { self.producer = producer }

    /// Sends the sheets. Returns false if the producer refused one.
    func send(_ output: borrowing JobOutput, urgent: Topic, usual: Topic) -> Bool {
        if output.sheets.isEmpty { return true }
        let bodies = output.bodies.map { SharedBody(copying: $0.span) }
        let heads = HeadersOfHeads(output.heads)
        for sheet in output.sheets {
            var headers = heads.copy(sheet.head)
            headers.add(SheetHeader.to, sheet.lines.bytes.span)
            while true {
                let result = producer.send(
                    to: sheet.isUrgent ? urgent : usual, partition: Int32(sheet.lane), key: nil,
                    body: bodies[sheet.body], headers: &headers)
                if result == .queued { break }
                guard hasRoom(after: result) else { return false }
            }
        }
        return true
    }

    /// - Parameter partition: the partition. If it is nil, the key decides.
    func send(key: [UInt8]?, value: [UInt8], to topic: Topic, partition: Int32?) -> Bool {
        while true {
            let result =
                if let key {
                    producer.send(to: topic, partition: partition, key: key.span, value: value.span)
                } else {
                    producer.send(to: topic, partition: partition, key: nil, value: value.span)
                }
            if result == .queued { return true }
            guard hasRoom(after: result) else { return false }
        }
    }

    private func hasRoom(after result: SendResult) -> Bool {
        result == .full && producer.waitForRoom(withinMilliseconds: Self.roomMilliseconds)
    }
}

/// The headers that all sheets of a head share. They are made once and copied for each sheet.
private final class HeadersOfHeads {
    /// Noncopyable values cannot be elements of an array.
    private final class Box {
        let headers: RecordHeaders

        init(_ head: JobOutput.Head) {
            var headers = RecordHeaders(capacity: 3)
            headers.add(SheetHeader.apns, head.apns.span)
            headers.add(SheetHeader.flotilla, head.flotilla.span)
            self.headers = headers
        }
    }

    private let boxes: [Box]

    init(_ heads: [JobOutput.Head]) { boxes = heads.map(Box.init) }

    func copy(_ head: Int) -> RecordHeaders { boxes[head].headers.copy() }
}
