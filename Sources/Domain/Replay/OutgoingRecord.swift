internal import Topics

/// A record that `ReplayWriter` sends.
struct OutgoingRecord {
    let topic: TopicName
    let partition: Int32
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [DeadLetterRecord.Header]
}
