internal import CatalogRecords
internal import JSON
internal import Telemetry
internal import Topics

/// An event for one endpoint, ready to be sent.
struct WebhookEvent: Sendable, Equatable {
    /// The position of the record from which the event comes. The event is finished when it is delivered or given up.
    struct Anchor: Sendable, Hashable {
        let source: WebhookSource
        let partition: Int32
        let offset: Int64
    }

    /// The most bytes of a body. The parts of an event have limits, so that no event exceeds it.
    static let bodyBytesMax = 64 << 10

    let type: WebhookEventType
    let anchor: Anchor
    /// The value of the header `webhook-id`. It follows from the position, so it is the same at each attempt, and after a
    /// restart.
    let id: String
    /// Events with an equal key are sent one after the other.
    let orderKey: [UInt8]
    /// The time of the event in milliseconds since 1970.
    let time: Int64
    let body: [UInt8]

    /// - Parameters:
    ///   - part: Separates several events of one record.
    ///   - time: The time of the event in milliseconds since 1970.
    ///   - data: Writes the members of `data`.
    init(
        _ type: WebhookEventType, at anchor: Anchor, part: Int = 0, orderKey: [UInt8], time: Int64,
        data: (inout JSONWriter) -> Void
    ) {
        self.type = type
        self.anchor = anchor
        self.time = time
        let position = "\(anchor.source.topic.rawValue)-\(anchor.partition)-\(anchor.offset)"
        id = part == 0 ? position : "\(position)-\(part)"
        self.orderKey = orderKey
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.field("type", type.rawValue)
        json.field("timestamp", WallTime(milliseconds: time).rfc3339)
        json.name("data")
        json.beginObject()
        data(&json)
        json.endObject()
        json.endObject()
        body = json.bytes
    }
}
