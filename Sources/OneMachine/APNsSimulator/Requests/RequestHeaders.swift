internal import HTTP2

/// The header fields that APNs uses, as ranges in the batch's bytes.
struct RequestHeaders {
    var authorization: Range<Int>?
    var topic: Range<Int>?
    var pushType: Range<Int>?
    var priority: Range<Int>?
    var expiration: Range<Int>?
    var id: Range<Int>?
    var collapseID: Range<Int>?
    var requestID: Range<Int>?
    var channelID: Range<Int>?
    /// Whether one of these fields appears twice.
    var isRepeated = false

    init(_ batch: RequestBatch, _ request: IncomingRequest) {
        let bytes = batch.bytes
        batch.eachField(of: request) { name, value in
            take(bytes.span.extracting(name), value)
        }
    }

    init() {}

    /// Stores a field if APNs uses it. The length of a name leaves at most two candidates.
    mutating func take(_ name: Span<UInt8>, _ value: Range<Int>) {
        switch name.count {
        case 7 where Text.equal(name, "apns-id"): Self.keep(value, in: &id, isRepeated: &isRepeated)
        case 10 where Text.equal(name, "apns-topic"): Self.keep(value, in: &topic, isRepeated: &isRepeated)
        case 13 where Text.equal(name, "apns-priority"):
            Self.keep(value, in: &priority, isRepeated: &isRepeated)
        case 13 where Text.equal(name, "authorization"):
            Self.keep(value, in: &authorization, isRepeated: &isRepeated)
        case 14 where Text.equal(name, "apns-push-type"):
            Self.keep(value, in: &pushType, isRepeated: &isRepeated)
        case 15 where Text.equal(name, "apns-expiration"):
            Self.keep(value, in: &expiration, isRepeated: &isRepeated)
        case 15 where Text.equal(name, "apns-channel-id"):
            Self.keep(value, in: &channelID, isRepeated: &isRepeated)
        case 15 where Text.equal(name, "apns-request-id"):
            Self.keep(value, in: &requestID, isRepeated: &isRepeated)
        case 16 where Text.equal(name, "apns-collapse-id"):
            Self.keep(value, in: &collapseID, isRepeated: &isRepeated)
        default: break
        }
    }

    private static func keep(_ value: Range<Int>, in field: inout Range<Int>?, isRepeated: inout Bool) {
        if field != nil { isRepeated = true }
        field = value
    }
}
