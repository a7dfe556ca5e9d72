internal import HTTP2

/// The header fields that APNs uses, as ranges in the bytes of the request's batch.
struct RequestHeaders {
    var authorization: Range<Int>?
    var topic: Range<Int>?
    var pushType: Range<Int>?
    var priority: Range<Int>?
    var expiration: Range<Int>?
    /// `apns-id`, which a push to a token has.
    var id: Range<Int>?
    var collapseID: Range<Int>?
    /// `apns-request-id`, which broadcasts and channel requests have.
    var requestID: Range<Int>?
    var channelID: Range<Int>?
    /// Whether one of these fields appears twice.
    var isRepeated = false

    init(batch: RequestBatch, request: IncomingRequest) {
        let bytes = batch.bytes
        batch.forEachField(of: request) { name, value in
            storeField(name: bytes.span.extracting(name), value: value)
        }
    }

    init() {}

    /// Stores a field if APNs uses it. The length of the name (7 bytes for `apns-id`) is compared first, because
    /// at most three names have the same length.
    mutating func storeField(name: Span<UInt8>, value: Range<Int>) {
        switch name.count {
        case 7 where ASCIIText.isEqual(name, to: "apns-id"):
            Self.store(value, in: &id, isRepeated: &isRepeated)
        case 10 where ASCIIText.isEqual(name, to: "apns-topic"):
            Self.store(value, in: &topic, isRepeated: &isRepeated)
        case 13 where ASCIIText.isEqual(name, to: "apns-priority"):
            Self.store(value, in: &priority, isRepeated: &isRepeated)
        case 13 where ASCIIText.isEqual(name, to: "authorization"):
            Self.store(value, in: &authorization, isRepeated: &isRepeated)
        case 14 where ASCIIText.isEqual(name, to: "apns-push-type"):
            Self.store(value, in: &pushType, isRepeated: &isRepeated)
        case 15 where ASCIIText.isEqual(name, to: "apns-expiration"):
            Self.store(value, in: &expiration, isRepeated: &isRepeated)
        case 15 where ASCIIText.isEqual(name, to: "apns-channel-id"):
            Self.store(value, in: &channelID, isRepeated: &isRepeated)
        case 15 where ASCIIText.isEqual(name, to: "apns-request-id"):
            Self.store(value, in: &requestID, isRepeated: &isRepeated)
        case 16 where ASCIIText.isEqual(name, to: "apns-collapse-id"):
            Self.store(value, in: &collapseID, isRepeated: &isRepeated)
        default: break
        }
    }

    private static func store(_ value: Range<Int>, in field: inout Range<Int>?, isRepeated: inout Bool) {
        if field != nil { isRepeated = true }
        field = value
    }
}
