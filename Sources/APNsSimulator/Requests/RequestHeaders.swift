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
        case 7 where Text.equal(name, "apns-id"): keep(\.id, value)
        case 10 where Text.equal(name, "apns-topic"): keep(\.topic, value)
        case 13 where Text.equal(name, "apns-priority"): keep(\.priority, value)
        case 13 where Text.equal(name, "authorization"): keep(\.authorization, value)
        case 14 where Text.equal(name, "apns-push-type"): keep(\.pushType, value)
        case 15 where Text.equal(name, "apns-expiration"): keep(\.expiration, value)
        case 15 where Text.equal(name, "apns-channel-id"): keep(\.channelID, value)
        case 15 where Text.equal(name, "apns-request-id"): keep(\.requestID, value)
        case 16 where Text.equal(name, "apns-collapse-id"): keep(\.collapseID, value)
        default: break
        }
    }

    private mutating func keep(_ field: WritableKeyPath<RequestHeaders, Range<Int>?>, _ value: Range<Int>) {
        if self[keyPath: field] != nil { isRepeated = true }
        self[keyPath: field] = value
    }
}
