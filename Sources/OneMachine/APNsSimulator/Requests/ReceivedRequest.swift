internal import APNs
internal import HTTP2

/// One request as received. Its parts are ranges of `bytes`, the buffer of the requests that arrived
/// together. So it must not be kept after that batch was handled.
struct ReceivedRequest {
    /// The bytes of all requests of the batch.
    let batchBytes: [UInt8]
    let method: Range<Int>
    let path: RequestPath
    /// The body. It is not a range of `bytes`, so it may be kept.
    let body: [UInt8]
    let headers: RequestHeaders
    /// Whether the body was longer than any push may be.
    let isBodyTruncated: Bool
    /// Whether the answer has an apns-id and not an apns-request-id.
    let isDirect: Bool
    /// Id of the answer: the request's own id if it is valid.
    let id: PushID
    /// Whether the request has an invalid id.
    let hasInvalidID: Bool

    /// - Parameters:
    ///   - body: a copy of the request's body.
    ///   - makeID: makes an id for a request without one.
    init(
        batch: RequestBatch, request: IncomingRequest, port: ServedPort, body: [UInt8],
        makeID: () -> PushID
    ) {
        batchBytes = batch.bytes
        method = request.method
        path = RequestPath(batch.bytes, range: request.path)
        self.body = body
        headers = RequestHeaders(batch: batch, request: request)
        isBodyTruncated = request.isBodyTruncated
        isDirect = port.service == .push && !path.isBroadcast
        let idText = isDirect ? headers.id : headers.requestID
        let requestedID = idText.flatMap { PushID(canonical: batch.bytes.span.extracting($0)) }
        id = requestedID ?? makeID()
        hasInvalidID = idText != nil && requestedID == nil
    }

    func isMethod(_ name: StaticString) -> Bool {
        ASCIIText.isEqual(batchBytes.span.extracting(method), to: name)
    }
}
