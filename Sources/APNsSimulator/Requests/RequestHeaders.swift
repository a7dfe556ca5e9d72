internal import HTTP2

/// The header fields that APNs looks at: where each value lies in the batch's bytes.
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
    /// One of them stands there twice.
    var isRepeated = false

    init(_ batch: RequestBatch, _ request: IncomingRequest) {
        let bytes = batch.bytes
        batch.eachField(of: request) { name, value in
            take(bytes.span.extracting(name), value)
        }
    }

    init() {}

    /// The length of a name leaves at most two candidates.
    mutating func take(_ name: Span<UInt8>, _ value: Range<Int>) {
        switch name.count {
        case 7 where Text.equal(name, "apns-id"): Self.keep(value, &id, &isRepeated)
        case 10 where Text.equal(name, "apns-topic"): Self.keep(value, &topic, &isRepeated)
        case 13 where Text.equal(name, "apns-priority"): Self.keep(value, &priority, &isRepeated)
        case 13 where Text.equal(name, "authorization"): Self.keep(value, &authorization, &isRepeated)
        case 14 where Text.equal(name, "apns-push-type"): Self.keep(value, &pushType, &isRepeated)
        case 15 where Text.equal(name, "apns-expiration"): Self.keep(value, &expiration, &isRepeated)
        case 15 where Text.equal(name, "apns-channel-id"): Self.keep(value, &channelID, &isRepeated)
        case 15 where Text.equal(name, "apns-request-id"): Self.keep(value, &requestID, &isRepeated)
        case 16 where Text.equal(name, "apns-collapse-id"): Self.keep(value, &collapseID, &isRepeated)
        default: break
        }
    }

    private static func keep(_ value: Range<Int>, _ field: inout Range<Int>?, _ isRepeated: inout Bool) {
        if field != nil { isRepeated = true }
        field = value
    }
}
