internal import APNs
internal import HTTP2

/// One request as received. Its parts are ranges of `bytes`, which belong to its batch and must not be kept
/// longer.
struct ReceivedRequest {
    let bytes: [UInt8]
    let method: Range<Int>
    let path: RequestPath
    /// The body. It is not a range of the batch, so it may be kept.
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
    ///   - body: the request's body from the batch.
    ///   - makeID: makes an id for a request without one.
    init(
        batch: RequestBatch, request: IncomingRequest, port: ServedPort, body: [UInt8],
        makeID: () -> PushID
    ) {
        bytes = batch.bytes
        method = request.method
        path = RequestPath(batch.bytes, range: request.path)
        self.body = body
        headers = RequestHeaders(batch: batch, request: request)
        isBodyTruncated = request.isBodyTruncated
        isDirect = port.service == .push && !path.isBroadcast
        let text = isDirect ? headers.id : headers.requestID
        let given = text.flatMap { PushID(canonical: batch.bytes.span.extracting($0)) }
        id = given ?? makeID()
        hasInvalidID = text != nil && given == nil
    }

    func isMethod(_ name: StaticString) -> Bool { ASCIIText.isEqual(bytes.span.extracting(method), to: name) }
}
