internal import APNs
internal import HTTP2

/// One request to the simulated APNs: an `IncomingRequest` of the HTTP/2 session, with the fields that APNs
/// reads. Its parts are ranges of `batchBytes`, the buffer of all requests that arrived together. Do not keep
/// a request: it holds the whole buffer in memory.
struct ReceivedRequest {
    let batchBytes: [UInt8]
    let method: Range<Int>
    let path: RequestPath
    /// A separate array, so that it can be kept without the batch.
    let body: [UInt8]
    let headers: RequestHeaders
    /// Whether the body was longer than `RequestValidator.bodyBytesMax`.
    let isBodyTruncated: Bool
    /// Whether it is a push to one device token, not a broadcast or a request about channels. A request with an
    /// unknown path on a push port counts as one. Its answer has an `apns-id`, and all other answers have an
    /// `apns-request-id`.
    let isPushToToken: Bool
    /// Id of the answer: the request's own id, or a new one if it has none or an invalid one.
    let id: PushID
    /// Whether the request has an id that is not a lower-case UUID.
    let hasInvalidID: Bool

    /// - Parameters:
    ///   - body: a copy of the request's body.
    ///   - makeID: makes an id for a request without a valid one.
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
        isPushToToken = port.service == .push && !path.isBroadcast
        let idText = isPushToToken ? headers.id : headers.requestID
        let requestedID = idText.flatMap { PushID(canonical: batch.bytes.span.extracting($0)) }
        id = requestedID ?? makeID()
        hasInvalidID = idText != nil && requestedID == nil
    }

    func isMethod(_ name: StaticString) -> Bool {
        ASCIIText.isEqual(batchBytes.span.extracting(method), to: name)
    }
}
