internal import Jobs
internal import Kafka

/// Sends the output of a lane. Heads and bodies of sheets are encoded once.
struct JobSender {

    private let producer: TransactionalProducer

    init(producer: TransactionalProducer) { self.producer = producer }

    /// Sends the sheets. Returns false if the producer refused one.
    func send(_ output: borrowing JobOutput, urgent: Topic, normal: Topic) -> Bool {
        if output.sheets.isEmpty { return true }
        let bodies = output.bodies.map { SharedRecordValue(copying: $0.span) }
        let sheetHeaders = SheetHeaders(heads: output.heads)
        for sheet in output.sheets {
            var headers = sheetHeaders.copy(forHead: sheet.head)
            headers.add(SheetHeaderName.to, value: sheet.lines.bytes.span)
            if let value = UnprovenLines.headerValue(of: sheet.unprovenLines) {
                headers.add(SheetHeaderName.unproven, value: value.span)
            }
            while true {
                let result = producer.send(
                    to: sheet.isUrgent ? urgent : normal, partition: Int32(sheet.lane), key: nil,
                    body: bodies[sheet.body], headers: &headers)
                if result == .queued { break }
                guard waitForSpace(after: result) else { return false }
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
            guard waitForSpace(after: result) else { return false }
        }
    }

    private func waitForSpace(after result: SendResult) -> Bool {
        result == .full && producer.waitForQueueSpace()
    }
}

/// The headers that all sheets of a head share. They are made once and copied for each sheet.
private final class SheetHeaders {
    /// Noncopyable values cannot be elements of an array.
    private final class HeaderBox {
        let headers: RecordHeaders

        init(head: JobOutput.Head) {
            var headers = RecordHeaders(capacity: 3)
            headers.add(SheetHeaderName.apns, value: head.apns.span)
            headers.add(SheetHeaderName.flotilla, value: head.flotilla.span)
            self.headers = headers
        }
    }

    private let boxes: [HeaderBox]

    init(heads: [JobOutput.Head]) { boxes = heads.map(HeaderBox.init) }

    func copy(forHead head: Int) -> RecordHeaders { boxes[head].headers.copy() }
}
