internal import Jobs
internal import Kafka

extension JobOutput {
    /// Sends the sheets. Heads and bodies are encoded once. Returns false if the producer refused a sheet.
    borrowing func sendSheets(
        of lane: Int32, by producer: TransactionalProducer, urgent: Topic, normal: Topic
    ) -> Bool {
        if sheets.isEmpty { return true }
        let bodies = bodies.map { SharedRecordValue(copying: $0.span) }
        let sharedHeaders = heads.map(SharedHeaders.init)
        for sheet in sheets {
            var headers = sharedHeaders[sheet.head].headers.copy()
            headers.add(SheetHeaderName.to, value: sheet.lines.bytes.span)
            if let value = UnprovenLines.headerValue(of: sheet.unprovenLines) {
                headers.add(SheetHeaderName.unproven, value: value.span)
            }
            while true {
                let result = producer.send(
                    to: sheet.isUrgent ? urgent : normal, partition: lane, key: nil,
                    body: bodies[sheet.body], headers: &headers)
                if result == .queued { break }
                guard result == .full, producer.waitForQueueSpace() else { return false }
            }
        }
        return true
    }
}

/// The headers that all sheets of a head share. Noncopyable values cannot be elements of an array.
private final class SharedHeaders {
    let headers: RecordHeaders

    init(_ head: JobOutput.Head) {
        var headers = RecordHeaders(capacity: 3)
        headers.add(SheetHeaderName.apns, value: head.apns.span)
        headers.add(SheetHeaderName.flotilla, value: head.flotilla.span)
        self.headers = headers
    }
}
